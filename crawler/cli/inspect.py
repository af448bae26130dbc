"""onceover inspect"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.table import Table

from config import Config, load
from crawler.cli.codes import COMPLETE, FAILED
from crawler.directory import CrawlDirectory, DirectoryRefused
from crawler.record import rfc3339
from crawler.status import host_of, size
from crawler.wiring.addressing import read_url
from crawler.wiring.keeping import open_leveldb, snapshots, visited_set
from frontier.encoding import Place
from frontier.fsck import Problem, fsck_visited
from frontier.fsck import fsck as check_store
from frontier.leveldb import LevelDBStore
from frontier.lifecycle import Health
from frontier.repair import repair
from frontier.snapshots import restore
from frontier.store import QueueRecord
from visited import VisitedStats


@click.group()
@click.argument("directory", type=click.Path(path_type=Path))
@click.pass_context
def inspect(context: click.Context, directory: Path) -> None:
    """Look into the crawl in DIRECTORY, while it does not run."""
    context.obj = directory


@contextmanager
def opened(path: Path, *, to_repair: bool = False) -> Iterator[tuple[CrawlDirectory, Config, LevelDBStore]]:
    """The store of a crawl that does not run, which is locked meanwhile."""
    directory = CrawlDirectory(path)
    if not directory.configuration.exists() or not directory.has_state():
        raise DirectoryRefused(
            f"there is no crawl to look into in {path}: expected {directory.configuration} and {directory.frontier}, "
            "as frontier.backend leveldb leaves them; name the directory of a crawl"
        )
    with directory:
        loaded = load(directory.configuration, environ={}, require_seeds=False)
        store = open_leveldb(loaded.config, directory, to_repair=to_repair)
        try:
            yield directory, loaded.config, store
        finally:
            store.close()


@inspect.command()
@click.option("--repair", "to_repair", is_flag=True, help="Mend what can be mended, then check.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def fsck(path: Path, to_repair: bool, as_json: bool) -> int:
    """Check every invariant of the stored state."""
    with opened(path, to_repair=to_repair) as (directory, config, store):
        if to_repair:
            mended = msgspec.structs.asdict(repair(store))
            done = ", ".join(f"{name.replace('_', ' ')}: {count}" for name, count in mended.items() if count)
            click.echo(f"mended: {done or 'nothing'}", err=True)
        report = check_store(store)
        found = report.problems + asyncio.run(_check_visited(config, directory, store))
    # A snapshot that does not fit is no damage: it is torn by a crash, or of settings that have changed since.
    problems = [problem for problem in found if problem.kind != "snapshot"]
    for problem in found:
        if problem not in problems:
            click.echo(f"note: {problem.kind} {problem.where}: {problem.message}", err=True)
    report = msgspec.structs.replace(report, problems=problems)
    if as_json:
        click.echo(msgspec.json.encode(report))
    else:
        for problem in problems:
            click.echo(f"{problem.kind}: {problem.where}: {problem.message}")
        click.echo(
            f"{report.urls:,} URLs, {report.pending:,} pending, {report.retrying:,} to try again, "
            f"{report.queues:,} queues: {len(problems) or 'no'} problems"
        )
    return FAILED if problems else COMPLETE


async def _check_visited(config: Config, directory: CrawlDirectory, store: LevelDBStore) -> list[Problem]:
    saved = snapshots(config, directory)
    if saved is None:
        return []
    visited = visited_set(config, directory, store)
    try:
        journal = store.journal(store.snapshot_at or 0)
        return await fsck_visited(store, visited, saved, ledger=store.ledger(), journal=journal)
    finally:
        await visited.aclose()


@inspect.command()
@click.option("--sort", type=click.Choice(["size", "wake", "errors", "key"]), default="size", show_default=True)
@click.option("--match", default="", metavar="TEXT", help="Only hosts that contain TEXT.")
@click.option("--retired", is_flag=True, help="Only queues that are retired.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Leave out so many at the top.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines.")
@click.pass_obj
def queues(path: Path, sort: str, match: str, retired: bool, offset: int, limit: int, as_json: bool) -> None:
    """List the queues that hold URLs."""
    with opened(path) as (_, _, store):
        found = [record for record in store.queues() if record.size and match in host_of(record.key)]
    orders: dict[str, Callable[[QueueRecord], tuple[float, str]]] = {
        "size": lambda record: (-record.size, record.key),
        "wake": lambda record: (record.wake_at, record.key),
        "errors": lambda record: (-record.health.error_streak, record.key),
        "key": lambda record: (0.0, record.key),
    }
    if retired:
        found = [record for record in found if record.stands is None]
    found.sort(key=orders[sort])
    shown = found[offset : offset + limit]
    if as_json:
        for record in shown:
            click.echo(msgspec.json.encode(_told(record)))
        return
    table = Table("host", "URLs", "spent", "rests until", "errors in a row", "", box=None, pad_edge=False)
    for record in shown:
        wake = rfc3339(record.wake_at) if record.wake_at else ""
        note = "retired" if record.stands is None else _trouble(record.health)
        table.add_row(
            host_of(record.key), f"{record.size:,}", f"{record.spent:,}", wake, str(record.health.error_streak), note
        )
    Console().print(table)
    left = len(found) - offset - len(shown)
    if left > 0:
        click.echo(f"and {left:,} more; --limit or --offset {offset + limit} shows them", err=True)


def _told(record: QueueRecord) -> dict[str, object]:
    """What is stored of a queue, its host, and whether it is served."""
    stored = msgspec.structs.asdict(record)
    for name in ("head", "stands", "moved", "left", "group_rests"):
        del stored[name]
    return {"host": host_of(record.key), "served": record.stands is not None, **stored}


def _trouble(health: Health) -> str:
    if health.trouble is None:
        return ""
    given_up = f", given up until {rfc3339(health.probe_at)}" if health.probe_at > time.time() else ""
    return f"{health.trouble}{given_up}"


@inspect.command()
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def url(path: Path, url: str, as_json: bool) -> int:
    """Tell what became of URL."""
    with opened(path) as (_, config, store):
        try:
            canonical = read_url(config, url).canonical
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        entry = store.entry(canonical)
        place = store.contents.place(canonical) if entry is not None else None
        queue = None if place is None else store.queue(place.queue_key)
    if as_json:
        due_at = None if place is None or queue is None else _due_at(place, queue)
        told = None
        if entry is not None:
            told = {**msgspec.structs.asdict(entry), "state": entry.state.name.lower(), "due_at": due_at}
        click.echo(msgspec.json.encode(told))
    elif entry is None:
        click.echo(f"{canonical} was never admitted: no page linked to it within the scope")
    else:
        for name, value in (
            ("URL", entry.canonical),
            ("state", entry.state.name.lower()),
            ("found", f"{rfc3339(entry.found_at)} on {entry.via or 'the list of seeds'}"),
            ("fetched", None if entry.fetched_at is None else rfc3339(entry.fetched_at)),
            ("status", entry.status),
            ("reason", entry.reason),
            ("waits", None if place is None or queue is None else _waits(place, queue)),
            ("record number", entry.number),
        ):
            if value is not None:
                click.echo(f"{name:>13}  {value}")
    return FAILED if entry is None else COMPLETE


def _due_at(place: Place, queue: QueueRecord) -> float:
    """Before this, the URL is not fetched: seconds since 1970."""
    return max(0.0 if place.due_ms is None else place.due_ms / 1000, queue.wake_at)


def _waits(place: Place, queue: QueueRecord) -> str:
    host = host_of(queue.key)
    if queue.size and queue.stands is None:
        return f"for ever: the queue of {host} is retired"
    if place.due_ms is not None:
        return f"for another attempt, due {rfc3339(_due_at(place, queue))}"
    due_at = _due_at(place, queue)
    when = f", which rests until {rfc3339(due_at)}" if due_at > time.time() else ""
    return f"in the queue of {host}, which holds {queue.size:,}{when}"


@inspect.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def visited(path: Path, as_json: bool) -> None:
    """Tell the size, fill and loss of the visited set."""
    with opened(path) as (directory, config, store):
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
    filled = visited_set(config, directory, store)
    try:
        await restore(store, filled, snapshots(config, directory))
        return filled.describe()
    finally:
        await filled.aclose()
