"""onceover backup, restore"""

from collections.abc import Iterator
from pathlib import Path

import click

from crawler.cli.operate.options import as_json, bytes_progress, directory, named_path, part, place, show
from crawler.codes.exit_codes import COMPLETE, FAILED
from crawler.copies.content import CopiedPart
from crawler.operate.upkeep.backing_up import back_up
from crawler.operate.upkeep.restoring import Checked, Restored, check_copy
from crawler.operate.upkeep.restoring import restore as restore_copy
from crawler.status import number_of, size


@click.command()
@directory
@click.option(
    "--to",
    type=named_path,
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


@click.command()
@click.argument("copy", metavar="COPY", type=named_path)
@click.option("--to", type=named_path, metavar="DIR", help="A directory that is empty or does not exist.")
@click.option(
    "--part",
    type=click.IntRange(min=0),
    metavar="K",
    help="Only part K of a crawl in parts. DIR is the directory of its crawl, which does not run and has lost part K.",
)
@click.option("--check", "checks", is_flag=True, help="Only read COPY, and tell what is damaged.")
@as_json
def restore(copy: Path, to: Path | None, part: int | None, checks: bool, as_json: bool) -> int:
    """Make a crawl in DIR of the COPY that `onceover backup` made.

    The crawl then goes on from the moment of the copy, as after a crash. It gives other record numbers than the one
    that was copied, so both may live on. If this is interrupted, run it again.
    """
    if checks == (to is not None):
        raise click.UsageError("expected --to DIR, or --check")
    if to is None:
        with bytes_progress("read") as progress:
            checked = check_copy(copy, progress=progress)
        show(checked, _lines_of_checked(checked), as_json=as_json)
        return FAILED if checked.damaged else COMPLETE
    with bytes_progress("restored") as progress:
        restored = restore_copy(copy, to, part=part, progress=progress)
    show(restored, _lines(restored), as_json=as_json)
    return COMPLETE


def _lines(restored: Restored) -> Iterator[str]:
    yield from map(part_line, restored.parts)
    yield f"{restored.directory}: {number_of(restored.files, 'file')} of {size(restored.bytes)}"
    if restored.must_be_adopted:
        (part,) = restored.parts
        whole = Path(restored.directory).parent
        yield f"then: `onceover cluster adopt {part.part} --dir {whole}` lets the part go on from here"
    if restored.shares is not None:
        yield (
            f"the crawl shares the visited set {restored.shares!r}, which knows what was found since the copy: no "
            "crawl would fetch that. Start it with another name: --set visited.options.share=NAME"
        )
    if not restored.is_noted:
        yield "the copy can't be written to: another crawl that is restored from it will give the same record numbers"


def _lines_of_checked(checked: Checked) -> Iterator[str]:
    for _, why in checked.damaged:
        yield f"{why}. Delete it: the next backup copies it anew, if the crawl still has that file as it was"
    damaged = number_of(len(checked.damaged), "damaged file") if checked.damaged else "none is damaged"
    yield f"{checked.copy}: {number_of(checked.files, 'file')} of {size(checked.bytes)}; {damaged}"
