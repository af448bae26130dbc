"""Tells the operator what becomes of crawls, by a program of theirs: `onceover daemon --notify PROGRAM`.

    teller      notices changes of state, and has them told in order
    program     runs the program for one event

`crawler.serve.life.news` decides what is told. The program is run for one event of a crawl at a time, and for a few
crawls at once. Whatever it does, crawls and the daemon go on: it has limited time, events wait in limited number, and
what went wrong is logged.

The last state that was told of each crawl is stored. So the next daemon tells a state that this one could not, or one
that began while no daemon ran. If the daemon is killed while the program runs, the event is told again.
"""
