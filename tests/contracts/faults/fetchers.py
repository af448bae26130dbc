"""Fetchers, readers of robots.txt and canonical rules with one fault each."""

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import urljoin

from msgspec.structs import replace

from crawler.fetch.robots.status import NONE
from crawler.page import Failure, Fetched, Link, LinkKind, Page, Redirect, Request, Verdict
from crawler.seams import Fetcher, Robots
from crawler.testing import CanonicalRuleContract, FetcherContract, RobotsContract
from crawler.testing.fetch.robots import Origin
from crawler.url.components import Rule, UrlComponents


class Passing:
    """A correct fetcher, which passes requests on."""

    def __init__(self, http: Fetcher) -> None:
        self.http = http

    async def fetch(self, request: Request, /) -> Fetched:
        return await self.http.fetch(request)

    async def aclose(self) -> None: ...


class TestGood(FetcherContract):
    FAILS = ()

    def make_fetcher(self, http: Fetcher) -> Fetcher:
        return Passing(http)


class Raising(Passing):
    async def fetch(self, request: Request, /) -> Fetched:
        fetched = await self.http.fetch(request)
        if isinstance(fetched, Failure):
            raise ConnectionError(fetched.message)
        return fetched


class TestRaising(FetcherContract):
    FAILS = ("test_whatever_a_server_does_is_a_value[/reset]", "test_no_server_spoils_the_next")

    def make_fetcher(self, http: Fetcher) -> Fetcher:
        return Raising(http)


class Following(Passing):
    async def fetch(self, request: Request, /) -> Fetched:
        fetched = await self.http.fetch(request)
        if isinstance(fetched, Redirect) and not request.url.endswith("/loop"):
            return await self.http.fetch(Request(url=urljoin(request.url, fetched.location)))
        return fetched


class TestFollowing(FetcherContract):
    FAILS = ("test_redirects_are_not_followed", "test_whatever_a_server_does_is_a_value[/redirect]")

    def make_fetcher(self, http: Fetcher) -> Fetcher:
        return Following(http)


class Uncancellable(Passing):
    """The fetch goes on without the one who asked for it."""

    async def fetch(self, request: Request, /) -> Fetched:
        return await asyncio.shield(asyncio.ensure_future(self.http.fetch(request)))


class TestUncancellable(FetcherContract):
    FAILS = ("test_cancelled_it_closes_the_connection_and_raises[/wait]",)
    max_wait_s = 1.0

    def make_fetcher(self, http: Fetcher) -> Fetcher:
        return Uncancellable(http)


class Swallowing(Passing):
    async def fetch(self, request: Request, /) -> Fetched:
        try:
            return await self.http.fetch(request)
        except asyncio.CancelledError:
            return await self.http.fetch(Request(url=request.url.replace("/wait", "/page")))


class TestSwallowing(FetcherContract):
    FAILS = ("test_cancelled_it_closes_the_connection_and_raises[/wait]",)

    def make_fetcher(self, http: Fetcher) -> Fetcher:
        return Swallowing(http)


class Mixing(Passing):
    """Each page has the body of the one before."""

    def __init__(self, http: Fetcher) -> None:
        super().__init__(http)
        self.body = b""

    async def fetch(self, request: Request, /) -> Fetched:
        fetched = await self.http.fetch(request)
        if isinstance(fetched, Page):
            before, self.body = self.body, fetched.body
            return replace(fetched, body=before)
        return fetched


class TestMixing(FetcherContract):
    FAILS = ("test_fetches_do_not_mix",)

    def make_fetcher(self, http: Fetcher) -> Fetcher:
        return Mixing(http)


class Decoding(Passing):
    """Hands on headers as texts, as many clients have them."""

    async def fetch(self, request: Request, /) -> Fetched:
        fetched = await self.http.fetch(request)
        if isinstance(fetched, Page):
            headers: Any = [(name.decode(), value.decode()) for name, value in fetched.headers]
            return replace(fetched, headers=headers)
        return fetched


class TestDecoding(FetcherContract):
    FAILS = (
        "test_whatever_a_server_does_is_a_value[/page]",
        "test_a_page_has_the_status_and_the_headers_of_the_response[/page-200]",
    )

    def make_fetcher(self, http: Fetcher) -> Fetcher:
        return Decoding(http)


class Smoothing(Passing):
    """Takes what came for all, whatever the server said."""

    async def fetch(self, request: Request, /) -> Fetched:
        fetched = await self.http.fetch(request)
        return replace(fetched, status=200, truncated=None) if isinstance(fetched, Page) else fetched


class TestSmoothing(FetcherContract):
    FAILS = (
        "test_a_page_has_the_status_and_the_headers_of_the_response[/missing-404]",
        "test_a_page_that_was_not_received_to_its_end_says_so[/cut]",
        "test_a_page_that_was_not_received_to_its_end_says_so[/endless]",
    )

    def make_fetcher(self, http: Fetcher) -> Fetcher:
        return Smoothing(http)


class AskingAnew(Passing):
    """Asks for the URL, and for nothing else that the request has."""

    async def fetch(self, request: Request, /) -> Fetched:
        return await self.http.fetch(Request(url=request.url))


class TestAskingAnew(FetcherContract):
    FAILS = ("test_a_copy_that_the_crawl_has_is_asked_for_with_its_validators",)

    def make_fetcher(self, http: Fetcher) -> Fetcher:
        return AskingAnew(http)


class NoRobots:
    """Allows everything without a request. It is correct."""

    def prerequisite(self, url: str, /) -> str | None:
        return None

    def is_known(self, url: str, /) -> bool:
        return True

    async def allows(self, url: str, /, *, prerequisite: str | None = None) -> Verdict:
        return NONE

    def crawl_delay(self, url: str, /) -> float | None:
        return None

    def new_sitemaps(self, url: str, /) -> Sequence[Link]:
        return ()


class TestNoRobots(RobotsContract):
    FAILS = ()

    def make_robots(self, origin: Origin) -> Robots:
        return NoRobots()


class Restless(NoRobots):
    """Fetches the file for each URL, and does not say so."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin

    async def allows(self, url: str, /, *, prerequisite: str | None = None) -> Verdict:
        await self.origin.fetch(Request(url=url))
        return await super().allows(url, prerequisite=prerequisite)


class TestRestless(RobotsContract):
    FAILS = (
        "test_a_file_is_fetched_once_however_many_ask",
        "test_what_is_known_takes_no_request",
        "test_only_a_verdict_that_waited_for_a_request_says_so",
    )

    def make_robots(self, origin: Origin) -> Robots:
        return Restless(origin)


class Careless(NoRobots):
    """Fetches the file, obeys no rule of it, and tells its sitemaps again and again."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.sitemaps: list[Link] = []

    def is_known(self, url: str, /) -> bool:
        return bool(self.sitemaps)

    async def allows(self, url: str, /, *, prerequisite: str | None = None) -> Verdict:
        await self.origin.fetch(Request(url=url))
        self.sitemaps = [Link("http://a.test/map.xml", LinkKind.SITEMAP, "Sitemap")]
        return NONE

    def new_sitemaps(self, url: str, /) -> Sequence[Link]:
        return self.sitemaps


class TestCareless(RobotsContract):
    FAILS = ("test_who_reads_the_file_obeys_it", "test_the_sitemaps_of_a_file_are_told_once")

    def make_robots(self, origin: Origin) -> Robots:
        return Careless(origin)


class Wordless(NoRobots):
    """Does not tell a sitemap that the file names from one that may be there."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.has_asked = False
        self.sitemaps: list[Link] = []

    def is_known(self, url: str, /) -> bool:
        return self.has_asked

    async def allows(self, url: str, /, *, prerequisite: str | None = None) -> Verdict:
        if self.has_asked:
            return NONE
        self.has_asked, self.sitemaps = True, [Link("http://a.test/map.xml", LinkKind.SITEMAP)]
        await self.origin.fetch(Request(url=url))
        return replace(NONE, asked=True)

    def new_sitemaps(self, url: str, /) -> Sequence[Link]:
        told, self.sitemaps = self.sitemaps, []
        return told


class TestWordless(RobotsContract):
    FAILS = ("test_who_reads_the_file_obeys_it", "test_the_sitemaps_of_a_file_are_told_once")

    def make_robots(self, origin: Origin) -> Robots:
        return Wordless(origin)


class Severe(NoRobots):
    async def allows(self, url: str, /, *, prerequisite: str | None = None) -> Verdict:
        return Verdict(allowed=False, reason="robots")


class TestSevere(RobotsContract):
    FAILS = (
        "test_a_url_that_no_rule_forbids_is_allowed",
        "test_a_verdict_without_a_file_says_when_to_ask_again_if_it_forbids",
    )

    def make_robots(self, origin: Origin) -> Robots:
        return Severe()


def drop_last_segment(url: UrlComponents) -> UrlComponents:
    return replace(url, path=url.path.rstrip("/").rpartition("/")[0] + "/")


class TestNotItsOwnForm(CanonicalRuleContract):
    FAILS = ("test_it_makes_a_url_of_a_url", "test_it_makes_a_url_of_any_url")

    def make_rule(self) -> Rule:
        return drop_last_segment


def drop_path(url: UrlComponents) -> UrlComponents:
    return replace(url, path="")


class TestNoUrl(CanonicalRuleContract):
    FAILS = ("test_it_makes_a_url_of_a_url",)

    def make_rule(self) -> Rule:
        return drop_path


class TestCounting(CanonicalRuleContract):
    FAILS = ("test_it_depends_on_the_url_alone",)

    def make_rule(self) -> Rule:
        seen: list[UrlComponents] = []

        def number(url: UrlComponents) -> UrlComponents:
            seen.append(url)
            return replace(url, query=f"{len(seen)}")

        return number
