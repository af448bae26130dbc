"""Changes the state of the frontier. Each change is one write batch of the store: all of it happens, or nothing.

`gate` and `admission` let URLs in, past the visited set. `leasing` hands out leases, which `leases` counts; `settling`
takes them back; `operating` carries out what an operator asks for. `commit` brings each change to the store and ends
the crawl if the store fails; `uncancellable` keeps a change whole when its task is cancelled. `accounting` computes the
new queue record and counters.

`active_queues` holds the queues that are served, `inactive` those in the store, `prefetch` the next URLs of each, and
`waiters` the workers that wait for a turn. `link_counts` counts links to known URLs. `stats` describes all this.

Only `shell` and `upkeep` call this room. It knows the protocol of a store, and no store.
"""
