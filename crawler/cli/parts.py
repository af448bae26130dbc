"""onceover parts"""

import asyncio
from pathlib import Path

import click
import msgspec

from crawler.cli.codes import COMPLETE
from crawler.cli.operate.options import as_json, directory
from crawler.operate.upkeep.dividing import Divided, divide
from crawler.status import number_of


@click.command()
@directory
@click.option("--into", "parts", type=click.IntRange(1, 1024), required=True, metavar="N", help="How many parts.")
@as_json
def parts(directory: Path, parts: int, as_json: bool) -> int:
    """Divide the crawl in DIR among N processes, or among fewer than before.

    The crawl must not run. Its URLs keep all that is known of them; old output stays where it is. If this is
    interrupted, run it again, or with the number that the crawl had to leave it as it was.
    """

    def tell(what: str, count: int) -> None:
        click.echo(f"{what}: {count:,}", err=True)

    divided = asyncio.run(divide(directory, parts, progress=tell))
    if as_json:
        click.echo(msgspec.json.encode(divided))
    else:
        click.echo(_sentence(divided))
    return COMPLETE


def _sentence(divided: Divided) -> str:
    had = number_of(divided.parts_before, "part")
    if not divided.is_changed or divided.urls is None:
        return f"{had}, as before"
    return (
        f"{number_of(divided.urls, 'URL')} in {number_of(divided.parts, 'part')} (before: {divided.parts_before}), "
        f"{divided.pending:,} pending, {divided.retrying:,} to try again"
    )
