"""Opens a crawl, runs it and tells how it ended: for the command line, and for programs that import `crawler`.

    opening        locks the directory of a crawl, and opens the crawl in it
    crawl_log      what the log says: how the crawl began, and its progress
    log_form       how a message is written: as text or as JSON
    log_handlers   where messages go, and the first few warnings of each kind
    result         how a run ended, with its exit code
    known_pages    whether the ledger of a crawl knows a page

There is no other way to open a crawl that lasts. The command line adds what a foreground process needs: signals,
displays, a log file and settings of the whole process. `Crawl` adds none of these, because a process belongs to its
program:

    crawl, sync    what programs use: in an event loop, and without one
    page           a page as a program gets it
    configuration  the settings, from the arguments of a program
    records        where the records of a crawl are
    running        the engine, in a task of its own
    handout        a sink that gives each page to a consumer, a loop over the pages, and waits until its turn is over

The room `trial` crawls single URLs, and leaves nothing behind.

A page is not settled before its turn is over, because the handout is the first sink, and sinks come before `done`. If
the turn does not end, the handout does not take the page, and the frontier gets its URL back.
"""
