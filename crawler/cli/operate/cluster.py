"""onceover cluster: init, status, stop, adopt"""

import asyncio
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from config import Loaded
from crawler.cli.operate.options import as_json, show
from crawler.cli.options import settings_option
from crawler.disk.directory import CrawlDirectory
from crawler.disk.going_on import exchange_options, prefix_option
from crawler.disk.layout import read_layout
from crawler.operate.cluster import changing
from crawler.operate.cluster.forms import ClusterMade, ClusterStatus, ClusterStopping, PartOnMachine
from crawler.operate.cluster.making import make_cluster, register_crawl
from crawler.operate.cluster.reaching import settings_of_machine
from crawler.operate.cluster.status import read_status
from crawler.status import name_parts, number_of, row_lines
from crawler.wiring.configuration import load

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

_server = click.option(
    "--url",
    metavar="URL",
    help="The server of Redis, as in the setting exchange.url. --set exchange.prefix=NAME names another crawl "
    "there, and --set exchange.password_file=FILE a password.",
)


@click.group()
def cluster() -> None:
    """Make, watch and stop a crawl on many machines. These meet at a server of Redis."""


@cluster.command()
@click.argument("configuration", required=False, type=click.Path(path_type=Path))
@click.option("--parts", type=click.IntRange(1, 1024), metavar="N", help="How many parts.")
@click.option(
    "--from",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Make it of the crawl in DIR, which is in parts and does not run, instead of a CONFIGURATION.",
)
@_server
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
    options = _options_of(url)
    if directory is not None:
        if configuration is not None or parts is not None:
            raise click.UsageError("--from DIR takes the configuration and the parts of that crawl: name neither")
        loaded = _settings_of_stored(directory, settings, options)
        made = asyncio.run(register_crawl(directory, loaded, fresh=fresh))
    else:
        if configuration is None or parts is None:
            raise click.UsageError("name a CONFIGURATION and --parts N, or the directory of a crawl by --from DIR")
        options["crawl.parts"] = ("--parts", parts)
        loaded = load(configuration, overrides=settings, options=options, environ=os.environ)
        made = asyncio.run(make_cluster(loaded, fresh=fresh))
    reaching = exchange_options(msgspec.structs.asdict(loaded.config.exchange))
    server = f"{shlex.quote(made.url)}{prefix_option(made.prefix)}{reaching}"
    command = f"onceover crawl --cluster {server} --dir DIR"
    text = _made_text(made, command) if directory is None else _registered_text(made, directory, command)
    show(made, text, as_json=as_json)


def _settings_of_stored(directory: Path, settings: tuple[str, ...], options: dict[str, tuple[str, object]]) -> Loaded:
    layout = read_layout(directory)
    if layout is not None:
        options["crawl.parts"] = ("--from", len(layout.parts))
    stored = CrawlDirectory(directory).configuration
    if not stored.exists():
        raise click.UsageError(f"--from: there is no crawl in {directory}: expected {stored}")
    return load(stored, overrides=settings, options=options, environ=os.environ)


def _made_text(made: ClusterMade, command: str) -> str:
    return (
        f"A crawl in {number_of(made.parts, 'part')}, which begins when machines run it. On each of them:\n"
        f"    {command}"
    )


def _registered_text(made: ClusterMade, directory: Path, command: str) -> str:
    return (
        f"{number_of(made.parts, 'part')}, which all are in {directory} so far. Move the directories of some of them "
        "to other machines, each into a folder DIR. Then, on each machine, here too:\n"
        f"    {command}"
    )


@cluster.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@_server
@settings_option("exchange.prefix=news")
@as_json
def status(directory: Path | None, url: str | None, settings: tuple[str, ...], as_json: bool) -> None:
    """Show who runs the parts of a crawl on many machines. Also show what to do.

    DIR is the directory of any machine of the crawl; instead, --url names the server.
    """
    loaded = _settings_of_server(directory, url, settings)
    found = asyncio.run(read_status(loaded))
    show(found, _status_lines(found), as_json=as_json)


def _status_lines(found: ClusterStatus) -> list[str]:
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


@cluster.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@_server
@settings_option("exchange.prefix=news")
@click.option("--now", is_flag=True, help="Drop the URLs in flight; the next run fetches them again.")
@as_json
def stop(directory: Path | None, url: str | None, settings: tuple[str, ...], now: bool, as_json: bool) -> None:
    """Stop a crawl on all machines. They finish the URLs in flight, and end.

    DIR is the directory of any machine of the crawl; instead, --url names the server. `onceover stop DIR` stops one
    machine alone.
    """
    stopping = asyncio.run(changing.stop_cluster(_settings_of_server(directory, url, settings), now=now))
    show(stopping, _stopping_text(stopping), as_json=as_json)


def _stopping_text(stopping: ClusterStopping) -> str:
    if not stopping.parts:
        return "No machine runs a part of the crawl now. One that has just been started ends, too."
    machines = number_of(len(stopping.machines), "machine")
    return f"{machines} with {number_of(len(stopping.parts), 'part')}: told to stop."


@cluster.command()
@click.argument("parts", metavar="PART...", nargs=-1, required=True, type=click.IntRange(min=0))
@_server
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
    loaded = _settings_of_server(directory, url, settings)
    if not yes:
        texts = asyncio.run(changing.losses(loaded, parts, directory))
        raise click.UsageError("; ".join([*texts, "to do that, repeat the command with --yes"]))
    adopted = asyncio.run(changing.adopt(loaded, parts, directory))
    then = f"Start `onceover crawl --cluster` with --dir {directory} to go on."
    if directory is None:
        then = "A machine that has room makes them: `onceover cluster status` shows when."
    show(adopted, f"Adopted. {then}", as_json=as_json)


def _options_of(url: str | None) -> dict[str, tuple[str, object]]:
    """What `load` takes of the option."""
    options: dict[str, tuple[str, object]] = {"exchange.backend": ("a crawl on many machines", "redis")}
    return options if url is None else {**options, "exchange.url": ("--url", url)}


def _settings_of_server(directory: Path | None, url: str | None, settings: Sequence[str]) -> Loaded:
    """The settings of `[exchange]`, by the options of a command, or by the directory of a machine. Raises
    `UsageError`."""
    if url is not None:
        return load(None, overrides=settings, options=_options_of(url), environ=os.environ, require_seeds=False)
    if directory is None:
        raise click.UsageError("name the server by --url URL, or the directory of a machine of the crawl")
    return settings_of_machine(directory, settings)
