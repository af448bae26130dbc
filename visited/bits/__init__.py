"""The code that reads and writes bits, counters and digests.

All other code calls it through `kernel`, which chooses between two implementations: `_kernel` in C, and `numpy_kernel`,
`numpy_counting` and `numpy_table` in NumPy, which `numpy_whole` puts together. Both give the same bits for the same
input. `sketch` estimates from a sketch how many URLs were lost. `memory` has the types of what is
read and written, and allocates large arrays that return to the system when they are freed, so that a set reports what
the process uses.

Every kind of set calls this room. It knows hashes and arrays, and nothing about URLs.
"""
