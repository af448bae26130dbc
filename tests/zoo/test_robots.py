"""That every behaviour is a verdict when it is met for robots.txt."""

import asyncio
from pathlib import Path

from crawler.fetch.robots.cache import RobotsCache
from crawler.fetch.robots.robots_txt import RobotsAtOnce, RobotsTxt
from crawler.fetch.robots.status import RobotsLifetimes
from crawler.page import ROBOTS_FAILURES, Verdict
from crawler.politeness.pace import parse_retry_after
from frontier.memory.notes import MemoryNotes
from tests.fetchers import http_fetcher
from tests.zoo.keeper import LIMITS, OUTCOMES, open_zoo

NO_ANSWER = ("failed", "page 429", "page 5")


async def test_each_server_is_asked_once_and_gives_a_verdict(tmp_path: Path) -> None:
    async with open_zoo(tmp_path, robots=True) as zoo:
        fetcher = http_fetcher(
            hosts=zoo.hosts,
            authorities=[zoo.authorities],
            max_body_bytes=600_000,
            **LIMITS,  # type: ignore[arg-type]
        )
        robots = RobotsTxt(
            fetcher,
            RobotsCache(MemoryNotes(), agent="onceover"),
            lifetimes=RobotsLifetimes(min_delay_s=0.0),
            read_retry_after=parse_retry_after,
        )
        places = asyncio.Semaphore(30)

        async def one(name: str) -> Verdict:
            async with places:
                return await RobotsAtOnce(robots, rest_s=0.0).allows(zoo.url(name))

        try:
            verdicts = dict(zip(OUTCOMES, await asyncio.gather(*map(one, OUTCOMES)), strict=True))
            for name, verdict in verdicts.items():
                assert robots.crawl_delay(zoo.url(name)) is None
                assert verdict.allowed == (verdict.reason not in {"unreachable", *ROBOTS_FAILURES}), name
                refused = "private-address" in (verdict.message or "")
                assert verdict.asked or name == "nobody-listens" or refused, name
                if OUTCOMES[name].startswith(NO_ANSWER):
                    assert not verdict.allowed, name
                    assert (verdict.message or "").isprintable(), name
        finally:
            await fetcher.aclose()
