"""`inspect verify` counts every entry of a ledger, and asks it once for each visit of a URL."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from config import load
from crawler.disk.directory import CrawlDirectory
from crawler.page import PageRecord
from crawler.wiring.recovery.facts import Told
from crawler.wiring.recovery.machines import OtherMachines
from crawler.wiring.recovery.verification import Verification
from crawler.write.records import RecordSink
from frontier import KnownUrl, LedgerEntry, UrlState

PAGE = "http://a.test/page"


class Ledger:
    """Of a crawl that was told to forget nothing."""

    def __init__(self, *entries: LedgerEntry) -> None:
        self._known = {each.canonical: KnownUrl(entry=each) for each in entries}
        self.asked = Counter[str]()

    @property
    def numbers_given(self) -> int:
        return len(self._known)

    def was_forgotten(self, number: int, /) -> bool:
        return False

    def known(self, canonical: str, /) -> KnownUrl | None:
        self.asked[canonical] += 1
        return self._known.get(canonical)

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl]:
        return iter(self._known.values())


def entry(canonical: str, state: UrlState, number: int) -> LedgerEntry:
    return LedgerEntry(canonical=canonical, state=state, number=number, found_at=0)


async def crawl_with(folder: Path, numbers: Sequence[int]) -> CrawlDirectory:
    """Its records tell of these visits of a page."""
    crawl = CrawlDirectory(folder / "crawl")
    sink = RecordSink(crawl.records)
    for number in numbers:
        await sink.write(None, PageRecord(number=number, url=PAGE, state="done", depth=0, kind="seed"))
    await sink.aclose()
    return crawl


async def verified(crawl: CrawlDirectory, ledger: Ledger) -> tuple[list[str], list[Told]]:
    """The problems, and what the ledger and the records tell."""
    loaded = load(None, overrides=['crawl.seeds=["http://a.test/"]', "output.warc=false"], environ={})
    with closing(Verification(loaded, [crawl], ledger, others=OtherMachines())) as verification:
        problems = [f"{each.where}: {each.message}" async for each in verification.problems()]
        return problems, verification.counts()


@pytest.mark.parametrize("state", [UrlState.DONE, UrlState.PENDING])
async def test_the_ledger_is_asked_once_for_each_visit_of_a_url(tmp_path: Path, state: UrlState) -> None:
    crawl, ledger = await crawl_with(tmp_path, [1, 2, 3]), Ledger(entry(PAGE, state, 3))
    problems, told = await verified(crawl, ledger)
    assert problems == []
    is_settled = state is UrlState.DONE
    assert [(each.numbers, each.forgotten) for each in told] == [(int(is_settled), 0), (3, 0)]
    assert ledger.asked == {PAGE: 2 if is_settled else 3}


async def test_a_visit_of_a_url_that_the_ledger_has_lost_is_a_problem_and_counts_once(tmp_path: Path) -> None:
    crawl = await crawl_with(tmp_path, [1])
    [problem], told = await verified(crawl, Ledger())
    assert problem.startswith(f"{PAGE}: number 1 is in the records, and is missing in the ledger")
    assert [each.forgotten for each in told] == [0, 1]


async def test_entries_that_damage_has_replaced_have_no_numbers_and_count_each(tmp_path: Path) -> None:
    crawl = await crawl_with(tmp_path, [1])
    lost = [f"http://a.test/{number}" for number in range(3)]
    ledger = Ledger(entry(PAGE, UrlState.DONE, 1), *(entry(each, UrlState.FAILED, 0) for each in lost))
    problems, told = await verified(crawl, ledger)
    assert sorted(each.partition(", ")[0] for each in problems) == [f"{each}: it is failed" for each in lost]
    assert [(each.numbers, each.repeated) for each in told] == [(4, 0), (1, 0)]
