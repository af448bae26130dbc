"""The recrawls whose pages may still wait: `logs/recrawls.json`. A rebuild of the frontier queues these pages again, of
which the output only tells when they were visited last. And the URLs that somebody has added and that may still wait:
`logs/added.jsonl`. The output tells nothing of those to which no page links."""

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.control.requests import Add, Recrawl
from crawler.disk.directory import CrawlDirectory
from crawler.files.content import read_file
from crawler.files.folders import sync_directory
from crawler.files.replacing import naming, replace_file
from crawler.operate.refused import Refused
from frontier import LedgerEntry, Numbering, UrlState
from frontier.descriptor import Durability
from frontier.parts.protocol import lineage_of
from frontier.state import FrontierState

_MOST: Final = 100
"""So that who recrawls host by host, and never comes to an end, has no file that grows for ever."""
_MOST_BYTES: Final = 1 << 26
"""The same for who adds URLs. A file with more loses its older half."""

_encode = msgspec.json.Encoder().encode


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """URLs that were added, and when, in seconds since 1970."""

    at: float
    number: int | None = None
    """The next number that the frontier gave then; None if it does not tell that. A URL that had no answer has no other
    sign that it was tried since."""
    request: Add


class Recrawled(msgspec.Struct, frozen=True, kw_only=True):
    """A recrawl, and the next numbers as above: after parts were merged, that of each."""

    numbers: tuple[int, ...] = ()
    request: Recrawl


def note_recrawl(path: Path, request: Recrawl, *, number: int | None, is_first: bool) -> None:
    """Add a recrawl, before its pages are queued. It takes the place of an earlier one that selects the same.
    `is_first` says that no page waits: those before are through. Raises `Refused`."""
    which = request.which
    # What is queued now was visited before now; what is visited later is through.
    moment = time.time() if which.before is None else which.before
    noted = msgspec.structs.replace(request, which=msgspec.structs.replace(which, before=moment), after="")
    before = [] if is_first else read_recrawls(path)
    try:
        _write(path, [*before, Recrawled(numbers=() if number is None else (number,), request=noted)])
    except OSError as error:
        raise Refused(f"nothing was queued, because that can't be noted: {error}") from error


def note_added(path: Path, urls: Sequence[Added], *, is_first: bool, durability: Durability) -> None:
    """Note URLs, before they are queued. `is_first` says that no URL waits: those before are through. Raises
    `OSError`."""
    path.parent.mkdir(exist_ok=True)
    if is_first:
        path.unlink(missing_ok=True)  # not emptied: a copy of the crawl that is being made may have linked it
    with naming(path), path.open("ab") as file:
        # A line begins with its end, so that one that a crash has cut does no harm to the next.
        file.writelines(b"\n" + _encode(each) for each in urls)
        file.flush()
        if durability == "power":
            os.fsync(file.fileno())
            sync_directory(path.parent)
    if path.stat().st_size > _MOST_BYTES:
        _, _, newer = read_file(path)[-_MOST_BYTES // 2 :].partition(b"\n")
        replace_file(path, newer)


def divide_noted(sources: Iterable[CrawlDirectory], targets: Iterable[CrawlDirectory]) -> None:
    """Note in each target what the sources have, of which each names URLs that any target may get. Raises `OSError`."""
    sources, targets = list(sources), list(targets)
    recrawls = [each for source in sources for each in read_recrawls(source.recrawls)]
    recrawls = _with_numbers_of_all(recrawls)
    added = sorted((each for source in sources for each in read_added(source.added)), key=lambda each: each.at)
    lines = dict.fromkeys(map(_encode, added))  # parts that were made of one have the same
    for target in targets:
        if recrawls:
            _write(target.recrawls, recrawls)
        if lines:
            target.added.parent.mkdir(exist_ok=True)
            replace_file(target.added, b"\n".join(lines))


def _with_numbers_of_all(recrawls: Sequence[Recrawled]) -> list[Recrawled]:
    """Each with the numbers of all that select the same; with none if one of them does not tell any."""
    numbers = defaultdict[tuple[object, ...], list[tuple[int, ...]]](list)
    for each in recrawls:
        numbers[_kind(each.request)].append(each.numbers)
    joined = {kind: tuple(sorted({*chain(*found)})) if all(found) else () for kind, found in numbers.items()}
    return [msgspec.structs.replace(each, numbers=joined[_kind(each.request)]) for each in recrawls]


def _write(path: Path, recrawls: Iterable[Recrawled]) -> None:
    """Of several that select the same, the latest holds: it includes the others."""
    latest: dict[tuple[object, ...], Recrawled] = {}
    for each in recrawls:
        kind = _kind(each.request)
        same = latest.pop(kind, each)
        latest[kind] = max(same, each, key=lambda recrawled: recrawled.request.which.before or 0.0)
    path.parent.mkdir(exist_ok=True)
    replace_file(path, msgspec.json.encode([*latest.values()][-_MOST:]))


def read_added(path: Path) -> list[Added]:
    """Those that were noted. What is damaged of the file is left out: it is then lost by a rebuild alone."""
    found = []
    with suppress(OSError):
        for line in read_file(path).splitlines():
            with suppress(*UNREADABLE):
                found.append(msgspec.json.decode(line, type=Added))
    return found


def read_recrawls(path: Path) -> list[Recrawled]:
    """Those that were noted. A file that is damaged has none: what they had queued is then lost by a rebuild alone."""
    try:
        stored = msgspec.json.decode(read_file(path), type=list[dict[str, Any]])
        return [msgspec.convert(_in_todays_form(each), Recrawled) for each in stored]
    except (*UNREADABLE, OSError):
        return []


def _in_todays_form(noted: dict[str, Any]) -> dict[str, Any]:
    """Earlier versions have noted the request alone, or one number with it."""
    if "request" not in noted:
        return {"request": noted}
    number = noted.get("number")
    return noted if number is None else {"numbers": [number], **noted}


def is_since(entry: LedgerEntry, moment: float, now: float) -> bool:
    """Whether the last visit was since a moment. One in the future was before the clock was set back. Of a URL that
    waits nobody knows it."""
    return entry.state is not UrlState.PENDING and moment <= (entry.fetched_at or entry.found_at) <= now


def next_number(state: FrontierState) -> int | None:
    return state.next_number if isinstance(state, Numbering) else None


def has_number_since(entry: LedgerEntry, *numbers: int) -> bool:
    """Whether a URL was queued when or since these were the next numbers: that of its lineage, or else the last one,
    because of two visits the later one has the higher lineage. One that another crawl has settled was not: it has a
    number of the rebuild."""
    own = [number for number in numbers if lineage_of(number) == lineage_of(entry.number)]
    return bool(numbers) and entry.number >= max(own or numbers) and not entry.elsewhere


def _kind(request: Recrawl) -> tuple[object, ...]:
    which = request.which
    return which.matching, which.host, which.failed, which.excluded, request.whole
