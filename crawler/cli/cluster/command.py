"""onceover cluster, status, stop, adopt"""

import asyncio
from pathlib import Path

import click

from crawler.cli.cluster.making import init
from crawler.cli.cluster.server import server, settings_of_server
from crawler.cli.operate.options import as_json, show
from crawler.cli.options import settings_option
from crawler.operate.cluster import adopting
from crawler.operate.cluster.forms import ClusterStatus, ClusterStopping, PartOnMachine
from crawler.operate.cluster.status import read_status
from crawler.operate.cluster.stopping import stop_cluster
from crawler.status import name_parts, number_of, row_lines

_WIDTH = 100
_STATES = {
    "held": "run by {holder}",
    "opening": "claimed by {holder}, which waits until any earlier lease has ended",
    "free": "run by nobody",
    "unmade": "not made yet",
    "to be made": "adopted; not made yet",
}
_ENDINGS = {
    "complete": "nothing was left to fetch",
    "incomplete": "nothing was left to fetch, but URLs or links to them are lost",
    "limit": "by a limit",
    "signal": "it was stopped",
    "stopped": "it was stopped",
}


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
    parts: tuple[int, ...], url: str | None, settings: tuple[str, ...], directory: Path | None, yes: bool, as_json: bool
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


@click.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@server
@settings_option("exchange.prefix=news")
@as_json
def status(directory: Path | None, url: str | None, settings: tuple[str, ...], as_json: bool) -> None:
    """Show who runs the parts of a crawl on many machines. Also show what to do.

    DIR is the directory of any machine of the crawl; instead, --url names the server.
    """
    loaded = settings_of_server(directory, url, settings)
    found = asyncio.run(read_status(loaded))
    show(found, lines_of(found), as_json=as_json)


def lines_of(found: ClusterStatus) -> list[str]:
    held = sum(part.state == "held" for part in found.parts)
    parts = number_of(len(found.parts), "part")
    heading = f"{found.name} in {parts}, {held} of them run (prefix {found.prefix}, at {found.url})"
    if found.last_ending is None:
        decides = found.coordinator or "nobody: the crawl can't end or change its settings until a machine does"
        rows = [("decides", decides)]
    else:
        rows = [("ended", _ENDINGS.get(found.last_ending, found.last_ending))]
    rows += [(f"part {part.part}", _part(part)) for part in found.parts]
    for machine in found.machines:
        has = name_parts(machine.parts) if machine.parts else "no part"
        rows.append((machine.host, f"{machine.directory} · {has} · heard of {machine.silent_s:.0f} s ago"))
    rows += [("to do", text) for text in found.advice]
    return [heading, *row_lines(rows, names=max(len(name) for name, _ in rows), width=_WIDTH)]


def _part(part: PartOnMachine) -> str:
    texts = [_STATES[part.state].format(holder=part.holder)]
    if part.epoch:
        texts.append(f"epoch {part.epoch}")
    if part.left_s is not None:
        texts.append(f"lease for {part.left_s:.0f} s more")
    if part.under_way:
        texts.append(f"{number_of(part.under_way, 'message')} under way to it")
    if part.says is not None:
        texts.append(part.says)
    elif part.state == "free" and part.last_holder is not None:
        texts.append(f"last by {part.last_holder}")
    return " · ".join(texts)


@click.group()
def cluster() -> None:
    """Make, watch and stop a crawl on many machines. These meet at a server of Redis."""


for _command in (init, status, stop, adopt):
    cluster.add_command(_command)
