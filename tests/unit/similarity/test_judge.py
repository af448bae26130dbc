from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from config import Config
from crawler.page import Extract, Repeat
from crawler.repeats.judge import Effect, RepeatJudge, Rules
from crawler.repeats.stored import StoredFingerprints
from crawler.url.urls import UrlReader
from crawler.wiring.components.repeating import fingerprints
from frontier import CrawlUrl, LedgerEntry, UrlState

URLS = UrlReader()
PAGE = "http://www.a.test/page?sort=up"


class Ledger(dict[str, LedgerEntry]):
    def settle(self, url: str, *, status: int | None = 200, reason: str | None = None, pending: bool = False) -> None:
        state = UrlState.PENDING if pending else UrlState.DONE
        self[url] = LedgerEntry(canonical=url, state=state, number=1, found_at=0, status=status, reason=reason)

    async def status_of(self, canonical: str) -> LedgerEntry | None:
        return self.get(canonical)


def judge(
    ledger: Ledger,
    *,
    near: Effect = "mark",
    canonical: Effect = "no-keep",
    across_domains: bool = False,
    fingerprints: StoredFingerprints | None = None,
) -> RepeatJudge:
    rules = Rules(near=near, distance=3, canonical=canonical, across_domains=across_domains)
    return RepeatJudge(rules, fingerprints=fingerprints, read_url=URLS.read, status_of=ledger.status_of)


def read(canonical: str | None = None, simhash: int | None = None) -> Extract:
    return Extract(content_type="text/html", base_url=PAGE, canonical=canonical, simhash=simhash)


def url(url: str = PAGE) -> CrawlUrl:
    return CrawlUrl(url=url, canonical=url, queue_key="a")


@pytest.mark.parametrize(("effect", "is_kept"), [("no-follow", True), ("no-keep", False)])
async def test_a_page_is_left_out_if_the_crawl_has_its_canonical_page(effect: Effect, is_kept: bool) -> None:
    ledger = Ledger()
    ledger.settle("http://www.a.test/page")
    found = await judge(ledger, canonical=effect).judge(read("http://www.a.test/page#top"), url=url())
    assert found == Repeat(refusal="canonical", is_kept=is_kept)
    assert await judge(ledger, canonical="mark").judge(read("http://www.a.test/page"), url=url()) is None


@pytest.mark.parametrize("status", [200, 206, 304])
async def test_a_canonical_page_counts_if_it_was_fetched(status: int) -> None:
    ledger = Ledger()
    ledger.settle("http://a.test/page", status=status)
    assert await judge(ledger).judge(read("http://a.test/page"), url=url()) is not None


@pytest.mark.parametrize(
    "settled",
    [
        None,
        {"pending": True, "status": None},
        {"status": 404},
        {"status": 301},
        {"status": None},
        {"reason": "canonical"},
        {"reason": "near-duplicate"},
        {"reason": "gone"},
    ],
)
async def test_a_page_is_not_lost_to_a_canonical_page_that_the_crawl_does_not_have(
    settled: dict[str, object] | None,
) -> None:
    ledger = Ledger()
    if settled is not None:
        ledger.settle("http://www.a.test/page", **settled)  # type: ignore[arg-type]
    assert await judge(ledger).judge(read("http://www.a.test/page"), url=url()) is None


@pytest.mark.parametrize("canonical", [PAGE, f"{PAGE}#part", "mailto:a@a.test", "http://["])
async def test_a_page_that_names_itself_or_no_url_is_itself(canonical: str) -> None:
    ledger = Ledger()
    ledger.settle(PAGE)
    assert await judge(ledger).judge(read(canonical), url=url()) is None


async def test_another_domain_counts_only_if_it_is_configured() -> None:
    ledger = Ledger()
    ledger.settle("http://b.test/page")
    assert await judge(ledger).judge(read("http://b.test/page"), url=url()) is None
    assert await judge(ledger, across_domains=True).judge(read("http://b.test/page"), url=url()) is not None


@pytest.mark.parametrize("pages", [2, 3, 5])
async def test_of_a_loop_of_canonical_urls_one_page_is_kept_however_often_it_is_visited(pages: int) -> None:
    ledger = Ledger()
    for visit in range(3):
        for number in range(pages):
            own, named = f"http://a.test/{number}", f"http://a.test/{(number + 1) % pages}"
            found = await judge(ledger).judge(read(named), url=url(own))
            ledger.settle(own, reason=None if found is None else found.refusal)
            kept = {each for each, entry in ledger.items() if entry.reason is None}
            assert kept, f"visit {visit} of page {number} lost all"


@pytest.mark.parametrize(
    ("effect", "refusal", "is_kept"),
    [("mark", None, True), ("no-follow", "near-duplicate", True), ("no-keep", "near-duplicate", False)],
)
async def test_a_near_duplicate_names_the_earlier_page(
    tmp_path: Path, effect: Effect, refusal: str | None, is_kept: bool
) -> None:
    known = StoredFingerprints(tmp_path)
    known.add(0b1000, number=1, url="http://b.test/first")
    judges = judge(Ledger(), near=effect, fingerprints=known)
    assert await judges.judge(read("http://www.a.test/best", 0b1110), url=url()) == Repeat(
        near_duplicate_of="http://b.test/first",
        near_distance=2,
        refusal=refusal,
        is_kept=is_kept,
        still_followed="http://www.a.test/best",
    )
    assert await judges.judge(read(simhash=0b1000), url=url("http://b.test/first")) is None
    assert await judges.judge(read(simhash=1 << 60 | 0b1110), url=url()) is not None
    assert await judges.judge(read(simhash=0b111 << 60), url=url()) is None
    assert await judges.judge(read(), url=url()) is None
    await known.aclose()


async def test_a_page_is_no_near_duplicate_of_itself_under_another_form_of_its_url(tmp_path: Path) -> None:
    config = msgspec.convert(
        {"crawl": {"seeds": ["http://a.test/"]}, "duplicates": {"near": "no-keep"}}, Config, strict=False
    )
    async with AsyncExitStack() as stack:
        known = fingerprints(config, tmp_path, URLS, stack)
        known[0].add(7, number=1, url="http://a.test/1;jsessionid=0123456789abcdef0123456789abcdef")
        judges = judge(Ledger(), near="no-keep", fingerprints=known[0])
        assert await judges.judge(read(simhash=7), url=url("http://a.test/1")) is None
        assert await judges.judge(read(simhash=7), url=url("http://a.test/2")) is not None
