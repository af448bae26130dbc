"""onceover cluster adopt"""

import asyncio
from pathlib import Path

import click

from crawler.cli.cluster.server import server, settings_of_server
from crawler.cli.operate.options import as_json, show
from crawler.cli.options import settings_option
from crawler.operate.cluster import adopting


@click.command()
@click.argument("parts", metavar="PART...", nargs=-1, required=True, type=click.IntRange(min=0))
@server
@settings_option("exchange.prefix=news")
@click.option(
    "--dir",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Go on from the older directories of these parts in DIR, that of a machine of the crawl.",
)
@click.option("--yes", is_flag=True, help="Do it. Without this, the command only says what it would lose.")
@as_json
def adopt(
    parts: tuple[int, ...],
    url: str | None,
    settings: tuple[str, ...],
    directory: Path | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Give up the lost directory of each PART of the crawl. The part begins anew, or goes on from an older copy."""
    loaded = settings_of_server(directory, url, settings)
    if not yes:
        texts = asyncio.run(adopting.losses(loaded, parts, directory))
        raise click.UsageError("; ".join([*texts, "to do that, repeat the command with --yes"]))
    adopted = asyncio.run(adopting.adopt(loaded, parts, directory))
    then = f"Start `onceover crawl --cluster` with --dir {directory} to go on."
    if directory is None:
        then = "A machine that has room makes them: `onceover cluster status` shows when."
    show(adopted, f"Adopted. {then}", as_json=as_json)
