"""What a daemon does while crawls are deleted, or change while it looks at them."""

import asyncio
import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import msgspec
import pytest

from crawler.codes.exit_codes import USAGE
from crawler.control.replies import CrawlStatus
from crawler.disk.directory import CrawlDirectory
from crawler.serve.api.forms import crawl_form
from crawler.serve.daemon import CrawlRuns, Daemon, Options
from crawler.serve.folder import Found
from crawler.serve.inspection import Commands, why_gone
from crawler.serve.keeper import Keeper
from crawler.serve.life.changes import Looked
from crawler.serve.life.endings import GONE, RUNS_GONE
from crawler.serve.life.facts import Facts, KeeperOptions, Plan, Process, Record, Rest, Why, Wish
from crawler.serve.life.summary import Summary
from crawler.serve.life.turns import Turns
from crawler.serve.machine import Limits, Taken
from crawler.serve.notify import Supervisor
from crawler.serve.old_runs import runs_in
from crawler.serve.process import CrawlProcess, Output, start
from crawler.serve.records import Home, why_away
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.wiring.opening.starting_over import delete_for_good
from tests.full_disk import no_space
from tests.unit.serve.samples import told

TEXT = '[crawl]\nseeds = ["http://a.test/"]\n'


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """It has two crawls that run."""
    with Home(tmp_path) as home:
        found = Daemon(home, Options(limits=Limits(max_memory_bytes=1)), Supervisor({}))
        for name in ("a", "b"):
            (tmp_path / f"{name}.toml").write_text(TEXT)
            keeper = Keeper(name, home, KeeperOptions(), commands=Commands())
            process = Process(pid=os.getpid(), directory=str(tmp_path / name), began_at=0.0)
            keeper.facts = msgspec.structs.replace(keeper.facts, process=process)
            found.keepers[name] = keeper
        yield found


async def test_a_crawl_may_be_deleted_while_the_daemon_looks_at_it(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(directory: Path) -> CrawlStatus:
        daemon.keepers.pop("a", None)
        return told(10, pid=os.getpid(), directory=str(directory))

    monkeypatch.setattr("crawler.serve.keeper.ask_status", ask)
    await daemon.look()
    assert daemon.keepers["b"].facts.excess is not None
    assert [path.name for path in (daemon.folder / "history").iterdir()] == ["b"]


async def test_a_crawl_that_has_started_meanwhile_is_not_deleted(daemon: Daemon) -> None:
    with pytest.raises(CrawlRuns):
        await daemon.delete("a")
    assert not daemon.keepers["a"].facts.is_removed
    assert (daemon.home / "a.toml").exists()


async def test_a_crawl_that_was_deleted_does_not_come_back_after_a_power_failure(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[Path, bool]] = []
    file = daemon.home / "a.toml"
    monkeypatch.setattr("crawler.serve.folder.sync_directory", lambda path: synced.append((path, file.exists())))
    keeper = daemon.keepers["a"]
    keeper.facts = msgspec.structs.replace(keeper.facts, process=None)
    daemon._tasks["a"] = asyncio.create_task(asyncio.sleep(0))
    await daemon.delete("a")
    assert synced == [(daemon.home, False)]


@pytest.mark.parametrize("killed_in", ["recorder.forget", "memory.forget"])
async def test_a_daemon_that_is_killed_while_it_deletes_a_crawl_lets_the_next_one_finish_that(
    daemon: Daemon, killed_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = daemon.keepers["a"]
    keeper.facts = msgspec.structs.replace(keeper.facts, process=None)
    await keeper.wish(Wish.STOP)
    daemon._tasks["a"] = asyncio.create_task(asyncio.sleep(0))
    history = daemon.folder / "history" / "a"
    history.mkdir(parents=True)

    async def die(*_: str) -> None:
        raise SystemExit

    owner, _, name = killed_in.partition(".")
    monkeypatch.setattr(daemon.recorder if owner == "recorder" else keeper.memory, name, die)
    with pytest.raises(SystemExit):
        await daemon.delete("a")
    monkeypatch.undo()
    daemon._home.save("b", Record(wish=Wish.STOP))
    found = Daemon(daemon._home, Options(), Supervisor({}))
    async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
        group.create_task(found.run())
        await found.knows_crawls.wait()
        assert list(found.keepers) == ["b"]
        found.close("tests")
    assert Home(daemon.home).remembered() == ["b"]
    assert not history.exists()
    assert sorted(path.name for path in daemon.home.iterdir()) == ["b.toml", "daemon"]


async def test_a_crawl_that_was_created_again_after_a_deletion_that_failed_keeps_what_it_was_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.toml").write_text(TEXT)
    (tmp_path / "..a.toml.deleted").write_text(TEXT)
    with Home(tmp_path) as home:
        home.save("a", Record(wish=Wish.STOP))
        found = Daemon(home, Options(), Supervisor({}))
        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            group.create_task(found.run())
            await found.knows_crawls.wait()
            found.close("tests")
        assert home.recall("a")[0].wish is Wish.STOP
    assert not (tmp_path / "..a.toml.deleted").exists()


async def test_a_crawl_whose_memory_cannot_be_read_is_shown_and_does_nothing_until_it_can(tmp_path: Path) -> None:
    with Home(tmp_path) as home:
        for name in ("a", "b"):
            (tmp_path / f"{name}.toml").write_text(TEXT)
            home.save(name, Record(wish=Wish.STOP))
        memory = home.crawls / "a.json"
        stored = memory.read_bytes()
        memory.unlink()
        memory.mkdir()  # because root may read any file
        found = Daemon(home, Options(), Supervisor({}))
        states: asyncio.Queue[None] = asyncio.Queue()
        found.watchers.append(lambda _: states.put_nowait(None))

        async def until(**wanted: str) -> None:
            while {name: keeper.summary.state for name, keeper in found.keepers.items()} != wanted:
                await states.get()

        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            group.create_task(found.run())
            await until(a="broken", b="stopped")
            summary = found.keepers["a"].summary
            assert (summary.reason, summary.lines[0].partition(";")[0]) == (
                "what the daemon remembers of it can't be read",
                f"{memory}: Is a directory",
            )
            await found.reload()
            assert found.keepers["a"].summary == summary
            memory.rmdir()
            memory.write_bytes(stored)
            await found.reload()
            await until(a="stopped", b="stopped")
            found.close("tests")
        assert home.recall("a")[0].wish is Wish.STOP


async def test_what_somebody_wants_of_a_crawl_is_stored_when_that_is_answered(daemon: Daemon) -> None:
    keeper = daemon.keepers["a"]
    keeper.facts = msgspec.structs.replace(keeper.facts, process=None)
    await keeper.wish(Wish.STOP)
    assert Home(daemon.home).recall("a")[0].wish is Wish.STOP
    await keeper.wish(Wish.RUN)
    assert Home(daemon.home).recall("a")[0].wish is Wish.RUN


async def test_a_crawl_tells_that_its_state_cant_be_stored_and_the_log_does_so_once(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    keeper = daemon.keepers["a"]
    with monkeypatch.context() as disk:
        disk.setattr("crawler.serve.records.replace_file", no_space)
        await keeper.wish(Wish.STOP)
        await keeper.wish(Wish.STOP)
    assert caplog.text.count("can't be stored now") == 1
    assert keeper.facts.record.wish is Wish.STOP
    assert crawl_form(keeper).lines == ("what is remembered of it can't be stored now: No space left on device",)
    await keeper.wish(Wish.STOP)
    assert crawl_form(keeper).lines == ()


async def test_nothing_is_remembered_of_a_crawl_that_is_deleted_while_its_state_is_stored(daemon: Daemon) -> None:
    keeper = daemon.keepers["a"]
    keeper.facts = msgspec.structs.replace(keeper.facts, process=None)
    daemon._tasks["a"] = asyncio.create_task(asyncio.sleep(0))
    await asyncio.gather(keeper.wish(Wish.STOP), daemon.delete("a"))
    assert Home(daemon.home).remembered() == []


@pytest.mark.parametrize("damaged", [b"", b'{"wish": "st', b'{"wish": "fly"}', b"\xff", b"[" * 100_000])
async def test_a_stopped_crawl_whose_memory_is_damaged_starts_only_when_a_person_has_mended_that(
    tmp_path: Path, damaged: bytes
) -> None:
    with Home(tmp_path) as home:
        (tmp_path / "a.toml").write_text(TEXT)
        home.save("a", Record(wish=Wish.STOP))
        memory = home.crawls / "a.json"
        stored = memory.read_bytes()
        memory.write_bytes(damaged)
        found = Daemon(home, Options(), Supervisor({}))
        states: asyncio.Queue[None] = asyncio.Queue()
        found.watchers.append(lambda _: states.put_nowait(None))

        async def until(state: str) -> None:
            while [keeper.summary.state for keeper in found.keepers.values()] != [state]:
                await states.get()
                assert not any(keeper.facts.process for keeper in found.keepers.values())

        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            group.create_task(found.run())
            await until("broken")
            told = found.keepers["a"].summary.lines[0]
            assert told.startswith(f"{memory} is damaged: ")
            assert "delete it if the crawl may start" in told
            assert memory.read_bytes() == damaged
            memory.write_bytes(stored)
            await found.reload()
            await until("stopped")
            found.close("tests")
        assert home.recall("a")[0].wish is Wish.STOP


async def test_a_daemon_that_can_open_no_more_files_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looks: asyncio.Queue[None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def measure(_: object) -> dict[int, Taken]:
        loop.call_soon_threadsafe(looks.put_nowait, None)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/proc")

    monkeypatch.setattr("crawler.serve.daemon.measure", measure)
    with Home(tmp_path) as home:
        found = Daemon(home, Options(watch_s=0.0), Supervisor({}))
        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            group.create_task(found.run())
            for _ in range(3):
                await looks.get()
            found.close("tests")
    assert "crawls and machine can't be looked at now: [Errno 24] Too many open files: '/proc'" in caplog.text


class Busy(Commands):
    """Looks into other crawls for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = asyncio.Event()

    async def look_into(self, directory: Path) -> Looked:
        self.is_asked.set()
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize("end", [Keeper.close, Keeper.leave])
async def test_a_crawl_that_waits_to_be_looked_into_keeps_no_daemon_from_its_end(
    tmp_path: Path, end: Callable[[Keeper], None]
) -> None:
    plan = Plan(directory=str(tmp_path / "a"), digest="")
    with Home(tmp_path) as home:
        commands = Busy()
        keeper = Keeper("a", home, KeeperOptions(), commands=commands)
        keeper.facts = msgspec.structs.replace(keeper.facts, plan=plan, to_look=True)
        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            await commands.is_asked.wait()
            end(keeper)
            end(keeper)


async def test_a_server_that_holds_up_the_deletion_of_old_runs_holds_up_no_other_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_asked, answers = threading.Event(), threading.Event()
    monkeypatch.setattr("crawler.serve.old_runs.delete_for_good", held_up(is_asked, answers))
    with Home(tmp_path) as home:
        daemon = Daemon(home, Options(), Supervisor({}))
        commands = Commands()
        for name in ("a", "b"):
            daemon.keepers[name] = with_old_runs(home, name, commands)
        try:
            async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
                for keeper in daemon.keepers.values():
                    group.create_task(keeper.run())
                await daemon.look()
                await asyncio.to_thread(is_asked.wait, MAX_WAIT_S)
                while runs_of(tmp_path / "b") != LAST_RUNS:
                    await daemon.look()
                    await asyncio.sleep(0)
                assert runs_of(tmp_path / "a") == RUNS
                for keeper in daemon.keepers.values():
                    keeper.close()
        finally:
            answers.set()


async def test_a_run_that_is_to_be_kept_by_now_is_not_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_asked, answers = threading.Event(), threading.Event()
    monkeypatch.setattr("crawler.serve.old_runs.delete_for_good", held_up(is_asked, answers))
    with Home(tmp_path) as home:
        keeper = with_old_runs(home, "a", Commands())
        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            await keeper.watch(Taken())
            await asyncio.to_thread(is_asked.wait, MAX_WAIT_S)
            assert keeper.facts.plan is not None
            plan = msgspec.structs.replace(keeper.facts.plan, keep_runs=2)
            keeper.change(lambda facts: msgspec.structs.replace(facts, plan=plan))
            await keeper.watch(Taken())
            answers.set()
            while len(runs_of(tmp_path / "a")) == len(RUNS):
                await keeper.watch(Taken())
                await asyncio.sleep(0)
            for _ in range(10):
                await keeper.watch(Taken())
                await asyncio.to_thread(runs_of, tmp_path / "a")
            keeper.close()
        assert runs_of(tmp_path / "a") == RUNS - {min(RUNS)}


async def test_an_old_run_whose_notes_can_not_be_read_stays_and_keeps_no_other_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Home(tmp_path) as home:
        keeper = with_old_runs(home, "a", Commands())
        with CrawlDirectory(tmp_path / "a" / min(RUNS)) as place:
            place.write_configuration(
                '[visited]\nbackend = "redis-exact"\noptions = { url = "redis://127.0.0.1:1", share = "library" }\n'
            )
            notes = place.visited / "redis" / "sharing" / "onceover:library"
            notes.mkdir(parents=True)
            (notes / "me").write_bytes(b"\xff")
        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            while runs_of(tmp_path / "a") != LAST_RUNS | {min(RUNS)}:
                await keeper.watch(Taken())
                await asyncio.sleep(0)
            keeper.close()
    assert "an old run can't be deleted: " in caplog.text
    assert "me is damaged" in caplog.text


async def test_an_old_run_that_can_not_be_deleted_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Home(tmp_path) as home:
        keeper = with_old_runs(home, "a", Commands())
        letter = tmp_path / "a" / "20261101T030000Z" / "letter.txt"
        letter.parent.mkdir()
        letter.write_text("not a crawl's")
        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            for _ in range(2):
                later = tmp_path / "a" / min(RUNS)
                later.mkdir(exist_ok=True)
                while later.exists():
                    await keeper.watch(Taken())
                    await asyncio.sleep(0)
            keeper.close()
    assert caplog.text.count("an old run can't be deleted") == 1


RUNS: Final = frozenset({"20261120T030000Z", "20261121T030000Z", "20261122T030000Z"})
LAST_RUNS: Final = frozenset({"20261122T030000Z"})


def with_old_runs(home: Home, name: str, commands: Commands) -> Keeper:
    """A crawl whose schedule is not due, with three runs, of which the last one is to be kept."""
    base = home.path / name
    for run in RUNS:
        with CrawlDirectory(base / run) as place:
            place.write_configuration("[crawl]")
    keeper = Keeper(name, home, KeeperOptions(), commands=commands)
    plan = Plan(directory=str(base), digest="", next_tick=lambda moment: moment + 1e9, keep_runs=1)
    rest = Rest(why=Why.COMPLETE, reason="nothing is left to fetch", since=time.time())
    record = Record(rest=rest, place=str(base / max(RUNS)), ticked_at=time.time())
    keeper.facts = msgspec.structs.replace(keeper.facts, plan=plan, record=record)
    return keeper


def runs_of(base: Path) -> set[str]:
    return {path.name for path in base.iterdir()}


def held_up(is_asked: threading.Event, answers: threading.Event) -> Callable[..., None]:
    """Deletes runs, those of the crawl `a` when the server `answers`."""

    def delete(directory: CrawlDirectory, *, pace: Path) -> None:
        if directory.path.parent.name == "a":
            is_asked.set()
            answers.wait(MAX_WAIT_S)
        delete_for_good(directory, pace=pace)

    return delete


COMMAND = """
import sys
from pathlib import Path
from crawler.disk.directory import CrawlDirectory
with CrawlDirectory(Path(sys.argv[1])):
    print("has the lock", flush=True)
    sys.stdin.read()
"""


async def test_a_command_that_works_on_a_stopped_crawl_is_left_alone(tmp_path: Path, repository: Path) -> None:
    plan = Plan(directory=str(tmp_path / "a"), digest="")
    pipe = asyncio.subprocess.PIPE
    command = await asyncio.create_subprocess_exec(
        sys.executable, "-c", COMMAND, plan.directory, cwd=repository, stdin=pipe, stdout=pipe
    )
    assert command.stdout is not None
    assert await command.stdout.readline() == b"has the lock\n"
    is_told = asyncio.Event()
    with Home(tmp_path) as home:
        keeper = Keeper("a", home, KeeperOptions(), commands=Commands(), told=is_told.set)
        keeper.facts = msgspec.structs.replace(keeper.facts, plan=plan, record=Record(wish=Wish.STOP), to_look=True)
        keeping = asyncio.create_task(keeper.run())
        while keeper.facts.process is None:
            is_told.clear()
            await is_told.wait()
        assert keeper.summary.state == "stopped"
        keeper.close()
        keeper.close()
        await keeping
    await command.communicate(b"")
    assert command.returncode == 0


async def test_it_is_told_at_once_that_a_crawl_waits_for_its_turn(tmp_path: Path) -> None:
    commands, summaries, is_told = Commands(), list[Summary](), asyncio.Event()
    commands.starts = Turns(0)

    def tell() -> None:
        summaries.append(keeper.summary)
        is_told.set()

    with Home(tmp_path) as home:
        keeper = Keeper("a", home, KeeperOptions(), commands=commands, told=tell)
        keeper.facts = msgspec.structs.replace(keeper.facts, plan=Plan(directory=str(tmp_path / "a"), digest=""))
        keeping = asyncio.create_task(keeper.run())
        await is_told.wait()
        keeper.close()
        await keeping
    assert summaries[0].reason == "it waits until other crawls have started"
    assert not commands.starts.has_waiting("a")


class Overtaken(Commands):
    """Looks into a crawl, to which somebody adds a URL before the daemon hears what was found."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    async def look_into(self, directory: Path) -> Looked:
        self.looks += 1
        if self.looks == 1:
            with CrawlDirectory(directory):
                pass
        return Looked(waiting_urls=0)


async def test_what_changes_in_a_crawl_during_a_look_is_looked_at_again(tmp_path: Path) -> None:
    plan, commands = Plan(directory=str(tmp_path / "a"), digest=""), Overtaken()
    with CrawlDirectory(tmp_path / "a") as crawl:
        pass
    os.utime(crawl.lock, ns=(1_000, 2_000))  # the clock of a file system may stand still between two changes
    turned = asyncio.Event()
    with Home(tmp_path) as home:
        keeper = Keeper("a", home, KeeperOptions(), commands=commands, told=turned.set)
        rest = Rest(why=Why.COMPLETE, reason="tests", since=0.0)
        record = msgspec.structs.replace(keeper.facts.record, rest=rest)
        keeper.facts = msgspec.structs.replace(keeper.facts, plan=plan, record=record, to_look=True)
        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            for looks in (1, 2):
                while keeper.facts.to_look:
                    turned.clear()
                    await turned.wait()
                assert commands.looks == looks
                await keeper.watch(Taken())
                assert keeper.facts.to_look == (looks == 1)
            keeper.close()


class Idle(Commands):
    """Finds nothing to do in a crawl."""

    async def look_into(self, directory: Path) -> Looked:
        return Looked(waiting_urls=0)


USING = "import pathlib, sys, crawler.disk.directory as d\nwith d.CrawlDirectory(pathlib.Path(sys.argv[1])): pass"


@pytest.mark.parametrize("is_overtaken", [False, True])
async def test_what_changes_in_a_crawl_between_its_end_and_that_of_its_process_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_overtaken: bool
) -> None:
    def start(_home: Path, _configuration: str, directory: str, output: Output, **_: Path) -> CrawlProcess:
        child = subprocess.Popen([sys.executable, "-c", USING, directory])
        process = CrawlProcess(child.pid, child)
        assert child.wait() == 0
        output.result.write_text('{"ending": "complete", "exit_code": 0}')
        if is_overtaken:
            with CrawlDirectory(Path(directory)) as crawl:
                pass
            later_ns = output.result.stat().st_mtime_ns + 1  # the clock of a file system is not that fine
            os.utime(crawl.lock, ns=(later_ns, later_ns))
        return process

    monkeypatch.setattr("crawler.serve.keeper.start", start)
    turned = asyncio.Event()
    with Home(tmp_path) as home:
        keeper = Keeper("a", home, KeeperOptions(), commands=Idle(), told=turned.set)
        plan = Plan(directory=str(tmp_path / "a"), digest="")
        keeper.facts = msgspec.structs.replace(keeper.facts, plan=plan)
        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            while keeper.facts.record.rest is None:
                turned.clear()
                await turned.wait()
            await keeper.watch(Taken())
            assert keeper.facts.to_look == is_overtaken
            keeper.close()


async def test_where_a_crawl_had_begun_that_is_not_there_no_other_one_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def start(_home: Path, _configuration: str, directory: str, *_: Output, **__: Path) -> CrawlProcess:
        started.append(directory)
        raise OSError(errno.ENOSPC, "no")

    monkeypatch.setattr("crawler.serve.keeper.start", start)
    mount, turned = tmp_path / "mount", asyncio.Event()
    mount.mkdir()
    with Home(tmp_path) as home:
        keeper = Keeper("a", home, KeeperOptions(), commands=Commands(), told=turned.set)
        record = Record(begun_in=str(mount))
        keeper.facts = msgspec.structs.replace(keeper.facts, plan=Plan(directory=str(mount), digest=""), record=record)
        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            while keeper.facts.record.rest is None:
                turned.clear()
                await turned.wait()
            assert (keeper.summary.state, keeper.summary.reason) == ("short", GONE)
            assert (started, list(mount.iterdir())) == ([], [])
            (mount / "lock").touch()
            keeper.change(lambda facts: msgspec.structs.replace(facts, record=record))
            while not started:
                turned.clear()
                await turned.wait()
            keeper.close()
    assert started == [str(mount)]


@pytest.mark.parametrize("is_mountpoint", [False, True])
async def test_while_the_folder_of_a_daemon_is_away_its_crawls_wait_and_none_is_taken_for_removed(
    is_mountpoint: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def start(*_: object, **__: object) -> CrawlProcess:
        started.append("")
        raise OSError(errno.ENOSPC, "no")

    monkeypatch.setattr("crawler.serve.keeper.start", start)
    home_path, away, turned = tmp_path / "home", tmp_path / "away", asyncio.Event()
    home_path.mkdir()
    with Home(home_path) as home:
        daemon = Daemon(home, Options(), Supervisor({}))
        keeper = Keeper("a", home, KeeperOptions(), commands=Commands(), told=turned.set)
        plan = Plan(directory=f"{home_path}/crawls/a", digest="")
        keeper.facts = msgspec.structs.replace(keeper.facts, plan=plan)
        daemon.keepers["a"] = keeper
        home_path.rename(away)
        if is_mountpoint:
            home_path.mkdir()
        async with asyncio.timeout(MAX_WAIT_S), asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            while keeper.facts.record.rest is None:
                turned.clear()
                await turned.wait()
            summary = keeper.summary
            assert (summary.state, summary.until is None, started) == ("short", False, [])
            assert summary.reason == home.why_away()
            with pytest.raises(FileNotFoundError, match=f"move {home_path} back, or mount its disk"):
                await daemon.reload()
            assert not keeper.facts.is_removed
            if is_mountpoint:
                home_path.rmdir()
            away.rename(home_path)

            def read_and_lose(_: Path) -> dict[str, Found]:
                home_path.rename(away)
                return {}

            with monkeypatch.context() as losing:
                losing.setattr("crawler.serve.daemon.read_folder", read_and_lose)
                with pytest.raises(FileNotFoundError, match=f"move {home_path} back"):
                    await daemon.reload()
            assert not keeper.facts.is_removed
            away.rename(home_path)
            keeper.change(lambda facts: msgspec.structs.replace(facts, record=Record()))
            while not started:
                turned.clear()
                await turned.wait()
            keeper.close()


@pytest.mark.parametrize(
    ("begun_in", "left", "why"),
    [
        ("20261122T020000Z", [], RUNS_GONE),
        ("20261122T020000Z", ["20261121T020000Z"], None),  # somebody has deleted the last run alone
        ("20261122T020000Z", ["20261122T020000Z"], None),
        ("20261123T020000Z", [], GONE),
        ("20261123T020000Z", ["20261122T020000Z"], GONE),
        ("../elsewhere/20261122T020000Z", [], None),  # the configuration names another directory since
        (None, [], None),
    ],
)
def test_no_run_of_a_schedule_begins_where_no_earlier_one_is_any_more(
    begun_in: str | None, left: list[str], why: str | None, tmp_path: Path
) -> None:
    mount = tmp_path / "mount"
    (mount / "20261120T020000Z").mkdir(parents=True)  # nothing has begun there
    for name in left:
        (mount / name).mkdir()
        (mount / name / "lock").touch()
    record = Record(begun_in=None if begun_in is None else f"{mount}/{begun_in}", place=f"{mount}/20261123T020000Z")
    plan = Plan(directory=str(mount), digest="", next_tick=lambda after: after + 60)
    assert why_gone(Facts(plan=plan, record=record), f"{mount}/20261123T020000Z", runs=runs_in(mount)) == why


async def test_the_file_of_a_crawl_may_have_a_name_like_an_option(tmp_path: Path) -> None:
    (tmp_path / "-a.toml").write_text("nothing")
    with Home(tmp_path) as home:
        output = Output(home.output, "-a")
        process = start(tmp_path, "-a.toml", str(tmp_path / "a"), output, pace=home.pace)
        await process.ended
        assert process.exit_code == USAGE
        assert "-a.toml:1" in "".join(output.last_lines(tmp_path / "none"))
        process.close()


async def test_a_folder_of_the_daemon_that_somebody_deletes_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("nothing")
    with Home(tmp_path) as home:
        for folder in (home.crawls, home.output):
            folder.rmdir()
        home.save("a", Record(wish=Wish.STOP))
        assert home.recall("a")[0].wish is Wish.STOP
        process = start(tmp_path, "a.toml", str(tmp_path / "a"), Output(home.output, "a"), pace=home.pace)
        await process.ended
        assert process.exit_code == USAGE
        process.close()


def test_a_folder_that_may_not_be_looked_at_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "is_dir", refuse)
    told = "can't be looked at: Permission denied; let the user of the daemon do that, or end the daemon"
    assert why_away(tmp_path) == f"{tmp_path / 'daemon'} {told}"
