"""Checks, repairs, divides and copies crawls, with the states of all their parts. But for copies, no crawl runs then.

places      locks and opens all directories that hold state of a crawl
checking    finds what does not agree: within a state, between parts, and with the output
verifying   proves that ledger, records, archive and the tables of sinks agree
repairing   repairs or rebuilds a state; queues URLs again whose output is missing, or that may lead to lost ones
dividing    divides a crawl anew among its parts
pruning     deletes old output, or tells what would be deleted
backing_up  copies a crawl that may run, and `restoring` makes a crawl of a copy
sharing     which crawls share a visited set on a server, and refills it
"""
