"""A pause of a crawl in parts, one of which does not answer."""

from pathlib import Path
from typing import Any

import pytest

from crawler.codes.exit_codes import FAILED
from crawler.control.replies import CrawlStatus, PauseState, Refusal
from crawler.control.requests import GetStatus, Pause, Request, Resume
from crawler.operate.parts.changing import pause, resume
from crawler.operate.parts.crawl import CrawlInParts, Parts
from crawler.operate.refused import Refused
from crawler.testing.loops import in_event_loop
from crawler.wiring.configuration import load
from tests.frontier_stats import frontier_stats


class PartInMemory:
    """A `Member`."""

    is_running = True

    def __init__(self, directory: Path, *, hangs: bool) -> None:
        self.directory = directory
        self.hangs = hangs
        self.paused: str | None = None

    async def ask(self, request: Request[Any], /, *, wait_s: float) -> Any:
        if self.hangs:
            return Refusal("it hangs", FAILED)
        if isinstance(request, GetStatus):
            return CrawlStatus(
                directory="", running=True, pid=7, paused=self.paused, frontier=frontier_stats(), run=None
            )
        assert isinstance(request, Pause | Resume)
        self.paused = request.reason if isinstance(request, Pause) else None
        return PauseState(paused=self.paused, running=True)


@in_event_loop
async def test_a_part_that_hangs_does_not_keep_the_others_from_being_paused_and_resumed(tmp_path: Path) -> None:
    parts = {number: PartInMemory(tmp_path / f"part-{number}", hangs=number == 1) for number in range(3)}
    loaded = load(None, options={"crawl.seeds": ("a test", ["http://a.test/"])}, environ={})
    crawl = CrawlInParts(tmp_path, loaded, Parts(parts), pid=6)
    for _ in range(2):
        with pytest.raises(Refused, match=r"part 1 .*: it hangs. Run the same command again for the rest"):
            await pause(crawl, Pause(reason="night"))
        assert [part.paused for part in parts.values()] == ["night", None, "night"]
    parts[1].hangs = False
    await pause(crawl, Pause(reason="night"))
    assert [part.paused for part in parts.values()] == ["night"] * 3
    parts[1].hangs = True
    with pytest.raises(Refused, match=r"only parts 0, 2 took this: part 1"):
        await resume(crawl)
    assert [part.paused for part in parts.values()] == [None, "night", None]


@in_event_loop
async def test_no_part_of_a_crawl_that_does_not_run_is_paused_if_one_can_t_be_used(tmp_path: Path) -> None:
    parts = {number: PartInMemory(tmp_path / f"part-{number}", hangs=number == 1) for number in range(3)}
    loaded = load(None, options={"crawl.seeds": ("a test", ["http://a.test/"])}, environ={})
    with pytest.raises(Refused, match="it hangs"):
        await pause(CrawlInParts(tmp_path, loaded, Parts(parts)), Pause(reason="night"))
    assert [part.paused for part in parts.values()] == [None] * 3
