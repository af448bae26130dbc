"""Crawls that are killed and taken up again: whole processes, each the only one of its group."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from random import Random

import msgspec

from config import Config, load, render_toml
from crawler.disk.directory import CrawlDirectory
from crawler.simweb.log import LogEntry, read_json_lines
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from frontier import FrontierStats
from frontier.descriptor import Report
from frontier.leveldb.store import LevelDBStore
from frontier.values import Damaged
from tests.e2e.crawling import COMPLETE, TIMEOUT_S, Web, setting, start
from tests.e2e.operating import command_here, is_listening
from tests.stores import open_leveldb

Moment = Callable[[], object]
"""Asked again and again while a crawl runs; the crawl is killed when it is true."""

IDLE_S = 0.6
"""Longer than a process waits for its turn on a busy machine, so that it really has nothing to do."""
_LOOK_EVERY_S = 0.001
_PROBE = "probe.invalid"


class Left(msgspec.Struct, frozen=True):
    """What a killed crawl left in its store."""

    settled: frozenset[str]
    """Canonical URLs that are done, failed or excluded."""
    attempts: Mapping[str, int]
    """Of those that wait: how many attempts are accounted for."""
    known_robots: frozenset[str]
    """Origins whose robots.txt need not be asked for."""


class Victim:
    """A crawl of a simulated web, run by one process after the other."""

    def __init__(
        self, folder: Path, web: Web, log: Path, options: Sequence[str], env: Mapping[str, str] | None = None
    ) -> None:
        self.directory = CrawlDirectory(folder / "crawl")
        self.log = log
        self._web = web
        self._folder = folder
        self.options = options
        self._env = env or {}
        self._torn: dict[Path, int] = {}
        """How long an archive is whose end is torn."""

    def run(self, moment: Moment = lambda: False, *, after_s: float = 0.0) -> int:
        """Start it, and kill it `after_s` after the moment; its exit code, which is -9 if it did not end before."""
        arguments = ["crawl", *self.options, "--dir", "crawl"]
        with (self._folder / "stderr").open("wb") as err, Path(os.devnull).open("wb") as out:
            process = start(*arguments, cwd=self._folder, out=out, err=err, env=self._env, is_session=True)
        give_up_at = time.monotonic() + TIMEOUT_S
        try:
            while process.poll() is None and not moment():
                assert time.monotonic() < give_up_at, f"neither ended nor at the moment: {self.err}"
                time.sleep(_LOOK_EVERY_S)
            time.sleep(after_s)
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        assert code in (COMPLETE, -signal.SIGKILL), f"ended with {code}: {self.err}"
        assert "Traceback" not in self.err, self.err
        return code

    @property
    def err(self) -> str:
        return (self._folder / "stderr").read_text()

    def tear(self, random: Random) -> None:
        """Leave the beginning of a record behind, as a kill does that falls into the writing of a long one."""
        for path in sorted(self.directory.records.glob("*.jsonl"))[-1:]:
            _append(path, path.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[2], random)
        for path in self.directory.warc.glob("*.open"):
            if path.stat().st_size != self._torn.get(path):  # else no start has mended it
                _append(path, path.read_bytes()[:200], random)
                self._torn[path] = path.stat().st_size

    def requests(self) -> list[LogEntry]:
        """All requests that the crawl has made so far, also those that a kill left on their way."""
        wait_for_earlier_requests(self._web.port)
        return [request for request in read_json_lines(self.log) if request.host != _PROBE]

    def left(self) -> Left | None:
        """What the kill left behind, which is checked; None if that was before there was anything.

        Looks at a copy: what opening it mends must not be mended for the next start.
        """
        if not self.directory.has_state():
            return None
        copy = CrawlDirectory(self._folder / "copy")
        aside = shutil.ignore_patterns("logs", "control")
        shutil.copytree(self.directory.path, copy.path, ignore=aside)
        try:
            config = self._config()
            copy.write_configuration(render_toml(config))
            _check(copy)
            store = open_leveldb(config, copy)
            try:
                return _left(store)
            finally:
                store.close()
        finally:
            shutil.rmtree(copy.path)

    def _config(self) -> Config:
        overrides = [part for part in self.options if not part.startswith("--") and "=" in part]
        return load(None, overrides=overrides, environ={}, require_seeds=False).config


@contextmanager
def victim(
    folder: Path, params: WorldParams, *settings: str, seeds: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> Iterator[Victim]:
    """A crawl of a web that is served, and logged, while the block lasts; from more seeds if so asked."""
    log = folder / "requests.jsonl"
    with running(params, log_path=log) as port:
        web = Web(port, params)
        options = [*web.options, *setting(*settings), *(part for seed in seeds for part in ("--seed", seed))]
        yield Victim(folder, web, log, options, env)


def wait_for_earlier_requests(port: int) -> None:
    """Until the web has logged all requests that were sent before: it answers one more after them."""
    probe = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    probe.request("GET", "/", headers={"Host": _PROBE})
    probe.getresponse().read()
    probe.close()


class Lines:
    """Counts the lines of a file that grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._count = 0

    def count(self) -> int:
        with self._path.open("rb") as file:
            file.seek(self._at)
            new = file.read()
        self._at += len(new)
        self._count += new.count(b"\n")
        return self._count


def growth(lines: Lines, *, by: int) -> Moment:
    """There are so many more lines."""
    number = lines.count() + by
    return lambda: lines.count() >= number


def idleness(lines: Lines) -> Moment:
    """No line is added for a while, after the first ones."""
    first = count = lines.count()
    since = 0.0

    def has_idled() -> bool:
        nonlocal count, since
        now, before = time.monotonic(), count
        count = lines.count()
        if count > before or count == first:
            since = now
        return now - since > IDLE_S

    return has_idled


def rest(lines: Lines, directory: Path, *, at_least_s: float) -> Moment:
    """After the first further requests, all hosts rest for so long, and nothing is in flight."""
    first = lines.count()

    def is_at_rest() -> bool:
        if lines.count() == first or not is_listening(directory):
            return False
        status = command_here("status", str(directory), "--json").json()
        frontier = msgspec.convert(status["frontier"], FrontierStats)
        if not status["running"] or frontier.in_process or frontier.ready_queues:
            return False
        return frontier.next_wake_s is not None and frontier.next_wake_s >= at_least_s

    return is_at_rest


def _append(path: Path, record: bytes, random: Random) -> None:
    if record:
        with path.open("ab") as file:
            file.write(record[: random.randrange(1, len(record))])


def _check(copy: CrawlDirectory) -> None:
    ended = command_here("inspect", str(copy.path), "fsck", "--json")
    report = msgspec.json.decode(ended.out, type=Report)
    assert report.problems == []
    assert report.quarantined == 0
    assert ended.code == COMPLETE
    # A crash is no reason to rebuild the visited set.
    assert ended.err == "", ended.err


def _left(store: LevelDBStore) -> Left:
    attempts = {}
    for pending in store.full_scan.pending_urls():
        assert not isinstance(pending, Damaged)
        attempts[pending.url.canonical] = pending.url.attempt
    for postponed in store.full_scan.postponed_urls():
        assert not isinstance(postponed, Damaged)
        attempts[postponed.pending.url.canonical] = postponed.pending.url.attempt
    known = frozenset(store.reads.ledger())
    origins = {canonical[: canonical.index("/", 7)] for canonical in known}
    noted = frozenset(origin for origin in origins if store.notes.get(f"robots {origin}") is not None)
    return Left(settled=known - attempts.keys(), attempts=attempts, known_robots=noted)
