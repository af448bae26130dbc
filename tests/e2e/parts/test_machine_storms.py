"""That one crawl on many machines keeps all its promises, whatever happens to its machines and to Redis."""

import logging
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import pytest

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
MACHINE_FAULTS: Final = ("kill machine", "kill agent", "stop machine", "cut machine off")
MEANWHILE: Final = ("", "kill", "flush", "older", "hold", "pause", "full")
"""What may happen to Redis while a machine is stopped or cut off."""
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


class Fleet:
    """Machines, a service manager on each of them, and what happens to them."""

    def __init__(self, crawl: Machines, storm: Storm, random: Random) -> None:
        self._crawl = crawl
        self._storm = storm
        self._random = random
        self.unleased: list[Unleased] = []

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
        }
        happens[event]()
        with suppress(ProcessLookupError):
            self.tend()

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
        # A claim after that must stand for a lease and a tenth.
        self.unleased.append(Unleased(event, hosts, began_s + LEASE_S, time.monotonic() + 1.1 * LEASE_S))
        end()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(30))
def test_ten_events_over_four_machines_cost_nothing(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    events = random.choices([*FAULTS, *PART_FAULTS, *MACHINE_FAULTS, *MACHINE_FAULTS], k=10)
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
        check(crawl, fleet.unleased, f"seed {seed}, events {struck}")


def live_through(events: Sequence[str], crawl: Machines, fleet: Fleet, storm: Storm, random: Random) -> list[str]:
    """Let events happen, each after some more requests, until the crawl is complete. Returns those that did."""
    lines = Lines(crawl.log)
    give_up_at = time.monotonic() + TIMEOUT_S
    for number, event in enumerate(events):
        moment = growth(lines, by=random.randint(1, 12))
        while not moment():
            if any(map(fleet.is_complete, crawl.machines)):
                return list(events[:number])
            assert time.monotonic() < give_up_at, f"no more requests after {events[:number]}"
            fleet.tend()
            time.sleep(0.02)
        log.info("%d: %s", number, event)
        (fleet if event in MACHINE_FAULTS else storm).strike(event)
    return list(events)


def check(crawl: Machines, unleased: Sequence[Unleased], happened: str) -> None:
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
    for each in unleased:
        for host in each.hosts:
            of_host = [request for request in requests if host_of(f"http://{request.host}/") == host]
            past = [request for request in of_host if each.began_s < request.at_s < each.ended_s]
            # What was past the look at its lease may go out: one request of a host, of which nothing is stored.
            assert len(past) <= 1, (each.event, past, happened)
            for request in past:
                again = [other for other in of_host if other.target == request.target and other.at_s > request.at_s]
                assert again, (each.event, request, each, happened)
