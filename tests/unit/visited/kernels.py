"""The kernels of visited sets that work here."""

from visited.bits.kernel import IS_COMPILED, CompiledKernel, Kernel
from visited.bits.numpy_whole import NumpyKernel


def available_kernels() -> list[Kernel]:
    """The fastest first."""
    return [CompiledKernel(), NumpyKernel()] if IS_COMPILED else [NumpyKernel()]
