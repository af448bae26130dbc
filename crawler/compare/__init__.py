"""Comparison runs: which visited set for this work?

A *work* is a stream of links: a file of URLs, what a past crawl has met, or a computed stream. A *competitor* is a
visited set with its parameters, ours or another library's. Each competitor is measured on each work in a *trial*, in a
process of its own, so that none inherits memory or warm caches of another. There are three kinds of trial:

    time     speed, latency, memory, disk, dump and load; several rounds, in which the competitors take turns
    check    what it swallows, with an exact set beside it, and its rate against its own estimate; not timed, once
    crawl    a live crawl with the competitor as its visited set: pages found and pages lost

    measure       runs the trials and keeps their journal
    report        computes the report from the journal, and shows it
    statistics    medians, spread, and whether a count fits an expectation

The journal is the truth: it holds each trial, and every figure of a report is computed from it anew. So a report of an
interrupted run is a report of fewer trials, and the same command goes on with those that are missing.

This room knows the protocol of visited sets and no set; wiring makes them. It knows nothing of configuration.
"""
