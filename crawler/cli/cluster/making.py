"""onceover cluster init"""

import asyncio
import os
import shlex
from collections.abc import Coroutine
from pathlib import Path

import click

from crawler.cli.cluster.server import options_of, server
from crawler.cli.operate.options import as_json, show
from crawler.cli.options import settings_option
from crawler.disk.directory import CrawlDirectory
from crawler.disk.going_on import prefix_option
from crawler.disk.layout import read_layout
from crawler.operate.cluster.forms import ClusterMade
from crawler.operate.cluster.making import make_cluster
from crawler.operate.cluster.registering import register_crawl
from crawler.status import number_of
from crawler.wiring.configuration import load


@click.command()
@click.argument("configuration", required=False, type=click.Path(path_type=Path))
@click.option("--parts", type=click.IntRange(1, 1024), metavar="N", help="How many parts.")
@click.option(
    "--from",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Make it of the crawl in DIR, which is in parts and does not run, instead of a CONFIGURATION.",
)
@server
@settings_option()
@click.option("--fresh", is_flag=True, help="Replace the crawl that uses the prefix, if nobody runs it.")
@as_json
def init(
    configuration: Path | None,
    parts: int | None,
    directory: Path | None,
    url: str | None,
    settings: tuple[str, ...],
    fresh: bool,
    as_json: bool,
) -> None:
    """Make the crawl of CONFIGURATION in N parts. Any number of machines may then run them."""
    options = options_of(url)
    if directory is not None:
        if configuration is not None or parts is not None:
            raise click.UsageError("--from DIR takes the configuration and the parts of that crawl: name neither")
        made = asyncio.run(_register(directory, settings, options, fresh=fresh))
    else:
        if configuration is None or parts is None:
            raise click.UsageError("name a CONFIGURATION and --parts N, or the directory of a crawl by --from DIR")
        options["crawl.parts"] = ("--parts", parts)
        loaded = load(configuration, overrides=settings, options=options, environ=os.environ)
        made = asyncio.run(make_cluster(loaded, fresh=fresh))
    show(made, _text(made) if directory is None else _text_of_registered(made, directory), as_json=as_json)


def _register(
    directory: Path, settings: tuple[str, ...], options: dict[str, tuple[str, object]], *, fresh: bool
) -> Coroutine[None, None, ClusterMade]:
    layout = read_layout(directory)
    if layout is not None:
        options["crawl.parts"] = ("--from", len(layout.parts))
    stored = CrawlDirectory(directory).configuration
    if not stored.exists():
        raise click.UsageError(f"--from: there is no crawl in {directory}: expected {stored}")
    loaded = load(stored, overrides=settings, options=options, environ=os.environ)
    return register_crawl(directory, loaded, fresh=fresh)


def _text(made: ClusterMade) -> str:
    return (
        f"A crawl in {number_of(made.parts, 'part')}, which begins when machines run it. On each of them:\n"
        f"    {_command(made)}"
    )


def _text_of_registered(made: ClusterMade, directory: Path) -> str:
    return (
        f"{number_of(made.parts, 'part')}, which all are in {directory} so far. Move the directories of some of them "
        "to other machines, each into a folder DIR. Then, on each machine, here too:\n"
        f"    {_command(made)}"
    )


def _command(made: ClusterMade) -> str:
    return f"onceover crawl --cluster {shlex.quote(made.url)}{prefix_option(made.prefix)} --dir DIR"
