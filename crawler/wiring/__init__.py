"""Puts a crawl together: the one room that names concrete classes.

Each component gets plain values and never sees the configuration. Read `crawl` first: `open_crawl` opens what a crawl
consists of, one after the other, and closes it in order; `check_configuration` has each component judge its settings.
`storage` opens frontier and visited set, and `queue_settings` says how queues are served. `seeding` reads seeds,
`additions` are what a program brings, and `sites` handles settings that differ between sites. `auto_backend` chooses
the visited set for `visited.backend = "auto"`, and warns of one that is too small. `backends` has the frontier's
descriptor and servers of Redis, `schedule` reads the schedule of a crawl, and `configuration` loads configurations that
may name plug-ins.

`revisiting` makes what visits pages again, and `sharing` what crawls share on one machine or server: the pace of hosts
and visited sets.

For a crawl in parts, `parts` says what all of them need and must agree on, `sharing` also where each gets its leases,
and `regrouping` where things belong when the crawl is divided again.

The rooms:

    components   makes what decides, fetches, renders and processes
    comparing    puts comparison runs together
    live         what can change in a running crawl
    opening      opens what a crawl consists of: state and fetchers
    plugins      finds backends, ours and those of other packages
    recovery     brings frontier and output back into agreement

The rooms above import this one, such as `operate`, `library` and `cli`.
"""
