"""What every `Robots` promises."""

import asyncio

from crawler.page import Failure, FailureKind, Fetched, LinkKind, Page, Request
from crawler.seams import Robots
from crawler.testing.loops import in_event_loop


class Origin:
    """A fetcher of one robots.txt, or of none. It counts the requests."""

    def __init__(self, text: bytes | None) -> None:
        self._text = text
        self.requests = 0

    async def fetch(self, request: Request, /) -> Fetched:
        self.requests += 1
        await asyncio.sleep(0)
        if self._text is None:
            return Failure(url=request.url, kind=FailureKind.TIMEOUT, message="-", fetched_at=0, duration_s=0.25)
        return Page(
            url=request.url, status=200, headers=[], fetched_at=0, duration_s=0.25, body=self._text, raw_body=self._text
        )

    async def aclose(self) -> None: ...


class RobotsContract:
    """What every reader of robots.txt promises."""

    def make_robots(self, origin: Origin) -> Robots:
        """One that fetches robots.txt from `origin`, if at all."""
        raise NotImplementedError(f"{type(self).__name__} needs a method `make_robots`")

    @in_event_loop
    async def test_a_url_that_no_rule_forbids_is_allowed(self) -> None:
        robots = self.make_robots(Origin(b"User-agent: *\nDisallow: /private"))
        verdict = await robots.allows("http://a.test/public")
        assert verdict.allowed
        assert verdict.reason

    @in_event_loop
    async def test_who_reads_the_file_obeys_it(self) -> None:
        origin = Origin(b"User-agent: *\nDisallow: /private\nCrawl-delay: 3")
        robots = self.make_robots(origin)
        verdict = await robots.allows("http://a.test/private")
        assert verdict.allowed is (origin.requests == 0)
        assert verdict.reason
        assert robots.crawl_delay("http://a.test/private") == (3 if origin.requests else None)

    @in_event_loop
    async def test_the_sitemaps_of_a_file_are_told_once(self) -> None:
        origin = Origin(b"User-agent: *\nDisallow:\n\nSitemap: http://a.test/map.xml")
        robots = self.make_robots(origin)
        assert list(robots.new_sitemaps("http://a.test/")) == []
        await robots.allows("http://a.test/")
        told = [(each.href, each.kind, bool(each.text)) for each in robots.new_sitemaps("http://a.test/")]
        assert told == ([("http://a.test/map.xml", LinkKind.SITEMAP, True)] if origin.requests else [])
        assert list(robots.new_sitemaps("http://a.test/")) == []

    @in_event_loop
    async def test_a_file_is_fetched_once_however_many_ask(self) -> None:
        origin = Origin(b"")
        robots = self.make_robots(origin)
        await asyncio.gather(*(robots.allows(f"http://a.test/{number}") for number in range(20)))
        await robots.allows("http://a.test/later")
        assert origin.requests <= 1

    @in_event_loop
    async def test_what_is_known_takes_no_request(self) -> None:
        origin = Origin(b"")
        robots = self.make_robots(origin)
        was_known = robots.is_known("http://a.test/")
        await robots.allows("http://a.test/")
        assert was_known is (origin.requests == 0)
        assert robots.is_known("http://a.test/other")

    @in_event_loop
    async def test_only_a_verdict_that_waited_for_a_request_says_so(self) -> None:
        origin = Origin(b"")
        robots = self.make_robots(origin)
        first = await robots.allows("http://a.test/")
        assert first.asked is (origin.requests == 1)
        assert (first.duration_s > 0) is first.asked
        assert not (await robots.allows("http://a.test/")).asked

    @in_event_loop
    async def test_a_verdict_without_a_file_says_when_to_ask_again_if_it_forbids(self) -> None:
        verdict = await self.make_robots(Origin(None)).allows("http://a.test/")
        assert verdict.allowed is (verdict.retry_after_s is None)
        assert verdict.allowed or verdict.message

    def test_the_crawl_delay_of_an_unknown_host_is_unknown(self) -> None:
        assert self.make_robots(Origin(b"User-agent: *\nCrawl-delay: 3")).crawl_delay("http://a.test/") is None
