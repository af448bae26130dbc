"""How a daemon looks at crawls."""

import asyncio
import errno
import os
import re
import sys
from pathlib import Path

import pytest

from crawler.control.requests import Pause, Resume
from crawler.serve import inspection
from crawler.serve.inspection import MOST_PROCESSES, Commands, NotDone, run_command
from crawler.serve.life.changes import Looked
from crawler.testing.loops import in_event_loop


@in_event_loop
async def test_few_crawls_are_looked_into_at_once_and_who_pauses_one_does_not_wait_for_that(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lock").touch()  # it has begun
    going_on: list[str] = []
    may_end = asyncio.Event()

    async def run(command: str, *_: str) -> tuple[int, bytes, str]:
        going_on.append(command)
        if command == "status":
            await may_end.wait()
        return 0, b"", ""

    monkeypatch.setattr(inspection, "run_command", run)
    commands = Commands()
    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(commands.look_into(Path(f"crawl-{number}")))
        await asyncio.sleep(0)
        await commands.operate(tmp_path, Pause(reason="tests"))
        assert sorted(going_on) == ["pause", *["status"] * MOST_PROCESSES]
        may_end.set()
    assert going_on.count("status") == 10


def test_a_daemon_needs_no_system_that_says_which_processors_it_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")  # as on macOS
    assert not Commands().starts.has_waiting("crawl-1")


@in_event_loop
async def test_a_crawl_is_looked_into_when_the_system_can_start_a_process_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers: list[OSError | bytes] = [
        OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)),
        OSError(errno.EMFILE, os.strerror(errno.EMFILE)),
        b'{"running": false, "paused": "because", "frontier": {"pending": 2, "retrying": 1}}',
    ]

    async def run(*_: str) -> tuple[int, bytes, str]:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return 0, answer, ""

    monkeypatch.setattr(inspection, "run_command", run)
    monkeypatch.setattr(inspection, "_AGAIN_S", 0.0)
    found = await Commands().look_into(Path("/crawl"))
    assert found == Looked(paused="because", waiting_urls=3)
    assert caplog.text.count("no process can look into /crawl now: ") == 2


@pytest.mark.parametrize(
    ("program", "why", "told"),
    [
        ("import sys; sys.exit('onceover: it is retired')", "it is retired", None),
        ("raise SystemExit(3)", "`onceover ask` ended with exit code 3; the log of the daemon says more", "nothing"),
        ("1 / 0", "`onceover ask` ended with exit code 1; the log of the daemon says more", "ZeroDivisionError"),
        (
            "import os; os.kill(os.getpid(), 9)",
            "`onceover ask` ended with signal 9, Killed; the log of the daemon says more",
            "`onceover ask crawl` ended with signal 9",
        ),
    ],
)
async def test_a_command_that_failed_says_why_and_the_log_has_what_nobody_expects(
    program: str,
    why: str,
    told: str | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(inspection, "command", lambda *_: [sys.executable, "-c", program])
    code, _, complaint = await run_command("ask", "crawl")
    assert code != 0
    assert complaint == why
    assert [told in line for line in caplog.messages if told is not None] == [True] * (told is not None)
    monkeypatch.setattr(inspection, "run_command", lambda *_: asyncio.sleep(0, (code, b"", complaint)))
    (tmp_path / "lock").touch()  # it has begun
    with pytest.raises(NotDone, match=re.escape(why)):
        await Commands().operate(tmp_path, Resume())


async def test_a_crawl_that_was_restored_from_a_copy_can_be_paused_before_it_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "crawl.toml").touch()  # but no lock
    given: list[tuple[str, ...]] = []

    async def run(*arguments: str) -> tuple[int, bytes, str]:
        given.append(arguments)
        return 0, b"", ""

    monkeypatch.setattr(inspection, "run_command", run)
    await Commands().operate(tmp_path, Pause(reason="rain"))
    assert given == [("pause", "--reason=rain", str(tmp_path))]


@pytest.mark.parametrize("request_of_somebody", [Pause(reason="rain"), Resume()], ids=["pause", "resume"])
async def test_a_crawl_that_has_not_begun_is_refused_like_any_other_request_without_a_process(
    request_of_somebody: Pause | Resume, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(inspection, "run_command", None)
    # Nobody knows what was there before somebody deleted it.
    why = f"there is no crawl in {tmp_path}: it has not begun yet, or its directory was deleted"
    with pytest.raises(NotDone, match=re.escape(why)):
        await Commands().operate(tmp_path, request_of_somebody)
