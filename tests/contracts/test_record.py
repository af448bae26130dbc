"""What became of URLs elsewhere is taken into the ledger."""

from pathlib import Path

import pytest

from frontier import LedgerEntry, UrlState
from tests.unit.frontier.crawls import Crawl, check, drain, page
from tests.unit.frontier.virtual_time import in_virtual_time


@pytest.fixture(params=["memory", "leveldb"])
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> Crawl:
    return Crawl(tmp_path, kind=request.param)


def entry(path: str, state: UrlState) -> LedgerEntry:
    return LedgerEntry(canonical=f"http://a.test/{path}", state=state, number=0, found_at=5.0, status=200)


@in_virtual_time
async def test_what_is_recorded_is_known_and_not_fetched_and_what_was_known_is_left(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1")])
        found = [entry("1", UrlState.DONE), entry("2", UrlState.FAILED), entry("3", UrlState.EXCLUDED)]
        assert await frontier.record([*found, found[1]]) == 2
        assert await frontier.record(found) == 0
        assert await frontier.add([page("a", "2"), page("a", "3"), page("a", "4")]) == 1
        with pytest.raises(ValueError, match="waits"):
            await frontier.record([entry("9", UrlState.PENDING)])
        assert await drain(frontier) == ["http://a.test/1", "http://a.test/4"]
        stats = frontier.describe()
        assert (stats.admitted, stats.done, stats.failed, stats.excluded) == (4, 2, 1, 1)
        told = await frontier.status_of("http://a.test/2")
        assert told is not None
        assert (told.state, told.status, told.number) == (UrlState.FAILED, 200, 2)
    if crawl.kind == "leveldb":
        await check(crawl.directory)
        async with crawl.opened() as frontier:
            assert await frontier.add([page("a", "2")]) == 0
