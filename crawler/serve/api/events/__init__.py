"""Tells programs what happens, as it happens, by server-sent events: changes of the states of crawls, and how fast
those go that run.

A change of state has an id and is kept for a while, so a client that comes again hears what it has missed. How fast a
crawl goes is not kept. A client that does not read is dropped; it may come again.

    hub        the events, what they hold, and who reads them
    streaming  sends them to a client; asks the crawls how fast they go
"""
