"""One crawl on many machines, as a user runs it: each machine is a group of processes with a directory of its own, and
all of them have one server of Redis."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from crawler.cluster.register import Register, find_generation
from crawler.cluster.values import Cluster
from crawler.page import PageRecord
from crawler.redis.client import connected
from crawler.redis.server import Server
from crawler.simweb.log import LogEntry, read_json_lines
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE, TIMEOUT_S, Ended, Process, Web, assert_told, onceover, setting, start
from tests.e2e.parts.in_parts import WORLD, host_of, running_part
from tests.redis_server import RedisServer, running_redis
from tests.tcp_proxy import Proxy, proxied, to_path

LEASE_S = 2.0
PREFIX = "onceover"


class Machine:
    """A machine: one group of processes, and a directory."""

    def __init__(self, folder: Path, url: str, *, max_parts: int) -> None:
        self.folder = folder
        self.directory = folder / "crawl"
        self.max_parts = max_parts
        """How many it runs, from its next start on."""
        self._command = ["crawl", "--cluster", url, "--dir", "crawl"]
        self._process: Process | None = None

    def start(self, *more: str) -> None:
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "stdout").open("wb") as out, (self.folder / "stderr").open("ab") as err:
            arguments = [*self._command, "--max-parts", str(self.max_parts), *more]
            self._process = start(*arguments, cwd=self.folder, out=out, err=err, env={}, is_session=True)

    @property
    def process(self) -> Process:
        assert self._process is not None
        return self._process

    @property
    def err(self) -> str:
        return (self.folder / "stderr").read_text()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """As when the power fails: all its processes at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def wait(self) -> Ended:
        code = self.process.wait(TIMEOUT_S)
        return Ended(code, (self.folder / "stdout").read_text(), self.err)

    def signal(self, number: int) -> None:
        """To all its processes."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def part(self, number: int) -> Path:
        """The directory of a part."""
        return self.directory / f"part-{number}"

    def parts(self) -> list[int]:
        """Those that have directories here."""
        return sorted(int(path.name.removeprefix("part-")) for path in self.directory.glob("part-*"))

    def pid_of(self, part: int) -> int | None:
        """The process of a part that runs here."""
        return running_part(self.directory / f"part-{part}", cwd=self.folder)

    def pids(self) -> list[int]:
        """The processes of the parts that run here."""
        return [pid for part in self.parts() if (pid := self.pid_of(part)) is not None]

    def stop(self) -> bool:
        """Stop all its processes by SIGSTOP. Returns whether none can go on writing. A part that an earlier agent has
        left behind could."""
        self.signal(signal.SIGSTOP)
        pids = [self.process.pid, *self.pids()]
        while not all(map(_is_stopped, pids)):
            if any(os.getpgid(pid) != self.process.pid for pid in pids if _lives(pid)):
                return False
            time.sleep(0.01)
        return True

    def hosts(self) -> set[str]:
        """Of which its parts have records."""
        return {host_of(record.url) for part in self.records() for record in part}

    def records(self) -> list[list[PageRecord]]:
        """Of each part: the last copy of each record."""
        paths = [self.directory / f"part-{part}" / "records" for part in self.parts()]
        return [list(read_records(path, last_only=True)) for path in paths if path.is_dir()]


def _state_of(pid: int) -> str | None:
    """As the system names it; None if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def _lives(pid: int) -> bool:
    return _state_of(pid) not in (None, "Z", "X")


def _is_stopped(pid: int) -> bool:
    return not _lives(pid) or _state_of(pid) == "T"


class Machines(msgspec.Struct, frozen=True):
    """Machines that have one crawl of a simulated web that is served, and logged."""

    web: Web
    log: Path
    redis: RedisServer
    machines: Sequence[Machine]
    proxies: Sequence[Proxy]
    """The way of each machine to Redis."""
    parts: int

    def start(self) -> None:
        """Start all machines."""
        for machine in self.machines:
            machine.start()

    def wait(self, code: int) -> None:
        """Wait until all machines have ended, with this exit code."""
        for machine in self.machines:
            assert_told(machine.wait(), code)

    def read(self) -> Cluster:
        """The register."""
        return asyncio.run(_read(self.redis.url))

    def wait_until(self, holds: Callable[[], object], what: str) -> None:
        give_up_at = time.monotonic() + TIMEOUT_S
        while not holds():
            told = "\n".join(each.err for each in self.machines if each.folder.exists())
            assert time.monotonic() < give_up_at, f"no {what} within {TIMEOUT_S:g} s: {told}"
            assert any(each.is_running for each in self.machines), f"all have ended before {what}: {told}"
            time.sleep(0.05)

    def wait_until_all_crawl(self) -> None:
        """Until each part has stored a page."""
        self.wait_until(lambda: sum(map(bool, self.records())) == self.parts, "a page of each part")

    def coordinator(self) -> Machine | None:
        """The machine that decides for the crawl."""
        lease = self.read().coordinator
        pids = {str(each.process.pid): each for each in self.machines if each.is_running}
        return None if lease is None or not lease.stands else pids.get(lease.holder.split(":")[1])

    def wait_for_coordinator(self) -> Machine:
        found: list[Machine] = []

        def has_one() -> bool:
            found[:] = [machine for machine in [self.coordinator()] if machine is not None]
            return bool(found)

        self.wait_until(has_one, "machine that decides")
        return found[0]

    def requests(self) -> list[LogEntry]:
        return list(read_json_lines(self.log))

    def records(self) -> list[list[PageRecord]]:
        return [part for machine in self.machines for part in machine.records()]


async def _read(url: str) -> Cluster:
    async with connected(Server(url=url)) as client:
        generation = await find_generation(client, PREFIX)
        assert generation is not None
        return await Register(client, prefix=PREFIX, generation=generation).read()


@contextmanager
def on_machines(
    folder: Path,
    *settings: str,
    machines: int = 2,
    max_parts: int = 1,
    parts: int | None = None,
    params: WorldParams = WORLD,
) -> Iterator[Machines]:
    """A crawl that was made, with one part for each that the machines may run, unless `parts` says how many. They are
    not started, and are killed at the end."""
    log = folder / "requests.jsonl"
    with running_redis() as redis, running(params, log_path=log) as port, ExitStack() as ways:
        web = Web(port, params)
        parts = parts or machines * max_parts
        options = setting('scope.within="any"', *settings, f"exchange.lease_s={LEASE_S}")
        (folder / "site.toml").write_text(f'[crawl]\nseeds = ["{web.options[1]}"]\n')
        made = ["cluster", "init", "site.toml", "--parts", str(parts), "--url", redis.url]
        assert_told(onceover(*made, *web.options[2:], *options, cwd=folder), COMPLETE)
        proxies = [ways.enter_context(proxied(to_path(str(redis.socket)))) for _ in range(machines)]
        all_machines = [
            Machine(folder / f"machine-{number}", f"redis://127.0.0.1:{proxy.port}", max_parts=max_parts)
            for number, proxy in enumerate(proxies)
        ]
        try:
            yield Machines(web, log, redis, all_machines, proxies, parts)
        finally:
            for machine in all_machines:
                machine.kill()
