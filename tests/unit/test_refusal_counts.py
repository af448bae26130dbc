"""What traps and quotas kept out of a crawl is counted by rule and host, and outlives a restart."""

import msgspec
import pytest

from crawler.discover.discovery import ScopedDiscovery
from crawler.discover.quota import OverQuota, PageLimits, PageQuota
from crawler.discover.refusal_counts import (
    EXAMPLES,
    PREFIX,
    QuotaCounter,
    RefusalCount,
    RefusalCounts,
    TrapCounter,
    decode_refusal_count,
)
from crawler.discover.scope import Scope
from crawler.discover.traps import Trap
from crawler.page import Link, LinkKind, Redirect
from crawler.steps import run_all
from crawler.url.urls import UrlReader
from frontier import CrawlUrl
from frontier.memory.notes import MemoryNotes

SEED = "https://a.test/"


class Notebook(MemoryNotes):
    """Notes, of which it is known how many were written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: dict[str, int] = {}

    def put(self, key: str, value: bytes, /) -> None:
        self.written[key] = self.written.get(key, 0) + 1
        super().put(key, value)


def told(notes: Notebook) -> dict[str, RefusalCount]:
    """By rule and host."""
    found = {}
    for key in notes.written:
        if key.startswith(PREFIX):
            note = notes.get(key)
            assert note is not None
            found[key.removeprefix(PREFIX)] = decode_refusal_count(note)
    return found


def discovery(notes: Notebook) -> TrapCounter:
    reader = UrlReader()
    inner = ScopedDiscovery(urls=reader, scope=Scope(within="any", seeds=[reader.seed(SEED)]))
    return TrapCounter(lambda: inner, RefusalCounts(notes))


def test_refusals_by_traps_are_counted_by_rule_and_host_over_restarts() -> None:
    notes = Notebook()
    hrefs = ["/x/x/x/x/", "/?a=1&a=1&a=1", "http://b.test/y/y/y/y/", "mailto:a@b.test", "/fine"]
    links = [Link(href, LinkKind.LINK) for href in hrefs]
    page = CrawlUrl(url=SEED, canonical=SEED, queue_key="test,a", kind=LinkKind.LINK, depth=1)
    for _ in range(2):
        found = run_all(discovery(notes).links(SEED, links, parent=page))
        assert [url.url for url in found.urls] == ["https://a.test/fine"]
    location = Redirect(url=SEED, status=302, headers=[], fetched_at=0.0, duration_s=0.0, location="/z/z/z/z")
    assert discovery(notes).redirect(location, parent=page) is Trap.REPEATED_SEGMENTS
    assert told(notes) == {
        "repeated-segments a.test": RefusalCount(3, ["https://a.test/x/x/x/x/", "https://a.test/z/z/z/z"]),
        "query-growth a.test": RefusalCount(2, ["https://a.test/?a=1&a=1&a=1"]),
        "repeated-segments b.test": RefusalCount(2, ["http://b.test/y/y/y/y/"]),
    }


def test_refusals_by_quotas_are_counted_too() -> None:
    notes = Notebook()
    quota = QuotaCounter(PageQuota(notes, lambda _: PageLimits(per_host=1)), RefusalCounts(notes))
    assert quota.refusal("http://a.test/1") is None
    quota.spend("http://a.test/1")
    assert quota.refusal("http://a.test/2") is OverQuota.HOST
    assert told(notes) == {"pages-per-host a.test": RefusalCount(1, ["http://a.test/2"])}


def test_a_page_of_traps_is_written_once_per_host_and_keeps_few_examples() -> None:
    notes = Notebook()
    urls = [f"https://a.test/{number}/" for number in range(1000)]
    RefusalCounts(notes).count([(url, Trap.CALENDAR) for url in urls])
    assert told(notes) == {"calendar a.test": RefusalCount(1000, urls[:EXAMPLES])}
    assert notes.written["refused calendar a.test"] == 1


def test_hosts_without_end_are_counted_without_names_also_after_a_restart() -> None:
    notes = Notebook()
    for number in range(20):
        RefusalCounts(notes, max_hosts=5).count([(f"https://h{number}.test/", Trap.CALENDAR)])
    found = told(notes)
    assert len(found) == 6
    assert found["calendar "] == RefusalCount(15, [])
    assert sum(each.count for each in found.values()) == 20


def test_an_endless_url_is_counted_and_not_kept() -> None:
    notes = Notebook()
    RefusalCounts(notes).count([("https://a.test/" + "x" * 10_000, Trap.CALENDAR)])
    assert told(notes) == {"calendar a.test": RefusalCount(1, [])}


@pytest.mark.parametrize("damaged", ["refused", "refused calendar a.test"])
def test_a_note_that_cannot_be_read_begins_anew(damaged: str) -> None:
    notes = Notebook()
    notes.put(damaged, b"\xc1")
    RefusalCounts(notes).count([("https://a.test/", Trap.CALENDAR)])
    assert told(notes)["calendar a.test"].count == 1
    assert msgspec.msgpack.decode(notes.get("refused") or b"") == 1
