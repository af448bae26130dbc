"""A crawl in parts, seen as one crawl: one request, one reply, whatever the number of parts.

    answers    from a request to its reply
    inspecting, changing, adding
               ask the parts that a request concerns, and make one reply of theirs
    sums       counts and rates, added up
    exporting  the ledgers of all parts, merged in the order of canonical URLs
    crawl      a crawl in parts, as requests see it: asks its parts, and knows which of them a URL or a host belongs to

A reply has the same fields as that of a crawl that is not in parts. Queues, hosts and URLs also have their `part`.

What concerns a URL or a host goes to the part that owns it. What concerns the whole crawl goes to all parts. Parts
change one after another, or not at all if they can't: a refusal then says which of them have changed. Repeating such a
request is safe. Numbers of URLs need no change, because they are unique over the parts.
"""
