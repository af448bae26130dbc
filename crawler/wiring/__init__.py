"""Puts a crawl together: the one room that names concrete classes.

Each component gets plain values and never sees the configuration. `crawl` makes all components and closes them in
order, with the help of `seeding` and `discovering` (which URLs), `fetching`, `rendering`, `processing` (extractor and
sinks) and `storage` (frontier and visited set). `additions` are what a program brings. `sites` handles settings that
differ between sites. `auto_backend` chooses the visited set for `visited.backend = "auto"`. `comparing` and
`compare_worker` put comparison runs together. `backends` has the frontier's descriptor, and `configuration` loads
configurations that may name plug-ins.

The room `plugins` finds backends, ours and those of other packages. The room `recovery` brings frontier and output back
into agreement.

Only the library and the command line import this room.
"""
