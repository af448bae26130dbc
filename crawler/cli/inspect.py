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
from crawler.wiring.discovering import read_url
from crawler.wiring.storage import rules_version, snapshots, visited_set
from crawler.write.records import find_record
from frontier import LedgerEntry
from frontier.leveldb.encoding import Location
from frontier.leveldb.store import LevelDBStore
from frontier.queues.queue import Health, QueueRecord
from frontier.restore import restore
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
    with open_stored(path) as (_, _, store):
        found = [record for record in store.reads.queues() if record.size and match in host_of(record.key)]
    orders: dict[str, Callable[[QueueRecord], tuple[float, str]]] = {
        "size": lambda record: (-record.size, record.key),
        "wake": lambda record: (record.wake_at, record.key),
        "errors": lambda record: (-record.health.error_streak, record.key),
        "key": lambda record: (0.0, record.key),
    }
    if retired:
        found = [record for record in found if record.position is None]
    found.sort(key=orders[sort])
    shown = found[offset : offset + limit]
    if as_json:
        for record in shown:
            click.echo(msgspec.json.encode(queue_form(record)))
        return
    table = Table("host", "URLs", "spent", "rests until", "errors in a row", "", box=None, pad_edge=False)
    for record in shown:
        wake = rfc3339(record.wake_at) if record.wake_at else ""
        note = "retired" if record.position is None else _trouble(record.health)
        table.add_row(
            host_of(record.key), f"{record.size:,}", f"{record.spent:,}", wake, str(record.health.error_streak), note
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


class _KnownUrl(msgspec.Struct, frozen=True, kw_only=True):
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
    with open_stored(path) as (directory, config, store):
        try:
            canonical = read_url(config, url, version=rules_version(store)).canonical
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        known = _look_up(canonical, directory, config, store)
    if as_json:
        click.echo(msgspec.json.encode(None if known is None else _form(known)))
    elif known is None:
        click.echo(f"{canonical} was never admitted: no page in scope linked to it")
    else:
        for name, value in _lines(known):
            if value is not None:
                click.echo(f"{name:>13}  {value}")
    return FAILED if known is None else COMPLETE


def _look_up(canonical: str, directory: CrawlDirectory, config: Config, store: LevelDBStore) -> _KnownUrl | None:
    entry = store.reads.entry(canonical)
    if entry is None:
        return None
    entry = msgspec.structs.replace(entry, hit_count=entry.hit_count + store.reads.link_count(canonical))
    place = store.full_scan.location(canonical)
    queue = None if place is None else store.reads.queue(place.queue_key)
    return _KnownUrl(
        entry=entry,
        due_at=None if place is None or queue is None else _due_at(place, queue),
        record=_last_record(directory, entry),
        found=_found_by(entry, config, rules_version(store)),
        waits=None if place is None or queue is None else _waits(place, queue),
    )


def _form(known: _KnownUrl) -> dict[str, object]:
    record = known.record
    return {
        **entry_form(known.entry),
        "due_at": moment(known.due_at),
        "message": None if record is None else record.message,
        "truncated": None if record is None else record.truncated,
    }


def _lines(known: _KnownUrl) -> list[tuple[str, object]]:
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


def _due_at(place: Location, queue: QueueRecord) -> float:
    """When the URL may be fetched at the earliest, in seconds since 1970."""
    return max(0.0 if place.due_ms is None else place.due_ms / 1000, queue.wake_at)


def _waits(place: Location, queue: QueueRecord) -> str:
    host = host_of(queue.key)
    if queue.size and queue.position is None:
        return f"for ever, because the queue of {host} is retired"
    if place.due_ms is not None:
        return f"for another attempt, due {rfc3339(_due_at(place, queue))}"
    due_at = _due_at(place, queue)
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
    with open_stored(path) as (_, _, store):
        for key, note in store.full_scan.durable_map(PREFIX):
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
    with open_stored(path) as (directory, config, store):
        stats = asyncio.run(_describe_visited(config, directory, store))
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


async def _describe_visited(config: Config, directory: CrawlDirectory, store: LevelDBStore) -> VisitedStats:
    visited = visited_set(config, directory, store)
    try:
        await restore(store, visited, snapshots(config, directory))
        return visited.describe()
    finally:
        await visited.aclose()
