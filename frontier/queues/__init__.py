"""Decides which queue is served next. Pure: no store, no clock, no waiting; every decision takes `now`.

`lifecycle` says which state of a queue may follow which. `queue` holds the values: a queue, and its record, which
survives a restart. `budgets` limit what a queue may spend. `schedule` is the entry: it decides which of the active
queues may be leased from. `placement` keeps each active queue in the structure of its state: `ready` holds queues whose
URLs may be fetched now, `snoozed` those that rest, by wake time. `lease_end` says what the end of a lease does, and
`health` what an outcome tells about a server. `grouping` says which queues share a pace, `groups` enforces it, and
`peers` are the queues of the same groups. `priority_fifo` orders by precedence, then by arrival. `settings` are what a
user may set.

`transitions` and the stores use this room, and other frontiers may: whoever keeps queues in a `Schedule` keeps the pace
of hosts, addresses and domains. It imports nothing of ours but `values`. An event that a state does not allow raises an
error and changes nothing.
"""
