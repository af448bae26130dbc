"""onceover checkpoint"""

from pathlib import Path

import click

from crawler.cli.operate.options import Daemon, as_json, crawl_at, directory, of_daemon, part, place, show
from crawler.control.requests import TakeCheckpoint
from crawler.status import number_of, size


@click.command()
@directory
@part
@of_daemon
@as_json
def checkpoint(directory: Path, part: int | None, daemon: Daemon | None, as_json: bool) -> None:
    """Bring all that the crawl in DIR has done onto the disk. It then survives a power failure, and so does the output.

    A running crawl goes on meanwhile.
    """
    directory = place(directory, part, daemon)
    with crawl_at(directory, daemon, to_change=True) as crawl:
        taken = crawl.ask(TakeCheckpoint())
    settled = number_of(taken.settled, "settled URL")
    lines = [f"{directory} does not run, and all of it is on the disk: {settled}, {taken.queued:,} queued"]
    if taken.running:
        lines = [f"{directory}: what was done by {taken.at} is on the disk: {settled}, with all output"]
    lines += [f"    {each.file}: {size(each.bytes)} ({number_of(each.bytes, 'byte')})" for each in taken.files]
    show(taken, lines, as_json=as_json)
