"""The promises of every frontier, kept by the one over SQLite in `examples/`."""

from sqlite_frontier import DESCRIPTOR

from crawler.testing import FrontierContract


class TestSqlite(FrontierContract):
    descriptor = DESCRIPTOR
    ignored_settings = ("by_best_url", "precedence_floor")
