"""Deletes output files: lists them with their record numbers first, and then deletes them."""

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from crawler.codes.full_disk import DISK_FULL
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.pruned import Pruned, PrunedFile, read_pruned, shorten, write_numbers, write_pruned
from crawler.files.folders import sync_directory
from crawler.page import rfc3339
from crawler.page.number_set import NumberSet
from crawler.prune.choosing import Keep, too_much, too_old
from crawler.prune.cycles import place_of
from crawler.prune.finished import OutputFile, output_files, read_content
from crawler.prune.needs import Needed, Needs
from crawler.write.cdxj.making import index_of, serial_of
from crawler.write.cdxj.open_index import open_index_of


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be deleted of the output of a crawl."""

    files: Sequence[OutputFile]
    """All there are."""
    chosen: dict[OutputFile, str]
    """The oldest first, each with the reason."""
    needed: Sequence[OutputFile]
    """Archives that would be deleted, but for later ones that refer to their bodies."""

    @property
    def total_bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def chosen_bytes(self) -> int:
        return sum(file.bytes for file in self.chosen)

    @property
    def bytes_left(self) -> int:
        return self.total_bytes - self.chosen_bytes


def make_plan(
    directories: Sequence[CrawlDirectory],
    keep: Keep,
    *,
    now: float,
    find_needed: Needed | None = None,
    before: Callable[[Sequence[OutputFile]], None] = lambda _: None,
    refuses_damage: bool = True,
) -> Plan:
    """What to delete of a crawl; `directories` are all with its output, the oldest first. Before it looks at what
    refers to what, it calls `before` with the files that may be deleted.

    Raises `OSError` and, if it `refuses_damage`, `DirectoryRefused` for a damaged list of what was deleted. Otherwise
    files of that directory are chosen as well, but none to which they refer, since `delete` refuses to delete them."""
    lists = _lists(directories, refuses_damage=refuses_damage)
    gone = {place / file.name for place, found in lists.items() for file in found.files if file.is_deleted}
    files = output_files(directories)
    others = [file for file in files if file.path not in gone]  # not what was restored by hand
    find_needed = find_needed or Needs().needed
    old = too_old(others, keep, now=now)
    much = list(too_much(others, keep, list(old)))
    most_bytes = math.inf if keep.bytes is None else keep.bytes
    archives = [file for file in files if file.is_archive]
    places = {
        file: place_of(file, lists[file.directory].cycles) if file.directory in lists else None for file in archives
    }

    def plan(wanted: int) -> Plan:
        asked = old | dict(much[:wanted])
        goes = {file for file in asked if file.is_archive and file.directory in lists}
        needed = find_needed(archives, goes, places)
        chosen = [each for each in asked.items() if each[0] not in needed]
        order = sorted(chosen, key=lambda each: (each[0].written_at, each[0].name))
        return Plan(files=files, chosen=dict(order), needed=sorted(needed, key=lambda each: each.name))

    def plan_from_now(wanted: int) -> Plan:
        before([*old, *dict(much[:wanted])])
        return plan(wanted)

    wanted = _enough(files, old, much, most_bytes)
    found = plan_from_now(wanted)
    if wanted == len(much) or found.bytes_left <= most_bytes:
        return found
    # Others instead of what is needed.
    found = plan_from_now(_least(wanted + 1, len(much), lambda count: plan(count).bytes_left <= most_bytes))
    return _without_spared(found, old, most_bytes)


def _without_spared(plan: Plan, old: Collection[OutputFile], most_bytes: float) -> Plan:
    """The same, but the newest records stay for which archives that go together have made room."""
    chosen = dict(plan.chosen)
    room = most_bytes - plan.bytes_left
    for file in reversed(plan.chosen):
        if file.is_archive or file in old:
            continue
        if file.bytes > room:
            break
        room -= file.bytes
        del chosen[file]
    return msgspec.structs.replace(plan, chosen=chosen)


def _lists(directories: Sequence[CrawlDirectory], *, refuses_damage: bool) -> dict[Path, Pruned]:
    """What was deleted before, by directory, without damaged lists unless it `refuses_damage`. Raises
    `DirectoryRefused`."""
    found: dict[Path, Pruned] = {}
    for each in directories:
        try:
            found[each.path] = read_pruned(each)
        except DirectoryRefused:
            if refuses_damage:
                raise
    return found


def _least(first: int, last: int, is_enough: Callable[[int], bool]) -> int:
    """The least number that is enough; `last` if none below is. More than enough is enough. It asks seldom, because
    each answer may take a pass over many archives."""
    too_few, step = first, 1
    while first < last and not is_enough(first):
        too_few, first, step = first + 1, min(first + step, last), 2 * step
    return bisect_left(range(last), True, too_few, first, key=is_enough)


def _enough(
    files: Sequence[OutputFile], old: Iterable[OutputFile], much: Sequence[tuple[OutputFile, str]], most_bytes: float
) -> int:
    """How many of `much`, from the first on, make what is left small enough; all if these are too few."""
    left = sum(file.bytes for file in files) - sum(file.bytes for file in old)
    for count, (file, _) in enumerate(much):
        if left <= most_bytes:
            return count
        left -= file.bytes
    return len(much)


def delete(
    directory: CrawlDirectory,
    chosen: Collection[tuple[OutputFile, str]],
    *,
    now: float,
    goes_on: Callable[[], bool] = lambda: True,
) -> list[PrunedFile]:
    """Delete files of one directory, and what a crash has left of those that were listed before. Returns what was
    listed now. After a crash or an error, the next call goes on. Stops between two files when `goes_on` says no. Raises
    `OSError` and `DirectoryRefused`."""
    before = read_pruned(directory)
    listed = list(before.files)
    known, count = {file.name for file in listed}, len(listed)
    _delete_listed(directory, listed)
    # An archive goes before those to which it refers, which are older: so none ever lacks a body.
    for file, reason in sorted(chosen, key=lambda each: -serial_of(each[0].path) if each[0].is_archive else -math.inf):
        if not goes_on():
            break
        if file.name in known:
            continue  # a crash had left it: it is gone now. Or somebody has just put it back
        content = read_content(file)
        pruned = PrunedFile(
            name=file.name,
            bytes=file.bytes,
            records=content.records,
            first=content.first,
            last=content.last,
            digest=content.digest,
            reason=reason,
            pruned_at=rfc3339(now),
        )
        listed = [*map(_deleted, listed), pruned]
        following = msgspec.structs.replace(before, files=listed)
        try:
            _write_list(directory, following, content.numbers)
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            for each, _ in chosen:  # they go with their archives, from which they can be made again until then
                index_of(each.path).unlink(missing_ok=True)
            _write_list(directory, following, content.numbers)
        _delete_listed(directory, listed)
    if any(not file.is_deleted for file in listed):
        write_pruned(directory, msgspec.structs.replace(before, files=list(map(_deleted, listed))))
    shorten(directory)
    return list(map(_deleted, listed[count:]))


def _write_list(directory: CrawlDirectory, following: Pruned, numbers: NumberSet) -> None:
    """Store what was pruned, with a further file that has these record numbers. Raises `OSError`."""
    write_numbers(directory, following.files[-1].name, numbers)
    write_pruned(directory, following)


def _delete_listed(directory: CrawlDirectory, listed: Iterable[PrunedFile]) -> None:
    folders = set()
    for file in listed:
        if not file.is_deleted:
            path = directory.path / file.name
            for each in (path, index_of(path), open_index_of(path)):
                each.unlink(missing_ok=True)
            folders.add(path.parent)
    for folder in folders:
        if folder.is_dir():
            sync_directory(folder)


def _deleted(file: PrunedFile) -> PrunedFile:
    return msgspec.structs.replace(file, is_deleted=True)
