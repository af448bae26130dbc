"""What crawls take, and what a machine lacks."""

import logging
import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from crawler.disk.directory import CrawlDirectory, Purpose
from crawler.serve.life.endings import BY_COMMAND
from crawler.serve.life.facts import Record, Rest, RunEntry, Why, Wish
from crawler.serve.logs import RotatedFile
from crawler.serve.machine import Limits, Taken, excess, free_bytes, measure, shortage, used_system_files
from crawler.serve.notify import Supervisor
from crawler.serve.process import (
    KEPT_OUTPUT_BYTES,
    MAX_OUTPUT_BYTES,
    CrawlProcess,
    Output,
    environment,
    how_it_ended,
    lock_holder,
)
from crawler.serve.records import Home, HomeInUse

LIMITS = Limits(max_memory_bytes=1000, max_open_files=50, min_free_bytes=100)


def test_a_process_is_measured_with_all_of_its_session() -> None:
    child = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'input()']); print(flush=True); p.wait()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        here = measure([os.getpid(), process.pid, 2**22 + 1])
        assert process.stdin is not None
        process.stdin.write(b"\n")
    alone = here[process.pid]
    assert alone.memory_bytes > 2 * 2_000_000
    assert alone.open_files >= 6
    assert here[os.getpid()].memory_bytes > 10_000_000
    assert here[2**22 + 1] == Taken()
    assert measure([process.pid])[process.pid] == Taken()


def test_the_daemon_never_takes_its_own_process_for_a_crawl(tmp_path: Path) -> None:
    with Home(tmp_path) as home:
        holder = lock_holder(home.folder)
        assert holder == (os.getpid(), False)
        with pytest.raises(ProcessLookupError, match="is the daemon"):
            CrawlProcess(holder[0])


@pytest.mark.parametrize(("to", "is_command"), [("run", False), ("change", True), ("read", None)])
def test_the_daemon_knows_who_runs_or_changes_a_crawl(tmp_path: Path, to: Purpose, is_command: bool | None) -> None:
    with CrawlDirectory(tmp_path, to=to):
        assert lock_holder(tmp_path) == (None if is_command is None else (os.getpid(), is_command))


async def test_the_end_of_a_command_is_not_that_of_the_run_before_it(tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path) as crawl:
        crawl.ending = BY_COMMAND
    for is_command in (False, True):
        process = CrawlProcess(os.getppid(), is_command=is_command)
        ended = how_it_ended(process, Output(tmp_path, "a"), str(tmp_path), is_foreign=True)
        assert ended.ending == (None if is_command else BY_COMMAND)
        process.close()


def test_the_daemon_waits_for_no_pipe_in_place_of_a_lock(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    assert lock_holder(tmp_path) is None


def test_a_look_at_a_lock_that_nobody_has_refuses_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CrawlDirectory(tmp_path / "a") as crawl:
        assert lock_holder(crawl.path) == (os.getpid(), False)
    taken: list[int] = []
    monkeypatch.setattr("crawler.serve.process.fcntl.flock", lambda _, how: taken.append(how))
    assert lock_holder(crawl.path) is None
    assert taken == []


def test_a_shortage_ends_only_when_there_is_a_bit_more_than_needed() -> None:
    assert shortage(LIMITS, 100, 0.0, is_short=False) is None
    assert "99 B are free" in str(shortage(LIMITS, 99, 0.0, is_short=False))
    assert shortage(LIMITS, 119, 0.0, is_short=True) is not None
    assert shortage(LIMITS, 120, 0.0, is_short=True) is None
    assert shortage(LIMITS, None, 0.5, is_short=False) is None
    assert "open files" in str(shortage(LIMITS, 1000, 0.96, is_short=False))
    assert shortage(LIMITS, 1000, 0.85, is_short=True) is not None
    assert shortage(LIMITS, 1000, 0.75, is_short=True) is None


def test_if_all_take_too_much_the_one_that_takes_most_is_restarted() -> None:
    assert excess(LIMITS, {"a": Taken(400, 10), "b": Taken(600, 10)}) is None
    found = excess(LIMITS, {"a": Taken(400, 40), "b": Taken(601, 10)})
    assert found is not None
    assert (found[0], "memory" in found[1]) == ("b", True)
    found = excess(LIMITS, {"a": Taken(400, 41), "b": Taken(600, 10)})
    assert found is not None
    assert (found[0], "open files" in found[1]) == ("a", True)
    assert excess(Limits(), {"a": Taken(10**15, 10**9)}) is None
    assert excess(LIMITS, {}) is None


def test_the_machine_can_be_measured(tmp_path: Path) -> None:
    free = free_bytes(tmp_path / "not" / "there" / "yet")
    assert free is not None
    assert free > 0
    assert 0 < used_system_files() < 1


def test_records_are_whole_after_a_write_that_did_not_end(tmp_path: Path) -> None:
    record = Record(
        wish=Wish.STOP,
        rest=Rest(why=Why.HELD, reason="it fell", since=5.0, lines=("a", "ü\n")),
        falls=(1.0, 2.5),
        runs=(RunEntry(pid=5, directory="/a", began_at=1.0, ended_at=2.0, how="complete"),),
        place="/a/b",
        ticked_at=3.0,
        digest="x",
    )
    with Home(tmp_path) as home:
        home.save("a", record)
        (home.crawls / "a.new").write_bytes(b'{"wish": ')
        assert home.recall("a") == (record, None)
        assert home.recall("b") == (Record(), None)
        assert home.remembered() == ["a"]
        (home.crawls / "a.json").write_bytes(b'{"wish": "fly"}')
        recalled, unread = home.recall("a")
        assert recalled == Record()
        assert unread is not None
        assert unread.startswith(f"{home.crawls / 'a.json'} is damaged: ")
        assert (home.crawls / "a.json").read_bytes() == b'{"wish": "fly"}'
        with pytest.raises(HomeInUse, match=f"process {os.getpid()} serves"), Home(tmp_path):
            pass
    with Home(tmp_path):
        pass


def test_the_unfinished_run_of_a_schedule_goes_on_in_a_folder_that_was_moved(tmp_path: Path) -> None:
    old, new, away = tmp_path / "old", tmp_path / "new", "/elsewhere/run"
    old.mkdir()

    def record(home: Path) -> Record:
        runs = tuple(RunEntry(pid=5, directory=each, began_at=1.0) for each in (f"{home}/crawls/a/run", away))
        return Record(runs=runs, place=f"{home}/crawls/a/run", begun_in=f"{old}/crawls/a/run")

    with Home(old) as home:
        home.save("a", record(old))
        assert home.recall("a") == (record(old), None)
        home.save("b", Record(place=away))
    old.rename(new)
    with Home(new) as home:
        assert home.recall("a") == (record(new), None)
        assert home.recall("b") == (Record(place=away), None)
        # As an earlier version has stored it.
        (home.crawls / "b.json").write_bytes(msgspec.json.encode(record(new)))
        assert home.recall("b") == (record(new), None)


def test_messages_of_a_crawl_are_bounded_while_it_writes_them(tmp_path: Path) -> None:
    output = Output(tmp_path, "a")
    with output.messages.open("ab", buffering=0) as writing:
        writing.write(b"a line of some length\n" * (MAX_OUTPUT_BYTES // 20))
        output.trim()
        assert output.messages.stat().st_size <= KEPT_OUTPUT_BYTES
        writing.write(b"the last one\n")
    assert output.last_lines(tmp_path / "none")[-2:] == ("a line of some length", "the last one")
    assert b"\0" not in output.messages.read_bytes()
    log = tmp_path / "crawl.log"
    log.write_text("logged\n")
    assert Output(tmp_path, "b").last_lines(log) == ("logged",)
    assert Output(tmp_path, "b").why_silent() == "it does not answer yet, or any more"
    output.messages.write_text("progress\nwarning: the server is away, so it waits\n")
    assert output.why_silent() == "it does not answer yet, or any more. It says: the server is away, so it waits"
    with output.messages.open("a") as messages:
        messages.write("progress\n")
    assert output.why_silent() == "it does not answer yet, or any more"
    assert Output(tmp_path, "b").report() is None
    assert Output(tmp_path, "b").last_status() is None


def test_a_log_for_which_the_disk_has_no_room_keeps_no_daemon_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.symlink_to("/dev/full")
    with closing(RotatedFile(path)) as log:
        log.handle(logging.LogRecord("audit", logging.INFO, "", 0, "lost", None, None))
        assert log.stream is not None
        path.unlink()
        log.handle(logging.LogRecord("audit", logging.INFO, "", 0, "kept", None, None))
        path.unlink()
        path.symlink_to("/dev/full")
        log.handle(logging.LogRecord("audit", logging.INFO, "", 0, "lost", None, None))


def test_a_crawl_is_not_told_what_only_the_daemon_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    before = environment()
    monkeypatch.setenv("NOTIFY_SOCKET", "x")
    monkeypatch.setenv("WATCHDOG_USEC", "1")
    assert environment() == before
    monkeypatch.setenv("PATH", "/bin")
    assert environment() == {**before, "PATH": "/bin"}


def test_systemd_is_told_by_datagrams(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(600)
        supervisor = Supervisor({"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "3000000"})
        supervisor.tell("READY=1", "STATUS=3 crawls")
        assert listening.recv(1000) == b"READY=1\nSTATUS=3 crawls"
        supervisor.reloading()
        assert listening.recv(1000).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
    assert supervisor.watchdog_s == 3.0
    supervisor.tell("READY=1")  # nobody listens any more
    assert Supervisor({"WATCHDOG_USEC": "5", "WATCHDOG_PID": "1"}).watchdog_s is None
    assert Supervisor({}).watchdog_s is None
