"""What components of a crawl promise, as suites of tests."""

from crawler.testing.frontier.contract import FrontierContract

__all__ = ["FrontierContract"]
