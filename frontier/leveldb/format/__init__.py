"""How the frontier is laid out in LevelDB: pure functions between values and bytes.

    keys            the key space, and the order of keys within it
    encoding        ledger entries, URLs and counters
    queue_records   queues
    lengths         what tells records of earlier versions

A change here changes the format of stored crawls: see `frontier.leveldb.identity` for its number. The rest of
`frontier.leveldb` uses this room; so does `frontier.upkeep`, which repairs what can't be decoded.
"""
