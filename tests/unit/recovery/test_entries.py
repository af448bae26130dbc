"""A URL of the ledger is fetched again as it was fetched before."""

import pytest

from config import load
from crawler.wiring.components.discovering import url_reader
from crawler.wiring.recovery.entries import RecordUrls
from frontier import LedgerEntry, UrlState


def urls() -> RecordUrls:
    agent = 'fetch.user_agent="tests/1.0 (us@our.site)"'
    loaded = load(None, overrides=['crawl.seeds=["http://a.test/"]', agent], environ={})
    return RecordUrls(loaded.config, url_reader(loaded))


@pytest.mark.parametrize("kind", ["seed", "link", "redirect", "embed", "css", "sitemap"])
def test_the_ledger_tells_it_whatever_is_left_of_the_output(kind: str) -> None:
    entry = LedgerEntry(
        canonical="http://a.test/x#redirect-2",
        state=UrlState.DONE,
        number=1,
        found_at=0,
        via=None if kind == "seed" else "http://a.test/robots.txt",
        url="http://a.test/x?utm_source=1",
        kind=kind,
        depth=7,
    )
    url = urls().of_entry(entry)
    assert url is not None
    assert (url.url, url.canonical, url.kind, url.depth) == (entry.url, entry.canonical, kind, 7)


@pytest.mark.parametrize(
    ("via", "mark", "found"),
    [
        (None, "", ("seed", 0)),
        ("http://a.test/robots.txt", "", ("sitemap", 0)),
        ("http://a.test/", "", ("link", 1)),
        ("http://a.test/", "#redirect-2", ("redirect", 1)),
    ],
    ids=["seed", "sitemap", "link", "redirect"],
)
def test_what_led_to_a_url_tells_it_if_the_ledger_does_not(via: str | None, mark: str, found: tuple[str, int]) -> None:
    entry = LedgerEntry(canonical=f"http://a.test/x{mark}", state=UrlState.DONE, number=1, found_at=0, via=via)
    url = urls().of_entry(entry)
    assert url is not None
    assert (url.kind, url.depth) == found
