"""URLs get the names that changed rules give them."""

import pytest

from crawler.discover.recanonicalize import Recanonicalizer
from crawler.page import LinkKind
from crawler.url.urls import QueueBy, UrlReader
from frontier import CrawlUrl


def naming(*rules: str, queue_by: QueueBy = "host") -> Recanonicalizer:
    return Recanonicalizer(UrlReader(rules=rules, queue_by=queue_by), parallel={})


def url(text: str, canonical: str | None = None, *, via: str | None = None, kind: str = "link") -> CrawlUrl:
    return CrawlUrl(url=text, canonical=canonical or text, queue_key="old", via=via, kind=kind, redirects=1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("http://a.test/?b=1&a=2", "http://a.test/?a=2&b=1"),
        ("http://a.test/?b=1&a=2#redirect-1", "http://a.test/?a=2&b=1#redirect-1"),
        ("http://a.test/", "http://a.test/"),
    ],
)
def test_a_settled_url_is_named_by_the_form_it_had(before: str, after: str) -> None:
    assert naming("sort-query").name_settled(before) == after


def test_a_waiting_url_is_named_by_what_is_fetched_so_that_what_was_removed_comes_back() -> None:
    found = naming().name_pending(url("http://a.test/?utm_source=x", "http://a.test/"))
    assert (found.canonical, found.queue_key) == ("http://a.test/?utm_source=x", "test,a")
    found = naming("strip-www", queue_by="domain").name_pending(url("http://www.a.test/"))
    assert (found.canonical, found.queue_key) == ("http://a.test/", "test,a")


def test_a_redirect_that_leads_to_the_same_name_is_not_lost_in_what_led_to_it() -> None:
    target = url("http://a.test/x/", via="http://a.test/x", kind=LinkKind.REDIRECT)
    assert naming("trailing-slash").name_pending(target).canonical == "http://a.test/x#redirect-1"
    assert naming().name_pending(target).canonical == "http://a.test/x/"


def test_the_urls_of_a_giant_host_stand_in_its_queues() -> None:
    found = Recanonicalizer(UrlReader(), parallel={"test,a": 4}).name_pending(url("http://a.test/x"))
    assert found.queue_key.startswith("test,a#")
