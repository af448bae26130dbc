"""Comparison runs: which visited set for this work?

A *work* is a stream of links: a file of URLs, what a past crawl has met, or a computed stream. A *competitor* is a
visited set with its parameters, ours or another library's. Each competitor is measured on each work in a *trial*, a
fresh process, so that none inherits the memory or the warm caches of another. There are three kinds of trial:

    time     speed, latency, memory, disk, dump and load; several rounds, in which the competitors take turns
    check    what it swallows, with an exact set beside it, and its rate against its own estimate; not timed, once
    crawl    a live crawl with the competitor as its visited set: pages found and pages lost

    work, synthetic       what is measured on, and how a trial reads it; preparing brings links into that form
    competitor, trial     what is asked of a process, and what it answers; contestant is how a competitor is made
    timing, checking      the two measurements, which run in the trial's process; others are sets of other libraries
    process               that process, seen from inside: memory, limits, how it ends
    running, journal      the schedule of trials, their processes, and what a run is resumed from
    folder                the directory of a run, and who may use it
    statistics            medians, spread, and whether a count fits an expectation
    summary               all trials of a competitor in one row; recommending what to take, expecting what was foretold
    report                all of it as a value: table for a terminal, plots for paper, page for a browser

Trials are the truth: the journal has each of them, and every figure of a report is computed from it anew. So a report
of an interrupted run is a report of fewer trials, and the same command goes on with those that are missing.

This room knows the protocol of visited sets and none of them; wiring makes them. It knows nothing of configuration.
"""
