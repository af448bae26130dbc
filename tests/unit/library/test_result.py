"""That the result of a run says whether the crawl has a page."""

import msgspec
import pytest

from crawler.codes.exit_codes import COMPLETE, FAILED, LIMIT
from crawler.engine import Ending
from crawler.library.result import CrawlResult, end_run
from tests.frontier_stats import frontier_stats
from tests.unit.supervise.test_watching import status


def ended(ending: Ending = Ending.COMPLETE, *, pages: int = 0, has_page: bool = False, **counts: int) -> CrawlResult:
    counted = msgspec.structs.replace(status(pages=pages), frontier=frontier_stats(**counts))
    return end_run(ending, counted, directory="c", new_seeds=1, resumed=False, has_page=has_page)


@pytest.mark.parametrize(
    "result",
    [ended(failed=1), ended(excluded=1), ended(done=1)],
    ids=["not reached", "forbidden", "a status of an error"],
)
def test_a_crawl_without_a_page_fails(result: CrawlResult) -> None:
    assert (result.ending, result.exit_code, result.has_no_page) == (Ending.COMPLETE, FAILED, True)


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (ended(pages=1, done=1), COMPLETE),
        (ended(Ending.LIMIT, failed=1), LIMIT),
        (ended(Ending.INCOMPLETE, failed=1), FAILED),
        (ended(pending=1), COMPLETE),
        (ended(has_page=True, done=1), COMPLETE),
    ],
    ids=["a page", "limit", "lost", "left out", "a page of an earlier run"],
)
def test_a_crawl_that_has_a_page_or_may_get_one_is_not_said_to_have_none(result: CrawlResult, code: int) -> None:
    assert (result.exit_code, result.has_no_page) == (code, False)
