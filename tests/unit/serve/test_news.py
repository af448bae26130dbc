"""What the operator's program is told of crawls, and what it can't do to the daemon."""

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from crawler.codes.exit_codes import AWAY
from crawler.serve.daemon import Daemon, Options
from crawler.serve.inspection import Commands
from crawler.serve.keeper import Keeper
from crawler.serve.life import changes
from crawler.serve.life.endings import STOPPED_GRACE_S, Ended
from crawler.serve.life.facts import Facts, KeeperOptions, Plan, Process, Restarts, Wish
from crawler.serve.life.news import News, is_news, lasting_state, news_of
from crawler.serve.life.settling import settle
from crawler.serve.life.summary import State
from crawler.serve.news.program import Program, passed_on
from crawler.serve.news.teller import MAX_WAITING, Teller, telling_operator
from crawler.serve.notify import Supervisor
from crawler.serve.records import Home
from crawler.testing.timeouts import MAX_WAIT_S

NOW_S = 1_800_000_000.0
PLAN = Plan(directory="/home/crawls/a", digest="1", max_memory_bytes=1000)
NEW = changes.configured(Facts(), PLAN)
RUNNING = changes.started(NEW, Process(pid=7, directory=PLAN.directory, began_at=NOW_S))


def ended(code: int, *, lines: tuple[str, ...] = (), facts: Facts = RUNNING) -> Facts:
    how = Ended(exit_code=code, lines=lines, pages=12)
    return settle(changes.ended(facts, how, NOW_S, restarts=Restarts()), NOW_S)[0]


def closing(facts: Facts) -> Facts:
    return msgspec.structs.replace(facts, is_closing=True)


def test_the_event_of_a_crash_says_what_an_operator_wants_to_know() -> None:
    assert news_of("a", ended(1, lines=("out of luck",)), "running", NOW_S) == News(
        time="2027-01-15T08:00:00Z",
        crawl="a",
        state="crashed",
        old_state="running",
        reason="failed with exit code 1",
        lines=("out of luck",),
        until="2027-01-15T08:00:05Z",
        exit_code=1,
        pages=12,
        directory=PLAN.directory,
    )
    assert news_of("a", RUNNING, "crashed", NOW_S).exit_code is None


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        (ended(0), "complete"),
        (ended(3), "limit"),
        (ended(-9), "crashed"),
        (ended(2), "held"),
        (changes.broke(NEW, ("a.toml:1",)), "broken"),
        (changes.removed(NEW), "removed"),
        (changes.was_paused(RUNNING, "the disk is full", NOW_S), "paused"),
        (msgspec.structs.replace(NEW, shortage="the disk"), "short"),
        (changes.wished(NEW, Wish.STOP, NOW_S), "stopped"),
        (RUNNING, "running"),
        (NEW, None),
        (changes.wished(RUNNING, Wish.STOP, NOW_S), None),
    ],
)
def test_each_state_that_lasts_is_told(facts: Facts, state: State | None) -> None:
    assert lasting_state(facts, None) == state
    assert lasting_state(closing(facts), None) is None


def test_a_crawl_that_takes_too_much_memory_is_told_as_crashed_with_the_reason() -> None:
    reason = "it takes 2 GB of memory"
    facts = ended(4, facts=changes.told_to_end(RUNNING, reason, force=0, is_fall=True, now=NOW_S))
    told = news_of("a", facts, "running", NOW_S)
    assert (told.state, told.reason, told.exit_code) == ("crashed", reason, 4)


def test_a_crawl_that_somebody_else_has_stopped_is_told_when_it_stays_so() -> None:
    facts = ended(4)
    assert lasting_state(facts, None) is None
    assert lasting_state(settle(facts, NOW_S + STOPPED_GRACE_S)[0], None) == "stopped"


def test_a_crawl_that_is_tried_each_minute_is_not_told_each_time() -> None:
    assert lasting_state(ended(AWAY), "running") == "short"
    assert lasting_state(RUNNING, "short") is None
    usage = changes.Usage(paused=None, waiting=None, pages=0, memory_bytes=0, open_files=0)
    assert lasting_state(changes.used(RUNNING, 7, usage), "short") == "running"
    assert lasting_state(RUNNING, "crashed") == "running"


@pytest.mark.parametrize(
    ("state", "old_state", "is_told"),
    [
        ("running", None, True),
        ("held", None, True),
        ("broken", None, True),
        ("complete", None, False),
        ("stopped", None, False),
        ("complete", "running", True),
        ("complete", "complete", False),
    ],
)
def test_what_has_been_so_for_long_is_no_news(state: State, old_state: State | None, is_told: bool) -> None:
    assert is_news(state, old_state) == is_told


def script(folder: Path, text: str) -> Path:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


async def run(folder: Path, text: str, event: bytes = b"{}\n", within_s: float = MAX_WAIT_S) -> str | None:
    return await Program(path=script(folder, text), folder=folder, within_s=within_s).run(event)


async def test_the_program_gets_the_event_and_an_environment_without_passwords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONCEOVER_VISITED__URL", "redis://:secret@example.org")
    event = b"x" * 1_000_000 + b"\n"  # more than a pipe holds
    assert await run(tmp_path, "cat > got; env > environment; pwd > folder", event) is None
    assert (tmp_path / "got").read_bytes() == event
    assert "secret" not in (tmp_path / "environment").read_text()
    assert "PATH=" in (tmp_path / "environment").read_text()
    assert (tmp_path / "folder").read_text().strip() == str(tmp_path)
    assert passed_on({"HOME": "/h", "TOKEN": "t", "NOTIFY_SOCKET": "/run/n"}) == {"HOME": "/h"}


async def test_what_went_wrong_with_the_program_is_told(tmp_path: Path) -> None:
    assert await run(tmp_path, "echo first >&2; echo no route >&2; exit 22") == "ended with exit code 22: no route"
    assert await run(tmp_path, "kill -9 $$") == "was killed by signal 9"
    # It prints more than a pipe holds, and reads nothing.
    assert await run(tmp_path, "seq 100000 >&2; exit 1", b"x" * 1_000_000) == "ended with exit code 1: 100000"
    with pytest.raises(FileNotFoundError):
        await Program(path=tmp_path / "missing", folder=tmp_path).run(b"")


async def test_a_program_that_does_not_end_is_killed_with_what_it_has_started(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "living")  # has no writer any more when all are dead
    text = "exec 3> living; trap '' TERM; (sleep 10000) & echo waits >&2; wait"
    reading = os.open(tmp_path / "living", os.O_RDONLY | os.O_NONBLOCK)
    failure = await run(tmp_path, text, within_s=0.5)
    assert failure is not None
    assert failure.startswith("did not end within 0.5 s, and was killed")
    os.set_blocking(reading, True)
    assert await asyncio.to_thread(os.read, reading, 1) == b""
    os.close(reading)


class Crawls:
    """Crawls of a daemon that has a program."""

    def __init__(self, home: Home, program: Path) -> None:
        self.daemon = Daemon(home, Options(), Supervisor({}))
        self.home, self.program = home, program

    def add(self, name: str) -> None:
        self.daemon.keepers[name] = Keeper(name, self.home, KeeperOptions(), commands=Commands())

    def become(self, name: str, *states: Facts) -> None:
        for facts in states:
            self.daemon.keepers[name].facts = facts
            for watcher in self.daemon.watchers:
                watcher(name)

    def told(self) -> list[tuple[str, str | None]]:
        """What a program has written that appends what it gets."""
        lines = (self.home.path / "got").read_bytes().splitlines()
        return [(news.crawl, news.state) for news in (msgspec.json.decode(line, type=News) for line in lines)]

    def stored(self) -> dict[str, str]:
        return msgspec.json.decode(self.home.told.read_bytes(), type=dict[str, str])


async def tell(crawls: Crawls, name: str, *states: Facts, closing_s: float = MAX_WAIT_S) -> None:
    """A daemon runs, a crawl changes, and the daemon ends, when all was told or when it waits no longer."""
    async with telling_operator(crawls.daemon, crawls.home.told, crawls.program, closing_s=closing_s):
        crawls.become(name, *states)


async def test_events_of_a_crawl_come_in_order_and_the_next_daemon_tells_no_state_twice(tmp_path: Path) -> None:
    with Home(tmp_path) as home:
        crawls = Crawls(home, script(tmp_path, "cat >> got"))
        crawls.add("a")
        await tell(crawls, "a", NEW, RUNNING, RUNNING, ended(1), RUNNING, ended(2))
        await tell(crawls, "a", ended(2), ended(0))
        assert crawls.told() == [("a", each) for each in ("running", "crashed", "running", "held", "complete")]
        assert crawls.stored() == {"a": "complete"}


async def test_a_state_that_the_end_of_the_daemon_kept_from_being_told_is_told_by_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Home(tmp_path) as home:
        crawls = Crawls(home, script(tmp_path, "sleep 10000"))
        crawls.add("a")
        await tell(crawls, "a", RUNNING, ended(2), closing_s=0.0)
        assert not home.told.exists()
        assert "a: the daemon ends and waits no longer for" in caplog.text
        crawls = Crawls(home, script(tmp_path, "cat >> got"))
        crawls.add("a")
        await tell(crawls, "a", ended(2))
        assert crawls.told() == [("a", "held")]


async def test_a_program_that_fails_or_is_missing_is_logged_and_disturbs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Home(tmp_path) as home:
        home.told.write_bytes(b"\xff")
        crawls = Crawls(home, script(tmp_path, "echo sorry >&2; exit 3"))
        crawls.add("a")
        await tell(crawls, "a", RUNNING)
        assert f"{home.told} can't be read" in caplog.text
        assert f"a: for its state running, {crawls.program} ended with exit code 3: sorry" in caplog.text
        crawls.program.unlink()
        await tell(crawls, "a", ended(0))
        assert f"a: for its state complete, {crawls.program} can't be started: No such file" in caplog.text
        assert crawls.stored() == {"a": "complete"}


async def test_the_oldest_event_is_dropped_when_too_many_wait_and_a_deleted_crawl_is_forgotten(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Home(tmp_path) as home:
        crawls = Crawls(home, script(tmp_path, "cat >> got"))
        for name in ("a", "b"):
            crawls.add(name)

        async with telling_operator(crawls.daemon, home.told, crawls.program, closing_s=MAX_WAIT_S):
            crawls.become("b", RUNNING)
            crawls.become("a", *[RUNNING, ended(1)] * MAX_WAITING)
            del crawls.daemon.keepers["b"]
            crawls.daemon.watchers[0]("b")
            crawls.add("b")
            crawls.become("b", RUNNING)
        assert sorted(crawls.told()) == sorted(
            [("a", "running"), ("a", "crashed")] * (MAX_WAITING // 2) + [("b", "running")] * 2
        )
        assert caplog.text.count("is not told") == MAX_WAITING


async def test_one_program_runs_for_a_crawl_at_a_time(tmp_path: Path) -> None:
    class Counting(Program, frozen=True, kw_only=True):
        """Tells how many run."""

        running: dict[str, int] = {}  # noqa: RUF012 - of one test

        async def run(self, event: bytes) -> str | None:
            name = msgspec.json.decode(event, type=News).crawl
            self.running[name] = self.running.get(name, 0) + 1
            most.append(max(self.running.values()))
            await asyncio.sleep(0)
            self.running[name] -= 1
            return None

    most: list[int] = []
    with Home(tmp_path) as home:
        crawls = Crawls(home, tmp_path)
        for name in ("a", "b"):
            crawls.add(name)
        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            counting = Counting(path=tmp_path, folder=tmp_path, running={})
            teller = Teller(counting, crawls.daemon.keepers, home.told, group)
            crawls.daemon.watchers.append(teller.notice)
            for name in ("a", "b"):
                crawls.become(name, RUNNING, ended(1), RUNNING)
    assert (max(most), len(most)) == (1, 6)
