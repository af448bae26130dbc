"""The queues that are being served, in memory.

`active_queues` holds them, `inactive` finds in the store which ones become active next, `prefetch` loads the next URLs
of each, `revisits` knows when settled URLs are visited again, and `waiters` are the workers that wait for a lease.

The other transitions first write a change to the store, then apply it to the active queues.
"""
