"""Copies of the visited set on disk, and how an empty set is filled.

The visited set lives in memory and is an index over the ledger. `saving` writes a snapshot of it between two
transitions. `restoring` loads the last one and replays the journal behind it, or reads the whole ledger if they do not
fit. A set on a server has no snapshots: `restoring` tells the server what it may lack.

The transitions save, the shell and the states restore. This room knows the protocol of a store, but no store.
"""
