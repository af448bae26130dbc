"""Comparison runs: which visited set is best for this work?

A *work* is a stream of links: a file of URLs, the links of a past crawl, or a synthetic stream. A *competitor* is a
visited set with its parameters, ours or of another library. Each competitor is measured on each work in a *trial*. Each
trial has its own process, so that no competitor uses the memory or warm caches of another. There are three kinds:

    time     speed, latency, memory, disk, dump and load; in several rounds, in which the competitors take turns
    check    which URLs it loses, compared with an exact set, and its rate compared with its own estimate; once, untimed
    crawl    a crawl with the competitor as its visited set: pages found and pages lost

    measure       runs the trials and keeps their journal
    report        computes the report from the journal, and shows it
    statistics    medians, spread, and whether a count fits an expectation

The journal stores each trial, and every figure of a report is computed from it. So the report of an interrupted run has
fewer trials, and the same command runs those that are missing.

This room knows the protocol of visited sets, but no set; wiring makes them. It does not know the configuration.
"""
