"""The store on disk, in LevelDB.

`store` implements the protocol `frontier.store.Store`: each transition becomes one write batch. The room `format`
defines keys and values. `writer` commits batches and numbers them, so that a lost one is noticed. `reads` answers
what a running crawl asks. `full_scan` reads everything, for checks and exports. `journal` keeps what the visited set
has learned since its last snapshot, `outbox` the parcels for other parts of the crawl, `marks` who uses the store,
`notes` small values for the crawler. `identity` refuses a database that is not a frontier's or has another format.
`linking` copies an open database by hard links. `compaction` frees disk space in a thread. `group_sync` shares one
disk sync among all tasks that wait for one. `database` is the only module that reads and writes through plyvel;
`opening` opens a LevelDB and explains its errors.

`states` and `upkeep` use this room.
"""
