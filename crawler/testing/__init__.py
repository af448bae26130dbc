"""What the components of a crawl promise, as suites of tests for those who write one.

    from crawler.testing import FrontierContract
    from my_package import DESCRIPTOR


    class TestMyFrontier(FrontierContract):
        descriptor = DESCRIPTOR

A suite is a class. Its subclass says what is tested, by attributes and by methods that it overrides; pytest does the
rest. Nothing else of this project imports this package, because it needs pytest: the extra `testing`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Final

_MISSING: Final = [name for name in ("pytest", "hypothesis") if find_spec(name) is None]
if _MISSING:
    raise ModuleNotFoundError(
        "crawler.testing needs pytest and hypothesis: pip install 'onceover-crawler[testing]'", name=_MISSING[0]
    )

import pytest  # noqa: E402  # see above

# A failing assertion shows its values only in modules that pytest knows before they are imported.
pytest.register_assert_rewrite(
    *(f"crawler.testing.{name}" for name in ("fetch", "frontier", "loops", "read", "sink", "url", "visited"))
)

_HOMES: Final = {
    "CanonicalRuleContract": "crawler.testing.url.contract",
    "FetcherContract": "crawler.testing.fetch.contract",
    "FrontierContract": "crawler.testing.frontier.contract",
    "HtmlExtractorContract": "crawler.testing.read.contract",
    "LinkExtractorContract": "crawler.testing.read.contract",
    "RobotsContract": "crawler.testing.fetch.robots",
    "SinkContract": "crawler.testing.sink.contract",
    "VisitedSetContract": "crawler.testing.visited.contract",
}
"""The module of each suite, loaded when it is used: tests start processes, which need no other suite than their own.
`__init__.pyi` says the same to type checkers."""

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'crawler.testing' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
