"""onceover simweb"""

import asyncio
from pathlib import Path

import click
import msgspec

from crawler.simweb.params import WorldParams, demo_params
from crawler.simweb.process import serve_until_stopped
from crawler.simweb.world import World


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1. The default, 0, takes a free one."
)
@click.option("--hosts", type=click.IntRange(min=1), help="Number of virtual hosts.")
@click.option("--pages-per-host", type=click.IntRange(min=1), help="Pages of each host.")
@click.option("--params", metavar="JSON", help='More properties of the web: {"redirects": 0.1}, for example.')
@click.option("--log", type=click.Path(path_type=Path), help="Write all requests to this file, as JSON Lines.")
@click.option("--expected", is_flag=True, help="Only print what a complete crawl must settle, as JSON Lines.")
def simweb(
    port: int, hosts: int | None, pages_per_host: int | None, params: str | None, log: Path | None, expected: bool
) -> None:
    """Serve a simulated web on loopback until Ctrl-C. The first line of the output is its port.

    Point a crawl at it with fetch.hosts = { "*.sim.test" = "127.0.0.1:PORT" } and the seed http://h00000.sim.test/.
    """
    world = _params(hosts, pages_per_host, params)
    if expected:
        try:
            for item in World(world).expected():
                click.echo(msgspec.json.encode(item))
        except ValueError as error:
            raise click.UsageError(f"--expected: {error}") from error
        return
    asyncio.run(
        serve_until_stopped(
            world, port=port, log_path=log, began=lambda: click.echo("Serving. Ctrl-C ends it.", err=True)
        )
    )


def _params(hosts: int | None, pages_per_host: int | None, params: str | None) -> WorldParams:
    given = {} if params is None else _decode(params)
    if hosts is not None:
        given["hosts"] = hosts
    if pages_per_host is not None:
        given["pages_per_host"] = pages_per_host
    try:
        return msgspec.convert({**msgspec.to_builtins(demo_params()), **given}, WorldParams)
    except (msgspec.ValidationError, ValueError) as error:
        raise click.UsageError(f"there can be no such simulated web: {error}") from error


def _decode(params: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(params, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise click.UsageError(f'--params: expected a JSON object such as {{"redirects": 0.1}}: {error}') from error
