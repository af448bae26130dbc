"""onceover inspect"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.table import Table

from config import Config
from crawler.cli.codes import COMPLETE, FAILED
from crawler.cli.fsck import fsck
from crawler.cli.json_forms import entry_form, moment, queue_form
from crawler.cli.opening import open_stored
from crawler.discover.refusal_counts import PREFIX, RefusalCount, decode_refusal_count
from crawler.disk.directory import CrawlDirectory
from crawler.page import PageRecord
from crawler.record import rfc3339
from crawler.status import host_of, size
from crawler.wiring.backends import lacks
from crawler.wiring.discovering import read_url
from crawler.wiring.storage import rules_version, visited_set
from crawler.write.records import find_record
from frontier import Health, KnownUrl, LedgerEntry, LedgerReads, QueueReads, QueueStatus
from frontier.state import FrontierState
from visited import VisitedStats


@click.group()
@click.argument("directory", type=click.Path(path_type=Path))
@click.pass_context
def inspect(context: click.Context, directory: Path) -> None:
    """Inspect the crawl in DIRECTORY, while it does not run."""
    context.obj = directory


inspect.add_command(fsck)


@inspect.command()
@click.option("--sort", type=click.Choice(["size", "wake", "errors", "key"]), default="size", show_default=True)
@click.option("--match", default="", metavar="TEXT", help="Only hosts that contain TEXT.")
@click.option("--retired", is_flag=True, help="Only retired queues.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Leave out this many at the top.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines.")
@click.pass_obj
def queues(path: Path, sort: str, match: str, retired: bool, offset: int, limit: int, as_json: bool) -> None:
    """List the queues that have URLs."""
    with open_stored(path) as (_, config, state):
        if not isinstance(state, QueueReads):
            raise lacks(config, "list its queues")
        found = [queue for queue in state.queues() if queue.size and match in host_of(queue.key)]
    orders: dict[str, Callable[[QueueStatus], tuple[float, str]]] = {
        "size": lambda queue: (-queue.size, queue.key),
        "wake": lambda queue: (queue.wake_at, queue.key),
        "errors": lambda queue: (-queue.health.error_streak, queue.key),
        "key": lambda queue: (0.0, queue.key),
    }
    if retired:
        found = [queue for queue in found if not queue.served]
    found.sort(key=orders[sort])
    shown = found[offset : offset + limit]
    if as_json:
        for queue in shown:
            click.echo(msgspec.json.encode(queue_form(queue)))
        return
    table = Table("host", "URLs", "spent", "rests until", "errors in a row", "", box=None, pad_edge=False)
    for queue in shown:
        wake = rfc3339(queue.wake_at) if queue.wake_at else ""
        note = _trouble(queue.health) if queue.served else "retired"
        table.add_row(
            host_of(queue.key), f"{queue.size:,}", f"{queue.spent:,}", wake, str(queue.health.error_streak), note
        )
    Console().print(table)
    left = len(found) - offset - len(shown)
    if left > 0:
        click.echo(f"and {left:,} more; --limit or --offset {offset + limit} shows them", err=True)


def _trouble(health: Health) -> str:
    if health.trouble is None:
        return ""
    given_up = f", given up until {rfc3339(health.probe_at)}" if health.probe_at > time.time() else ""
    return f"{health.trouble}{given_up}"


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """What a crawl knows about a URL that was admitted."""

    entry: LedgerEntry
    due_at: float | None
    """When it may be fetched at the earliest, in seconds since 1970; None if it does not wait."""
    record: PageRecord | None
    found: str
    """Where it was found, for people."""
    waits: str | None
    """Why it waits, for people; None if it does not wait."""


@inspect.command()
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def url(path: Path, url: str, as_json: bool) -> int:
    """Show what the crawl knows about URL."""
    with open_stored(path) as (directory, config, state):
        if not isinstance(state, LedgerReads) or not isinstance(state, QueueReads):
            raise lacks(config, "tell about its URLs and queues")
        version = rules_version(state)
        try:
            canonical = read_url(config, url, version=version).canonical
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        found = state.known(canonical)
        queue = None if found is None or found.waiting is None else state.queue(found.waiting.queue_key)
        known = None if found is None else _complete(found, queue, directory, config, version)
    if as_json:
        click.echo(msgspec.json.encode(None if known is None else _form(known)))
    elif known is None:
        click.echo(f"{canonical} was never admitted: no page in scope linked to it")
    else:
        for name, value in _lines(known):
            if value is not None:
                click.echo(f"{name:>13}  {value}")
    return FAILED if known is None else COMPLETE


def _complete(
    known: KnownUrl, queue: QueueStatus | None, directory: CrawlDirectory, config: Config, version: int
) -> _Known:
    return _Known(
        entry=known.entry,
        due_at=None if queue is None else _due_at(known, queue),
        record=_last_record(directory, known.entry),
        found=_found_by(known.entry, config, version),
        waits=None if queue is None else _waits(known, queue),
    )


def _form(known: _Known) -> dict[str, object]:
    record = known.record
    return {
        **entry_form(known.entry),
        "due_at": moment(known.due_at),
        "message": None if record is None else record.message,
        "truncated": None if record is None else record.truncated,
    }


def _lines(known: _Known) -> list[tuple[str, object]]:
    entry, record = known.entry, known.record
    return [
        ("URL", entry.canonical),
        ("state", entry.state.name.lower()),
        ("found", f"{rfc3339(entry.found_at)} {known.found}"),
        ("fetched", None if entry.fetched_at is None else rfc3339(entry.fetched_at)),
        ("status", entry.status),
        ("reason", entry.reason),
        ("truncated", None if record is None else record.truncated),
        ("message", None if record is None else record.message),
        ("links to it", f"{entry.hit_count:,}"),
        ("waits", known.waits),
        ("record number", entry.number),
    ]


def _found_by(entry: LedgerEntry, config: Config, version: int) -> str:
    if entry.via is not None:
        return f"on {entry.via}"
    if entry.canonical in {read_url(config, seed, version=version).canonical for seed in config.crawl.seeds}:
        return "on the list of seeds"
    return "in a file of seeds or by an import"


def _last_record(directory: CrawlDirectory, entry: LedgerEntry) -> PageRecord | None:
    """The record of a URL; None if it is not settled, or if the crawl writes no records."""
    return find_record(directory.records, entry.number) if directory.records.is_dir() else None


def _due_at(known: KnownUrl, queue: QueueStatus) -> float:
    """When the URL may be fetched at the earliest, in seconds since 1970."""
    return max(known.due_at or 0.0, queue.wake_at)


def _waits(known: KnownUrl, queue: QueueStatus) -> str:
    host, due_at = host_of(queue.key), _due_at(known, queue)
    if queue.size and not queue.served:
        return f"for ever, because the queue of {host} is retired"
    if known.due_at is not None:
        return f"for another attempt, due {rfc3339(due_at)}"
    when = f", which rests until {rfc3339(due_at)}" if due_at > time.time() else ""
    return f"in the queue of {host}, which holds {queue.size:,}{when}"


@inspect.command()
@click.option("--match", default="", metavar="TEXT", help="Only hosts that contain TEXT.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines.")
@click.pass_obj
def refused(path: Path, match: str, limit: int, as_json: bool) -> None:
    """List what traps and quotas have refused, by rule and host, with examples."""
    found: list[tuple[str, str, RefusalCount]] = []
    with open_stored(path) as (_, _, state):
        for key, note in state.notes.items(PREFIX):
            rule, _, host = key.removeprefix(PREFIX).partition(" ")
            if match in host:
                with suppress(msgspec.DecodeError):
                    found.append((rule, host, decode_refusal_count(note)))
    found.sort(key=lambda each: (-each[2].count, each[:2]))
    if as_json:
        for rule, host, what in found[:limit]:
            click.echo(msgspec.json.encode({"rule": rule, "host": host or None, **msgspec.structs.asdict(what)}))
        return
    if not found:
        click.echo("No trap and no quota has refused anything" + (f" on a host with {match!r}." if match else "."))
    for rule, host, what in found[:limit]:
        click.echo(f"{what.count:>9,}  {rule}  {host or 'on other hosts'}")
        for example in what.examples:
            click.echo(f"{'':>9}    {example}")
    if len(found) > limit:
        click.echo(f"and {len(found) - limit:,} more; --limit shows them", err=True)


@inspect.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def visited(path: Path, as_json: bool) -> None:
    """Show the size, fill and losses of the visited set."""
    with open_stored(path) as (directory, config, state):
        stats = asyncio.run(_describe_visited(config, directory, state))
    if as_json:
        click.echo(msgspec.json.encode(stats))
        return
    rows: list[tuple[str, str]] = [
        ("backend", stats.backend),
        ("URLs", f"{stats.count:,}" + ("" if stats.capacity is None else f" of {stats.capacity:,}")),
        ("memory", size(stats.memory_bytes)),
        ("disk", size(stats.disk_bytes)),
        ("fill", "" if stats.fill is None else f"{stats.fill:.2%}"),
        ("errs now", f"{stats.false_positive_rate:.3g}"),
        ("URLs lost", f"{stats.expected_lost:.3g} ± {stats.lost_sigma:.2g} expected"),
        *((name, str(value)) for name, value in stats.details.items()),
    ]
    for name, value in rows:
        click.echo(f"{name:>13}  {value}")


async def _describe_visited(config: Config, directory: CrawlDirectory, state: FrontierState) -> VisitedStats:
    visited = visited_set(config, directory, state.knows_many)
    try:
        await state.restore(visited)
        return visited.describe()
    finally:
        await visited.aclose()
