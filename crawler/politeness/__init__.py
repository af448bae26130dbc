"""Decides when a server is asked, and whether again. Pure: values in, seconds out.

`response_policy` says what follows from an answer: how long the queue rests, and whether the URL is tried again. `pace`
computes delays and back-off, `hours` says when a host may be asked at all, `slow_threshold` when a server is so slow
that others need not wait for it.
"""
