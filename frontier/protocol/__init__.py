"""What a frontier promises to those who use it.

`serving` has the promises of a frontier that runs, and of what an operator does to it. `look_ups` has those of what is
kept beside it or by it: notes, queues and the ledger. `forwarding` is a frontier around another, for who changes only
some of its calls. `url_batch` has the URLs of a page, each of which is made when it is needed.
"""
