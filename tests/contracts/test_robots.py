"""What every `Robots` promises."""

import asyncio
from collections.abc import Callable

import pytest

from crawler.fetch.robots.cache import RobotsCache
from crawler.fetch.robots.robots_txt import NoRobots, RobotsTxt
from crawler.page import Failure, FailureKind, Fetched, Page, Request
from crawler.politeness.pace import parse_retry_after
from crawler.protocols import Robots


class Origin:
    """A fetcher for one file; counts how often it is asked."""

    def __init__(self, text: bytes | None) -> None:
        self.text = text
        self.asked = 0

    async def fetch(self, request: Request, /) -> Fetched:
        self.asked += 1
        await asyncio.sleep(0)
        if self.text is None:
            return Failure(url=request.url, kind=FailureKind.TIMEOUT, message="-", fetched_at=0, duration_s=0.25)
        return Page(
            url=request.url,
            status=200,
            headers=[],
            fetched_at=0,
            duration_s=0.25,
            body=self.text,
            raw_body=self.text,
        )


Make = Callable[[Origin], Robots]


def robots_txt(origin: Origin) -> Robots:
    return RobotsTxt(origin, RobotsCache(agent="onceover"), read_retry_after=parse_retry_after)


def no_robots(_: Origin) -> Robots:
    return NoRobots()


KINDS: list[Make] = [robots_txt, no_robots]


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Make:
    kind: Make = request.param
    return kind


async def test_what_nobody_forbids_is_allowed(make: Make) -> None:
    verdict = await make(Origin(b"User-agent: *\nDisallow: /private")).allows("http://a.test/public")
    assert verdict.allowed
    assert verdict.reason


async def test_a_file_is_asked_for_once_however_many_ask(make: Make) -> None:
    origin = Origin(b"")
    robots = make(origin)
    await asyncio.gather(*(robots.allows(f"http://a.test/{number}") for number in range(20)))
    await robots.allows("http://a.test/later")
    assert origin.asked <= 1


async def test_a_verdict_that_waited_for_a_request_says_so_and_no_other_does(make: Make) -> None:
    origin = Origin(b"")
    robots = make(origin)
    first = await robots.allows("http://a.test/")
    assert first.asked is (origin.asked == 1)
    assert (first.duration_s > 0) is first.asked
    assert not (await robots.allows("http://a.test/")).asked


async def test_who_disallows_for_want_of_a_file_says_when_to_ask_again(make: Make) -> None:
    verdict = await make(Origin(None)).allows("http://a.test/")
    assert verdict.allowed is (verdict.retry_after_s is None)
    assert verdict.allowed or verdict.message


async def test_crawl_delay_of_an_unknown_host_is_unknown(make: Make) -> None:
    assert make(Origin(b"User-agent: *\nCrawl-delay: 3")).crawl_delay("http://a.test/") is None
