"""That the process of a part whose lease has ended asks nobody and stores nothing any more."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import msgspec

from crawler.cluster.boottime import boottime
from crawler.cluster.shared_lease import SharedLease
from crawler.disk.directory import CrawlDirectory
from crawler.parts.line.messages import Progress
from crawler.simweb.params import WorldParams
from crawler.supervise.preparing import lock_parts
from crawler.supervise.process import PartProcess, start
from crawler.testing.loops import in_event_loop
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.wiring.configuration import load
from tests.e2e.crawling import assert_sound, tree
from tests.e2e.parts.in_parts import PartsOfWeb, in_parts, send

WORLD = WorldParams(domain="test", seed=3, hosts=6, pages_per_host=60, links_per_page=8, page_bytes=800)
BRIEF_S = 0.5


@asynccontextmanager
async def _leased(crawl: PartsOfWeb) -> AsyncIterator[tuple[PartProcess, SharedLease]]:
    """A process of the only part that has fetched some pages, and its lease. It is killed at the end of the block."""
    settings = [each for each in crawl.web.options if "=" in each]
    options: dict[str, tuple[str, object]] = {
        "crawl.directory": ("a test", str(crawl.directory)),
        "crawl.seeds": ("a test", [f"http://h{number:05}.test/" for number in range(WORLD.hosts)]),
    }
    loaded = load(None, overrides=[*settings, "politeness.min_delay_s=0.1"], options=options, environ={})
    with closing(SharedLease.made(boottime() + 3600)) as lease:
        with lock_parts(loaded, on_wait=lambda _: None) as plan:
            plan.write_configuration()
            begin = msgspec.structs.replace(plan.begin(0, again=False), lease=lease.descriptor)
            process = await start(CrawlDirectory(plan.directories[0]).log, inherit=[lease.descriptor])
        try:
            process.line.send(begin)
            async with asyncio.timeout(MAX_WAIT_S):
                while not isinstance(message := await process.line.receive(), Progress) or message.status.pages < 3:
                    assert message is not None, "the part has ended"
            yield process, lease
        finally:
            process.kill()
            await process.line.aclose()


def _shorten(lease: SharedLease) -> float:
    """Let the lease end at the returned time."""
    until = boottime() + BRIEF_S
    lease.renew(until)
    return until


def _wait_until_past(until: float) -> None:
    while boottime() <= until:
        time.sleep(0.02)


def _stored(directory: Path) -> dict[str, bytes | None]:
    return {name: content for name, content in tree(directory).items() if not name.startswith("logs")}


def _assert_at_most_one_write_more(before: dict[str, bytes | None], after: dict[str, bytes | None]) -> None:
    """State and output are what they were, unless the process was just about to ask the system to write: then the
    frontier has one change more, or the archive or the records have one page more, and nothing follows it."""
    assert before.keys() == after.keys()
    grown: list[str] = []
    for name, content in after.items():
        earlier = before[name] or b""
        more = (content or b"")[len(earlier) :]
        assert (content or b"").startswith(earlier), name
        if more:
            assert name.startswith(("frontier/", "records/", "warc/")), name
            assert not name.startswith("records/") or more.count(b"\n") <= 1, name
            grown.append(name)
    # The index of an archive is no output of its own: it is made from the archive.
    assert len([name for name in grown if not name.endswith((".cdxj", ".cdxj.open"))]) <= 1, grown


@in_event_loop
async def test_a_process_that_was_stopped_beyond_its_lease_asks_nobody_and_stores_nothing_new(tmp_path: Path) -> None:
    with in_parts(tmp_path, parts=1, params=WORLD) as crawl:
        async with _leased(crawl) as (process, lease):
            until = _shorten(lease)
            send(process.pid, signal.SIGSTOP)
            await asyncio.to_thread(_wait_until_past, until)
            requests, stored = len(crawl.requests()), _stored(crawl.directory / "part-0")
            send(process.pid, signal.SIGCONT)
            async with asyncio.timeout(MAX_WAIT_S):
                assert await process.wait() == "because its lease had ended"
        assert requests
        # The stop may have come between a look at the lease and the request or the write that it allowed.
        assert requests <= len(crawl.requests()) <= requests + 1
        _assert_at_most_one_write_more(stored, _stored(crawl.directory / "part-0"))
        assert_sound(crawl.directory)


@in_event_loop
async def test_a_process_ends_at_the_end_of_its_lease_also_between_two_requests(tmp_path: Path) -> None:
    with in_parts(tmp_path, parts=1, params=WORLD) as crawl:
        async with _leased(crawl) as (process, lease):
            until = _shorten(lease)
            async with asyncio.timeout(MAX_WAIT_S):
                assert await process.wait() == "because its lease had ended"
            assert boottime() >= until
        assert "the lease of this part has ended" in (crawl.directory / "part-0" / "logs" / "crawl.log").read_text()
