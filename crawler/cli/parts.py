"""onceover parts"""

import asyncio
import shlex
from pathlib import Path

import click
import msgspec

from crawler.cli.operate.options import as_json, directory, show
from crawler.cli.options import settings_option
from crawler.disk.going_on import exchange_options, prefix_option
from crawler.disk.layout import ClusterPlace, read_layout
from crawler.operate.cluster.dividing import divide_cluster
from crawler.operate.cluster.reaching import settings_of_machine
from crawler.operate.upkeep.dividing import Divided, divide
from crawler.status import number_of


@click.command()
@directory
@click.option("--into", "parts", type=click.IntRange(1, 1024), required=True, metavar="N", help="How many parts.")
@settings_option("exchange.password_file=FILE")
@as_json
def parts(directory: Path, parts: int, settings: tuple[str, ...], as_json: bool) -> None:
    """Divide the crawl in DIR among N processes.

    The crawl must not run. Its URLs keep all that is known of them; old output stays where it is. If this is
    interrupted, run it again, or with the number that the crawl had to leave it as it was.

    A crawl on many machines must be stopped, and the directories of all its parts moved to DIR, that of one machine. It
    is on that machine then; `onceover cluster init --from DIR` lets many machines run it again. For such a crawl,
    --set exchange.KEY=VALUE says how to reach its server of Redis from here.
    """

    def tell(what: str, count: int) -> None:
        click.echo(f"{what}: {count:,}", err=True)

    layout = read_layout(directory)
    reaching = ""
    if layout is not None and layout.cluster is not None:
        loaded = settings_of_machine(directory, settings)
        reaching = exchange_options(msgspec.structs.asdict(loaded.config.exchange))
        divided = asyncio.run(divide_cluster(directory, parts, loaded, progress=tell))
    elif settings:
        raise click.UsageError(
            f"--set says how to reach the server of a crawl on many machines, and the one in {directory} is on this "
            "machine: leave it out"
        )
    else:
        divided = asyncio.run(divide(directory, parts, progress=tell))
    lines = [_sentence(divided)]
    if divided.is_changed and layout is not None and layout.cluster is not None:
        lines.append(_how_to_register(directory, layout.cluster, reaching))
    show(divided, lines, as_json=as_json)


def _how_to_register(directory: Path, cluster: ClusterPlace, options: str) -> str:
    server = f"{shlex.quote(cluster.url)}{prefix_option(cluster.prefix)}{options}"
    return (
        "The crawl is on this machine now. To run it on many machines again:\n"
        f"    onceover cluster init --from {shlex.quote(str(directory))} --url {server}"
    )


def _sentence(divided: Divided) -> str:
    had = number_of(divided.parts_before, "part")
    if not divided.is_changed or divided.urls is None:
        return f"{had}, as before"
    return (
        f"{number_of(divided.urls, 'URL')} in {number_of(divided.parts, 'part')} (before: {divided.parts_before}), "
        f"{divided.pending:,} pending, {divided.retrying:,} to try again"
    )
