"""The code that touches bits.

`kernel` is the only door. It chooses the compiled form (`_kernel`, in C) and falls back to NumPy (`numpy_kernel`,
`numpy_counting`, `numpy_table`); both give the same bits for the same input. `memory` allocates large arrays that go
back to the system when they are freed, so that what a set reports is what the process takes.

All sets use this room. It knows hashes and arrays, and nothing of URLs.
"""
