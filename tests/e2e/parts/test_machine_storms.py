"""That one crawl on many machines keeps all its promises, whatever happens to its machines and to Redis."""

import logging
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import pytest

from crawler.cluster.notes import read_note
from crawler.disk.directory import CrawlDirectory
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE, TIMEOUT_S, assert_sound
from tests.e2e.killing import Lines, growth
from tests.e2e.parts.in_parts import UNHURRIED, WORLD, assert_fetched_once, host_of
from tests.e2e.parts.on_machines import LEASE_S, Machine, Machines, on_machines
from tests.e2e.parts.redis_storm import FAULTS, PART_FAULTS, Storm
from tests.e2e.parts.test_machines import DELAY_S
from tests.e2e.test_politeness import gaps_s

LASTING: Final = msgspec.structs.replace(WORLD, pages_per_host=20, slow=0.5, delay_s=0.4)
"""It lasts for all events, and they find requests in flight."""
MACHINE_FAULTS: Final = ("kill machine", "kill agent", "stop machine", "cut machine off", "move part")
MEANWHILE: Final = ("", "kill", "flush", "older", "hold", "pause", "full")
"""What may happen to Redis while a machine is stopped or cut off."""
WAIT_S: Final = 1.1 * LEASE_S
"""So long a claim must have stood before the part is opened."""
LONG_S: Final = 5.0
"""Far beyond a lease."""
ALONE_S: Final = 30.0
"""So long a machine waits for those that have ended before they are started again, too."""

log = logging.getLogger(__name__)


class Unleased(msgspec.Struct, frozen=True):
    """Hosts whose part had no lease for some time."""

    event: str
    hosts: set[str]
    began_s: float
    ended_s: float


class Moved(msgspec.Struct, frozen=True):
    """The directory that a part had on a machine that was stopped, once it was copied to another one."""

    place: Path
    pages: int
    """That it had then."""


class Fleet:
    """Machines, a service manager on each of them, and what happens to them."""

    def __init__(self, crawl: Machines, storm: Storm, random: Random) -> None:
        self._crawl = crawl
        self._storm = storm
        self._random = random
        self.unleased: list[Unleased] = []
        self.moved: list[Moved] = []

    def start(self) -> None:
        for machine in self._crawl.machines:
            machine.start()

    def tend(self) -> None:
        """Start again what has ended, but not what has ended because the crawl is complete. Parts that a dead agent has
        left may still run."""
        for machine in self._crawl.machines:
            if not machine.is_running and not self.is_complete(machine):
                machine.start()

    def is_complete(self, machine: Machine) -> bool:
        return not machine.is_running and machine.process.returncode == COMPLETE

    def finish(self) -> None:
        """Until the crawl is complete on all machines. One that died while the others ended needs them once more."""
        give_up_at = time.monotonic() + TIMEOUT_S
        alone_since: float | None = None
        while not all(map(self.is_complete, self._crawl.machines)):
            told = "\n".join(each.err[-2000:] for each in self._crawl.machines)
            assert time.monotonic() < give_up_at, f"the crawl does not end: {told}"
            self.tend()
            if not any(map(self.is_complete, self._crawl.machines)):
                alone_since = None
            elif alone_since is None:
                alone_since = time.monotonic()
            elif time.monotonic() > alone_since + ALONE_S:
                for machine in filter(self.is_complete, self._crawl.machines):
                    machine.start()
            time.sleep(0.05)

    def strike(self, event: str) -> None:
        """Let it happen to one machine, and be over."""
        number = self._random.randrange(len(self._crawl.machines))
        machine, proxy = self._crawl.machines[number], self._crawl.proxies[number]
        happens: dict[str, Callable[[], None]] = {
            "kill machine": machine.kill,
            "kill agent": machine.process.kill,
            "stop machine": lambda: self._without_lease(
                event, machine, lambda: machine.signal(signal.SIGSTOP), lambda: machine.signal(signal.SIGCONT)
            ),
            "cut machine off": lambda: self._without_lease(event, machine, proxy.cut, proxy.heal),
            "move part": lambda: self._move_part(machine),
        }
        happens[event]()
        with suppress(ProcessLookupError):
            self.tend()

    def _move_part(self, machine: Machine) -> None:
        """Stop a machine, and move the directory of its part to another one, which claims it. The first one goes on."""
        to = self._random.choice(
            [each for each in range(len(self._crawl.machines)) if self._crawl.machines[each] != machine]
        )
        target, proxy, flushes = self._crawl.machines[to], self._crawl.proxies[to], self._random.random() < 0.7
        parts = machine.parts()
        if not parts or not machine.stop():
            machine.signal(signal.SIGCONT)
            return
        stopped_s, part = time.monotonic(), self._random.choice(parts)
        place = machine.part(part)
        pages = list(read_records(place / "records"))
        log.info("part %d moves from %s to %s", part, machine.folder.name, target.folder.name)
        target.kill()
        shutil.copytree(place, target.part(part), ignore=_sockets)
        gone = place.rename(machine.folder / f"gone-{part}-{len(self.moved)}")
        self.moved.append(Moved(gone, pages=len(pages)))
        # The machine that gets it is about to claim its parts.
        target.max_parts = self._crawl.parts
        proxy.hold()
        target.start()
        self._crawl.wait_until(proxy.holds_something, "word from the machine that got the part")
        time.sleep(max(0.0, stopped_s + LEASE_S - time.monotonic()))
        machine.signal(signal.SIGCONT)
        if flushes:
            self._storm.strike("flush")
        epoch, asked_s = _epoch(target, part), time.monotonic()
        proxy.heal()
        while _epoch(target, part) == epoch:
            assert time.monotonic() < asked_s + TIMEOUT_S, f"part {part} is not claimed: {target.err[-2000:]}"
            self.tend()
            time.sleep(0.005)
        assert time.monotonic() >= asked_s + WAIT_S, f"part {part} was opened before its claim had stood"
        hosts = {host_of(page.url) for page in pages}
        self.unleased.append(Unleased("move part", hosts, stopped_s + LEASE_S, asked_s + WAIT_S))

    def _without_lease(
        self, event: str, machine: Machine, begin: Callable[[], object], end: Callable[[], object]
    ) -> None:
        hosts = machine.hosts()
        begin()
        began_s = time.monotonic()
        meanwhile = self._random.choice(MEANWHILE)
        log.info("meanwhile: %s", meanwhile)
        if meanwhile:
            self._storm.strike(meanwhile)
        time.sleep(max(0.0, began_s + LONG_S - time.monotonic()))
        self.unleased.append(Unleased(event, hosts, began_s + LEASE_S, time.monotonic() + WAIT_S))
        end()


def _sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_socket()]


def _epoch(machine: Machine, part: int) -> int:
    """In which the directory of a part was opened last."""
    note = read_note(CrawlDirectory(machine.part(part)))
    return 0 if note is None else note.epoch


@pytest.mark.long
@pytest.mark.parametrize("seed", range(30))
def test_ten_events_over_four_machines_cost_nothing(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    check_events(tmp_path, random, random.choices([*FAULTS, *PART_FAULTS, *MACHINE_FAULTS, *MACHINE_FAULTS], k=10))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_parts_that_move_from_stopped_machines_cost_nothing(tmp_path: Path, seed: int) -> None:
    check_events(tmp_path, Random(seed), ["move part", "kill machine", "move part", "flush", "move part"])


def check_events(tmp_path: Path, random: Random, events: Sequence[str]) -> None:
    with on_machines(tmp_path, *UNHURRIED, machines=4, params=LASTING) as crawl:
        storm = Storm(
            lambda: [pid for machine in crawl.machines for pid in machine.pids()],
            crawl.redis,
            crawl.proxies,
            random,
            longest_s=1.5 * LEASE_S,
        )
        fleet = Fleet(crawl, storm, random)
        fleet.start()
        crawl.wait_until_all_crawl()  # Redis makes no part once it has lost anything
        storm.keep_copy()
        struck = live_through(events, crawl, fleet, storm, random)
        fleet.finish()
        check(crawl, fleet, f"events {struck}")


def live_through(events: Sequence[str], crawl: Machines, fleet: Fleet, storm: Storm, random: Random) -> list[str]:
    """Let events happen, each after some more requests, until the crawl is complete. Returns those that did."""
    lines = Lines(crawl.log)
    for number, event in enumerate(events):
        moment = growth(lines, by=random.randint(1, 12))
        give_up_at = time.monotonic() + TIMEOUT_S
        while not moment():
            if any(map(fleet.is_complete, crawl.machines)):
                return list(events[:number])
            assert time.monotonic() < give_up_at, f"no more requests after {events[:number]}"
            fleet.tend()
            time.sleep(0.02)
        log.info("%d: %s", number, event)
        (fleet if event in MACHINE_FAULTS else storm).strike(event)
    return list(events)


def check(crawl: Machines, fleet: Fleet, happened: str) -> None:
    """All that docs/cluster.md promises."""
    assert_fetched_once(crawl.records(), crawl.web.pages)
    contents: dict[int, set[tuple[str, str]]] = {}
    for machine in crawl.machines:
        for part in machine.parts():
            assert_sound(machine.directory / f"part-{part}")
            for record in read_records(machine.directory / f"part-{part}" / "records"):
                if record.state == "done":
                    contents.setdefault(record.number, set()).add((record.url, record.digest or ""))
    assert not [each for each in contents.items() if len(each[1]) > 1], happened
    requests = crawl.requests()
    assert min(gaps_s(requests)) >= DELAY_S, happened
    for moved in fleet.moved:
        # One call to write may have been under way when its process was stopped.
        assert len(list(read_records(moved.place / "records"))) <= moved.pages + 1, (moved, happened)
    for each in fleet.unleased:
        for host in each.hosts:
            of_host = [request for request in requests if host_of(f"http://{request.host}/") == host]
            past = [request for request in of_host if each.began_s < request.at_s < each.ended_s]
            # What was past the look at its lease may go out: one request of a host, of which nothing is stored.
            assert len(past) <= 1, (each.event, past, happened)
            for request in past:
                again = [other for other in of_host if other.target == request.target and other.at_s > request.at_s]
                assert again, (each.event, request, each, happened)
