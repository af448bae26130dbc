"""Reaches a server of Redis or Valkey: one server, a cluster of nodes, or what Sentinels watch.

Whoever uses Redis here takes it for something that forgets, and gets its client from this room. So what a user says
about the server, and what is asked of it, is the same everywhere.

    server   where a server is, and how to get in
    client   makes a client of it
    channel  one connection, for those who must know which memory has answered
    checks   says what has to be changed at a server before a crawl uses it

All keys of a crawl begin with `{PREFIX:` or `PREFIX:`, and what one script touches has one hash tag. So one line gives
a user of the server the permissions that it needs, and a cluster has on one node what belongs together.
"""
