"""Reads and repairs whole stores while no crawl runs.

`fsck` checks every invariant that the transitions keep, `visited_check` checks the visited set. `repair` restores what
it can from what is left; `repair_batch` collects its writes. `salvage` restores a LevelDB that can't be opened;
`damaged_leveldb` runs LevelDB for it in a child process. `rebuild` gives each URL the canonical form and the queue of
new rules. `part_checks` checks links on their way between the parts of a crawl, and mends what a rebuilt part has
received of them.

The command line and wiring call this room. It may read everything, so its run time grows with the store.
"""
