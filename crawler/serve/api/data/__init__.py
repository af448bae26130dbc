"""What crawls know, and changes of their seeds and hosts, over HTTP.

Each request is passed on to the crawl, whether it runs or not, and answered with the reply that the command of the same
name prints with `--json`.

    forms      parameters, bodies, and replies that no command has
    asking     what a crawl answers itself
    files      what its files tell: pages, log, configuration
    reading    answers from its files
    routes     which request does what
"""
