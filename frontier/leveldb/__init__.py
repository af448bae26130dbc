"""The store on disk, in LevelDB.

`store` fulfils the protocol `frontier.store.Store`: each transition becomes one write batch. `keys` lays out the key
space, `encoding` and `queue_records` the values. `reads` answers what a running crawl asks; `full_scan` reads
everything, for checks and exports. `journal` keeps what the visited set learned since its last snapshot. `sequence`
numbers the batches, so that a lost one is noticed. `identity` refuses a database that is not a frontier's, or has
another format. `compaction` gives disk space back in a thread; `group_sync` shares one disk sync among all who wait for
it. `database` is the one door to plyvel.

`upkeep` and wiring use this room.
"""
