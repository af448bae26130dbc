"""Moves damaged bytes out of the output, into files beside it, so that each reader meets them no more."""

import errno
from collections.abc import Iterable
from pathlib import Path

import msgspec

from crawler.disk.directory import CrawlDirectory
from crawler.disk.permissions import why_missing
from crawler.write.cdxj.making import OPEN
from crawler.write.record_tails import mend_records
from crawler.write.records import record_files
from crawler.write.warc_opening import mend_archive
from frontier.descriptor import Problem


class SetAside(msgspec.Struct, frozen=True, kw_only=True):
    """A file with damaged bytes that a start of the crawl or a repair has moved out of the output."""

    file: str
    bytes: int


def damaged(path: str, what: str) -> Problem:
    """The problem that something of a file can't be read, and what to do about it."""
    by_start = "the next start moves this aside"
    by_refetch = "`fsck --refetch` moves this aside, and fetches again what is missing"
    return Problem("damaged", path, f"{what}; {by_start if path.endswith(OPEN) else by_refetch}")


def unread(name: str, error: OSError, *, has_files: bool) -> Problem:
    """The problem that a sink can't be read, and what to do about it. A server that is away has lost nothing, nor has a
    file that somebody else has locked."""
    if has_files and error.errno in (None, errno.EIO, errno.EISDIR):
        return Problem(
            "damaged",
            name,
            f"the sink can't be read: {error}. Restore a copy of it, or move it away: `verify --repair` then writes it "
            "anew from the records",
        )
    what, do = "reached", "see that its server runs and lets us in"
    if has_files:
        what, do = "read", "see that its file can be read"
    message = (
        f"the sink can't be {what} now, so nothing of it was compared: {error}. {do.capitalize()}, then verify again"
    )
    return Problem("unread", name, message)


def unread_file(path: Path, error: OSError) -> Problem:
    """The problem that a file of the output can't be read, or not to its end: another disk may have what it holds."""
    why = why_missing(path) or f"it can't be read now: {error.strerror or error}"
    what = "What it holds was not compared: see that it can be read, then verify again"
    return Problem("unread", str(path), f"{why}. {what}")


def move_damage_aside(path: Path) -> list[Path]:
    """Move what can't be read of a file of records or an archive into files beside it; returns these. The next start
    repairs an archive that is open. Raises `OSError`."""
    if path.suffix == ".jsonl":
        return mend_records(path, is_newest=record_files(path.parent)[-1] == path)
    return [] if path.name.endswith(OPEN) else mend_archive(path)


def list_set_aside(outputs: Iterable[CrawlDirectory]) -> list[SetAside]:
    """What was moved aside of all these directories."""
    folders = [folder for each in outputs for folder in (each.records, each.warc)]
    paths = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()) if is_set_aside(path)]
    return [SetAside(file=str(path), bytes=path.stat().st_size) for path in paths]


def is_set_aside(path: Path) -> bool:
    """Whether it is a file with damaged bytes."""
    return ".damaged-" in path.name
