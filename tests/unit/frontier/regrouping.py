"""Crawls that are divided anew: what they have before and after."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import plyvel

from crawler.parts.ownership import Ownership
from crawler.testing.frontier.crawls import now
from frontier import CrawlUrl, Part, StoreRefused
from frontier.leveldb.format.encoding import decode_entry
from frontier.leveldb.format.queue_records import decode_queue
from frontier.leveldb.store import LevelDBStore
from frontier.records import COUNTS, Counters
from frontier.regroup.regroup import regroup
from frontier.regroup.sources import OF_FIRST
from frontier.regrouping import PartOfState, Regrouped, Regrouping
from frontier.shell import QueueFrontier
from frontier.terms import Terms
from frontier.upkeep.fsck import fsck
from frontier.upkeep.part_checks import check_parts
from tests.unit.frontier.crawls import IDENTITY
from visited.digests.exact import ExactSet

OF_RECORDS = (*COUNTS, "quarantined")
"""The counters that count what is stored."""
NOTES = ("robots", "cookies")
"""The kinds of notes that are declared; a host follows."""


class HostRouting:
    """The routing of a crawl whose URLs are `http://HOST.test/…`."""

    def __init__(self, parts: int, *, before: int) -> None:
        self.owner = Ownership(parts).owner
        self._parts = parts
        self._owner_before = Ownership(before).owner

    def owner_of_settled(self, canonical: str, /) -> int:
        return self.owner(key_of(canonical))

    def owners_of_group(self, name: str, /) -> Sequence[int]:
        kind, _, key = name.partition(" ")
        return [self.owner(key)] if kind in ("host", "domain") else range(self._parts)

    def check_note(self, key: str, /) -> None:
        if key.partition(" ")[0] not in NOTES:
            raise StoreRefused(f"{key} is of no declared kind")

    def note(self, key: str, values: Mapping[int, bytes], /) -> tuple[Sequence[int], bytes]:
        host = key.partition(" ")[2]
        before = self._owner_before(f"test,{host}")
        return [self.owner(f"test,{host}")], values.get(before, next(iter(values.values())))


def key_of(url: str) -> str:
    return f"test,{url.partition('//')[2].partition('.')[0]}"


def url_at(host: str, path: str, **more: Any) -> CrawlUrl:
    url = f"http://{host}.test/{path}"
    return CrawlUrl(url=url, canonical=url, queue_key=f"test,{host}", **more)


class Divided:
    """The stores of a crawl, and what divides them anew."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.generation = 0
        self.lineages = 0
        self.parts: list[PartOfState] = [PartOfState(base / "single" / "frontier", None)]

    @property
    def owner(self) -> Callable[[str], int] | None:
        return None if self.parts[0].part is None else Ownership(len(self.parts)).owner

    def job(self, parts: int, **more: Any) -> Regrouping:
        """What divides it into so many parts."""
        targets = [
            PartOfState(
                self.base / f"{self.generation + 1}-{number}" / "frontier",
                Part(number=number, parts=parts, lineage=self.lineages + number + 1),
            )
            for number in range(parts)
        ]
        routing = HostRouting(parts, before=len(self.parts))
        return Regrouping(sources=self.parts, targets=targets, routing=routing, **more)

    async def divide(self, parts: int) -> Regrouped:
        job = self.job(parts)
        done = await regroup(job)
        self.follow(job)
        return done

    def follow(self, job: Regrouping) -> None:
        """The targets are the parts now."""
        self.parts = list(job.targets)
        self.generation += 1
        self.lineages += len(self.parts)

    def open_store(self, number: int = 0) -> LevelDBStore:
        place = self.parts[number]
        place.directory.mkdir(parents=True, exist_ok=True)
        return LevelDBStore(place.directory, Terms(identity=IDENTITY, part=place.part))

    async def open(self, number: int = 0, **more: Any) -> QueueFrontier:
        return await QueueFrontier.open(self.open_store(number), ExactSet(), now=now, owner=self.owner, **more)

    def check(self) -> None:
        """No part has a problem, and they fit together."""
        with self.stores() as stores:
            for store in stores:
                problems = fsck(store, owner=self.owner).problems
                assert problems == [], problems
            if self.owner is not None:
                problems = list(check_parts(stores))
                assert problems == [], problems

    @contextmanager
    def stores(self) -> Iterator[list[LevelDBStore]]:
        with ExitStack() as stack:
            stores = [self.open_store(number) for number in range(len(self.parts))]
            for store in stores:
                stack.callback(store.close)
            yield stores

    def counters(self) -> Counters:
        """Those of all parts together."""
        with self.stores() as stores:
            total = Counters(next_number=0, next_ordinal=0, next_turn=0)
            for name in (*OF_RECORDS, *OF_FIRST):
                setattr(total, name, sum(getattr(store.counters, name) for store in stores))
        return total

    def urls(self) -> set[str]:
        return {key[1:].decode() for key in self.records(b"L")}

    def content(self) -> dict[bytes, object]:
        """All that must be the same however a crawl is divided, by key."""
        found: dict[bytes, object] = {}
        for space in (b"P", b"R", b"C", b"G", b"N", b"X"):
            found |= self.records(space)
        for key, value in self.records(b"L").items():
            entry, location = decode_entry(value, canonical=key[1:].decode())
            found[key] = msgspec.structs.replace(entry, settled_in=None), location
        for key, value in self.records(b"Q").items():
            record = decode_queue(value, key=key[1:].decode())
            position = record.position
            found[key] = (msgspec.structs.replace(record, position=None), position and (position.state, position.rank))
        return found

    def turns(self) -> list[bytes]:
        """The queues in the order of their positions."""
        return [value for space in (b"I", b"W") for _, value in sorted(self.records(space).items())]

    def records(self, space: bytes) -> dict[bytes, bytes]:
        """The records of a space in all parts. No key may be in two, but of groups."""
        found: dict[bytes, bytes] = {}
        for place in self.parts:
            database = plyvel.DB(str(place.directory))
            try:
                for key, value in database.iterator(prefix=space):
                    assert key not in found or space == b"G"
                    found[key] = value
            finally:
                database.close()
        return found

    def states(self) -> dict[str, object]:
        """What is known of each URL."""
        return {
            key[1:].decode(): decode_entry(value, canonical=key[1:].decode())
            for key, value in self.records(b"L").items()
        }
