"""Deletes the old output of a crawl that does not run, or tells what would be deleted."""

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import output_directories
from crawler.operate.opening import no_crawl, refuse_without_configuration
from crawler.operate.refused import Refused
from crawler.operate.upkeep.places import Places
from crawler.prune.choosing import Keep, too_old
from crawler.prune.pruning import Plan, delete, make_plan
from crawler.status import number_of, size


class PrunedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is deleted, or would be."""

    file: str
    """From the directory of the crawl on."""
    bytes: int
    """The size with that of its index."""
    reason: str


class NeededOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An archive that stays because later ones refer to its bodies."""

    file: str
    bytes: int


class PruneReport(msgspec.Struct, frozen=True, kw_only=True):
    is_dry_run: bool
    pruned: list[PrunedOutput]
    needed: list[NeededOutput]
    bytes_before: int
    """The size of records and archives before."""
    bytes_pruned: int


def plan_prune(path: Path, keep: Keep) -> PruneReport:
    """What would be deleted of the crawl in a directory, whether it runs or not. Raises `DirectoryRefused`, `OSError`,
    and `Refused` as `prune`."""
    crawl = CrawlDirectory(path)
    if crawl.earlier_configuration != crawl.configuration:
        refuse_without_configuration(path)
        raise no_crawl(path)
    outputs = [CrawlDirectory(each) for each in output_directories(path)]
    return _report(_checked_plan(outputs, keep, now=time.time()), path, is_dry_run=True)


def prune(places: Places, keep: Keep) -> PruneReport:
    """Delete old output. Raises `DirectoryRefused` and `OSError`; the next call goes on. Raises `Refused`, before
    anything is deleted, if no archive would be left because they are too large."""
    now = time.time()
    outputs = [CrawlDirectory(each.original) for each in places.outputs]
    plan = _checked_plan(outputs, keep, now=now)
    for directory in reversed(outputs):  # the oldest last, to which others refer
        mine = [(file, why) for file, why in plan.chosen.items() if file.directory == directory.path]
        delete(directory, mine, now=now)
    return _report(plan, places.path, is_dry_run=False)


def _checked_plan(outputs: Sequence[CrawlDirectory], keep: Keep, *, now: float) -> Plan:
    """Archives that refer to each other go together. If these are all archives, none would be kept, though some were
    to be. A crawl that runs begins its archive anew before it comes to that."""
    plan = make_plan(outputs, keep, now=now)
    archives = [file for file in plan.files if file.is_archive]
    if not keep.bytes or not archives or any(file not in plan.chosen for file in archives):
        return plan
    if len(too_old(archives, keep, now=now)) == len(archives):
        return plan
    raise Refused(
        f"nothing was deleted: to keep at most {size(keep.bytes)}, all archives would have to go: "
        f"{number_of(len(archives), 'file')} of {size(sum(file.bytes for file in archives))}, of which the newest ones "
        "refer to older ones or are too large. Keep more; or delete by age alone, by --keep; or keep 0B to delete all"
    )


def _report(plan: Plan, path: Path, *, is_dry_run: bool) -> PruneReport:
    return PruneReport(
        is_dry_run=is_dry_run,
        pruned=[
            PrunedOutput(file=str(file.path.relative_to(path)), bytes=file.bytes, reason=reason)
            for file, reason in plan.chosen.items()
        ],
        needed=[NeededOutput(file=str(file.path.relative_to(path)), bytes=file.bytes) for file in plan.needed],
        bytes_before=plan.total_bytes,
        bytes_pruned=plan.chosen_bytes,
    )
