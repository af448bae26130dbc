from sqlite_frontier import DESCRIPTOR

from crawler.testing import FrontierContract


class TestSqliteFrontier(FrontierContract):
    descriptor = DESCRIPTOR
    ignored_settings = ("by_best_url", "precedence_floor")
