"""The daemon with real crawls: they are started, watched, adopted, restarted, held, and never run twice."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec
import pytest

from crawler.serve.life.facts import Record, Why, Wish
from crawler.testing.disks import fill, mounted
from tests.e2e.crawling import (
    COMPLETE,
    REFUSED,
    USAGE,
    Running,
    Web,
    assert_sound,
    assert_told,
    fetched,
    onceover,
    started,
)
from tests.e2e.operating import command_here, is_listening

SLOWLY_S = 5.0
"""With this delay a crawl runs for forty seconds and more, so it can be met on its way, also after a daemon was started
meanwhile."""
VERY_SLOWLY_S = 30.0
"""With this one, for four minutes and more."""


class Served:
    """A folder of crawls, and the daemon that serves it."""

    def __init__(self, home: Path, daemon: Running) -> None:
        self.home = home
        self.daemon = daemon

    def record(self, name: str) -> Record:
        path = self.home / "daemon" / "crawls" / f"{name}.json"
        return msgspec.json.decode(path.read_bytes(), type=Record) if path.exists() else Record()

    def why(self, name: str) -> Why | None:
        rest = self.record(name).rest
        return None if rest is None else rest.why

    def is_complete(self, name: str) -> bool:
        return self.why(name) is Why.COMPLETE

    def pid(self, name: str) -> int | None:
        """The process that runs the crawl and listens."""
        runs = self.record(name).runs
        if not runs or runs[-1].how is not None or not is_listening(self.directory(name)):
            return None
        return runs[-1].pid

    def directory(self, name: str) -> Path:
        return self.home / "crawls" / name

    def wait(self, holds: Callable[[], object], what: str) -> None:
        self.daemon.wait_until(holds, what)

    def wait_until_complete(self, *names: str) -> None:
        for name in names:
            self.wait(partial(self.is_complete, name), f"end of {name}")

    def wait_for_pid(self, name: str) -> int:
        found: list[int] = []

        def is_found() -> bool:
            found.extend(pid for pid in [self.pid(name)] if pid is not None)
            return bool(found)

        self.wait(is_found, f"process of {name}")
        return found[0]

    def hurry(self, name: str) -> None:
        """Let a crawl go on without delays, when it has been slow for long enough."""
        assert_told(command_here("set", str(self.directory(name)), "politeness.min_delay_s=0"), COMPLETE)

    def end(self) -> None:
        """SIGTERM ends it, and its crawls, in order."""
        self.daemon.signal(signal.SIGTERM)
        assert_told(self.daemon.wait(), COMPLETE)


def write(home: Path, name: str, web: Web, more: str = "", *, delay_s: float = 0.0) -> Path:
    home.mkdir(exist_ok=True)
    path = home / f"{name}.toml"
    path.write_text(
        f'crawl.seeds = ["http://h00000.{web.params.domain}/"]\n'
        'scope.within = "domain"\nscope.sitemap_paths = []\n'
        f'fetch.hosts = {{ "*.{web.params.domain}" = "127.0.0.1:{web.port}" }}\n'
        f"politeness.min_delay_s = {delay_s}\npoliteness.delay_factor = 0\n"
        f"frontier.retry_delay_s = 0.05\nfrontier.retry_max_delay_s = 0.2\n{more}\n"
    )
    return path


@contextmanager
def serving(home: Path, *options: str, **env: str) -> Iterator[Served]:
    with started("daemon", str(home), *options, cwd=home.parent, **env) as daemon:
        served = Served(home, daemon)
        try:
            served.wait(lambda: "serves " in daemon.err, "start")
            yield served
        finally:
            daemon.process.kill()
            daemon.process.wait()
            kill_crawls(home)


def kill_crawls(home: Path) -> None:
    """End the crawls that outlast their daemon."""
    for lock in home.glob("crawls/*/lock"):
        pid = lock.read_text().strip()
        # If it is dead, another process may have got its number.
        with suppress(OSError):
            if pid.isdecimal() and (lock.parent / "control").exists() and Path(f"/proc/{pid}/cwd").samefile(home):
                os.killpg(int(pid), signal.SIGKILL)


def assert_crawled(served: Served, web: Web, *names: str) -> None:
    for name in names:
        assert fetched(served.directory(name)).keys() == web.pages
        assert_sound(served.directory(name))


def test_a_killed_crawl_is_restarted_and_the_others_do_not_notice(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, delay_s=SLOWLY_S)
    write(home, "b", slow_web)
    (home / "bad.toml").write_text("[crawl]\nseeds = 5\n")
    with serving(home, "--restart-delay", "0.1", PYTHONHASHSEED="random") as served:
        first = served.wait_for_pid("a")
        os.kill(first, signal.SIGKILL)
        served.wait(lambda: served.pid("a") not in (None, first), "second process")
        served.hurry("a")
        served.wait_until_complete("a", "b")
        assert [run.how for run in served.record("a").runs] == [
            "killed by signal 9; the system may have run out of memory",
            "complete",
        ]
        assert [run.how for run in served.record("b").runs] == ["complete"]
        assert "bad: broken: its configuration can't be used" in served.daemon.err
        assert "bad.toml:2: crawl.seeds: expected a list of texts" in served.daemon.err
        served.end()
        assert_crawled(served, slow_web, "a", "b")
    assert set(fetched(home / "crawls" / "b").values()) == {1}


def test_a_killed_daemon_leaves_its_crawls_running_and_the_next_one_takes_them_over(
    tmp_path: Path, slow_web: Web
) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, delay_s=SLOWLY_S)
    with started("daemon", str(home), cwd=tmp_path) as daemon:
        served = Served(home, daemon)
        pid = served.wait_for_pid("a")
        assert_told(onceover("daemon", home, cwd=tmp_path), REFUSED, f"process {daemon.pid} serves")
        daemon.signal(signal.SIGKILL)
        daemon.process.wait()
    with serving(home) as served:
        served.wait(lambda: f"a: runs already, in process {pid}" in served.daemon.err, "adoption")
        assert served.pid("a") == pid
        served.hurry("a")
        served.wait_until_complete("a")
        assert [(run.pid, run.how) for run in served.record("a").runs] == [(pid, "complete")]
        assert_crawled(served, slow_web, "a")
        served.end()
    # A crawl that has finished stays in the list, and is not run again.
    with serving(home) as served:
        served.wait(lambda: "a: complete: nothing is left to fetch; it waits for seeds" in served.daemon.err, "list")
        served.end()
        assert len(served.record("a").runs) == 1


def test_the_next_daemon_goes_on_with_what_was_ended_in_order_and_with_what_was_left_running(
    tmp_path: Path, slow_web: Web
) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, delay_s=SLOWLY_S)
    with serving(home) as served:
        served.wait_for_pid("a")
        served.end()
        assert served.record("a").rest is None
        assert served.record("a").runs[-1].how == "stopped, because the daemon ends"
        assert not (served.directory("a") / "control").exists()
        assert_sound(served.directory("a"))
    with started("daemon", str(home), "--leave-crawls", cwd=tmp_path) as daemon:
        served = Served(home, daemon)
        pid = served.wait_for_pid("a")
        served.end()
        assert command_here("status", str(served.directory("a")), "--json").json()["pid"] == pid
    with serving(home) as served:
        served.hurry("a")
        served.wait_until_complete("a")
        assert [run.how for run in served.record("a").runs] == ["stopped, because the daemon ends", "complete"]
        assert_crawled(served, slow_web, "a")


def test_a_crawl_that_can_not_start_is_held_with_its_last_lines_until_its_configuration_changes(
    tmp_path: Path, web: Web
) -> None:
    home = tmp_path / "home"
    write(home, "a", web)
    foreign = home / "crawls" / "a"
    foreign.mkdir(parents=True)
    (foreign / "letter.txt").write_text("mine")
    with serving(home, "--restart-delay", "0") as served:
        served.wait(lambda: served.why("a") is Why.HELD, "hold")
        rest = served.record("a").rest
        assert rest is not None
        assert "it fell 5 times in a row" in rest.reason
        # Only of the last process, not of those before it.
        assert " ".join(rest.lines).count("holds files, but no crawl; they were not touched") == 1
        served.wait(lambda: "a: held:" in served.daemon.err, "message")
        write(home, "a", web, 'crawl.directory = "crawls/other"')
        served.daemon.signal(signal.SIGHUP)
        served.wait_until_complete("a")
        assert fetched(home / "crawls" / "other").keys() == web.pages
    assert (foreign / "letter.txt").read_text() == "mine"


def test_the_folder_is_read_again_and_the_daemon_tells_what_has_changed(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, delay_s=SLOWLY_S)
    write(home, "gone", slow_web, delay_s=SLOWLY_S)
    with serving(home) as served:
        pid = served.wait_for_pid("a")
        served.wait_for_pid("gone")
        write(home, "b", slow_web, "scope.max_depth = 0")  # it shares the pace of a
        write(home, "a", slow_web, "daemon.max_memory_bytes = '4 GB'\noutput.warc_level = 5", delay_s=6.0)
        (home / "gone.toml").unlink()
        served.daemon.signal(signal.SIGHUP)
        served.wait_until_complete("b")
        served.wait(lambda: "gone: removed: its configuration file is gone" in served.daemon.err, "removal")
        served.wait(lambda: "has read the folder again: 3 changed" in served.daemon.err, "message")
        told = served.daemon.err
        assert "b: added" in told
        assert 'a: changed\n    daemon.max_memory_bytes is "4 GB"; it was unset' in told
        assert "politeness.min_delay_s is 6.0; it was 5.0\n" in told
        assert "output.warc_level is 5; it was 2 (its files are open); this holds when the crawl starts again" in told
        assert served.pid("a") == pid
        assert_sound(served.directory("gone"))
        # A folder without change, and a configuration that breaks: what runs goes on.
        (home / "a.toml").write_text("crawl.seeds = [")
        served.daemon.signal(signal.SIGHUP)
        served.wait(lambda: "a: broken" in served.daemon.err, "message")
        assert served.pid("a") == pid
        served.end()


def test_a_crawl_that_can_not_run_or_is_removed_is_told_of_once(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, delay_s=SLOWLY_S)
    with serving(home) as served:
        served.wait_for_pid("a")
        (home / "b.toml").write_text("crawl.seeds = [")
        served.daemon.signal(signal.SIGHUP)
        served.wait(lambda: "b: broken" in served.daemon.err, "message")
        (home / "b.toml").write_text("crawl.seeds = 1")
        served.daemon.signal(signal.SIGHUP)
        served.wait(lambda: served.daemon.err.count("b: broken") >= 2, "message")
        for name in ("a", "b"):
            (home / f"{name}.toml").unlink()
        served.daemon.signal(signal.SIGHUP)
        served.wait(lambda: served.daemon.err.count("removed: its configuration file is gone") == 2, "removal")
        served.wait(lambda: served.daemon.err.count("has read the folder again: ") == 3, "reading")
        served.end()
        told = served.daemon.err
    assert told.count("b: added") == 1
    assert told.count("b: broken") == 2
    assert told.count("b.toml:1") == 2
    assert [told.count(f"{name}: removed") for name in ("a", "b")] == [1, 1]


def test_what_an_operator_does_to_a_crawl_holds_for_the_daemon_too(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, delay_s=SLOWLY_S)
    write(home, "b", slow_web)
    with serving(home) as served:
        served.wait_for_pid("a")
        assert_told(command_here("stop", str(served.directory("a"))), COMPLETE)
        served.wait(lambda: "a: stopped: somebody has stopped it" in served.daemon.err, "obedience")
        assert served.record("a").wish is Wish.STOP
        # A URL that is added to a crawl that is complete is fetched, unless the crawl is paused.
        served.wait_until_complete("b")
        b = str(served.directory("b"))
        new = f"http://h00000.{slow_web.params.domain}/no-page-links-here"
        assert_told(command_here("pause", b, "--reason", "by night"), COMPLETE)
        served.wait(lambda: served.why("b") is Why.PAUSED, "pause")
        assert_told(command_here("add", b, new), COMPLETE)
        assert_told(command_here("resume", b), COMPLETE)
        served.wait(lambda: len(served.record("b").runs) == 2 and served.why("b") is Why.COMPLETE, "second run")
        assert command_here("inspect", b, "url", new, "--json").json()["status"] == 404
        served.end()
        assert len(served.record("a").runs) == 1


def test_a_crawl_that_somebody_else_runs_is_not_run_twice(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, delay_s=SLOWLY_S)
    by_hand = home / "hand"
    by_hand.mkdir()
    with started("crawl", str(home / "a.toml"), "--dir", str(home / "crawls" / "a"), cwd=by_hand) as crawl:
        crawl.wait_until((home / "crawls" / "a" / "control").is_socket, "socket")
        with serving(home) as served:
            served.wait(lambda: f"a: runs already, in process {crawl.pid}" in served.daemon.err, "adoption")
            served.hurry("a")
            assert_told(crawl.wait(), COMPLETE)
            served.wait_until_complete("a")
            served.end()
            assert served.record("a").runs == ()
    assert set(fetched(home / "crawls" / "a").values()) == {1}


@pytest.mark.parametrize("parts", [1, 2])
def test_a_crawl_that_somebody_has_started_and_stopped_by_hand_stays_stopped(
    parts: int, tmp_path: Path, slow_web: Web
) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, f"crawl.parts = {parts}", delay_s=SLOWLY_S)
    directory = home / "crawls" / "a"
    with started("crawl", "a.toml", cwd=home) as crawl:
        crawl.wait_until(lambda: is_listening(directory), "socket")
        with serving(home) as served:
            served.wait(lambda: f"a: runs already, in process {crawl.pid}" in served.daemon.err, "adoption")
            assert_told(command_here("stop", str(directory)), COMPLETE)
            served.wait(lambda: "a: stopped: somebody has stopped it" in served.daemon.err, "obedience")
            served.end()
            assert (served.record("a").wish, served.record("a").runs) == (Wish.STOP, ())


def test_a_crawl_that_takes_too_much_is_restarted_and_nothing_starts_on_a_disk_that_is_nearly_full(
    tmp_path: Path, slow_web: Web
) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, "daemon.max_memory_bytes = '2 MB'", delay_s=VERY_SLOWLY_S)
    write(home, "b", slow_web, "crawl.parts = 2\ndaemon.max_open_files = 16", delay_s=VERY_SLOWLY_S)
    with serving(home, "--restart-delay", "0") as served:
        assert "of memory, more than daemon.max_memory_bytes = 2.0 MB" in why_restarted(served, "a", 0)
        assert "open files, more than daemon.max_open_files = 16" in why_restarted(served, "b", 0)
        served.end()
        assert_sound(served.directory("a"))
    write(home, "a", slow_web, delay_s=VERY_SLOWLY_S)
    write(home, "b", slow_web, "crawl.parts = 2", delay_s=VERY_SLOWLY_S)
    before = len(served.record("b").runs)
    with serving(home, "--restart-delay", "0", "--max-memory", "1TB", "--max-open-files", "16") as served:
        why = why_restarted(served, "b", before)
        assert "all crawls have " in why
        assert "open files, more than 16 (--max-open-files), and this one has most" in why
        served.end()
    with serving(home, "--min-free-disk", "900PB") as served:
        served.wait(lambda: "a: short:" in served.daemon.err, "message")
        assert "at least 900000.0 TB must be (--min-free-disk)" in served.daemon.err
        before = len(served.record("a").runs)
        served.end()
        assert "started in process" not in served.daemon.err
        assert len(served.record("a").runs) == before


def test_a_crawl_on_a_full_disk_is_not_said_to_have_crashed(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    with mounted("-o", "size=3m", at=tmp_path / "disk") as disk:
        write(home, "a", slow_web, f"crawl.directory = '{disk}/a'\noutput.min_free_bytes = 0", delay_s=5.0)
        ballast = fill(disk)
        with serving(home, "--min-free-disk", "0", "--restart-delay", "0") as served:
            served.wait(lambda: "a: short: the disk is full: free some space" in served.daemon.err, "message")
            assert "ended: failed because the disk is full" in served.daemon.err
            assert "crashed" not in served.daemon.err
            assert served.why("a") is Why.SHORT
            served.end()
        ballast.unlink()


def why_restarted(served: Served, name: str, number: int) -> str:
    """Why the process of that number was ended in order; waits for the next one."""
    served.wait(lambda: len(served.record(name).runs) > number + 1, f"restart of {name}")
    how = served.record(name).runs[number].how
    assert how is not None
    assert how.startswith("stopped, because ")
    return how


def test_systemd_hears_that_it_is_ready_lives_reloads_and_ends(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(600)
        env = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "1000000"}
        with serving(home, "--log-format", "json", **env) as served:
            heard = [systemd.recv(1000) for _ in range(4)]
            assert sorted(set(heard)) == [b"READY=1\nSTATUS=0 crawls", b"WATCHDOG=1"]
            served.daemon.signal(signal.SIGHUP)
            assert next_but_watchdog(systemd).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
            assert next_but_watchdog(systemd) == b"READY=1\nSTATUS=0 crawls"
            served.end()
            lines = [msgspec.json.decode(line) for line in served.daemon.err.splitlines()]
            assert lines[0]["message"] == f"serves {home}: 0 crawls"
            logged = (home / "daemon" / "daemon.log").read_text()
            assert logged == served.daemon.err
        assert next_but_watchdog(systemd) == b"STOPPING=1"


def next_but_watchdog(systemd: socket.socket) -> bytes:
    while (told := systemd.recv(1000)) == b"WATCHDOG=1":
        pass
    return told


def test_wrong_usage_is_told(tmp_path: Path) -> None:
    assert_told(onceover("daemon", tmp_path / "missing", cwd=tmp_path), USAGE, "does not exist")
    assert_told(onceover("daemon", tmp_path, "--max-memory", "lots", cwd=tmp_path), USAGE, "expected a size, as 500MB")
