"""onceover sharing"""

from pathlib import Path

import click

from crawler.cli.operate.options import as_json, directory, show
from crawler.operate.upkeep.places import lock_places
from crawler.operate.upkeep.sharing import refill as add_again
from crawler.operate.upkeep.sharing import sharers
from visited import Sharer


@click.command()
@directory
@click.option("--refill", is_flag=True, help="First add the URLs of this crawl again, which must not run.")
@click.option("--gone", multiple=True, metavar="ID", help="First say that this crawl is gone for good. Repeatable.")
@as_json
def sharing(directory: Path, refill: bool, gone: tuple[str, ...], as_json: bool) -> None:
    """List the crawls that share the visited set of that in DIR. Also tell whether the server has the URLs of each.

    After a server has lost URLs, no crawl asks it before all of them have added their URLs again. Crawls that run do so
    by themselves. For one that has ended, --refill does it. --gone ends the waiting for a crawl whose directory no
    longer exists: what it has fetched may then be fetched again. If it does come back, it joins as another one.
    """
    if refill:
        with lock_places(directory, to_repair=True) as places:
            places.check_unbroken()
            add_again(places)
    found = sharers(directory)
    if unknown := set(gone) - {each.id for each in found}:
        raise click.UsageError(f"no crawl with the id {', '.join(sorted(unknown))} shares this set")
    if gone:
        found = sharers(directory, gone=gone)
    show(found, (f"{each.id}  {_state(each):9}  {each.name}" for each in found), as_json=as_json)


def _state(sharer: Sharer) -> str:
    if sharer.is_gone:
        return "gone"
    return "added" if sharer.is_added else "not added"
