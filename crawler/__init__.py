"""The crawl itself, and the rooms for each of its tasks.

`engine` is the loop. `pipeline` takes one URL from its lease to its end, and `settlement` settles it. `protocols` says
what the pipeline asks of its `components`, `page` holds the values, `record` makes page records. The rooms:

    url, discover, politeness     pure: what a URL is, which links to follow, when to ask a server again
    fetch, render, read, write    HTTP, a browser, links and text of pages, records and archives
    disk                          the directory of a crawl, and what to do when its disk is full
    control                       the socket of a running crawl: requests and replies, server and clients
    compare, simweb               measurements of visited sets; a simulated web
    wiring, cli                   the only rooms that name concrete components

The life of a URL: a link to it is found, resolved, in scope, canonicalized and new to the visited set. The URL enters
the ledger and its queue. A worker leases it, robots.txt allows it, and it is fetched, decoded and extracted. The sinks
write the page. Then its links are added, and only then the URL is done. So a crash repeats at most the pages in
flight. Whatever stops a URL on its way leaves a reason.

The rooms know `page` and `url`, but not each other. What the world does (a dead server, a page of garbage) is a value
of a closed union. An exception that reaches the engine is a bug, and ends the crawl.
"""
