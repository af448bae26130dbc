"""onceover backup"""

from pathlib import Path

import click

from crawler.cli.operate.options import as_json, directory, part, place, show
from crawler.cli.run.progress import bytes_progress
from crawler.copies.content import CopiedPart
from crawler.operate.upkeep.backing_up import back_up
from crawler.status import number_of, size


@click.command()
@directory
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    required=True,
    metavar="COPY",
    help="A folder of its own, best on another disk. If it holds the last copy, only what is new is copied.",
)
@part
@as_json
def backup(directory: Path, to: Path, part: int | None, as_json: bool) -> None:
    """Copy the crawl in DIR as it is at one moment. The copy has state and output. A running crawl goes on meanwhile.

    COPY holds one whole copy at a time; until the new one is whole, the last one stays. `onceover restore` makes a
    crawl of it. Each part of a crawl in parts has a moment of its own, and no link between them is lost.
    """
    place(directory, part)
    with bytes_progress("copied") as progress:
        done = back_up(directory, to, part=part, progress=progress)
    total = f"{to}: {number_of(done.files, 'file')} of {size(done.bytes)}"
    lines = [*map(part_line, done.parts), f"{total}; new are {done.new_files:,} of {size(done.new_bytes)}"]
    show(done, lines, as_json=as_json)


def part_line(copied: CopiedPart) -> str:
    """As of when a part was copied, or the only one."""
    named = "" if copied.part is None else f"part {copied.part}: "
    return f"{named}as of {copied.at}: {number_of(copied.settled, 'settled URL')}, {copied.queued:,} queued"
