"""What the log of a crawl tells a person who comes an hour later."""

import asyncio
import logging
import os
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from config import load
from crawler.cli.run.running import _logging_errors
from crawler.counters import Counters
from crawler.library.crawl_log import log_beginning, log_into, log_progress
from crawler.library.log_form import log_form
from crawler.progress import Gauge
from crawler.testing.frontier.crawls import DONE, next_lease, now, page, pages
from crawler.testing.loops import in_virtual_time
from frontier import Outcome, UrlState
from frontier.memory.store import MemoryStore
from frontier.shell import QueueFrontier
from visited.digests.exact import ExactSet

pytestmark = pytest.mark.usefixtures("_at_info")


@pytest.fixture
def _at_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_a_crawl_begins_with_its_version_and_what_was_set(caplog: pytest.LogCaptureFixture) -> None:
    overrides = ['crawl.seeds=["https://a.test/"]', "politeness.min_delay_s=2.5", "fetch.timeout_s=60"]
    log_beginning(load(None, overrides=overrides, environ={}).config, "crawls/a", resumed=True)
    begun, *settings = caplog.messages
    assert begun.startswith("resumed in crawls/a: onceover ")
    system = os.uname()
    assert begun.endswith(f", {system.sysname} {system.release} {system.machine}")  # not what a program says of it
    assert 'set: crawl.seeds = ["https://a.test/"]' in settings
    assert "set: politeness.min_delay_s = 2.5" in settings
    assert not any("timeout_s" in line for line in settings)  # that is the default


def test_a_log_goes_on_at_its_beginning_after_logrotate_has_copied_and_emptied_it(tmp_path: Path) -> None:
    log, crawl = tmp_path / "logs" / "crawl.log", logging.getLogger("crawler")
    with log_into(log, log_form("text", crawl="a")):
        crawl.info("before")
        shutil.copy(log, tmp_path / "crawl.log.1")
        os.truncate(log, 0)
        crawl.info("after")
    assert "INFO crawler: before" in (tmp_path / "crawl.log.1").read_text()
    assert log.read_text().splitlines()[0].endswith("INFO crawler: after")
    assert "\0" not in log.read_text()


def test_a_log_that_cant_be_written_is_no_error() -> None:
    """It would hide what has ended the crawl."""
    with log_into(Path("/dev/full"), log_form("text", crawl="a")):
        logging.getLogger("crawler").info("not written")


@pytest.mark.parametrize("written", ["old\nold\nbegun\n", "new\n", None])
def test_the_error_that_ends_a_run_is_logged_by_a_run_that_has_begun(written: str | None, tmp_path: Path) -> None:
    log = tmp_path / "crawl.log"
    log.write_text("old\n" * 2)

    def run() -> None:
        if written is not None:
            log.write_text(written)  # shorter than before if it was rotated
        raise MemoryError

    with log_into(log, log_form("text", crawl="a")), pytest.raises(MemoryError), _logging_errors(log):
        run()
    assert ("ended by an error: there is not enough memory" in log.read_text()) == (written is not None)


@in_virtual_time
async def test_a_log_of_json_has_a_line_for_each_message_with_what_is_known_of_it(tmp_path: Path) -> None:
    file, crawl = tmp_path / "logs" / "crawl.log", logging.getLogger("crawler.somewhere")
    frontier = await QueueFrontier.open(MemoryStore(), ExactSet(), now=now)
    await frontier.add(pages(2, 3))
    gauge = Gauge(Counters(), frontier.describe, ExactSet().describe, monotonic=asyncio.get_running_loop().time)
    with log_into(file, log_form("json", crawl="news", part=3)):
        crawl.info("two\nlines")
        try:
            (tmp_path / "missing").stat()
        except OSError:
            crawl.exception("can't say %d of %s", 5, "ü")
        telling = asyncio.ensure_future(log_progress(gauge.status))
        await asyncio.sleep(70)
        telling.cancel()
    await frontier.aclose()
    plain, failed, progress = (msgspec.json.decode(line) for line in file.read_text().splitlines())
    time = plain.pop("time")
    assert datetime.fromisoformat(time).utcoffset() == timedelta()
    about = {"crawl": "news", "part": 3}
    assert plain == {"level": "info", "name": "crawler.somewhere", "message": "two\nlines", **about}
    assert (failed["level"], failed["message"]) == ("error", "can't say 5 of ü")
    assert "FileNotFoundError" in failed["error"]
    assert progress["message"].startswith("1 min 0 s · 0 pages")
    assert (progress["fields"]["queued"], progress["fields"]["responses"]) == (6, {})


@in_virtual_time
async def test_progress_is_told_each_minute(caplog: pytest.LogCaptureFixture) -> None:
    frontier = await QueueFrontier.open(MemoryStore(), ExactSet(), now=now)
    await frontier.add(pages(2, 3))
    gauge = Gauge(Counters(), frontier.describe, ExactSet().describe, monotonic=asyncio.get_running_loop().time)
    telling = asyncio.ensure_future(log_progress(gauge.status))
    await asyncio.sleep(150)
    telling.cancel()
    await frontier.aclose()
    assert [message.partition(" · ")[0] for message in caplog.messages] == ["1 min 0 s", "2 min 0 s"]
    assert "6 queued" in caplog.messages[0]


@in_virtual_time
async def test_holds_are_told_with_their_reason_and_their_end(caplog: pytest.LogCaptureFixture) -> None:
    frontier = await QueueFrontier.open(MemoryStore(), ExactSet(), now=now)
    frontier.pauses.pause("199 B free", by="room")
    frontier.pauses.pause("198 B free", by="room")
    frontier.pauses.resume(by="room")
    frontier.pauses.resume(by="room")
    await frontier.aclose()
    assert caplog.messages == ["paused by room: 199 B free", "no longer paused by room: 198 B free"]


@in_virtual_time
async def test_hosts_that_die_and_answer_again_are_told_once_each(caplog: pytest.LogCaptureFixture) -> None:
    frontier = await QueueFrontier.open(MemoryStore(), ExactSet(), now=now)
    await frontier.add([page("dying", f"{number}") for number in range(10)])
    dead = Outcome(state=UrlState.FAILED, reason="connect", server_ok=False, dead_for_s=60)
    failed = Outcome(state=UrlState.FAILED, reason="connect", server_ok=False)
    for outcome in (failed, dead, dead, DONE, DONE):
        await frontier.done(await next_lease(frontier), cooldown_s=100, outcome=outcome)
    await frontier.aclose()
    assert caplog.messages == [
        "test,dying counts as dead for now: connect, 2 times in a row",
        "test,dying answers again",
    ]
