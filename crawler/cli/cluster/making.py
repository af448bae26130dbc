"""onceover cluster init"""

import asyncio
import os
import shlex
from pathlib import Path

import click
import msgspec

from crawler.cli.cluster.server import options_of, server
from crawler.cli.codes import COMPLETE
from crawler.cli.operate.options import as_json
from crawler.cli.options import settings_option
from crawler.operate.cluster.forms import ClusterMade
from crawler.operate.cluster.making import make_cluster
from crawler.status import number_of
from crawler.wiring.configuration import load


@click.command()
@click.argument("configuration", type=click.Path(path_type=Path))
@click.option("--parts", type=click.IntRange(1, 1024), required=True, metavar="N", help="How many parts.")
@server
@settings_option()
@click.option("--fresh", is_flag=True, help="Replace the crawl that uses the prefix, if nobody runs it.")
@as_json
def init(
    configuration: Path,
    parts: int,
    url: str | None,
    settings: tuple[str, ...],
    fresh: bool,
    as_json: bool,
) -> int:
    """Make the crawl of CONFIGURATION in N parts, which any number of machines may then run."""
    options = options_of(url)
    options["crawl.parts"] = ("--parts", parts)
    loaded = load(configuration, overrides=settings, options=options, environ=os.environ)
    made = asyncio.run(make_cluster(loaded, fresh=fresh))
    click.echo(msgspec.json.encode(made) if as_json else _text(made))
    return COMPLETE


def _text(made: ClusterMade) -> str:
    prefix = "" if made.prefix == "onceover" else f" --set exchange.prefix={made.prefix}"
    return (
        f"A crawl in {number_of(made.parts, 'part')}, which begins when machines run it. On each of them:\n"
        f"    onceover crawl --cluster {shlex.quote(made.url)}{prefix} --dir DIR"
    )
