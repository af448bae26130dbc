"""Exact sets: they never err.

`exact` keeps MD5 digests in a compact table in memory, 16 bytes each. `exact_leveldb` keeps them on disk, for more URLs
than memory holds; `digest_store` is its LevelDB, which can undo what came after a snapshot.
"""
