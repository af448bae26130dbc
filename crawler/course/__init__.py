"""The course of a crawl: what was discovered and finished over time, and how long the rest will take.

    forms      what is told about it
    history    discovered against finished over time, in bounded memory; pure
    remaining  how long the rest will take; pure
    text       shows it to people

Each process of a crawl keeps the history of what it crawls in `logs/course.json`. So it outlasts the process, and can
be read without asking the crawl. The whole file is replaced every few seconds, and a crash loses no more than that.
"""
