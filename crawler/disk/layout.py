"""Where the parts of a crawl are.

A crawl that is not in parts has its state and output in its directory DIR. A crawl in parts has there:

    parts.json         which parts there are, and their directories: a `Layout`
    part-0, part-1, …  the parts. Each is the directory of a crawl (`directory`)
    public_suffix_list.dat   the list by which the crawl is divided, for as long as it lasts
    crawl.toml         the configuration of the last run, for all parts
    lock, control, logs/crawl.log   of the process that watches over the parts
    parts.next.json    the `Layout` that it is to have, while it is being divided anew

`parts.json` is written before the first part has anything, and replaced in one step. So it alone says whether a crawl
is in parts, and which directories count. A division makes new directories beside the old ones, then replaces the file.
Each machine of a crawl on many has such a directory, with a layout of all parts; those of others are missing.
"""

import os
import secrets
from itertools import chain, count
from pathlib import Path
from typing import Final, Self

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.lineages import renew
from crawler.files.content import read_file
from crawler.files.replacing import replace_file
from frontier import MAX_LINEAGE, MAX_PARTS, Part

VERSION: Final = 1


class PartPlace(msgspec.Struct, frozen=True, kw_only=True):
    directory: str
    """The name of its directory in that of the crawl."""
    lineage: int
    """Stands above the counter in the numbers of its records. No two directories of a crawl have the same, not even one
    after the other; 0 is that of a crawl that is not in parts."""


class ClusterPlace(msgspec.Struct, frozen=True, kw_only=True):
    """That a crawl is on many machines, and where its register is (`crawler.cluster`)."""

    crawl: str
    """A random name, drawn when the crawl was made."""
    url: str
    """The server of Redis, without a password."""
    prefix: str
    """What the names of its keys begin with."""
    lease_s: float
    configuration_version: int
    configuration_digest: str | None = None
    """Of the configuration as Redis had it in that version; None in directories of earlier versions of onceover."""
    replaces: tuple[str, ...] = ()
    """Earlier generations of the crawl on many machines. Their directories must not be run any more."""


class Retired(msgspec.Struct, frozen=True, kw_only=True):
    """That a crawl was on many machines, and was divided anew since."""

    crawl: str
    """Its random name."""
    generations: tuple[str, ...]
    """The generations in which it was on many machines, the oldest first."""


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a crawl, numbered from 0."""

    version: int = VERSION
    generation: str
    """A random name, drawn whenever the crawl is divided."""
    parts: tuple[PartPlace, ...]
    earlier: tuple[str, ...] = ()
    """Directories whose output belongs to the crawl too, from before it was divided as it is now: names in that of the
    crawl, or `.` for the directory of the crawl itself."""
    earlier_divisions: tuple[tuple[str, ...], ...] = ()
    """The same, the oldest first, by the division in which they were; but for those of which that is not known."""
    earlier_lineages: dict[str, int] = {}  # by directory, as far as the crawl was divided here
    next_lineage: int
    """The lowest one that was never used."""
    cluster: ClusterPlace | None = None
    """None if all parts are on this machine."""
    retired: Retired | None = None
    """None if it never was on many machines, or is now."""
    is_given_up: bool = False  # of a division: its parts are being deleted, so that it can't go on

    @classmethod
    def begin(cls, parts: int) -> Self:
        _check_number(parts)
        places = tuple(PartPlace(directory=f"part-{number}", lineage=number + 1) for number in range(parts))
        return cls(generation=secrets.token_hex(8), parts=places, next_lineage=parts + 1)

    @classmethod
    def after(cls, before: Self | None, directory: Path, parts: int) -> Self:
        """The layout of the crawl in `directory` when it has been divided anew. Raises ValueError if there are too many
        parts, and `DirectoryRefused` if there are no lineages for them."""
        _check_number(parts)
        used_below = 1 if before is None else before.next_lineage
        first = max(renew(directory, parts=parts, used_below=used_below).first, used_below)
        sources = {".": 0} if before is None else {place.directory: place.lineage for place in before.parts}
        names = free_names(directory, parts)
        return cls(
            generation=secrets.token_hex(8),
            parts=tuple(PartPlace(directory=name, lineage=first + number) for number, name in enumerate(names)),
            earlier=(*(() if before is None else before.earlier), *sources),
            earlier_divisions=(*(() if before is None else before.earlier_divisions), tuple(sources)),
            earlier_lineages=({} if before is None else before.earlier_lineages) | sources,
            next_lineage=first + parts,
            retired=None if before is None else before.retired_now,
        )

    @property
    def retired_now(self) -> Retired | None:
        """What a layout in place of this one has to say of earlier ones."""
        if self.cluster is None:
            return self.retired
        return Retired(crawl=self.cluster.crawl, generations=(*self.cluster.replaces, self.generation))

    def directories(self, directory: Path) -> list[Path]:
        """The directories of the parts, in their order, of the crawl in `directory`."""
        return [directory / place.directory for place in self.parts]

    def directories_here(self, directory: Path) -> dict[int, Path]:
        """The directories of the parts that this machine has, by number. A part of a crawl on one machine counts even
        if its directory is missing."""
        paths = enumerate(self.directories(directory))
        return {number: path for number, path in paths if self.cluster is None or path.exists() or path.is_symlink()}

    def elsewhere(self, directory: Path) -> list[int]:
        """The parts that only other machines may have."""
        here = self.directories_here(directory)
        return [number for number in range(len(self.parts)) if number not in here]


def _check_number(parts: int) -> None:
    if not 1 <= parts <= MAX_PARTS:
        raise ValueError(f"a crawl has 1 to {MAX_PARTS} parts, got {parts}")


def free_names(directory: Path, parts: int) -> list[str]:
    """Names of directories that do not exist yet: `part-0`, or `part-0.2` if there are parts already."""
    endings = chain([""], (f".{generation}" for generation in count(2)))
    choices = ([f"part-{number}{ending}" for number in range(parts)] for ending in endings)
    return next(names for names in choices if not any((directory / name).exists() for name in names))


def read_layout(directory: Path) -> Layout | None:
    """The layout of the crawl in a directory; None if it is not in parts. Raises `DirectoryRefused` if the file can't
    be read."""
    return _read(CrawlDirectory(directory).parts)


def read_division(directory: Path) -> Layout | None:
    """The layout that the crawl in a directory is to have, while it is being divided anew; otherwise None. Raises
    `DirectoryRefused`."""
    return _read(CrawlDirectory(directory).division)


def _read(path: Path) -> Layout | None:
    try:
        content = read_file(path)
        _check_version(path, content)
        layout = msgspec.json.decode(content, type=Layout)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, *UNREADABLE) as error:
        then = "It says where the parts of the crawl are: restore a copy of that file"
        if isinstance(error, PermissionError):
            then = "Run the command as the user of the crawl"
        raise DirectoryRefused(f"{path} can't be read: {error}. {then}") from error
    names = [place.directory for place in layout.parts]
    lineages = [place.lineage for place in layout.parts]
    if (
        not 1 <= len(names) <= MAX_PARTS
        or len({*names}) < len(names)
        or len({*lineages}) < len(lineages)
        or any(not _is_name(name) for name in names)
        or any(not (_is_name(name) or name == ".") for name in chain(layout.earlier, *layout.earlier_divisions))
        or any(not 0 <= lineage < layout.next_lineage <= MAX_LINEAGE + 1 for lineage in lineages)
    ):
        raise DirectoryRefused(
            f"{path} makes no sense: expected parts with directories and lineages of their own, below the next "
            "lineage; restore a copy of that file"
        )
    return layout


class _Versioned(msgspec.Struct):
    version: int = VERSION


def _check_version(path: Path, content: bytes) -> None:
    """Before the rest is read, which may have another form."""
    version = msgspec.json.decode(content, type=_Versioned).version
    if version != VERSION:
        raise DirectoryRefused(
            f"{path} has version {version}, and this onceover reads version {VERSION}; use the version that wrote it"
        )


def _is_name(name: str) -> bool:
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name


def write_layout(directory: Path, layout: Layout) -> None:
    """Replace the layout in one step, which also a power failure does not undo."""
    _write(CrawlDirectory(directory).parts, layout)


def write_division(directory: Path, layout: Layout) -> None:
    """Note that the crawl in a directory is being divided anew, so that it has that layout afterwards."""
    _write(CrawlDirectory(directory).division, layout)


def _write(path: Path, layout: Layout) -> None:
    replace_file(path, msgspec.json.format(msgspec.json.encode(layout)) + b"\n")


def part_directories(directory: Path) -> list[Path]:
    """The directories that hold the state of a crawl, one for each part that is on this machine. Raises
    `DirectoryRefused`."""
    layout = read_layout(directory)
    return [directory] if layout is None else list(layout.directories_here(directory).values())


def part_at(directory: Path) -> Part | None:
    """The part of a crawl that has this directory; None if that is no part. Raises `DirectoryRefused`."""
    place = _place(directory)
    layout = read_layout(place.parent)
    if layout is not None:
        for number, each in enumerate(layout.parts):
            if each.directory == place.name:
                return Part(number=number, parts=len(layout.parts), lineage=each.lineage)
    return None


def name_of_part(directory: Path) -> str | None:
    """The name of a part's directory in that of its crawl; None if that is no part. Raises `DirectoryRefused`."""
    return None if part_at(directory) is None else _place(directory).name


def whole_crawl(directory: Path) -> Path:
    """The directory of the crawl that a directory is a part of; the directory itself if it is no part. Raises
    `DirectoryRefused`."""
    return directory if part_at(directory) is None else _place(directory).parent


def _place(directory: Path) -> Path:
    # `resolve` would leave the crawl where a part is linked from another disk.
    return Path(os.path.normpath(directory.absolute()))


def output_directories(directory: Path) -> list[Path]:
    """The directories that hold output of a crawl, the oldest first. Raises `DirectoryRefused`."""
    layout = read_layout(directory)
    if layout is None:
        return [directory]
    earlier = [directory / name for name in layout.earlier]
    return [*earlier, *layout.directories_here(directory).values()]


def replaced_directories(part: Path) -> list[Path]:
    """The directories whose output belongs to the crawl of a part, from before the crawl was divided as it is now.
    Raises `DirectoryRefused`."""
    whole = _place(part).parent
    parts = part_directories(whole)
    return [each for each in output_directories(whole) if each not in parts]


def record_directories(directory: Path, part: int | None = None) -> list[Path]:
    """The directories that hold page records of a crawl, those of its parts included, or those that hold what belongs
    to one part. The oldest come first. Raises `DirectoryRefused`."""
    outputs = output_directories(directory)
    if part is not None:
        layout = read_layout(directory)
        parts = [directory] if layout is None else layout.directories(directory)
        others = {*parts[:part], *parts[part + 1 :]}
        outputs = [each for each in outputs if each not in others]
    return [path for each in outputs if (path := CrawlDirectory(each).records).is_dir()]


def own_place(directory: Path, place: Path) -> Path | None:
    """Which file or folder that the crawl makes a place is or lies in; None if it is none of them. Raises
    `DirectoryRefused`."""
    whole, place = whole_crawl(directory), Path(os.path.realpath(place))  # `resolve` raises at links in a circle
    own = (each for home in (whole, *output_directories(whole)) for each in CrawlDirectory(home).own)
    return next((each for each in own if place.is_relative_to(each.resolve())), None)


def part_directory(directory: Path, part: int) -> Path:
    """The directory of one part of the crawl in `directory`. Raises ValueError if there is no such part."""
    layout = read_layout(directory)
    if layout is None:
        raise ValueError(f"the crawl in {directory} is not in parts")
    if not 0 <= part < len(layout.parts):
        raise ValueError(f"the crawl in {directory} has parts 0 to {len(layout.parts) - 1}, and no part {part}")
    return directory / layout.parts[part].directory
