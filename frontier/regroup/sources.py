"""What is read of the sources as a whole."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import chain, groupby
from operator import itemgetter
from typing import Final

from frontier.leveldb.database import Database
from frontier.leveldb.format.keys import (
    COUNTERS_KEY,
    LINKS_SPACE,
    MARKS_SPACE,
    NOTES_SPACE,
    QUARANTINE_SPACE,
    end_of,
    untext,
)
from frontier.leveldb.identity import read_identity, stored_counters
from frontier.leveldb.marks import CLAIMS, LevelDBMarks
from frontier.records import Counters, first_number
from frontier.regrouping import PartOfState, Routing
from frontier.values import REPAIR_ADVICE, StoreFailed, StoreRefused

Found = Sequence[tuple[int, bytes]]
"""The values of one key, each with the number of its source."""

_SPACES: Final = frozenset(b"PRLCDQIWJBMGNXOTS")
_NAMES: Final = frozenset(
    {
        COUNTERS_KEY,
        b"Mcrashed",
        b"Mformat",
        b"Mheld",
        b"Mrevisits",
        b"Midentity",
        b"Mlineage",
        b"Min-use",
        b"Mincarnation",
        b"Mmemory",
        b"Mpart",
        b"Mregrouping",
        b"Msnapshot",
        b"Msynced",
    }
)
OF_HIGHEST: Final = ("next_ordinal", "clock", "ahead_s", "generation", "fetched_at")
"""The counters of which each target gets the highest."""
OF_FIRST: Final = ("lost", "gaps", "pages")
"""The counters of which the first target gets the sum, because nobody knows which part they belong to."""


class Sources:
    """The databases of the crawl as it is, by the numbers of the parts."""

    def __init__(self, databases: Sequence[Database]) -> None:
        self._databases = databases
        self.counters = [stored_counters(database) for database in databases]
        self.identity: Mapping[str, str] = self._read_identity()
        self.has_links = [self._has(database, LINKS_SPACE) for database in databases]
        self.has_quarantined = [self._has(database, QUARANTINE_SPACE) for database in databases]

    def __len__(self) -> int:
        return len(self._databases)

    @property
    def is_single(self) -> bool:
        """Whether there is only one, so that all its positions can stay as they are."""
        return len(self._databases) == 1

    def __iter__(self) -> Iterator[Database]:
        return iter(self._databases)

    def _read_identity(self) -> Mapping[str, str]:
        first, *others = [read_identity(database) for database in self._databases]
        for number, identity in enumerate(others, 1):
            if identity != first:
                raise StoreRefused(
                    f"the parts of a crawl must have begun with the same settings: part 0 has {first}, part {number} "
                    f"has {identity}"
                )
        return first

    @staticmethod
    def _has(database: Database, space: bytes) -> bool:
        return next(database.keys(space, end_of(space)), None) is not None

    def check(self, routing: Routing) -> None:
        """Raise `StoreRefused` for what can't be divided: it would be lost."""
        for database in self._databases:
            for key in _kinds(database):
                if key == CLAIMS:
                    raise StoreRefused(
                        f"{database.directory} has asked a server about URLs and does not know the answer; start "
                        "the crawl and let it end, so that it admits them"
                    )
                if key[:1] == MARKS_SPACE and key not in _NAMES:
                    raise StoreRefused(f"{database.directory} has {key!r}, which this version can't divide among parts")
                if key[0] not in _SPACES:
                    raise StoreRefused(
                        f"{database.directory} has records of kind {key[:1]!r}, which this version can't divide among "
                        "parts"
                    )
            for key in database.keys(NOTES_SPACE, end_of(NOTES_SPACE)):
                routing.check_note(untext(key[1:]))

    def merged(self, space: bytes, *, after: bytes = b"") -> Iterator[tuple[bytes, Found]]:
        """All records of a space behind a key, in the order of the keys."""
        start, stop = after + b"\0" if after else space, end_of(space)
        streams = [_numbered(database, number, start, stop) for number, database in enumerate(self._databases)]
        for key, found in groupby(merge(*streams), itemgetter(0)):
            yield key, [(number, value) for _, number, value in found]

    def get(self, number: int, key: bytes) -> bytes | None:
        return self._databases[number].get(key)

    def first_counters(self, target: PartOfState, *, is_first: bool) -> Counters:
        """The counters with which a target begins. Others count the records as they are copied, or begin anew. A part
        without an allowance hears of one before it fetches a page."""
        begun = Counters(
            next_number=first_number(0 if target.part is None else target.part.lineage),
            next_turn=self.counters[0].next_turn if self.is_single else 1,
            earlier=dict(chain.from_iterable(counters.all_earlier().items() for counters in self.counters)),
        )
        for name in OF_HIGHEST:
            setattr(begun, name, max(getattr(counters, name) for counters in self.counters))
        for name in OF_FIRST if is_first else ():
            setattr(begun, name, self.sum_of(name))
        return begun

    def sum_of(self, name: str) -> int:
        return sum(getattr(counters, name) for counters in self.counters)

    def check_sums(self, counters: Sequence[Counters]) -> None:
        """Raise `StoreFailed` if the targets together have not what the sources together have."""
        # Budgets may serve a queue there that is retired here, so that these are compared together.
        for names in (("admitted",), ("done",), ("failed",), ("excluded",), ("retrying",), ("pending", "retired_urls")):
            expected = sum(self.sum_of(name) for name in names)
            found = sum(getattr(each, name) for each in counters for name in names)
            if expected != found:
                raise StoreFailed(
                    f"the frontier is damaged: its counters say {expected} URLs {' or '.join(names)}, but there are "
                    f"{found}; {REPAIR_ADVICE}"
                )

    def pass_marks(self, target: LevelDBMarks) -> None:
        """Let a target know whether the crawl died, so that its queues have to rest, and whether it is paused."""
        found = [LevelDBMarks(database) for database in self._databases]
        crashed = [mark.crashed_at for mark in found if mark.crashed_at is not None]
        paused = [mark.paused for mark in found if mark.paused is not None]
        target.set_in_use(any(mark.in_use for mark in found), crashed_at=max(crashed, default=None))
        target.set_paused(next(iter(paused), None))


def _kinds(database: Database) -> Iterator[bytes]:
    """The first key of each space, and all keys of `M`."""
    yield from database.keys(MARKS_SPACE, end_of(MARKS_SPACE))
    start = b""
    while (key := next(database.keys(start, b"\xff"), None)) is not None:
        yield key
        start = bytes([key[0] + 1])


def _numbered(database: Database, number: int, start: bytes, stop: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    for key, value in database.items(start, stop):
        yield key, number, value
