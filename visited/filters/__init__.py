"""Filters of a fixed size: small, fast, and wrong at a stated rate.

`bloom` is the classic filter. `blocked` keeps all bits of a URL in one cache line. `counting` can forget.

`cells` holds what they share: the array, its fill, its snapshot, the choice between two estimates of the loss, and the
formulas of memory.
`loss_estimate` adds up how many new URLs a filter has probably lost, and warns when a filter is over its capacity.
`bottom_k` is a sample of the distinct URLs that several filters were given.
"""
