"""The recrawls whose pages may still wait: `logs/recrawls.json`. A rebuild of the frontier queues these pages again, of
which the output only tells when they were visited last."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.control.requests import Recrawl
from crawler.files.content import read_file
from crawler.files.replacing import replace_file
from crawler.operate.refused import Refused

_MOST: Final = 100
"""So that who recrawls host by host, and never comes to an end, has no file that grows for ever."""


def note_recrawl(path: Path, request: Recrawl, *, is_first: bool) -> None:
    """Add a recrawl, before its pages are queued. It takes the place of an earlier one that selects the same.
    `is_first` says that no page waits: those before are through. Raises `Refused`."""
    which = request.which
    # What is queued now was visited before now; what is visited later is through.
    moment = time.time() if which.before is None else which.before
    noted = msgspec.structs.replace(request, which=msgspec.structs.replace(which, before=moment), after="")
    before = [] if is_first else read_recrawls(path)
    try:
        _write(path, [*before, noted])
    except OSError as error:
        raise Refused(f"nothing was queued, because that can't be noted: {error}") from error


def divide_recrawls(sources: Iterable[Path], targets: Iterable[Path]) -> None:
    """Note in each target what the sources have, of which each selects URLs that any target may get. Raises
    `OSError`."""
    if noted := [each for source in sources for each in read_recrawls(source)]:
        for target in targets:
            _write(target, noted)


def _write(path: Path, recrawls: Iterable[Recrawl]) -> None:
    """Of several that select the same, the latest holds: it includes the others."""
    latest: dict[tuple[object, ...], Recrawl] = {}
    for each in recrawls:
        same = latest.pop(_kind(each), each)
        latest[_kind(each)] = max(same, each, key=lambda recrawl: recrawl.which.before or 0.0)
    path.parent.mkdir(exist_ok=True)
    replace_file(path, msgspec.json.encode([*latest.values()][-_MOST:]))


def read_recrawls(path: Path) -> list[Recrawl]:
    """Those that were noted. A file that is damaged has none: what they had queued is then lost by a rebuild alone."""
    try:
        return msgspec.json.decode(read_file(path), type=list[Recrawl])
    except (*UNREADABLE, OSError):
        return []


def _kind(request: Recrawl) -> tuple[object, ...]:
    which = request.which
    return which.matching, which.host, which.failed, which.excluded, request.whole
