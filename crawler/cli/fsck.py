"""onceover inspect DIR fsck"""

import asyncio
from pathlib import Path

import click
import msgspec

from config import Config, Loaded
from crawler.cli.codes import COMPLETE, FAILED
from crawler.cli.opening import lock_stored
from crawler.disk.directory import CrawlDirectory
from crawler.status import number_of
from crawler.wiring.recovery.entries import batches
from crawler.wiring.recovery.reconciliation import DAMAGED, Reconciliation
from crawler.wiring.recovery.recover import recover
from crawler.wiring.storage import (
    open_leveldb,
    rules,
    snapshots,
    visited_set,
)
from frontier.leveldb.store import LevelDBStore
from frontier.shell import QueueFrontier
from frontier.upkeep.fsck import Problem
from frontier.upkeep.fsck import fsck as check_store
from frontier.upkeep.salvage import move_away, repair_directory
from frontier.upkeep.visited_check import check_visited


@click.command()
@click.option("--repair", "to_repair", is_flag=True, help="First repair what can be repaired. A copy is kept.")
@click.option("--refetch", is_flag=True, help="Fetch the pages again that are missing in the output.")
@click.option("--output/--no-output", default=True, show_default=True, help="Compare the ledger with the output.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def fsck(path: Path, to_repair: bool, refetch: bool, output: bool, as_json: bool) -> int:
    """Check every invariant of the stored state, and that state and output agree."""
    with lock_stored(path, to_repair=to_repair) as (directory, loaded):
        if to_repair:
            _repair(loaded, directory)
        if refetch:
            asyncio.run(_refetch(loaded, directory))
        store = open_leveldb(loaded.config, directory)
        try:
            report = check_store(store)
            found = report.problems + asyncio.run(_check_visited(loaded.config, directory, store))
            if output:
                found += [each.problem for each in Reconciliation(loaded, directory, store).differences()]
        finally:
            store.close()
    # A snapshot that does not fit is no damage: a crash has torn it, or the settings have changed since.
    problems = [problem for problem in found if problem.kind not in ("snapshot", DAMAGED)]
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
            f"{number_of(report.urls, 'URL')}, {report.pending:,} pending, {report.retrying:,} to try again, "
            f"{number_of(report.queues, 'queue')}: {number_of(len(problems), 'problem') if problems else 'no problems'}"
        )
    return FAILED if problems else COMPLETE


async def _refetch(loaded: Loaded, directory: CrawlDirectory) -> None:
    """Queue the URLs again whose output is missing. If URLs were lost without a trace, also queue all pages that may
    link to them."""
    store = open_leveldb(loaded.config, directory)
    config, lost = loaded.config, store.counters.lost
    visited = visited_set(config, directory, store)
    try:
        frontier = await QueueFrontier.open(
            store, visited, snapshots=snapshots(config, directory), settings=rules(config)
        )
        try:
            reconciliation = Reconciliation(loaded, directory, store)
            missing = [each.again for each in reconciliation.differences() if each.again is not None]
            count = await frontier.add_anew({url.canonical: url for url in missing}.values())
            click.echo(f"{number_of(count, 'URL')} whose output is missing will be fetched again", err=True)
            if lost:
                leading = 0
                for batch in batches(reconciliation.pages()):
                    leading += await frontier.add_anew(batch)
                await frontier.operate(lambda operator: operator.forget_lost())
                click.echo(
                    f"lost to damage: {number_of(lost, 'URL')}; {number_of(leading, 'page')} that may link to them "
                    "will be fetched again",
                    err=True,
                )
        finally:
            await frontier.aclose()
    finally:
        await visited.aclose()


def _repair(loaded: Loaded, directory: CrawlDirectory) -> None:
    store, mended, copy = repair_directory(
        directory.frontier, lambda: open_leveldb(loaded.config, directory, to_repair=True)
    )
    done = [
        name.replace("_", " ") if found is True else f"{name.replace('_', ' ')}: {found}"
        for name, found in msgspec.structs.asdict(mended).items()
        if found
    ]
    click.echo(f"repaired: {', '.join(done) or 'nothing'}", err=True)
    if copy is not None:
        click.echo(f"a copy of the old frontier is kept in {copy}; delete it when the crawl works", err=True)
    if directory.has_output() and (store.counters.lost or mended.salvaged == "tables" or not store.counters.admitted):
        _recover(loaded, directory, store)
    else:
        store.close()


@click.command()
@click.argument("path", metavar="DIRECTORY", type=click.Path(path_type=Path))
@click.option(
    "--from-records", is_flag=True, required=True, expose_value=False, help="Required; there is no other source yet."
)
def rebuild(path: Path) -> int:
    """Rebuild the frontier of the crawl in DIRECTORY from its output.

    The records tell which URLs are settled. The waiting URLs are the links in the records (output.links), or else those
    of the archived pages. A copy of the old frontier is kept.
    """
    with lock_stored(path, to_repair=True) as (directory, loaded):
        if not directory.has_output():
            raise click.UsageError(f"the crawl in {path} has no output to rebuild a frontier from")
        copy = move_away(directory.frontier) if directory.has_state() else None
        store = open_leveldb(loaded.config, directory, to_repair=True)
        if copy is not None:
            click.echo(f"a copy of the old frontier is kept in {copy}; delete it when the crawl works", err=True)
        _recover(loaded, directory, store)
        store = open_leveldb(loaded.config, directory, to_repair=True)
        counters = store.counters
        store.close()
    click.echo(f"{counters.admitted:,} URLs, {counters.pending:,} pending")
    return FAILED if counters.lost else COMPLETE


def _recover(loaded: Loaded, directory: CrawlDirectory, store: LevelDBStore) -> None:
    """Recover from the output what the store has lost. Closes the store."""
    before = store.counters.lost
    try:
        recovered = asyncio.run(
            recover(loaded, directory, store, progress=lambda count: click.echo(f"{count:,} records read", err=True))
        )
    finally:
        store.close()
    click.echo(
        f"from the output: {recovered.settled:,} settled URLs and {recovered.found:,} links that were not known, of "
        f"{recovered.records:,} records",
        err=True,
    )
    if recovered.unread:
        click.echo(
            f"the links of {recovered.unread:,} pages are not known: output.links was off, and the pages are not in "
            "the archive",
            err=True,
        )
    if before and not recovered.unread:
        click.echo("all lost URLs are known again to which a fetched page links", err=True)


async def _check_visited(config: Config, directory: CrawlDirectory, store: LevelDBStore) -> list[Problem]:
    saved = snapshots(config, directory)
    if saved is None:
        return []
    visited = visited_set(config, directory, store)
    try:
        return await check_visited(store, visited, saved)
    finally:
        await visited.aclose()
