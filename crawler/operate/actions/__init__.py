"""What is done for each request of an operator. Each action takes an `OperatedCrawl`, and returns the reply.

    changing   pause, resume, set, reload, checkpoint; keeps the files as they are, for a copy
    queues     retire, unretire, budget; the list of queues
    urls       add, forget; what is known about a URL and its visits
    added      notes URLs that are added, and enqueues them again in a rebuild
    selecting  recrawl, and forget by host or pattern
    noting     which recrawls and added URLs may still wait, for a rebuild
    hosts      which hosts are served, and why each waits; what was refused on them, and what robots.txt files said
    copying    pieces of an export, and their import; `exported` has the form of a line
    imported   notes lines of an import and enters them, also in a rebuild
    forms      values of the frontier in the forms of replies
    slices     long reads in slices that do not hold the event loop

`crawler.operate.answers` calls the actions.
"""
