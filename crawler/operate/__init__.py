"""What an operator does with a crawl, whether it runs or not.

`answers` carries out each request of `crawler.control`. It acts on an `OperatedCrawl` (`target`), of which there are
two: a running one, which `running` connects with the socket, and one that is opened from its directory, by `stored`.
So both reply the same, and commands print the same words.

    target        what an operator acts on
    answers       from a request to its reply
    pausing       pause, resume
    queues        retire, unretire, budget; the list of queues
    urls          add, forget; what is known about a URL
    hosts         which hosts are served, and why each waits
    looking       what traps and quotas have refused
    copying       pieces of an export, and their import; `exported` is a line
    forms         values of the frontier in the forms of replies
    slices        long reads in slices that do not hold the event loop
    running       answers the socket of a running crawl
    opening, stored    opens a crawl that does not run
    reach         finds out whether a crawl runs, and asks it; for commands

Commands and whatever runs crawls use this room. It knows `wiring`, which opens states.
"""
