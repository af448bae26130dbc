"""The model's parts with real frontiers: each has a LevelDB of its own. A kill is a copy of its directory at that
moment, a power failure a copy from its last sync."""

import shutil
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import TypeVar

from crawler.parts.ending import Gate, Report
from crawler.parts.messages import Hello, Parcels, Skip
from crawler.parts.receiver import Intake, Positions, Receiver
from crawler.parts.sender import Sender
from crawler.testing.frontier.crawls import copy_of_one_moment
from frontier import CrawlUrl, Lease, Outcome, PartLinks, Place, UrlState
from frontier.leveldb.store import LevelDBStore
from frontier.parts.protocol import Part as PartOfCrawl
from frontier.shell import QueueFrontier
from frontier.snapshots.saving import Snapshots
from frontier.terms import Terms
from frontier.upkeep.fsck import fsck
from tests.unit.parts.model import WINDOW, Part, Sending, Stored, World, url_of
from visited.digests.exact import ExactSet

_Result = TypeVar("_Result")
DONE = Outcome(state=UrlState.DONE, status=200)


class StoredPart(Part):
    """A part with a frontier in LevelDB."""

    def __init__(
        self,
        number: int,
        world: World,
        seeds: Iterable[int],
        base: Path,
        run: Callable[[Coroutine[object, object, object]], object],
    ) -> None:
        self.number = number
        self.world = world
        self.seeds = [seed for seed in seeds if world.owner(seed) == number]
        self._base = base / f"{number}"
        self._run = run
        self._lives = 0
        self._directory = self._base / "0"
        self._directory.mkdir(parents=True)
        self._synced: Path | None = None
        self._syncing: tuple[Path, Positions] | None = None
        self._last_seen = Stored()
        self.open()

    def run(self, step: Coroutine[object, object, _Result]) -> _Result:
        result: _Result = self._run(step)  # type: ignore[assignment]
        return result

    # a life

    def open(self) -> None:
        world = self.world
        part = PartOfCrawl(number=self.number, parts=world.parts, lineage=self.number + 1)
        self.store = LevelDBStore(
            self._directory / "frontier", Terms(identity={"canonicalization": "tests"}, part=part)
        )
        snapshots = Snapshots(self._directory / "visited", every=3)
        self.frontier = self.run(
            QueueFrontier.open(self.store, ExactSet(), snapshots=snapshots, owner=world.ownership.owner)
        )
        assert self.frontier.part_links is not None
        self.links: PartLinks = self.frontier.part_links
        self.incarnation = self.links.incarnation
        self.senders = {
            other: Sender(
                sender=self.number,
                receiver=other,
                incarnation=self.incarnation,
                waiting=self.links.waiting(other),
                trimmed=self.links.trimmed(other),
                window=WINDOW,
            )
            for other in range(world.parts)
            if other != self.number
        }
        self.links.watch(lambda receiver, parcels: self.senders[receiver].append(parcels), lambda: None)
        self.receiver = Receiver(receiver=self.number, incarnation=self.incarnation, positions=self.links.positions())
        self.gate = Gate()
        self.lease_out: Lease | None = None
        self.is_alive = True
        self.run(self.frontier.add([page_of(seed) for seed in self.seeds]))

    def end(self, *, loses_power: bool) -> None:
        self._lives += 1
        after = self._base / f"{self._lives}"
        if not loses_power:
            copy_of_one_moment(self._directory, after)
        elif self._synced is None:
            after.mkdir()
        else:
            shutil.copytree(self._synced, after)
        self.is_alive = False
        self.run(self.frontier.aclose())
        shutil.rmtree(self._directory)
        self._directory = after
        self._syncing = None
        self._last_seen = self._look_after_death()

    def _look_after_death(self) -> Stored:
        """What the next life will find; looked at in a copy, because a look changes it."""
        copy = self._base / "look"
        shutil.copytree(self._directory, copy)
        try:
            part = PartOfCrawl(number=self.number, parts=self.world.parts, lineage=self.number + 1)
            store = LevelDBStore(copy / "frontier", Terms(identity={"canonicalization": "tests"}, part=part))
            try:
                problems = fsck(store, owner=self.world.ownership.owner).problems
                assert [problem for problem in problems if problem.kind != "gap"] == []
                return look(store, self.world)
            finally:
                store.close()
        finally:
            shutil.rmtree(copy)

    def close(self) -> None:
        if self.is_alive:
            self.is_alive = False
            self.run(self.frontier.aclose())

    @property
    def stored(self) -> Stored:
        return look(self.store, self.world) if self.is_alive else self._last_seen

    @stored.setter
    def stored(self, _: Stored) -> None:
        raise NotImplementedError

    # transitions

    def admit(self, pages: Iterable[int], parcels: Iterable[tuple[int, list[CrawlUrl]]] = ()) -> None:
        assert not list(parcels)
        self.run(self.frontier.add([page_of(page) for page in pages]))

    def lease(self, choice: int) -> None:
        if self.lease_out is None:
            self.lease_out = self.run(anext(self.frontier))

    def add_links(self) -> None:
        assert self.lease_out is not None
        page = int(self.lease_out.url.url.rpartition("/")[2])
        self.run(self.frontier.add([page_of(link) for link in self.world.links[page]]))

    def settle(self) -> None:
        assert self.lease_out is not None
        self.run(self.frontier.done(self.lease_out, cooldown_s=0.0, outcome=DONE))
        self.lease_out = None

    def flush(self) -> None:
        self.run(self.links.send_counts())

    def begin_sync(self) -> None:
        positions = self.receiver.begin_sync()
        copy = self._base / f"sync-{self._lives}-{self.links.transitions}"
        if not copy.exists():
            copy_of_one_moment(self._directory, copy)
        self._syncing = copy, positions

    @property
    def syncing(self) -> tuple[Stored, Positions] | None:
        return None if self._syncing is None else (self._last_seen, self._syncing[1])

    @syncing.setter
    def syncing(self, _: object) -> None:
        raise NotImplementedError

    def end_sync(self) -> None:
        assert self._syncing is not None
        self.run(self.links.make_safe())
        self._synced, positions = self._syncing
        self.receiver.end_sync(positions)
        self._syncing = None

    def report(self) -> Report:
        senders = self.senders.values()
        return Report(
            incarnation=self.incarnation,
            transitions=self.links.transitions,
            is_idle=self.links.is_idle and not self.links.has_counts,
            welcomed_by={each.receiver: each.welcomed_by for each in senders if each.welcomed_by is not None},
            unconfirmed={each.receiver: each.end for each in senders if self.links.waiting(each.receiver)},
        )

    # messages

    def send(self, connection: Sending, *, most: int = WINDOW) -> None:
        sender = self.senders[connection.receiver]
        if (found := sender.next_range()) is not None:
            first, last = found[0], min(found[1], found[0] + most - 1)
            parcels = self.links.parcels(connection.receiver, first, last)
            connection.to_receiver.append(sender.begin(first, parcels))

    def take_at_receiver(self, connection: Sending, message: Hello | Skip | Parcels) -> None:
        self.receiver.generation = self.links.generation
        super().take_at_receiver(connection, message)

    def store_gap(self, sender: int, place: Place) -> None:
        self.run(self.links.skip(sender, place))

    def store_intake(self, sender: int, intake: Intake) -> None:
        self.run(self.links.admit(sender, intake.place, intake.parcels))

    def forget_sent(self, receiver: int) -> None:
        self.links.forget_sent(receiver)

    def trim(self, receiver: int, upto: int, *, safe_before: int) -> None:
        trimmed = self.senders[receiver].trimmed
        assert trimmed is not None
        assert trimmed.sequence == upto
        self.run(self.links.trim(receiver, trimmed))


def page_of(page: int) -> CrawlUrl:
    url = f"http://h{page}.test/{page}"
    return CrawlUrl(url=url, canonical=url, queue_key=url_of(page).queue_key)


def look(store: LevelDBStore, world: World) -> Stored:
    """What a store has, as the model has it."""
    pending: list[int] = []
    done: set[int] = set()
    for known in store.full_scan.entries():
        assert isinstance(known, tuple)
        entry, _ = known
        page = int(entry.canonical.rpartition("/")[2])
        if entry.state is UrlState.PENDING:
            pending.append(page)
        else:
            done.add(page)
    outbox: dict[int, list[bytes]] = {}
    for receiver, _, content in store.outbox.all_parcels():
        outbox.setdefault(receiver, []).append(content)
    return Stored(
        transitions=store.counters.batches,
        pending=pending,
        done=done,
        outbox=outbox,
        positions=dict(store.positions()),
        generation=store.counters.generation,
        gaps=store.counters.gaps,
    )
