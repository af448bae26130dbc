"""Opens a crawl, runs it and tells how it ended: for the command line, and for programs that import `crawler`.

    opening     locks the directory of a crawl, and opens the crawl in it
    crawl_log   what the log says: how the crawl began, and its progress
    result      how a run ended, with its exit code

There is no other way to run a crawl. The command line adds what a foreground process needs: signals, displays, a log
file, and settings of the whole process. This room adds none of these, because a process belongs to its program.
"""
