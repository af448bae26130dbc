"""A URL of the ledger is fetched again as it was fetched before."""

import pytest

from config import load
from crawler.page import LinkKind
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
    url = urls().of_entry(entry, depth=0, kind=None)
    assert url is not None
    assert (url.url, url.canonical, url.kind, url.depth) == (entry.url, entry.canonical, kind, 7)


@pytest.mark.parametrize(
    ("told", "depth", "found"),
    [(None, 0, ("link", 1)), (LinkKind.EMBED, 4, ("embed", 4)), (LinkKind.SITEMAP, 0, ("sitemap", 0))],
    ids=["nothing", "embed", "sitemap"],
)
def test_the_output_tells_it_if_the_ledger_has_lost_it(
    told: LinkKind | None, depth: int, found: tuple[str, int]
) -> None:
    entry = LedgerEntry(canonical="http://a.test/x", state=UrlState.DONE, number=1, found_at=0, via="http://a.test/")
    url = urls().of_entry(entry, depth=depth, kind=told)
    assert url is not None
    assert (url.kind, url.depth) == found
