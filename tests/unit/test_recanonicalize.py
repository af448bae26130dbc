"""URLs get the names that changed rules give them."""

import msgspec
import pytest

from crawler.discover.recanonicalize import Recanonicalizer
from crawler.page import LinkKind
from crawler.url.urls import QueueBy, UrlReader
from frontier import CrawlUrl, LedgerEntry, UrlState


def naming(*rules: str, queue_by: QueueBy = "host") -> Recanonicalizer:
    return Recanonicalizer(UrlReader(rules=rules, queue_by=queue_by), parallel={})


def url(text: str, canonical: str | None = None, *, via: str | None = None, kind: str = "link") -> CrawlUrl:
    return CrawlUrl(url=text, canonical=canonical or text, queue_key="old", via=via, kind=kind, redirects=1)


def settled(canonical: str, url: str | None, *, via: str | None = None) -> LedgerEntry:
    return LedgerEntry(canonical=canonical, state=UrlState.DONE, number=1, found_at=0, url=url, via=via)


@pytest.mark.parametrize(
    ("before", "fetched", "after", "still_fetched"),
    [
        ("http://a.test/?b=1&a=2", None, "http://a.test/?a=2&b=1", "http://a.test/?b=1&a=2"),
        ("http://a.test/?b=1&a=2#redirect-1", None, "http://a.test/?a=2&b=1#redirect-1", "http://a.test/?b=1&a=2"),
        ("http://a.test/", None, "http://a.test/", None),
        ("http://a.test/?x=1", "http://a.test/?x=1&sid=2", "http://a.test/?sid=2&x=1", "http://a.test/?x=1&sid=2"),
        ("http://a.test/x", "http://a.test/X", "http://a.test/X", None),
    ],
    ids=["canonical", "redirect", "same", "more", "back"],
)
def test_a_settled_url_is_named_by_what_was_fetched(
    before: str, fetched: str | None, after: str, still_fetched: str | None
) -> None:
    found = naming("sort-query").name_settled(settled(before, fetched))
    assert (found.canonical, found.url) == (after, still_fetched)


def test_a_waiting_url_is_named_by_what_is_fetched_so_that_what_was_removed_comes_back() -> None:
    found = naming().name_pending(url("http://a.test/?utm_source=x", "http://a.test/"))
    assert (found.canonical, found.queue_key) == ("http://a.test/?utm_source=x", "test,a")
    found = naming("strip-www", queue_by="domain").name_pending(url("http://www.a.test/"))
    assert (found.canonical, found.queue_key) == ("http://a.test/", "test,a")


@pytest.mark.parametrize("kind", [LinkKind.REDIRECT, LinkKind.EMBED])
def test_a_redirect_that_leads_to_the_same_name_is_not_lost_in_what_led_to_it(kind: LinkKind) -> None:
    target = url("http://a.test/x/", via="http://a.test/x", kind=kind)
    found = naming("trailing-slash").name_pending(target)
    assert (found.canonical, found.kind) == ("http://a.test/x#redirect-1", kind)
    assert naming().name_pending(target) == msgspec.structs.replace(target, queue_key="test,a")


def test_an_embed_without_a_redirect_that_has_the_name_of_its_page_is_that_page() -> None:
    embed = msgspec.structs.replace(url("http://a.test/x/", via="http://a.test/x", kind=LinkKind.EMBED), redirects=0)
    assert naming("trailing-slash").name_pending(embed).canonical == "http://a.test/x"


def test_a_page_after_a_redirect_that_has_another_name_by_now_has_the_name_of_a_page() -> None:
    """Its record gives it this name, too, and so do links."""
    target, canonical = "http://a.test/x/", "http://a.test/x#redirect-1"
    waits = url(target, canonical, via="http://a.test/x", kind=LinkKind.REDIRECT)
    done = settled(canonical, target, via="http://a.test/x")
    for each, name in ((naming("trailing-slash"), canonical), (naming(), target)):
        assert each.name_pending(waits).canonical == each.name_settled(done).canonical == name
    check = msgspec.structs.replace(done, canonical="http://a.test/x#external-1")
    assert naming().name_settled(check).canonical == "http://a.test/x/#external-1"


def test_the_urls_of_a_giant_host_stand_in_its_queues() -> None:
    found = Recanonicalizer(UrlReader(), parallel={"test,a": 4}).name_pending(url("http://a.test/x"))
    assert found.queue_key.startswith("test,a#")
