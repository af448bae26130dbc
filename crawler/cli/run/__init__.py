"""Runs a crawl in the foreground.

`running` starts the event loop and ends it in order; `interrupts` turns signals into an orderly end, also before there
is a loop. `logs` and `crawl_log` write `logs/crawl.log`, `terminal` what a person sees. `allocator` makes the system's
memory allocator give back what it frees.
"""
