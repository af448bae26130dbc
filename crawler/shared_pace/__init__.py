"""Lets crawls of one machine keep the pace of a host together, if several of them ask it.

The crawls share a file. Before each request a crawl looks there whether another one asks the same host now, or has just
asked it; afterwards it writes how long the host rests. The same holds for an address and a domain that has limits. The
crawls need no other process: the daemon only tells its crawls which file to use, so its death changes nothing.

    slot      what the file knows of one group of hosts, and what follows; pure
    table     the file: slots, and locks
    frontier  a frontier that begins no request against the pace of other crawls

A request holds a lock of the file, which the kernel lets go when the process dies. The slot then still says that the
request runs. So the next crawl knows that nobody has written how long the host rests, and lets it rest.

The strictest crawl counts: after each request the host rests as long as that request demands, and at least for the
shortest delay of each crawl that has asked lately. Crawls that wait take turns.

A host that only one crawl asks costs a few system calls for each request, and no message. The file stays small, because
old slots are used again. It is not synced, because it has no value after a reboot.
"""
