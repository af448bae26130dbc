"""The crawl itself.

`engine` is the loop, `pipeline` the way of one URL through it, `page` the values, `protocols` what the loop asks of its
components. A room for each task:

    url, discover, politeness                    pure: what a URL is, which links to follow, when to ask again
    fetch, render, read, write                   HTTP, browser, links and text, records and archives
    compare, simweb                              measure visited sets; a simulated web
    wiring, cli                                  the only rooms that name concrete components

The life of a URL: found on a page, resolved, in scope, canonical, new to the visited set, in the ledger and its queue,
leased, allowed by robots.txt, fetched, decoded, extracted, written by the sinks. Then its links are added, and only
then it is done. Whatever stops a URL on the way leaves a reason. `done` comes last, so a crash repeats at most the
pages in flight.

The rooms know `page` and `url`, and not each other. What the world does (a dead server, a page of garbage) is a value
of a closed union. An exception that reaches the engine is a bug and ends the crawl.
"""
