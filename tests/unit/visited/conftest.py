"""What the tests of visited sets share."""

import pytest

from tests.unit.visited.kernels import available_kernels
from visited.bits.kernel import Kernel


@pytest.fixture(params=available_kernels(), ids=lambda kernel: kernel.name)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Each of them."""
    found: Kernel = request.param
    return found
