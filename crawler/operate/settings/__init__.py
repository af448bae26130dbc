"""Changes the settings of a crawl, whether it runs or not.

A change has two steps. `prepare` reads and checks everything, and says what would change; it changes nothing. `commit`
writes the new configuration into the directory of the crawl, and then lets it hold; only a full disk makes it fail, and
before anything has changed. So a change is made whole or not at all.

    start      how a crawl was started: which configuration is read again
    plan       which settings differ, and when each holds
    changing   the two steps, for a crawl that runs and for one that does not
    lines      what has changed, for people

What holds at once is decided in `crawler.wiring.live`.
"""
