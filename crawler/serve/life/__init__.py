"""Decides what becomes of one crawl of a daemon. Pure: no clock, no process.

What is known of a crawl is a value, `Facts`. Three kinds of functions work on it:

    changes      something has happened: new facts       started, ended, looked, told to run or to stop, …
    settling     time has passed: new facts, and notes    a rest is over, a schedule is due
    endings      how a process ended, and the rest that follows
    steps        what to do now                           start it, end its process, look at it, or wait
    turns        which crawls may start now

`summary` says what a crawl does now, for people and programs; `news`, what of that the operator's program is told.

A crawl without a process starts when nothing keeps it: nobody has stopped it, its configuration is good, the machine
has room, and it does not rest. A *rest* says why a crawl does not run although it should: it is complete, it has
reached a limit, it is paused, it crashed a moment ago, or it is held. A crawl is held when it crashes again and again,
or when its configuration is refused; a person or a new configuration ends that. All other rests end by themselves.

There is one truth about each thing. Whether a crawl is paused is stored in its frontier, by whoever paused it. Whether
a process runs it is decided by the lock of its directory. The daemon stores only what it was told, why the crawl rests,
its history, and the directory of its current run.
"""
