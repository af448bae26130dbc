"""onceover restore: makes a crawl of a copy, or one part of a crawl."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from config import Config
from crawler.copies.content import CopiedFile, CopiedPart, CopyList, Folder
from crawler.copies.folder import CopyRefused
from crawler.copies.restoring import damaged_files, restore_files, restoring
from crawler.copies.writing import Progress
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import Layout, PartPlace, read_layout, write_layout
from crawler.disk.lineages import Block, Lineages, draw, renew, write_lineages
from crawler.operate.opening import lock_directory, stored_configuration
from crawler.status import number_of
from crawler.wiring.backends import frontier_backend, lacks

_SHARE = 4
"""The part of the lineages of a copy that a restored crawl takes: the next ones need some, too."""


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    directory: str
    parts: list[CopiedPart]
    files: int
    bytes: int
    shares: str | None = None
    """The name of the visited set that it shares with other crawls, which may know URLs that this one has lost."""
    is_noted: bool = True
    """Whether the copy says now which record numbers the crawl has. If not, another restore of it has the same."""
    must_be_adopted: bool = False
    """Whether it is a part of a crawl on many machines, which goes on after `onceover cluster adopt`."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    copy: str
    parts: list[CopiedPart]
    files: int
    bytes: int
    damaged: list[tuple[str, str]]
    """Files whose content is missing or damaged, and what is wrong."""


def check_copy(path: Path, *, progress: Progress) -> Checked:
    """Read a whole copy. Raises `CopyRefused` if there is none."""
    folder = Folder(path)
    _whole(folder)  # before anything is written there
    with folder.locked(to_write=False):
        copy = _whole(folder)
        damaged = list(damaged_files(folder, copy.files, progress=progress))
    return Checked(copy=str(path), parts=list(copy.parts), files=len(copy.files), bytes=copy.size, damaged=damaged)


def restore(path: Path, to: Path, *, part: int | None = None, progress: Progress) -> Restored:
    """Restore the crawl of a copy into a directory that is empty, or one part of it into the directory of its crawl,
    which does not run and has lost that part. If it is interrupted, call it again.

    Raises `CopyRefused`, `DirectoryRefused`, `ConfigError`, `StoreFailed`, `StoreRefused` and `OSError`.
    """
    folder = Folder(path)
    _whole(folder)  # before anything is written there
    with folder.locked(to_write=False) as can_write:
        copy = _whole(folder)
        if part is not None:
            return _restore_part(folder, copy, to, part, progress)
        if copy.is_cluster:
            raise CopyRefused(
                f"{path} holds a copy of a crawl on many machines: restore its parts one by one, with --part, into the "
                "directory of that crawl on a machine, and let `onceover cluster adopt` take them"
            )
        if copy.only_part is not None:
            raise CopyRefused(
                f"{path} holds a copy of part {copy.only_part} alone: name the directory of its crawl with --to, and "
                f"use --part {copy.only_part}"
            )
        with restoring(to):
            taken = _take_lineages(folder, copy, can_write=can_write)
            files = [(file, to / file.name) for file in copy.files]
            restore_files(folder, files, progress=progress)
            _give_lineages(to, copy, taken)
    return Restored(
        directory=str(to),
        parts=list(copy.parts),
        files=len(files),
        bytes=copy.size,
        shares=_shares(to),
        is_noted=can_write,
    )


def _shares(whole: Path) -> str | None:
    name = stored_configuration(whole).config.visited.options.get("share")
    return name if isinstance(name, str) else None


def _whole(folder: Folder) -> CopyList:
    copy = folder.read_list()
    if copy is None:
        raise CopyRefused(
            f"there is no whole copy in {folder.path}: expected {folder.path / 'copy.json'}, which `onceover backup` "
            "writes when everything is copied"
        )
    return copy


def _take_lineages(folder: Folder, copy: CopyList, *, can_write: bool) -> Lineages:
    """Lineages for a crawl that is restored from the copy: some of those that were set aside for it, else others."""
    left, drawn, parts = copy.lineages, copy.drawn, len(copy.parts)
    if len(left) >= parts:
        count = max(parts, len(left) // _SHARE)
        taken = Block(first=left.last - count + 1, last=left.last)
        left = Block(first=left.first, last=left.last - count)
    elif (block := draw(drawn, parts=parts, above=copy.used_below - 1)) is not None:
        taken, drawn = block, (*drawn, block)
    else:
        raise CopyRefused(
            f"crawls were restored from {folder.path} so often that no record numbers are left for another one: make "
            "another copy of one of these crawls in a new folder, and restore that"
        )
    if can_write:
        folder.write_list(msgspec.structs.replace(copy, lineages=left, drawn=drawn))
    return Lineages(crawl=copy.crawl, first=taken.first, last=taken.last, drawn=drawn)


def _give_lineages(to: Path, copy: CopyList, taken: Lineages) -> None:
    """Let the restored crawl give record numbers that no other crawl gives."""
    config, parts = stored_configuration(to).config, len(copy.parts)
    if (layout := read_layout(to)) is not None:
        places = tuple(
            msgspec.structs.replace(place, lineage=taken.first + number) for number, place in enumerate(layout.parts)
        )
        write_layout(to, msgspec.structs.replace(layout, parts=places, next_lineage=taken.first + parts))
    for each in copy.parts:
        number = each.part or 0
        _set_lineage(config, to / each.directory, taken.first + number)
    write_lineages(to, msgspec.structs.replace(taken, first=taken.first + parts))


def _set_lineage(config: Config, directory: Path, lineage: int) -> None:
    change = frontier_backend(config).upkeep.set_lineage
    if change is None:
        raise lacks(config, "be restored from a copy")
    change(CrawlDirectory(directory).frontier, lineage)


def _restore_part(folder: Folder, copy: CopyList, whole: Path, part: int, progress: Progress) -> Restored:
    found = next((each for each in copy.parts if each.part == part), None)
    if found is None:
        told = number_of(len(copy.parts), "part") if copy.generation else "a crawl that is not in parts"
        raise CopyRefused(f"{folder.path} has no part {part}: it is a copy of {told}")
    layout = _check_whole(whole, copy, found)
    directory = whole / found.directory
    with lock_directory(whole, to_change=True), restoring(directory):
        chosen = list(_files_of(copy, found))
        restore_files(folder, [(file, whole / file.name) for file in chosen], progress=progress)
        if layout.cluster is None:
            _renumber_part(whole, layout, found)
    return Restored(
        directory=str(directory),
        parts=[found],
        files=len(chosen),
        bytes=sum(file.bytes for file in chosen),
        must_be_adopted=layout.cluster is not None,
    )


def _renumber_part(whole: Path, layout: Layout, part: CopiedPart) -> None:
    """Let a restored part give record numbers that nobody has given."""
    left = renew(whole, parts=1, used_below=layout.next_lineage)
    lineage = max(left.first, layout.next_lineage)
    _set_lineage(stored_configuration(whole).config, whole / part.directory, lineage)
    places = [*layout.parts]
    places[part.part or 0] = PartPlace(directory=part.directory, lineage=lineage)
    write_layout(whole, msgspec.structs.replace(layout, parts=tuple(places), next_lineage=lineage + 1))


def _check_whole(whole: Path, copy: CopyList, found: CopiedPart) -> Layout:
    layout = read_layout(whole)
    if layout is None:
        raise CopyRefused(
            f"there is no crawl in parts in {whole}: name the directory of the whole crawl, which has parts.json; "
            "without --part, all parts are restored"
        )
    if layout.generation != copy.generation or layout.parts[found.part or 0].directory != found.directory:
        raise CopyRefused(
            f"the crawl in {whole} was divided anew since that copy was made, or is another one: its part "
            f"{found.part} has other hosts. Restore a newer copy, or all parts into a new directory"
        )
    return layout


def _files_of(copy: CopyList, part: CopiedPart) -> Iterator[CopiedFile]:
    return (file for file in copy.files if file.name.startswith(f"{part.directory}/"))
