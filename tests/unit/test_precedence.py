"""Policies laid around discovery."""

from collections.abc import Sequence

import pytest

from crawler.discover.precedence import OrderedDiscovery, cost_of
from crawler.page import Link, LinkDetail, Redirect
from crawler.protocols import Discovered
from crawler.steps import Steps, run_all
from frontier import CrawlUrl


def url(path: str, *, depth: int = 1, kind: str = "link", precedence: int | None = None) -> CrawlUrl:
    found = f"http://a.test/{path}"
    return CrawlUrl(
        url=found,
        canonical=found,
        queue_key="test,a",
        depth=depth,
        kind=kind,
        precedence=depth if precedence is None else precedence,
    )


class Found:
    """A discovery that has found certain URLs."""

    def __init__(self, *urls: CrawlUrl) -> None:
        self.urls = list(urls)

    def seeds(self, urls: Sequence[str], /) -> list[CrawlUrl]:
        return self.urls

    def links(self, base_url: str, links: Sequence[Link], /, *, parent: CrawlUrl, about: str = "") -> Steps[Discovered]:
        yield
        return Discovered(urls=self.urls, refused={"nofollow": 1})

    def references(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[str]]:
        yield
        return [parent.canonical, *(url.canonical for url in found.urls)]

    def link_details(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[LinkDetail]]:
        yield
        return [LinkDetail(url=url.url, kind=url.kind) for url in found.urls]

    def sitemaps(self, links: Sequence[Link], /, *, parent: CrawlUrl) -> Steps[Discovered]:
        yield
        return Discovered(urls=self.urls, refused={})

    def redirect(self, redirect: Redirect, /, *, parent: CrawlUrl) -> CrawlUrl | str:
        return "redirect-loop" if not self.urls else self.urls[0]


def order(ordered: OrderedDiscovery) -> list[str]:
    """The paths in the order in which one queue would give them out."""
    found = run_all(ordered.links("http://a.test/", [], parent=url("", depth=0)))
    assert found.refused == {"nofollow": 1}
    return [each.url.rpartition("/")[2] for each in sorted(found.urls, key=lambda each: each.precedence)]


FOUND = Found(url("deep", depth=5), url("near", depth=1), url("image", depth=2, kind="embed"), url("far", depth=300))


def test_depth_first_takes_what_is_farthest_from_a_seed_first() -> None:
    assert order(OrderedDiscovery(FOUND, order="depth-first")) == ["far", "deep", "image", "near"]


def test_breadth_first_takes_urls_as_they_come() -> None:
    assert order(OrderedDiscovery(FOUND, order="breadth-first")) == ["deep", "near", "image", "far"]


def test_embeds_go_before_all_pages_where_that_is_asked_for() -> None:
    assert order(OrderedDiscovery(FOUND, order="depth-first", embeds_first=True)) == ["image", "far", "deep", "near"]
    assert order(OrderedDiscovery(FOUND, embeds_first=True)) == ["image", "near", "deep", "far"]


def test_cheap_urls_go_first_by_cost() -> None:
    found = Found(url("x?a=1&b=2"), url("a/b/c/d/e/f/g/h/i"), url("plain"))
    assert order(OrderedDiscovery(found, order="cost")) == ["plain", "x?a=1&b=2", "i"]


@pytest.mark.parametrize(
    ("found", "cost"),
    [
        ("http://a.test/", 1),
        ("http://a.test/x?a=1", 2),
        ("http://a.test/x?a=1&b=2", 3),
        ("http://a.test/1/2/3/4/5/", 2),
    ],
)
def test_a_guess_charges_parameters_and_depth_of_path(found: str, cost: int) -> None:
    assert cost_of(found) == cost


def test_a_guessed_cost_travels_with_the_url() -> None:
    found = run_all(OrderedDiscovery(Found(url("x?a=1")), costs="guess").links("http://a.test/", [], parent=url("")))
    assert [each.cost for each in found.urls] == [2]


def test_a_giant_host_has_several_queues_and_each_url_always_the_same() -> None:
    many = Found(*(url(f"{number}") for number in range(200)), CrawlUrl(url="b", canonical="b", queue_key="test,b"))
    ordered = OrderedDiscovery(many, parallel={"test,a": 4})
    keys = [each.queue_key for each in run_all(ordered.links("http://a.test/", [], parent=url(""))).urls]
    assert set(keys) == {"test,a#0", "test,a#1", "test,a#2", "test,a#3", "test,b"}
    assert min(keys.count(f"test,a#{number}") for number in range(4)) > 25
    assert [each.queue_key for each in ordered.seeds([])] == keys
    assert [each.queue_key for each in run_all(ordered.sitemaps([], parent=url(""))).urls] == keys


def test_seeds_and_redirects_keep_their_precedence() -> None:
    ordered = OrderedDiscovery(Found(url("seed", depth=0, precedence=0)), order="depth-first")
    assert [each.precedence for each in ordered.seeds([])] == [0]
    redirect = Redirect(url="http://a.test/", status=301, headers=[], fetched_at=0.0, duration_s=0.0, location="/seed")
    target = ordered.redirect(redirect, parent=url(""))
    assert isinstance(target, CrawlUrl)
    assert target.precedence == 0
    assert OrderedDiscovery(Found()).redirect(redirect, parent=url("")) == "redirect-loop"
