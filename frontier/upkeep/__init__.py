"""Reads whole stores while no crawl runs.

`fsck` checks every invariant that a transition keeps. `repair` mends what it finds, as far as what is left allows.
`salvage` brings back a
LevelDB that can't be opened. `rebuild` gives each URL the canonical form and the queue of new rules.

The command line calls this room. It may read everything, so it takes time in proportion to the store.
"""
