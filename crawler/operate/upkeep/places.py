"""Locks and opens all directories that hold state of a crawl, and joins the ledgers in them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from heapq import merge
from pathlib import Path

import msgspec

from config import Loaded
from crawler.cluster.notes import read_note
from crawler.disk.directory import CrawlDirectory, DirectoryInUse, DirectoryRefused
from crawler.disk.layout import output_directories, part_at, read_layout, whole_crawl
from crawler.operate.opening import lock_directory, lock_stored
from crawler.parts.ownership import Ownership
from crawler.wiring.backends import lacks, named_frontier
from crawler.wiring.parts import use_suffixes_of
from crawler.wiring.plugins.guarded_frontier import guarded_ledger
from crawler.wiring.recovery.machines import OtherMachines
from crawler.wiring.recovery.reconciliation import Reconciliation
from crawler.wiring.storage import open_state
from frontier import Damaged, KnownUrl, LedgerReads, NumberReads, StoreFailed, StoreRefused
from frontier.state import FrontierState


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A locked directory that holds state."""

    part: int | None
    """None if the crawl is not in parts."""
    directory: CrawlDirectory
    loaded: Loaded

    @property
    def named(self) -> str:
        """The beginning of messages about it."""
        return "" if self.part is None else f"part {self.part} ({self.directory.original}): "


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """All directories that hold state of a crawl, locked."""

    path: Path
    """The directory of the whole crawl."""
    each: Sequence[Place]
    broken: Mapping[int, str]
    """Parts whose directory can't be used, and why."""
    count: int
    """The number of parts, broken ones and those of other machines included."""
    elsewhere: Sequence[int] = ()
    """The parts that other machines have."""

    @property
    def loaded(self) -> Loaded:
        return self.each[0].loaded

    @property
    def is_in_parts(self) -> bool:
        return self.each[0].part is not None

    def directory_of(self, part: int) -> Path:
        """The directory of a part, under its name in the directory of the crawl."""
        layout = read_layout(self.path)
        return self.path if layout is None else layout.directories(self.path)[part]

    def check_unbroken(self) -> None:
        """Raise `DirectoryRefused` if the directory of a part can't be used."""
        for number, why in self.broken.items():
            raise DirectoryRefused(f"all parts are needed, and part {number} can't be used: {why}")

    @property
    def outputs(self) -> list[CrawlDirectory]:
        """All directories with output of the crawl, the oldest first."""
        shadows = {place.directory.original: place.directory for place in self.each}
        return [shadows.get(path) or CrawlDirectory(path) for path in output_directories(self.path)]

    @property
    def owner(self) -> Callable[[str], int]:
        """The part that a queue belongs to, by its key; 0 if the crawl is not in parts."""
        return Ownership(self.count).owner

    def earlier_lineages(self) -> dict[Path, int]:
        """Those of the output from before the crawl was divided, by directory, as far as they are known. Raises
        `DirectoryRefused`."""
        layout = read_layout(self.path)
        if layout is None:
            return {}
        known = {self.path / name: lineage for name, lineage in layout.earlier_lineages.items()}
        here = layout.directories_here(self.path).values()
        notes = {each.original: read_note(each) for each in self.outputs if each.original not in here}
        return {path: note.lineage for path, note in notes.items() if note is not None} | known

    def other_machines(self) -> OtherMachines:
        """What they have of the crawl. Raises `DirectoryRefused`."""
        layout = read_layout(self.path)
        if layout is None or (layout.cluster is None and layout.retired is None):
            return OtherMachines()
        here = {layout.parts[number].lineage for number in layout.directories_here(self.path)}
        lineages = here | {*self.earlier_lineages().values()}
        owner, elsewhere = self.owner, {*self.elsewhere}
        return OtherMachines(lineages_here=lineages, has_queue=lambda key: owner(key) in elsewhere)


@contextmanager
def lock_places(path: Path, *, to_repair: bool = False, may_begin: bool = False) -> Iterator[Places]:
    """All directories of a crawl that does not run, or the one of a part that is named, locked in this context. A part
    that is missing is broken, and its directory is not made, unless it `may_begin` anew.

    Raises `DirectoryRefused` for a crawl that is not in parts, or has no part that can be used, and `DirectoryInUse`.
    """
    layout = read_layout(path)
    with ExitStack() as stack:
        if layout is None:
            directory, loaded = stack.enter_context(lock_stored(path, to_repair=to_repair, may_begin=may_begin))
            part = part_at(path)
            place = Place(part=None if part is None else part.number, directory=directory, loaded=loaded)
            yield Places(path=whole_crawl(path), each=[place], broken={}, count=1 if part is None else part.parts)
            return
        stack.enter_context(lock_directory(path, to_change=to_repair))
        use_suffixes_of(CrawlDirectory(path))
        places: list[Place] = []
        broken: dict[int, str] = {}
        for number, named in layout.directories_here(path).items():
            try:
                lock = lock_stored(named, to_repair=to_repair, may_begin=may_begin)
                directory, loaded = stack.enter_context(lock)
            except DirectoryInUse:
                raise
            except DirectoryRefused as error:
                broken[number] = str(error)
            else:
                places.append(Place(part=number, directory=directory, loaded=loaded))
        if not places:
            why = "; ".join(f"part {number}: {why}" for number, why in broken.items())
            raise DirectoryRefused(why or f"{path} has no part of the crawl: other machines may have them")
        yield Places(path=path, each=places, broken=broken, count=len(layout.parts), elsewhere=layout.elsewhere(path))


@contextmanager
def lock_all_parts(path: Path) -> Iterator[Places]:
    """All directories of a crawl that does not run, each with its state, locked in this context. Raises
    `DirectoryRefused` if one is missing or can't be used."""
    with lock_places(path, to_repair=True) as places:
        places.check_unbroken()
        if places.elsewhere:
            raise DirectoryRefused(
                f"all parts are needed, and {path} does not have {', '.join(map(str, places.elsewhere))}, which other "
                "machines have: stop the crawl on all machines, move the directories of its parts here, and try again"
            )
        for place in places.each:
            if not place.directory.has_state():
                raise DirectoryRefused(
                    f"{place.named}expected a frontier in {place.directory.frontier}, found none; "
                    f"`onceover inspect {path} fsck --repair` rebuilds it from the output"
                )
        yield places


@contextmanager
def open_states(places: Places) -> Iterator[tuple[dict[int, FrontierState], dict[int, str]]]:
    """The open states of the parts, by number, and why others can't be opened. Raises `StoreFailed` or `StoreRefused`
    if that of a crawl that is not in parts can't be opened."""
    states: dict[int, FrontierState] = {}
    broken = dict(places.broken)
    with ExitStack() as stack:
        for place in places.each:
            try:
                state = open_state(place.loaded.config, place.directory)
            except (StoreFailed, StoreRefused) as error:
                if place.part is None:
                    raise
                broken[place.part] = str(error)
            else:
                stack.callback(state.close)
                states[place.part or 0] = state
        yield states, broken


def reconciliation(places: Places, states: Sequence[FrontierState], others: OtherMachines) -> Reconciliation:
    """Compares the output of a crawl with the ledgers of all its parts. Raises `ConfigError` for a frontier that can't
    list its ledger."""
    return Reconciliation(places.loaded, places.outputs, joined_ledger(places, states), others=others)


def joined_ledger(places: Places, states: Sequence[FrontierState]) -> LedgerReads:
    """The ledgers of all parts as one. Raises `ConfigError` for a frontier that can't list its ledger."""
    backend = named_frontier(places.loaded.config)
    ledgers = [guarded_ledger(state, backend) for state in states if isinstance(state, LedgerReads)]
    if len(ledgers) < len(states):
        raise lacks(places.loaded.config, "list its ledger to be compared with the output; use --no-output")
    return ledgers[0] if len(ledgers) == 1 else JoinedLedgers(ledgers)


class JoinedLedgers:
    """The `LedgerReads` of several states. A URL is in one of them."""

    def __init__(self, ledgers: Sequence[LedgerReads]) -> None:
        self._ledgers = ledgers

    @property
    def numbers_given(self) -> int:
        return sum(ledger.numbers_given for ledger in self._ledgers)

    def was_forgotten(self, number: int, /) -> bool:
        return any(isinstance(ledger, NumberReads) and ledger.was_forgotten(number) for ledger in self._ledgers)

    def known(self, canonical: str, /) -> KnownUrl | None:
        return next((known for ledger in self._ledgers if (known := ledger.known(canonical)) is not None), None)

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl | Damaged]:
        return merge(*(ledger.all_known(after) for ledger in self._ledgers), key=_canonical)


def _canonical(known: KnownUrl | Damaged) -> str:
    return "" if isinstance(known, Damaged) else known.entry.canonical
