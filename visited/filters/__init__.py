"""Filters of a fixed size: small, fast, and wrong at a stated rate.

`bloom` is the classic filter, `blocked` keeps all bits of a URL in one cache line, `counting` can forget. `fixed_size`
holds what they share: the array, its fill, and the warning when a filter is over capacity. `loss_estimate` tells how
many new URLs a filter has probably swallowed; `add_counts` counts what each filter was given.
"""
