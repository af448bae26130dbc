"""That a crawl stops when it is told to, says so, and goes on as if nothing had been."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from socket import create_server

import msgspec
import pytest

from crawler.simweb.process import running
from crawler.testing.timeouts import MAX_WAIT_S
from tests.e2e.crawling import (
    COMPLETE,
    LIMIT,
    ONCEOVER,
    SMALL,
    STOPPED,
    Web,
    assert_sound,
    assert_told,
    environment,
    fetched,
    onceover,
    records,
    setting,
    started,
)

SIGNALS = [signal.SIGINT, signal.SIGTERM]
ONE_AT_A_TIME = setting("fetch.concurrency=1", "fetch.spare=0")
"""So the crawl of the long web always has a page in flight, and takes so long that it can be met on its way."""
AT_ONCE = setting("fetch.concurrency=64", "politeness.per_host=8")
STOPPED_BEFORE_THE_END = "onceover: stopped before the end; what was saved is kept\n"


@pytest.fixture(scope="module")
def long_web() -> Iterator[Web]:
    """200 pages on 5 hosts, of which nearly each takes a tenth of a second."""
    params = msgspec.structs.replace(SMALL, pages_per_host=40, slow=0.95, duplicates=0.0, delay_s=0.1)
    with running(params) as port:
        yield Web(port, params)


def has_records(directory: Path, *, at_least: int = 1) -> bool:
    return (directory / "records").is_dir() and len(records(directory)) >= at_least


HANGING = """
import asyncio
from pathlib import Path


class Hanging:
    def __init__(self, parameters):
        pass

    async def write(self, page, record):
        pass

    async def aclose(self):
        if not Path("hangs").exists():
            Path("hangs").touch()
            await asyncio.Event().wait()
"""


def test_a_sink_that_never_closes_keeps_no_crawl_from_ending(tmp_path: Path, long_web: Web) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    (tmp_path / "hanging.toml").write_text('[[output.sink]]\nbackend = "hanging:Hanging"\n')
    options = ["hanging.toml", *long_web.options, *AT_ONCE, "--dir", "crawl", "--max-pages", "2"]
    with started("crawl", *options, cwd=tmp_path, PYTHONPATH=str(tmp_path)) as crawl:
        crawl.wait_until((tmp_path / "hangs").exists, "the closing of the sink")
        crawl.signal(signal.SIGINT)
        crawl.wait_until(lambda: "Ctrl-C again does not wait for them" in crawl.err, "the question")
        crawl.signal(signal.SIGINT)
        ended = crawl.wait()
    assert_told(ended, STOPPED)
    resumed = onceover("crawl", "--dir", "crawl", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert_told(resumed, COMPLETE, "Resuming: ")
    assert_told(onceover("inspect", "crawl", "fsck", cwd=tmp_path, PYTHONPATH=str(tmp_path)), COMPLETE)
    assert fetched(tmp_path / "crawl") == dict.fromkeys(long_web.pages, 1)


SILENT = """
import asyncio
from pathlib import Path

from visited.digests.exact import ExactSet


class Silent:
    def __init__(self, parameters):
        inner = ExactSet()
        self.forget_many, self.has_many, self.describe = inner.forget_many, inner.has_many, inner.describe
        self.dump, self.load, self.aclose, self.inner = inner.dump, inner.load, inner.aclose, inner

    def __len__(self):
        return len(self.inner)

    async def add_many(self, urls):
        if len(self.inner) > 5 and not Path("silent").exists():
            Path("silent").touch()
            await asyncio.Event().wait()
        return await self.inner.add_many(urls)
"""


def test_a_visited_set_that_never_answers_keeps_no_crawl_from_ending(tmp_path: Path, long_web: Web) -> None:
    (tmp_path / "silent.py").write_text(SILENT)
    options = [*setting("visited.backend=silent:Silent"), *long_web.options, *AT_ONCE, "--dir", "crawl"]
    with started("crawl", *options, cwd=tmp_path, PYTHONPATH=str(tmp_path)) as crawl:
        crawl.wait_until((tmp_path / "silent").exists, "the silence of the set")
        crawl.signal(signal.SIGINT)
        crawl.wait_until(lambda: "Ctrl-C again stops at once" in crawl.err, "the stop")
        crawl.signal(signal.SIGINT)
        log = tmp_path / "crawl" / "logs" / "crawl.log"
        crawl.wait_until(lambda: "stopping at once" in log.read_text(), "the second signal")
        crawl.signal(signal.SIGINT)
        crawl.wait_until(lambda: "Ctrl-C again does not wait for them" in crawl.err, "the question")
        crawl.signal(signal.SIGINT)
        ended = crawl.wait()
    assert_told(ended, STOPPED)
    resumed = onceover("crawl", "--dir", "crawl", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert_told(resumed, COMPLETE, "Resuming: ")
    assert set(fetched(tmp_path / "crawl")) == long_web.pages


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_lets_what_is_in_flight_finish_and_the_crawl_goes_on_exactly(
    tmp_path: Path, long_web: Web, number: signal.Signals
) -> None:
    directory = tmp_path / "crawl"
    with started("crawl", *long_web.options, *ONE_AT_A_TIME, "--dir", "crawl", cwd=tmp_path) as crawl:
        crawl.wait_until(lambda: has_records(directory, at_least=6), "records")
        crawl.signal(number)
        ended = crawl.wait()
    assert_told(ended, STOPPED, "Stopping when ", ". Ctrl-C again stops at once")
    assert ended.out.startswith("Stopped. To go on: onceover crawl --dir crawl\n")
    assert_sound(directory)
    before = fetched(directory)
    assert 0 < len(before) < len(long_web.pages)
    log = (directory / "logs" / "crawl.log").read_text()
    assert f"{number.name}: stopping when" in log
    assert "ended: signal" in log
    resumed = onceover("crawl", "--dir", "crawl", *AT_ONCE, cwd=tmp_path)
    assert_told(resumed, COMPLETE, "Resuming: ")
    # Drained, not dropped: nothing was fetched twice.
    assert fetched(directory) == dict.fromkeys(long_web.pages, 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_stops_at_once_although_a_server_never_answers(tmp_path: Path, number: signal.Signals) -> None:
    with create_server(("127.0.0.1", 0)) as server:
        seed = f"http://127.0.0.1:{server.getsockname()[1]}/"
        options = ["--seed", seed, "--dir", "crawl", *setting("fetch.allow_private=true", "fetch.timeout_s=3600")]
        with started("crawl", *options, cwd=tmp_path) as crawl:
            server.accept()[0].detach()  # held open, and left without an answer
            crawl.signal(number)
            crawl.wait_until(lambda: "Stopping when 1 URL in flight is done" in crawl.err, "word of it")
            crawl.signal(number)
            ended = crawl.wait()
    assert_told(ended, STOPPED)
    assert_sound(tmp_path / "crawl")
    assert records(tmp_path / "crawl") == []


def test_a_terminal_that_is_closed_stops_a_crawl_once_however_often_it_is_told(tmp_path: Path, long_web: Web) -> None:
    directory = tmp_path / "crawl"
    ours, its = pty.openpty()
    crawl = subprocess.Popen(
        [ONCEOVER, "crawl", *long_web.options, *ONE_AT_A_TIME, "--dir", "crawl"],
        cwd=tmp_path,
        env=environment(),
        stdin=its,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(its, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - the tests have no thread here
    )
    os.close(its)
    with crawl:
        give_up_at = time.monotonic() + MAX_WAIT_S
        while not has_records(directory, at_least=6):
            assert time.monotonic() < give_up_at
            time.sleep(0.01)
        os.close(ours)  # the system now sends SIGHUP
        for _ in range(2):
            crawl.send_signal(signal.SIGHUP)
            time.sleep(0.005)
        assert crawl.wait(MAX_WAIT_S) == STOPPED
    log = (directory / "logs" / "crawl.log").read_text()
    assert "SIGHUP: stopping when" in log
    assert "at once" not in log
    assert_sound(directory)
    assert onceover("crawl", "--dir", "crawl", *AT_ONCE, cwd=tmp_path).code == COMPLETE
    assert fetched(directory) == dict.fromkeys(long_web.pages, 1)


def test_a_crawl_under_nohup_does_not_care_for_its_terminal(tmp_path: Path, slow_web: Web) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # which a child inherits
    try:
        with started("crawl", *slow_web.options, "--dir", "crawl", cwd=tmp_path) as crawl:
            crawl.signal(signal.SIGHUP)
            crawl.wait_until(lambda: has_records(tmp_path / "crawl"), "records")
            crawl.signal(signal.SIGHUP)
            ended = crawl.wait()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert_told(ended, COMPLETE)
    assert fetched(tmp_path / "crawl") == dict.fromkeys(slow_web.pages, 1)


IMPORTING = """
import signal, sys
from onceover_crawler import main

number = int(sys.argv.pop())

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "crawler.wiring":
            signal.raise_signal(number)

sys.meta_path.insert(0, Finder())
main()
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_during_the_imports_ends_the_command_in_order(tmp_path: Path, number: signal.Signals) -> None:
    """Also where Python would drop an exception, as within its importer."""
    command = [sys.executable, "-c", IMPORTING, "crawl", "--help", str(int(number))]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=MAX_WAIT_S)
    assert (ended.returncode, ended.stdout) == (STOPPED, "")
    assert ended.stderr == "onceover: stopped before it began\n"


def test_a_crawl_that_is_told_again_and_again_still_ends_in_order(tmp_path: Path, long_web: Web) -> None:
    with started("crawl", *long_web.options, *ONE_AT_A_TIME, "--dir", "crawl", cwd=tmp_path) as crawl:
        crawl.wait_until(lambda: has_records(tmp_path / "crawl"), "records")
        for _ in range(200):
            if crawl.process.poll() is not None:
                break
            crawl.signal(signal.SIGTERM)
            time.sleep(0.002)
        ended = crawl.wait()
    assert_told(ended, STOPPED)
    assert_sound(tmp_path / "crawl")
    assert onceover("crawl", "--dir", "crawl", *AT_ONCE, cwd=tmp_path).code == COMPLETE
    assert set(fetched(tmp_path / "crawl")) == long_web.pages


LOSING = """
import signal, sys
from crawler.cli import main
from crawler.cli.run import running

number = int(sys.argv.pop())

class Finalized:
    def __del__(self):
        signal.raise_signal(number)

settle = running.settle_allocator
running.settle_allocator = lambda: (Finalized(), settle())[1]
sys.argv[0] = "onceover"
main()
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_python_drops_ends_a_crawl_nevertheless(tmp_path: Path, web: Web, number: signal.Signals) -> None:
    """Nobody catches what a handler raises within a finalizer."""
    crawl = [sys.executable, "-c", LOSING, "crawl", *web.options, "--dir", "crawl", str(int(number))]
    ended = subprocess.run(crawl, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=MAX_WAIT_S)
    assert (ended.returncode, ended.stderr.lstrip()) == (STOPPED, STOPPED_BEFORE_THE_END), ended
    assert not has_records(tmp_path / "crawl")


BEGINNING = """
import signal, sys
from crawler.cli import main
from crawler.cli.run import running

number = int(sys.argv.pop())
loop_factory = running._loop_factory
running._loop_factory = lambda: (signal.raise_signal(number), loop_factory())[1]
sys.argv[0] = "onceover"
main()
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_before_the_event_loop_runs_ends_a_crawl_in_order(
    tmp_path: Path, web: Web, number: signal.Signals
) -> None:
    crawl = [sys.executable, "-c", BEGINNING, "crawl", *web.options, "--dir", "crawl", str(int(number))]
    ended = subprocess.run(crawl, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=MAX_WAIT_S)
    assert (ended.returncode, ended.stderr.lstrip()) == (STOPPED, STOPPED_BEFORE_THE_END), ended
    assert not has_records(tmp_path / "crawl")


@pytest.mark.parametrize("delay_s", [0.45, 0.7, 1.5])
def test_a_signal_at_any_moment_of_the_start_ends_it_in_order(tmp_path: Path, web: Web, delay_s: float) -> None:
    directory = tmp_path / "crawl"
    assert onceover("crawl", *web.options, "--dir", "crawl", "--max-pages", "10", cwd=tmp_path).code == LIMIT
    # Another backend: the start rebuilds the visited set.
    options = setting('visited.backend="bloom"', "politeness.min_delay_s=3")
    with started("crawl", "--dir", "crawl", *options, cwd=tmp_path) as crawl:
        time.sleep(delay_s)
        crawl.signal(signal.SIGTERM)
        ended = crawl.wait()
    # Until the program's first line runs, the system's own way of ending it holds.
    assert ended.code in (STOPPED, -signal.SIGTERM), ended
    assert "Traceback" not in ended.err
    assert_sound(directory)
    assert onceover("crawl", "--dir", "crawl", *setting("politeness.min_delay_s=0"), cwd=tmp_path).code == COMPLETE
    assert fetched(directory) == dict.fromkeys(web.pages, 1)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_an_error_is_told_ends_the_command_at_once(tmp_path: Path, number: signal.Signals) -> None:
    script = """
import time, crawler.cli, onceover_crawler
load = crawler.cli.import_module
def load_slowly(name):
    if name.endswith(".errors"):
        print("failed", flush=True)
        time.sleep(1000)
    return load(name)
crawler.cli.import_module = load_slowly
onceover_crawler.main()
"""
    command = [sys.executable, "-c", script, "status", "nowhere"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"failed\n"
        process.send_signal(number)
        assert process.stderr.read() == b""
    assert process.returncode == -number
