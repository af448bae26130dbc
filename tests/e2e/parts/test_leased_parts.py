"""That the process of a part whose lease has ended asks nobody and stores nothing any more."""

import asyncio
import signal
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import msgspec

from crawler.cluster.boottime import boottime
from crawler.cluster.shared_lease import SharedLease
from crawler.disk.directory import CrawlDirectory
from crawler.parts.line.messages import FromPart, Progress
from crawler.simweb.params import WorldParams
from crawler.supervise.preparing import lock_parts
from crawler.supervise.process import PartProcess, start
from crawler.testing.loops import in_event_loop
from crawler.wiring.configuration import load
from tests.e2e.crawling import assert_sound, tree
from tests.e2e.parts.in_parts import PartsOfWeb, in_parts, send
from tests.timeouts import MAX_WAIT_S

WORLD = WorldParams(domain="test", seed=3, hosts=6, pages_per_host=60, links_per_page=8, page_bytes=800)
BRIEF_S = 0.5


async def _started(crawl: PartsOfWeb, lease: SharedLease) -> PartProcess:
    """A process of the only part, with this lease, that has fetched some pages."""
    settings = [each for each in crawl.web.options if "=" in each]
    options: dict[str, tuple[str, object]] = {
        "crawl.directory": ("a test", str(crawl.directory)),
        "crawl.seeds": ("a test", [f"http://h{number:05}.test/" for number in range(WORLD.hosts)]),
    }
    loaded = load(None, overrides=[*settings, "politeness.min_delay_s=0.1"], options=options, environ={})
    with lock_parts(loaded, version=version("onceover-crawler"), on_wait=lambda _: None) as plan:
        plan.write_configuration()
        begin = msgspec.structs.replace(plan.begin(0, again=False), lease=lease.descriptor)
        process = await start(CrawlDirectory(plan.directories[0]).log, inherit=[lease.descriptor])
    process.line.send(begin)
    await _heard(process, lambda message: isinstance(message, Progress) and message.status.pages >= 3)
    return process


async def _heard(process: PartProcess, is_meant: Callable[[FromPart], bool]) -> None:
    async with asyncio.timeout(MAX_WAIT_S):
        while not is_meant(message := await process.line.receive() or _fail()):
            assert message is not None


def _fail() -> FromPart:
    raise AssertionError("the part has ended")


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
        lease = SharedLease.made(boottime() + 3600)
        process = await _started(crawl, lease)
        try:
            until = _shorten(lease)
            send(process.pid, signal.SIGSTOP)
            await asyncio.to_thread(_wait_until_past, until)
            requests, stored = len(crawl.requests()), _stored(crawl.directory / "part-0")
            send(process.pid, signal.SIGCONT)
            async with asyncio.timeout(MAX_WAIT_S):
                assert await process.wait() == "because its lease had ended"
        finally:
            process.kill()
            await process.line.aclose()
            lease.close()
        assert requests
        # The stop may have come between a look at the lease and the request or the write that it allowed.
        assert requests <= len(crawl.requests()) <= requests + 1
        _assert_at_most_one_write_more(stored, _stored(crawl.directory / "part-0"))
        assert_sound(crawl.directory)


@in_event_loop
async def test_a_process_ends_at_the_end_of_its_lease_also_between_two_requests(tmp_path: Path) -> None:
    with in_parts(tmp_path, parts=1, params=WORLD) as crawl:
        lease = SharedLease.made(boottime() + 3600)
        process = await _started(crawl, lease)
        try:
            until = _shorten(lease)
            async with asyncio.timeout(MAX_WAIT_S):
                assert await process.wait() == "because its lease had ended"
            assert boottime() >= until
        finally:
            process.kill()
            await process.line.aclose()
            lease.close()
        assert "the lease of this part has ended" in (crawl.directory / "part-0" / "logs" / "crawl.log").read_text()
