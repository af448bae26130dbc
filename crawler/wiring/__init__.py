"""Puts a crawl together: the one room that names concrete classes.

Each component gets plain values; none sees the configuration. `crawl` assembles all of it and takes it apart in order.
`discovering`, `fetching`, `rendering`, `processing` and `storage` make what their names say, `sites` what differs
between sites. `auto_backend` chooses the visited set for `visited.backend = "auto"`. `comparing` and `compare_worker`
do the same for comparison runs. `recovery` brings a frontier back from a crawl's output, `reconciliation` compares the
two.
"""
