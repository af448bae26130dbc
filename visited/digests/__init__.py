"""Exact sets of MD5 digests, without false positives.

`exact` is a table in memory, 18 to 22 bytes per URL. `exact_leveldb` is for more URLs than fit into memory: its
`digest_store` keeps them in LevelDB, together with an `undo_log`, so that the store can be rolled back to the last
snapshot after a crash. `leveldb_memory` reports what LevelDB uses.
"""
