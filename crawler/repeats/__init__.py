"""Finds out whether a page repeats another one, and what follows from that.

    similar   an index of fingerprints in memory, which finds those that differ in few bits; in C (`_similar`) or Python
    stored    the fingerprints of a crawl: a file of them, and the index over it; divides them among parts of a crawl
    judge     what the configuration says of a page that repeats another

Only pages that repeat nothing are in the index. So the page that a near duplicate repeats was itself read, followed and
kept, and texts that change step by step do not all count as one.

A page enters the index once all sinks have it, and before it is done. So if another page is left out because of this
one, the output has this one, even if the crawl is killed. Two pages that are fetched at the same time may therefore
both count as the first. A page that was in flight is fetched again; it finds its own fingerprint, which does not count.
If fingerprints are lost, by a power cut or damage, later pages are not recognized as near duplicates; nothing else
follows.

The same holds for canonical URLs: a page is left out only if the ledger says that the crawl has the page that it names,
and that this one was not left out itself. So loops and chains of such URLs, and those that lead to errors, lose
nothing.
"""
