"""The simulated web that the tests of the command share."""

from collections.abc import Iterator

import msgspec
import pytest

from crawler.simweb.process import running
from tests.e2e.crawling import SMALL, Web


@pytest.fixture(scope="session")
def web() -> Iterator[Web]:
    """40 pages on 5 hosts."""
    with running(SMALL) as port:
        yield Web(port, SMALL)


@pytest.fixture(scope="session")
def slow_web() -> Iterator[Web]:
    """The same, whose pages take a tenth of a second each, so that a crawl can be met while it runs."""
    params = msgspec.structs.replace(SMALL, slow=0.95, duplicates=0.0, delay_s=0.1)
    with running(params) as port:
        yield Web(port, params)
