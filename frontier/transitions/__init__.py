"""Changes the state of the frontier. Each change is one write batch of the store: all of it happens, or nothing.

`admission` lets URLs in, past the visited set; `checks` refuses what can't be stored, and `readmission` finds the
known URLs that an operator may add again. `leasing` hands out leases and knows the open ones; `reserving` first asks
for servers that other parts of the crawl may ask, too. `settling` takes them back. `revisiting` queues settled URLs
again. `operating` carries out what an operator asks for, such as a change of all budgets. `commit` brings each
change to the store, and ends the crawl if the store fails. `uncancellable` finishes a change although its task is
cancelled. `accounting` computes the new queue records and counters.

The room `active` holds the queues that are being served, and `asking` asks the visited set. `link_counts` counts links
to known URLs. `snapshotting` saves the visited set. `stats` describes the frontier.

Only the shell, `states` and `upkeep` call this room. It knows the protocol of a store, but no store.
"""
