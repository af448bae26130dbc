"""The kernel in NumPy, of all its functions."""

from visited.bits import numpy_counting, numpy_kernel, numpy_table


class NumpyKernel:
    """The kernel in NumPy."""

    name = "numpy"
    fill_budget = 8_192
    hash_many = staticmethod(numpy_kernel.hash_many)
    digest_many = staticmethod(numpy_table.digest_many)
    bloom_probe = staticmethod(numpy_kernel.bloom_probe)
    blocked_probe = staticmethod(numpy_kernel.blocked_probe)
    counting_probe = staticmethod(numpy_counting.counting_probe)
    leaf_probe = staticmethod(numpy_kernel.leaf_probe)
    leaves_fill = staticmethod(numpy_kernel.leaves_fill)
    table_probe = staticmethod(numpy_table.table_probe)
    table_spread = staticmethod(numpy_table.table_spread)
    block_sums = staticmethod(numpy_kernel.block_sums)
