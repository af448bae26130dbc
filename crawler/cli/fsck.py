"""onceover inspect DIR fsck"""

import asyncio
from pathlib import Path

import click
import msgspec

from config import Config, Loaded
from crawler.cli.codes import COMPLETE, FAILED
from crawler.disk.directory import CrawlDirectory
from crawler.operate.opening import lock_stored
from crawler.status import number_of
from crawler.wiring.backends import frontier_backend, lacks
from crawler.wiring.recovery.entries import batches
from crawler.wiring.recovery.reconciliation import DAMAGED, Reconciliation
from crawler.wiring.recovery.recover import recover
from crawler.wiring.storage import open_state, repair_state, rules_version, visited_set
from frontier import LedgerReads, Recovering
from frontier.descriptor import Problem, Report
from frontier.state import FrontierState


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
        state = open_state(loaded.config, directory)
        try:
            report = _check(loaded.config, state)
            found = report.problems + asyncio.run(_check_visited(loaded.config, directory, state))
            if output:
                found += [each.problem for each in _reconciliation(loaded, directory, state).differences()]
        finally:
            state.close()
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


def _check(config: Config, state: FrontierState) -> Report:
    check = frontier_backend(config).upkeep.check
    if check is None:
        raise lacks(config, "check its state")
    return check(state)


async def _check_visited(config: Config, directory: CrawlDirectory, state: FrontierState) -> list[Problem]:
    check = frontier_backend(config).upkeep.check_visited
    if check is None:
        return []
    visited = visited_set(config, directory, state.knows_many)
    try:
        return await check(state, visited)
    finally:
        await visited.aclose()


def _reconciliation(loaded: Loaded, directory: CrawlDirectory, state: FrontierState) -> Reconciliation:
    if not isinstance(state, LedgerReads):
        raise lacks(loaded.config, "list its ledger to be compared with the output; use --no-output")
    return Reconciliation(loaded, directory, state, rules_version=rules_version(state))


async def _refetch(loaded: Loaded, directory: CrawlDirectory) -> None:
    """Queue the URLs again whose output is missing. If URLs were lost without a trace, also queue all pages that may
    link to them."""
    state = open_state(loaded.config, directory)
    lost, visited = state.describe().lost, visited_set(loaded.config, directory, state.knows_many)
    try:
        frontier = await state.open_frontier(visited)
        try:
            if not isinstance(frontier, Recovering):
                raise lacks(loaded.config, "fetch pages again whose copies are lost")
            reconciliation = _reconciliation(loaded, directory, state)
            missing = [each.again for each in reconciliation.differences() if each.again is not None]
            count = await frontier.add_anew({url.canonical: url for url in missing}.values())
            click.echo(f"{number_of(count, 'URL')} whose output is missing will be fetched again", err=True)
            if lost:
                leading = 0
                for batch in batches(reconciliation.pages()):
                    leading += await frontier.add_anew(batch)
                await frontier.set_lost(0)
                click.echo(
                    f"lost to damage: {number_of(lost, 'URL')}; {number_of(leading, 'page')} that may link to them "
                    "will be fetched again",
                    err=True,
                )
        finally:
            await frontier.aclose()
    finally:
        await visited.aclose()
        state.close()


def _repair(loaded: Loaded, directory: CrawlDirectory) -> None:
    copy = directory.new_copy()
    mended = repair_state(loaded.config, directory, copy)
    click.echo(f"repaired: {', '.join(mended.done) or 'nothing'}", err=True)
    if mended.is_copied:
        _print_copy(copy)
    if directory.has_output() and mended.is_incomplete:
        _recover(loaded, directory, mended.state)
    else:
        mended.state.close()


def _print_copy(copy: Path) -> None:
    click.echo(f"a copy of the old frontier is kept in {copy}; delete it when the crawl works", err=True)


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
        copy = directory.move_frontier_away() if directory.has_state() else None
        state = open_state(loaded.config, directory, may_begin=True)
        if copy is not None:
            _print_copy(copy)
        _recover(loaded, directory, state)
        state = open_state(loaded.config, directory, may_begin=True)
        stats = state.describe()
        state.close()
    click.echo(f"{stats.admitted:,} URLs, {stats.pending:,} pending")
    return FAILED if stats.lost else COMPLETE


def _recover(loaded: Loaded, directory: CrawlDirectory, state: FrontierState) -> None:
    """Recover from the output what the state has lost. Closes the state."""
    before = state.describe().lost
    try:
        recovered = asyncio.run(
            recover(loaded, directory, state, progress=lambda count: click.echo(f"{count:,} records read", err=True))
        )
    finally:
        state.close()
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
