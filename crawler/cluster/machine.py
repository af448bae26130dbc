"""What one machine has of a crawl: a directory with the layout of all parts, and the parts that are here."""

import hashlib
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from crawler.cluster.notes import Note, read_note, write_note
from crawler.cluster.values import Cluster, Identity
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import ClusterPlace, Layout, PartPlace, free_names, read_layout, write_layout
from crawler.disk.lineages import learn_lineages, read_lineages
from crawler.files.replacing import replace_file
from crawler.status import name_parts, number_of


def begin_machine(directory: CrawlDirectory, identity: Identity, *, url: str, prefix: str) -> None:
    """Make a locked directory that of a machine of this crawl, unless it is; let it say where the server is now, and
    which parts are here. Raises `DirectoryRefused` if it has another crawl."""
    layout = read_layout(directory.path)
    if layout is None:
        if directory.has_state() or directory.has_output():
            raise DirectoryRefused(
                f"{directory.path} has a crawl that is not on many machines; name another directory by --dir"
            )
        _begin(directory, identity, url=url, prefix=prefix)
        return
    place = _check_crawl(directory.path, layout, identity)
    if layout.generation != identity.generation:
        _begin(directory, identity, url=url, prefix=prefix, before=layout)
        return
    moved = msgspec.structs.replace(place, url=url, prefix=prefix)
    now = with_parts_found(directory.path, msgspec.structs.replace(layout, cluster=moved))
    if now != layout:
        write_layout(directory.path, now)


def place_in_cluster(identity: Identity, *, url: str, prefix: str) -> ClusterPlace:
    """What the layout says of a crawl on many machines."""
    return ClusterPlace(
        crawl=identity.crawl,
        url=url,
        prefix=prefix,
        lease_s=identity.lease_s,
        configuration_version=identity.configuration_version,
        configuration_digest=_digest(identity.configuration),
        replaces=identity.replaces,
    )


def _digest(configuration: str) -> str:
    return hashlib.blake2b(configuration.encode(), digest_size=16).hexdigest()


def _begin(
    directory: CrawlDirectory, identity: Identity, *, url: str, prefix: str, before: Layout | None = None
) -> None:
    replace_file(directory.suffixes, identity.suffixes)
    directory.write_configuration(identity.configuration)
    learn_lineages(directory.path, last=identity.last_lineage, drawn=identity.drawn)
    place = place_in_cluster(identity, url=url, prefix=prefix)
    names = free_names(directory.path, identity.parts)
    parts = tuple(PartPlace(directory=name, lineage=each) for name, each in zip(names, identity.lineages, strict=True))
    layout = Layout(
        generation=identity.generation,
        parts=parts,
        earlier=() if before is None else _with_output(directory.path, before),
        earlier_lineages={} if before is None else before.earlier_lineages,
        next_lineage=identity.next_lineage,
        cluster=place,
    )
    write_layout(directory.path, with_parts_found(directory.path, layout))


def with_parts_found(path: Path, layout: Layout) -> Layout:
    """The layout with the names under which parts have come here from another machine. A part is found by what its
    directory says of its last claim."""
    assert layout.cluster is not None
    parts = list(layout.parts)
    known = {*layout.earlier, *(each.directory for each in parts)}
    others = [CrawlDirectory(each) for each in path.glob("part-*") if each.name not in known]
    notes = [(note, each.path.name) for each in others if (note := read_note(each)) is not None]
    for note, name in sorted(notes, key=lambda found: -found[0].epoch):
        if (note.crawl, note.generation) != (layout.cluster.crawl, layout.generation):
            continue
        place = parts[note.part]
        if note.lineage >= place.lineage and not (path / place.directory).exists():
            parts[note.part] = msgspec.structs.replace(place, directory=name)
    return msgspec.structs.replace(layout, parts=tuple(parts))


def _check_crawl(path: Path, layout: Layout, identity: Identity) -> ClusterPlace:
    if layout.cluster is None:
        raise DirectoryRefused(f"{path} has a crawl in parts that is on this machine alone; name another by --dir")
    if layout.cluster.crawl != identity.crawl:
        raise DirectoryRefused(
            f"{path} belongs to another crawl than Redis has: expected crawl {identity.crawl}, found "
            f"{layout.cluster.crawl}. Name another directory by --dir, or another prefix of keys"
        )
    if layout.generation == identity.generation:
        return layout.cluster
    if layout.generation not in identity.replaces:
        raise DirectoryRefused(
            f"{path} has another generation of the crawl than Redis has: expected {identity.generation}, found "
            f"{layout.generation}. If the crawl was divided anew there, register it by `onceover cluster init --from "
            f"{path}`; if it was divided elsewhere, name another directory by --dir"
        )
    if old := [number for number, each in layout.directories_here(path).items() if CrawlDirectory(each).has_state()]:
        raise DirectoryRefused(
            f"{path} has {name_parts(old)} of the crawl as it was before it was divided anew (generation "
            f"{layout.generation}), which can't be run any more: expected generation {identity.generation}, in "
            f"{number_of(identity.parts, 'part')}. Move {'it' if len(old) == 1 else 'them'} away, or name another "
            "directory by --dir"
        )
    return layout.cluster


def _with_output(path: Path, layout: Layout) -> tuple[str, ...]:
    """Directories of an earlier generation that are here: their output belongs to the crawl."""
    names = (*layout.earlier, *(each.directory for each in layout.parts))
    return tuple(name for name in names if name == "." or (path / name).is_dir())


class MachineDirectory:
    """The locked directory of a machine; a `Home`. Files are read once, because nobody else changes them."""

    def __init__(self, directory: CrawlDirectory) -> None:
        """Raises `DirectoryRefused` if the directory is not that of a machine, or a note can't be used."""
        layout = read_layout(directory.path)
        if layout is None or layout.cluster is None:
            raise DirectoryRefused(f"{directory.path} has no crawl that is on many machines")
        self._directory = directory
        self._layout = layout
        try:
            self._configuration = directory.configuration.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise DirectoryRefused(f"{directory.configuration} is damaged: expected UTF-8, found: {error}") from error
        self._suffixes = directory.suffixes.read_bytes()
        self._notes = {part: self._note(part, path) for part, path in layout.directories_here(directory.path).items()}
        """The notes of the parts that are here; None for a part that was never claimed."""

    @property
    def layout(self) -> Layout:
        return self._layout

    def identity(self) -> Identity:
        left = read_lineages(self._directory.path)
        return Identity(
            crawl=self._place.crawl,
            generation=self._layout.generation,
            lineages=tuple(each.lineage for each in self._layout.parts),
            next_lineage=self._layout.next_lineage,
            lease_s=self._place.lease_s,
            configuration=self._configuration,
            configuration_version=self._place.configuration_version,
            suffixes=self._suffixes,
            replaces=self._place.replaces,
            last_lineage=left.last_lineage,
            drawn=left.spans_drawn,
        )

    @property
    def has_edits(self) -> bool:
        """Whether somebody has changed the configuration that came from Redis, as far as that is known."""
        return self._place.configuration_digest not in (None, _digest(self._configuration))

    def epochs(self) -> Mapping[int, int]:
        """A directory that was replaced by adopting its part elsewhere does not count, nor does one that was made and
        never opened: another may have been made instead."""
        return {part: epoch for part, epoch in self._claimed().items() if CrawlDirectory(self._path(part)).has_state()}

    def _claimed(self) -> dict[int, int]:
        """The epochs of the directories that are still here: one may be moved away while this machine sleeps."""
        notes = (
            (part, note)
            for part, note in self._notes.items()
            if note is not None and CrawlDirectory(self._path(part)).claim.exists()
        )
        return {part: note.epoch for part, note in notes if note.lineage == self._layout.parts[part].lineage}

    def replaced(self) -> Mapping[int, Path]:
        """The directories that are here of parts that were adopted since."""
        notes = ((part, note) for part, note in self._notes.items() if note is not None)
        older = [part for part, note in notes if note.lineage < self._layout.parts[part].lineage]
        return {part: path for part in older if (path := self._path(part)).exists()}

    def learn(self, cluster: Cluster) -> Mapping[int, int]:
        self._store_changes(cluster.identity)
        # One that was never opened is the part nevertheless if Redis has confirmed its claim.
        confirmed = {part: epoch for part, epoch in self._claimed().items() if epoch == cluster.parts[part].opened}
        return confirmed | dict(self.epochs())

    def store(self, part: int, *, epoch: int, lineage: int) -> None:
        if self._layout.parts[part].lineage != lineage:
            raise DirectoryRefused(
                f"part {part} was adopted meanwhile: its lineage is {lineage} now; it is tried again"
            )
        note = self._notes.get(part)
        if note is not None and note.lineage != lineage:
            self._leave(part)
            note = None
        if note is not None and not CrawlDirectory(self._path(part)).claim.exists():
            raise DirectoryRefused(f"part {part} is not here any more: expected it in {self._path(part)}")
        with CrawlDirectory(self._path(part)) as place:
            if note is None and (place.has_state() or place.has_output()):
                raise DirectoryRefused(
                    f"{place.path} has a part that does not say when it was opened: expected {place.claim}. Restore "
                    "that file, or let `onceover cluster adopt` take the directory"
                )
            self._write_note(place, part, epoch=epoch, lineage=lineage)

    def _write_note(self, place: CrawlDirectory, part: int, *, epoch: int, lineage: int) -> None:
        note = Note(
            crawl=self._place.crawl, generation=self._layout.generation, part=part, lineage=lineage, epoch=epoch
        )
        write_note(place, note)
        self._notes[part] = note

    def adopt(self, part: int, *, epoch: int, lineage: int) -> None:
        """Let the directory of a part that is here be the part, whatever its epoch was. Raises `DirectoryRefused` if
        there is none."""
        self.check_adoption(part)
        parts = list(self._layout.parts)
        parts[part] = msgspec.structs.replace(parts[part], lineage=lineage)
        next_lineage = max(self._layout.next_lineage, lineage + 1)
        with CrawlDirectory(self._path(part)) as place:
            self._write_layout(parts=tuple(parts), next_lineage=next_lineage)
            self._write_note(place, part, epoch=epoch, lineage=lineage)

    def check_adoption(self, part: int) -> int:
        """The stored epoch of a directory that could be adopted; 0 if it says nothing. Raises `DirectoryRefused` if
        there is none."""
        place = CrawlDirectory(self._path(part))
        if not place.has_state():
            raise DirectoryRefused(
                f"there is no directory of part {part} to adopt: expected a frontier in {place.path}"
            )
        note = self._notes.get(part)
        return 0 if note is None else note.epoch

    def _leave(self, part: int) -> None:
        """Let the part have a new directory here. The old one was replaced by adopting the part; its output still
        belongs to the crawl."""
        place, parts = self._layout.parts[part], list(self._layout.parts)
        name = next(
            name for number in count(2) if not (self._directory.path / (name := f"part-{part}.{number}")).exists()
        )
        parts[part] = msgspec.structs.replace(place, directory=name)
        self._write_layout(parts=tuple(parts), earlier=(*self._layout.earlier, place.directory))
        self._notes.pop(part)

    def _path(self, part: int) -> Path:
        return self._layout.directories(self._directory.path)[part]

    def _note(self, part: int, path: Path) -> Note | None:
        directory = CrawlDirectory(path)
        directory.check_place()
        note = read_note(directory)
        expected = self._place.crawl, self._layout.generation, part
        if note is not None and (note.crawl, note.generation, note.part) != expected:
            raise DirectoryRefused(
                f"{path} is not the part that belongs there: expected part {part} of crawl {expected[0]} (generation "
                f"{expected[1]}), found part {note.part} of crawl {note.crawl} (generation {note.generation}); move it "
                "away"
            )
        return note

    def _store_changes(self, identity: Identity) -> None:
        place = self._place
        # Redis says what the configuration of a version is. Parts with another one would refuse each other.
        is_newer = identity.configuration_version > place.configuration_version
        is_same = identity.configuration_version == place.configuration_version
        if is_newer or (is_same and identity.configuration != self._configuration):
            self._directory.write_configuration(identity.configuration)
            self._configuration = identity.configuration
        if is_newer or is_same:
            digest = _digest(identity.configuration)
            place = msgspec.structs.replace(
                place, configuration_version=identity.configuration_version, configuration_digest=digest
            )
        parts = tuple(
            msgspec.structs.replace(each, lineage=max(each.lineage, lineage))
            for each, lineage in zip(self._layout.parts, identity.lineages, strict=True)
        )
        next_lineage = max(self._layout.next_lineage, identity.next_lineage)
        self._write_layout(parts=parts, next_lineage=next_lineage, cluster=place)

    def _write_layout(self, **changes: Any) -> None:
        layout = msgspec.structs.replace(self._layout, **changes)
        if layout != self._layout:
            write_layout(self._directory.path, layout)
            self._layout = layout

    @property
    def _place(self) -> ClusterPlace:
        assert self._layout.cluster is not None
        return self._layout.cluster
