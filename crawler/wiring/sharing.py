"""What crawls share: a visited set, and the pace of hosts. Also where a crawl takes its leases from."""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from crawler.background import in_background
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import read_layout, whole_crawl
from crawler.files.content import read_file
from crawler.files.replacing import replace_file
from crawler.parts.line.services import PartService
from frontier import Frontier, PartLinks, Tended
from visited import Member, SharedSet, VisitedSet

PACE_VARIABLE: Final = "ONCEOVER_PACE"
"""Names the file by which crawls keep the pace of hosts together. Parts of a crawl inherit it."""
_TEND_EVERY_S: Final = 5.0
"""Between two looks at the server of a visited set. It does not report what it has lost."""


def meeting_place(pace: Path | None = None) -> Path | None:
    """The folder where crawls meet that keep the pace of hosts together, by the file `pace`, or by that which the
    environment names."""
    path = pace or os.environ.get(PACE_VARIABLE)
    return Path(f"{path}.crawls").absolute() if path else None


class LeaseSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where a crawl takes its leases from, and if it is a part, what ties it to the others."""

    frontier: Frontier
    """It hands out no lease that a limit or the pace of a host forbids."""
    owe: Callable[[Iterable[int]], object] | None = None
    """Takes the numbers of pages that are in the output but not settled. None if nothing limits the pages."""
    links: PartLinks | None = None
    """Links to and from the other parts of the crawl; None if it is not in parts."""
    services: tuple[PartService, ...] = ()
    """What it does together with its supervisor."""


@asynccontextmanager
async def membership(
    visited: VisitedSet, frontier: Frontier, directory: CrawlDirectory, path: str | None
) -> AsyncIterator[None]:
    """Makes the crawl one of those who share its visited set, if it lies on a server, and adds its URLs again if the
    server has lost them, because others may wait for that. `path` is that of the file by which crawls of this machine
    keep the pace of hosts together. Raises `Unavailable` if another crawl that shares the set could ask a host at the
    same time."""
    if not isinstance(visited, SharedSet):
        yield
        return
    await visited.enter(
        Member(
            id=_member_id(directory),
            name=f"the crawl in {directory.path.absolute()} on {socket.gethostname()}",
            paces=_paces(directory, path),
        )
    )
    try:
        async with in_background(_tend(frontier)):
            yield
    finally:
        await visited.leave()


async def _tend(frontier: Frontier) -> None:
    while isinstance(frontier, Tended):
        await asyncio.sleep(_TEND_EVERY_S)
        await frontier.tend()


def _member_id(directory: CrawlDirectory) -> str:
    file = directory.visited / "member"
    try:
        return read_file(file).decode("ascii")
    except (FileNotFoundError, UnicodeDecodeError):
        member = secrets.token_hex(8)
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, member.encode())
        return member


def _paces(directory: CrawlDirectory, path: str | None) -> tuple[str, ...]:
    """A file on this machine, and the division of hosts among the parts of a crawl."""
    paces = [] if not path else [f"file {_machine()} {Path(path).resolve()}"]
    layout = read_layout(whole_crawl(directory.original))
    if layout is not None:
        paces.append(f"parts {layout.generation}")
    return tuple(paces)


def _machine() -> str:
    """The same after a reboot, when crawls that were killed are still members."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip() or socket.gethostname()
    except OSError:
        return socket.gethostname()
