"""onceover checkpoint"""

from pathlib import Path

import click
import msgspec

from crawler.cli.operate.options import Daemon, as_json, crawl_at, directory, of_daemon, part, place
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
    if as_json:
        click.echo(msgspec.json.encode(taken))
        return
    settled = number_of(taken.settled, "settled URL")
    if taken.running:
        click.echo(f"{directory}: what was done by {taken.at} is on the disk: {settled}, with all output")
    else:
        click.echo(f"{directory} does not run, and all of it is on the disk: {settled}, {taken.queued:,} queued")
    for each in taken.files:
        click.echo(f"    {each.file}: {size(each.bytes)} ({number_of(each.bytes, 'byte')})")
