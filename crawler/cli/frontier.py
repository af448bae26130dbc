"""onceover frontier: export, import"""

import asyncio
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, TextIO

import click
import msgspec

from config import Config
from crawler.cli.fsck import rebuild
from crawler.cli.json_forms import digest_bytes, moment, seconds
from crawler.cli.opening import open_stored
from crawler.cli.operate import budget, hold, pause, release, resume, retire, unretire
from crawler.disk.directory import CrawlDirectory
from crawler.page import digest_text
from crawler.status import number_of
from crawler.wiring.backends import lacks
from crawler.wiring.discovering import read_url
from crawler.wiring.storage import rules_version, visited_set
from frontier import CrawlUrl, Damaged, KnownUrl, LedgerEntry, LedgerReads, Recovering, UrlState
from frontier.state import FrontierState

LINES_AT_ONCE = 1000
MAX_LINK_COUNT = 1 << 53
"""A sum of many such counts still fits into the store."""


class Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One URL of the ledger, as a line of JSON. An imported line only needs `url`."""

    url: str
    canonical: str | None = None
    """The canonical form, if it is not that of `url`."""
    state: str = "pending"
    queue: str | None = None
    precedence: int = 128
    depth: int = 0
    via: str | None = None
    kind: str = "link"
    found_at: str | float | None = None
    """Moments are RFC 3339. Earlier versions exported seconds since 1970."""
    due_at: str | float | None = None
    status: int | None = None
    reason: str | None = None
    fetched_at: str | float | None = None
    digest: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    """As the server wrote it, because it is sent back like that."""
    hit_count: Annotated[int, msgspec.Meta(ge=0, le=MAX_LINK_COUNT)] | None = None


@click.group()
def frontier() -> None:
    """Change a crawl that does not run, or move its URLs to another."""


for command in (retire, unretire, budget, pause, resume, hold, release, rebuild):
    frontier.add_command(command)


@frontier.command("export")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--after", default="", metavar="URL", help="Start after this canonical URL. Use that of the last line to continue."
)
@click.option("--pending", is_flag=True, help="Only waiting URLs.")
def export(directory: Path, after: str, pending: bool) -> None:
    """Print the URLs of the crawl in DIRECTORY as JSON Lines, in the order of their canonical forms."""
    encode = msgspec.json.Encoder().encode
    with open_stored(directory) as (_, config, state):
        if not isinstance(state, LedgerReads):
            raise lacks(config, "list its ledger")
        for known in state.all_known(after):
            if isinstance(known, Damaged):
                click.echo(f"left out, because it can't be decoded: {known.key!r}", err=True)
            elif not pending or known.entry.state is UrlState.PENDING:
                sys.stdout.buffer.write(encode(_line(known)) + b"\n")
        sys.stdout.buffer.flush()


def _line(known: KnownUrl) -> Line:
    entry, url = known.entry, known.waiting
    if entry.state is not UrlState.PENDING:
        return Line(
            url=entry.canonical,
            state=entry.state.name.lower(),
            via=entry.via,
            found_at=moment(entry.found_at),
            status=entry.status,
            reason=entry.reason,
            fetched_at=moment(entry.fetched_at),
            digest=None if entry.digest is None else digest_text(entry.digest),
            etag=entry.etag,
            last_modified=entry.last_modified,
            hit_count=entry.hit_count,
        )
    if url is None:
        return Line(url=entry.canonical, found_at=moment(entry.found_at))
    return Line(
        url=url.url,
        canonical=None if url.canonical == url.url else url.canonical,
        queue=url.queue_key,
        precedence=url.precedence,
        depth=url.depth,
        via=url.via,
        kind=url.kind,
        found_at=moment(entry.found_at),
        due_at=moment(known.due_at),
        hit_count=entry.hit_count,
    )


@frontier.command("import")
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("lines", type=click.File(encoding="utf-8"), default="-")
def import_(directory: Path, lines: TextIO) -> None:
    """Add the URLs of LINES, as `export` prints them, to the crawl in DIRECTORY.

    URLs that the crawl knows do not change, so you can simply repeat an interrupted import. Pending URLs are queued.
    All others are only entered in the ledger, and are not fetched.
    """
    with open_stored(directory, to_change=True) as (crawl, config, state):
        asyncio.run(_import(crawl, config, state, lines))


async def _import(crawl: CrawlDirectory, config: Config, state: FrontierState, lines: TextIO) -> None:
    version, visited = rules_version(state), visited_set(config, crawl, state.knows_many)
    frontier = await state.open_frontier(visited)
    read = known = 0
    try:
        if not isinstance(frontier, Recovering):
            raise lacks(config, "be given URLs that were settled elsewhere")
        while batch := list(islice(_decode(lines, read), LINES_AT_ONCE)):
            read += len(batch)
            waiting = [_url(config, version, line) for line in batch if line.state == "pending"]
            settled = [_entry(line) for line in batch if line.state != "pending"]
            new = await frontier.add(waiting) + (await frontier.record(settled) if settled else 0)
            known += len(batch) - new
            if read % 100_000 == 0:
                click.echo(f"{read:,} lines", err=True)
    finally:
        await frontier.aclose()
        await visited.aclose()
    click.echo(f"{number_of(read - known, 'URL')} added, {number_of(known, 'was', 'were')} known")


def _decode(lines: TextIO, read: int) -> Iterator[Line]:
    decode = msgspec.json.Decoder(Line).decode
    for number, text in enumerate(lines, read + 1):
        try:
            line = decode(text)
            if line.state.upper() not in UrlState.__members__:
                raise ValueError(f"state {line.state!r} is none of pending, done, failed, excluded")
            for when in (line.found_at, line.due_at, line.fetched_at):
                seconds(when)
            digest_bytes(line.digest)
        except ValueError as error:
            raise click.UsageError(f"line {number} is not a URL as `frontier export` prints it: {error}") from error
        yield line


def _url(config: Config, version: int, line: Line) -> CrawlUrl:
    try:
        target = read_url(config, line.url, version=version)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return CrawlUrl(
        url=target.url,
        canonical=line.canonical or target.canonical,
        queue_key=line.queue or target.queue_key,
        depth=line.depth,
        via=line.via,
        kind=line.kind,
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
        status=line.status,
        reason=line.reason,
        fetched_at=seconds(line.fetched_at) or None,
        digest=digest_bytes(line.digest),
        etag=line.etag,
        last_modified=line.last_modified,
        hit_count=1 if line.hit_count is None else line.hit_count,
        elsewhere=True,
    )
