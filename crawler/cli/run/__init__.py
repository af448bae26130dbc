"""Runs a crawl of `crawler.library` in the foreground.

`running` starts the event loop and ends it in order. `interrupts` turns signals into an orderly end, also before there
is an event loop. `messages` says how a run begins and ends. `streams` prints, and `terminal` has the consoles of
displays. `diagnostics` is what a run tells on stderr, `drawing` if that is a terminal, and writes `logs/crawl.log`.
`without_page` says why the seeds gave no page. `division` says whether a crawl is in parts, `parts` runs one that is,
`part` is the process of one of them, and `machine` runs those of many machines. `current_directory` says whether the
directory of the command is still there, and changes it. `allocator` makes the memory allocator of the system return
freed memory.
"""
