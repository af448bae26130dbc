"""What the components of a crawl promise, as suites of tests for those who write one.

    from crawler.testing import FrontierContract
    from my_package import DESCRIPTOR


    class TestMyFrontier(FrontierContract):
        descriptor = DESCRIPTOR

A suite is a class. Its subclass says what is tested, by attributes and by methods that it overrides; pytest does the
rest. Nothing else of this project imports this package, because it needs pytest: the extra `testing`.
"""

try:
    import hypothesis  # noqa: F401  # missing, it would only be named by the first suite that needs it
    import pytest
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "crawler.testing needs pytest and hypothesis: pip install 'onceover-crawler[testing]'", name=error.name
    ) from error

# A failing assertion shows its values only in modules that pytest knows before they are imported.
pytest.register_assert_rewrite(
    *(f"crawler.testing.{name}" for name in ("fetch", "frontier", "loops", "read", "sink", "url", "visited"))
)

from crawler.testing.fetch.contract import FetcherContract  # noqa: E402  # see above
from crawler.testing.fetch.robots import RobotsContract  # noqa: E402
from crawler.testing.frontier.contract import FrontierContract  # noqa: E402
from crawler.testing.read.contract import HtmlExtractorContract, LinkExtractorContract  # noqa: E402
from crawler.testing.sink.contract import SinkContract  # noqa: E402
from crawler.testing.url.contract import CanonicalRuleContract  # noqa: E402
from crawler.testing.visited.contract import VisitedSetContract  # noqa: E402

__all__ = [
    "CanonicalRuleContract",
    "FetcherContract",
    "FrontierContract",
    "HtmlExtractorContract",
    "LinkExtractorContract",
    "RobotsContract",
    "SinkContract",
    "VisitedSetContract",
]
