"""What the components of a crawl promise, as suites of tests for those who write one.

    from crawler.testing import FrontierContract
    from my_package import DESCRIPTOR


    class TestMyFrontier(FrontierContract):
        descriptor = DESCRIPTOR

A suite is a class. Its subclass says what is tested, by attributes and by methods that it overrides; pytest does the
rest. Nothing else of this project imports this package, because it needs pytest: the extra `testing`.
"""

try:
    import pytest
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "crawler.testing needs pytest: pip install 'onceover-crawler[testing]'", name=error.name
    ) from error

# A failing assertion shows its values only in modules that pytest knows before they are imported.
pytest.register_assert_rewrite("crawler.testing.frontier", "crawler.testing.loops")

from crawler.testing.frontier.contract import FrontierContract  # noqa: E402  # see above

__all__ = ["FrontierContract"]
