"""Decides which queue is served next. Pure: no store, no clock, no waiting; every decision takes `now`.

`lifecycle` is the state machine of one queue. `schedule` holds the active queues and says which may be leased from:
`ready` orders those whose URLs may be fetched, `snoozed` those that rest, by wake time. `groups` makes hosts of one
address or domain share a pace. `priority_fifo` orders by precedence, then by arrival. `rules` are the settings.

`transitions` and the stores use this room. It imports nothing of ours. An event that a state does not allow raises and
changes nothing.
"""
