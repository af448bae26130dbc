"""onceover frontier: export, import, rebuild, and commands that `onceover` has, too"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import click
import msgspec

from crawler.cli.fsck import rebuild
from crawler.cli.operate.hosts import budget, retire, unretire
from crawler.cli.operate.options import crawl_at, named_path, part, place
from crawler.cli.operate.pausing import pause, resume
from crawler.control.requests import Export, Import
from crawler.control.wire import MAX_REQUEST_BYTES, in_requests
from crawler.operate.actions.exported import read_line
from crawler.operate.reach import reach
from crawler.status import number_of

_PIECE_BYTES: Final = MAX_REQUEST_BYTES // 2
_SHOWN_EACH: Final = 100_000


@click.group()
def frontier() -> None:
    """Copy the URLs of a crawl to another, or change the crawl."""


for command in (pause, resume, retire, unretire, budget):
    frontier.add_command(command)
frontier.add_command(rebuild)


@frontier.command("export")
@click.argument("directory", type=named_path)
@click.option(
    "--after", default="", metavar="URL", help="Start after this canonical URL. Use that of the last line to continue."
)
@click.option("--pending", is_flag=True, help="Only waiting URLs.")
@part
def export(directory: Path, after: str, pending: bool, part: int | None) -> None:
    """Print the URLs of the crawl in DIRECTORY as JSON Lines. They are in the order of their canonical forms.

    Those of all parts are merged in this order.
    """
    position: str | None = after
    reported: set[str] = set()
    with reach(place(directory, part)) as crawl:
        while position is not None:
            piece = crawl.ask(Export(after=position, pending=pending))
            # Pieces of a crawl in parts overlap where a key is damaged.
            for key in dict.fromkeys(key for key in piece.damaged if key not in reported):
                reported.add(key)
                click.echo(f"left out, because it can't be decoded: {key}", err=True)
            sys.stdout.buffer.writelines(bytes(line) + b"\n" for line in piece.lines)
            position = piece.after
    sys.stdout.buffer.flush()


@frontier.command("import")
@click.argument("directory", type=named_path)
@click.argument("lines", type=click.File("rb"), default="-")
def import_(directory: Path, lines: BinaryIO) -> None:
    """Add the URLs of LINES to the crawl in DIRECTORY. LINES has them as `export` prints them.

    URLs that the crawl knows do not change, so you can simply repeat an interrupted import. Pending URLs are queued.
    All others are only entered in the ledger, and are not fetched.
    """
    read = added = 0
    with crawl_at(directory, None, to_change=True) as crawl:
        for piece in in_requests(_checked(lines), max_size=_PIECE_BYTES):
            added += crawl.ask(Import(lines=[msgspec.Raw(line) for line in piece])).added
            if (read + len(piece)) // _SHOWN_EACH > read // _SHOWN_EACH:
                click.echo(f"{number_of(read + len(piece), 'line')}", err=True)
            read += len(piece)
    known = read - added
    click.echo(f"{number_of(added, 'URL')} added, {number_of(known, 'was', 'were')} known")


def _checked(lines: BinaryIO) -> Iterator[bytes]:
    """The lines as the crawl takes them. Raises `UsageError` for one that it does not take."""
    for number, text in enumerate(lines, 1):
        try:
            yield msgspec.json.encode(read_line(text))
        except ValueError as error:
            found = str(error) if text.strip() else "found an empty line"
            raise click.UsageError(
                f'line {number}: expected a URL as `frontier export` prints it, {{"url": "https://…/"}}; {found}'
            ) from error
