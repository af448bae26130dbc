"""The states of our frontiers: stores, as the rest of the program sees them.

`store_state` makes a `FrontierState` of any store, with all look-ups and all that an operator may do. `leveldb` and
`memory` open one, and have the descriptors.

Callers find this room through `frontier.backends`.
"""
