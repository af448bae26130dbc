"""Reaches a server of Redis or Valkey: one server, a cluster of nodes, or what Sentinels watch.

All code that uses Redis gets its client from this room, and expects that Redis may lose everything. So the settings of
a server, and what we need from it, are the same everywhere.

    server   where a server is, and how to get in
    client   makes a client of it
    channel  one connection, for those who must know which memory has answered
    checks   says what has to be changed at a server before a crawl uses it

All keys of a crawl begin with `{PREFIX:` or `PREFIX:`, and what one script touches has one hash tag. So one line gives
a user of the server all permissions that it needs, and a cluster keeps on one node the keys that belong together.
"""
