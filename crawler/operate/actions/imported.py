"""Enters lines of an export. They are noted before: `logs/imported.jsonl.gz`. A rebuild of the frontier enters them
again, because the output tells nothing of them. Unlike what was added, a settled URL is never through: so all are kept.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from isal import isal_zlib

from crawler.control.wire import MAX_REQUEST_BYTES
from crawler.disk.directory import CrawlDirectory
from crawler.files.folders import sync_directory
from crawler.files.replacing import naming
from crawler.operate.actions.exported import Line, read_line
from crawler.operate.actions.forms import seconds
from crawler.page.digests import digest_bytes
from crawler.url.urls import Target
from crawler.write.gzip_members import GzipMember, members
from frontier import CrawlUrl, Frontier, LedgerEntry, LedgerReads, Recovering, UrlState

_MAX_BYTES: Final = 2 * MAX_REQUEST_BYTES
"""Of the lines of one request: each is noted with its state, which a request may leave out."""

Read = Callable[[str], Target]
"""Reads a URL. Raises `ValueError` or `Refused`."""


async def enter_lines(frontier: Frontier, recovering: Recovering, lines: Sequence[Line], read: Read) -> int:
    """Queue those that wait, and enter the others into the ledger. Returns how many the frontier did not know."""
    waiting: list[CrawlUrl] = []
    for line in lines:
        if line.state == "pending":
            with suppress(ValueError):  # by the rules of today it is no URL
                waiting.append(_url(line, read(line.url)))
    settled = [_entry(line) for line in lines if line.state != "pending"]
    return await frontier.add(waiting) + await recovering.record(settled)


def canonical_of(line: Line, read: Read) -> str:
    """Raises what `read` does, also for a URL with a canonical form: it is no URL that can wait."""
    if line.state == "pending":
        target = read(line.url)
        return line.canonical or target.canonical
    return line.canonical or line.url


def is_known(line: Line, ledger: LedgerReads, read: Read) -> bool:
    with suppress(ValueError):
        return ledger.known(canonical_of(line, read)) is not None
    return False


def note_imported(path: Path, lines: Sequence[Line], *, syncs: bool) -> None:
    """Note lines, before they are entered. Raises `OSError`."""
    path.parent.mkdir(exist_ok=True)
    # Members of their own, so that one that a crash has cut does no harm to the others.
    text = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    data = isal_zlib.compress(text, wbits=16 + isal_zlib.MAX_WBITS)
    with naming(path), path.open("ab") as file:
        file.write(data)
    if syncs:
        _sync(path)


def _sync(path: Path) -> None:
    with naming(path), path.open("rb") as file:
        os.fsync(file.fileno())
        sync_directory(path.parent)


def read_imported(path: Path) -> Iterator[list[Line]]:
    """The lines that were noted, as they were noted together. What is damaged is left out. Raises `OSError`."""
    if not path.exists():
        return
    with naming(path), path.open("rb") as file:
        for found in members(file, is_ours=lambda head: head.startswith(b"{"), max_bytes=_MAX_BYTES):
            if isinstance(found, GzipMember):
                lines: list[Line] = []
                for text in found.content.splitlines():
                    with suppress(ValueError):
                        lines.append(read_line(text))
                yield lines


def divide_imported(
    sources: Sequence[CrawlDirectory], targets: Sequence[CrawlDirectory], *, owner_of: Callable[[str], int], read: Read
) -> None:
    """Give each target the lines of its URLs; `owner_of` tells the target of a canonical URL. The sources stay. After a
    crash, call it again. Raises `OSError`."""
    for target in targets:
        target.imported.unlink(missing_ok=True)
    for source in sources:
        for lines in read_imported(source.imported):
            by_owner: dict[int, list[Line]] = {}
            for line in lines:
                with suppress(ValueError):
                    by_owner.setdefault(owner_of(canonical_of(line, read)), []).append(line)
            for owner, of_one in by_owner.items():
                note_imported(targets[owner].imported, of_one, syncs=False)
    for target in targets:
        if target.imported.exists():
            _sync(target.imported)


def _url(line: Line, target: Target) -> CrawlUrl:
    return CrawlUrl(
        url=target.url,
        canonical=line.canonical or target.canonical,
        queue_key=line.queue or target.queue_key,
        depth=line.depth,
        via=line.via,
        kind=line.kind,
        anchor=line.anchor,
        precedence=line.precedence,
        link_count=1 if line.hit_count is None else line.hit_count,
    )


def _entry(line: Line) -> LedgerEntry:
    return LedgerEntry(
        canonical=line.canonical or line.url,
        state=UrlState[line.state.upper()],
        number=0,
        found_at=seconds(line.found_at),
        via=line.via,
        kind=line.kind,
        status=line.status,
        reason=line.reason,
        fetched_at=seconds(line.fetched_at) or None,
        digest=digest_bytes(line.digest),
        etag=line.etag,
        last_modified=line.last_modified,
        hit_count=1 if line.hit_count is None else line.hit_count,
        elsewhere=True,
    )
