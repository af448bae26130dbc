"""What crawls know, changes of their seeds and hosts, and exports, over HTTP.

Most requests are passed on to the crawl, whether it runs or not, and answered with the reply that the command of the
same name prints with `--json`.

    forms     parameters, bodies, and replies that no command has
    asking    what a crawl answers itself
    files     what its files tell: pages, log, configuration
    reading   answers from its files
    settings  changes settings of a crawl
    exports   asks for exports, tells of them, gives out their files
"""
