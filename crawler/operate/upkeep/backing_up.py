"""onceover backup: copies a crawl, or one part of it, whether it runs or not."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.exit_codes import FAILED
from crawler.codes.full_disk import DISK_FULL
from crawler.control.frozen import Frozen, FrozenState
from crawler.control.process import WAIT_S
from crawler.control.requests import Freeze
from crawler.copies.content import CopiedPart, CopyList, Folder
from crawler.copies.folder import CopyRefused, check_no_file, frozen_folder
from crawler.copies.freezing import FrozenFile, freeze_output, read_frozen
from crawler.copies.writing import CopyWriter, Progress
from crawler.disk.directory import COPYING, CrawlDirectory
from crawler.disk.layout import Layout, part_directory, read_division, read_layout
from crawler.disk.lineages import NO_LINEAGES, Block, name_crawl, read_lineages, set_aside
from crawler.disk.permissions import why_not_writable
from crawler.operate.opening import no_crawl, refuse_without_configuration
from crawler.operate.reach import CrawlEnded, reach
from crawler.operate.refused import Refused
from crawler.page import rfc3339

_LOOK_AGAIN_S: Final = 0.2


class BackedUp(msgspec.Struct, frozen=True, kw_only=True):
    copy: str
    parts: list[CopiedPart]
    files: int
    bytes: int
    new_files: int
    """Of these, files whose content the copy did not have."""
    new_bytes: int


class _Source(msgspec.Struct, frozen=True):
    whole: Path
    """The directory of the crawl."""
    part: int | None
    layout: Layout | None

    @property
    def place(self) -> Path:
        """The directory that is asked."""
        return self.whole if self.part is None else part_directory(self.whole, self.part)

    @property
    def states(self) -> list[Path]:
        """The directories with a state of their own."""
        if self.layout is None or self.part is not None:
            return [self.place]
        return list(self.layout.directories_here(self.whole).values())

    def name_below(self, directory: Path) -> str:
        return "" if self.layout is None else directory.name


def back_up(whole: Path, to: Path, *, part: int | None = None, progress: Progress) -> BackedUp:
    """Copy the crawl in a directory, or one part of it. Until the copy is whole, the one before stays.

    Raises `CopyRefused`, `DirectoryRefused`, `Refused` and `NoAnswer` for what can't be copied now, `StoreFailed`, and
    `OSError`.
    """
    source, folder = _Source(whole, part, read_layout(whole)), Folder(to)
    _check_places(source, folder)
    for directory in source.states:
        CrawlDirectory(directory).check_place()
        if not CrawlDirectory(directory).has_state():
            raise no_crawl(directory)
    refuse_without_configuration(whole)
    with folder.locked(to_write=True), ExitStack() as stack:
        crawl = name_crawl(whole)
        last = folder.read_list()
        _check_last(folder, last, crawl, part)
        for directory in source.states if part is not None or source.layout is None else (whole, *source.states):
            stack.enter_context(frozen_folder(CrawlDirectory(directory)))
        # Not after the parts, whose archives may refer to these, and which may delete both meanwhile.
        earlier = list(_earlier_files(source))
        frozen = _freeze(source.place)
        files = [*_files(source, frozen), *earlier]
        if read_layout(whole) != source.layout:
            raise CopyRefused(f"the crawl in {whole} was divided anew while it was to be copied; try again")
        writer = CopyWriter(folder, last)
        with _explained(folder, writer, last):
            writer.begin()
            copied = writer.copy(files, progress=progress)
            # Not before: a backup that fails every night must not use them up. A part gets its numbers from its crawl.
            parts, used_below = _parts_and_used(whole)
            lineages = _lineages(whole, last, parts, used_below) if part is None else NO_LINEAGES
            copy = CopyList(
                crawl=crawl,
                directory=str(whole.absolute()),
                only_part=part,
                generation=None if source.layout is None else source.layout.generation,
                is_cluster=source.layout is not None and source.layout.cluster is not None,
                ended_at=rfc3339(time.time()),
                parts=tuple(_part(source, state) for state in frozen.states),
                lineages=lineages,
                drawn=_drawn(whole, last),
                used_below=used_below,
                files=copied.files,
            )
            writer.finish(copy)
    return BackedUp(
        copy=str(to),
        parts=list(copy.parts),
        files=len(copied.files),
        bytes=copy.size,
        new_files=copied.new_files,
        new_bytes=copied.new_bytes,
    )


def _freeze(place: Path) -> Frozen:
    """Keep all files as they are now. A part of a running crawl that just begins or ends is waited for. Raises what
    `reach` raises, and `Refused`."""
    give_up_at = time.monotonic() + WAIT_S
    while True:
        with reach(place, to_change=True) as reached:
            try:
                return reached.ask(Freeze())
            except (Refused, CrawlEnded) as error:
                may_pass = isinstance(error, CrawlEnded) or (reached.is_running and error.exit_code == FAILED)
                if not may_pass or time.monotonic() >= give_up_at:
                    raise
        time.sleep(_LOOK_AGAIN_S)


def _check_places(source: _Source, folder: Folder) -> None:
    crawl, copy = source.whole.resolve(), folder.path.resolve()
    if crawl == copy or crawl in copy.parents or copy in crawl.parents:
        raise CopyRefused(f"{folder.path} and {source.whole} lie in each other: give the copy a folder of its own")
    check_no_file(folder.path)
    if folder.is_strange():
        raise CopyRefused(
            f"{folder.path} holds other files than those of a copy, and was not touched: give the copy a new folder"
        )
    if source.whole.is_dir() and (why := why_not_writable(source.whole)) is not None:
        raise CopyRefused(f"{why}. A backup notes in the crawl which record numbers the copy may use")
    if read_division(source.whole) is not None:
        raise CopyRefused(
            f"the crawl in {source.whole} is being divided anew: finish that by `onceover parts`, then copy it"
        )


def _check_last(folder: Folder, last: CopyList | None, crawl: str, part: int | None) -> None:
    if last is None:
        return
    if last.crawl != crawl:
        raise CopyRefused(
            f"{folder.path} holds a copy of another crawl, which was in {last.directory}: give this one another folder"
        )
    if last.only_part != part:
        what = "the whole crawl" if last.only_part is None else f"part {last.only_part} alone"
        raise CopyRefused(f"{folder.path} holds a copy of {what}: give this one another folder")


def _parts_and_used(whole: Path) -> tuple[int, int]:
    """How many parts the crawl has, and below which lineage it may have used all."""
    layout, left = read_layout(whole), read_lineages(whole)  # it may have been divided anew meanwhile
    return (1, left.first) if layout is None else (len(layout.parts), max(left.first, layout.next_lineage))


def _lineages(whole: Path, last: CopyList | None, parts: int, used_below: int) -> Block:
    """Those for crawls that are restored from the copy. What no restore has taken from the last copy stays, unless the
    crawl has drawn others above meanwhile."""
    if last is not None and len(last.lineages) >= parts and last.lineages.first >= used_below:
        return last.lineages
    return set_aside(whole, parts=parts, used_below=used_below)


def _drawn(whole: Path, last: CopyList | None) -> tuple[Block, ...]:
    """What crawls that are restored from the copy must not draw: also what others from the last copy have drawn."""
    of_crawl, of_restored = read_lineages(whole).drawn, () if last is None else last.drawn
    return (*of_crawl, *(block for block in of_restored if block not in of_crawl))


def _files(source: _Source, frozen: Frozen) -> Iterator[FrozenFile]:
    """All files of what has a state, with their names below the directory of the whole crawl."""
    for state in frozen.states:
        name = source.name_below(Path(state.directory))
        yield from _named(name, read_frozen(Path(state.list)))


def _earlier_files(source: _Source) -> Iterator[FrozenFile]:
    """The files of a crawl in parts that belong to none of them: its own, and output from before it was divided."""
    if source.layout is None or source.part is not None:
        return
    for name in ("", *(each for each in source.layout.earlier if each != ".")):
        frozen = freeze_output(CrawlDirectory(source.whole / name), source.whole / COPYING / name)
        yield from _named(name, frozen)


def _named(folder: str, files: Iterator[FrozenFile] | list[FrozenFile]) -> Iterator[FrozenFile]:
    for file in files:
        yield msgspec.structs.replace(file, name=f"{folder}/{file.name}") if folder else file


def _part(source: _Source, state: FrozenState) -> CopiedPart:
    number = source.part if source.part is not None else state.part
    return CopiedPart(
        directory=source.name_below(Path(state.directory)),
        part=number if isinstance(number, int) else None,
        at=state.at,
        settled=state.settled,
        queued=state.queued,
    )


@contextmanager
def _explained(folder: Folder, writer: CopyWriter, last: CopyList | None) -> Iterator[None]:
    """A context in which a copy is written. What was written is deleted if it does not become whole."""
    try:
        yield
    except OSError as error:
        writer.give_up()
        if error.filename is not None:
            raise
        kept = "" if last is None else "; a whole one from before is still there"
        advice = ". Free some space on its disk, then try again" if error.errno in DISK_FULL else ""
        raise OSError(error.errno, f"{error.strerror}: the copy in {folder.path} was not made{kept}{advice}") from error
    except BaseException:
        writer.give_up()
        raise
