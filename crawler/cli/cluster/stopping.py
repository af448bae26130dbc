"""onceover cluster stop"""

import asyncio
from pathlib import Path

import click

from crawler.cli.cluster.server import server, settings_of_server
from crawler.cli.operate.options import as_json, show
from crawler.cli.options import settings_option
from crawler.operate.cluster.forms import ClusterStopping
from crawler.operate.cluster.stopping import stop_cluster
from crawler.status import number_of


@click.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@server
@settings_option("exchange.prefix=news")
@click.option("--now", is_flag=True, help="Drop the URLs in flight; the next run fetches them again.")
@as_json
def stop(directory: Path | None, url: str | None, settings: tuple[str, ...], now: bool, as_json: bool) -> None:
    """Stop a crawl on all machines. They finish the URLs in flight, and end.

    DIR is the directory of any machine of the crawl; instead, --url names the server. `onceover stop DIR` stops one
    machine alone.
    """
    stopping = asyncio.run(stop_cluster(settings_of_server(directory, url, settings), now=now))
    show(stopping, _text(stopping), as_json=as_json)


def _text(stopping: ClusterStopping) -> str:
    if not stopping.parts:
        return "No machine runs a part of the crawl now. One that has just been started ends, too."
    machines = number_of(len(stopping.machines), "machine")
    return f"{machines} with {number_of(len(stopping.parts), 'part')}: told to stop."
