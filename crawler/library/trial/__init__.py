"""Tries URLs as a crawl would fetch them, without a crawl.

A trial is a crawl by the same components, in a directory that is deleted at its end. Only what surrounds them differs:

    frontier   hands out the URLs that are tried and where they redirect to, and notes what else would be enqueued
    findings   takes the records in place of files, and notes what pages ask for
    trying     opens that crawl, runs it, and sums up
    forms      what it tells
"""
