"""onceover inspect DIR fsck; onceover inspect DIR verify; onceover frontier rebuild"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec import UNSET

from crawler.cli.operate.options import as_json, named_path, note_elsewhere, show
from crawler.cli.run.streams import say_result
from crawler.codes.exit_codes import COMPLETE, FAILED
from crawler.disk.layout import part_at
from crawler.operate.upkeep.checking import FoundProblem, FsckReport, check
from crawler.operate.upkeep.places import lock_places
from crawler.operate.upkeep.repairing import Repairing
from crawler.operate.upkeep.repairing import refetch as fetch_again
from crawler.operate.upkeep.verifying import AgreementReport
from crawler.operate.upkeep.verifying import repair as repair_databases
from crawler.operate.upkeep.verifying import verify as check_agreement
from crawler.status import number_of

_limit = click.option(
    "--limit", type=click.IntRange(min=1), default=1000, show_default=True, help="List this many problems."
)


def _say(text: str) -> None:
    click.echo(text, err=True)


@click.command()
@click.option("--repair", "to_repair", is_flag=True, help="First repair what can be repaired. A copy is kept.")
@click.option("--refetch", is_flag=True, help="Fetch pages again that the output lacks; move damage aside.")
@click.option("--output/--no-output", default=True, show_default=True, help="Compare the ledger with the output.")
@_limit
@as_json
@click.pass_obj
def fsck(path: Path, to_repair: bool, refetch: bool, output: bool, limit: int, as_json: bool) -> int:
    """Check the stored state, and that state and output agree.

    Of a crawl in parts, it checks each part, and that they agree with each other.
    """
    if part_at(path) is not None and output:
        if refetch:
            raise click.UsageError("--refetch compares the output of all parts: name the directory of the whole crawl")
        _say("note: the output is not compared, because URLs of a part may be in that of others; check the whole crawl")
        output = False
    with lock_places(path, to_repair=to_repair, may_begin=to_repair) as places:
        if refetch:
            places.check_unbroken()  # the ledger of each part says what the output may lack
        if to_repair:
            repairing = Repairing(places, _say)
            for place in places.each:
                repairing.repair(place)
            repairing.finish()
        if refetch:
            asyncio.run(fetch_again(places, _say))
        report, notes = asyncio.run(check(places, output=output, limit=limit))
        note_elsewhere(path)
    for note in notes:
        _say(f"note: {_part(note)}{note.kind} {note.where}: {note.message}")
    show(report, _lines_of_check(report), as_json=as_json)
    return FAILED if report.problems else COMPLETE


@click.command()
@click.option("--repair", "to_repair", is_flag=True, help="First write again what databases and indexes lack.")
@_limit
@as_json
@click.pass_obj
def verify(path: Path, to_repair: bool, limit: int, as_json: bool) -> int:
    """Prove that ledger, records, archive and databases agree. They are compared record by record.

    Every settled URL has its record, with the same status and digest; every page is in the archive, with that body; and
    so in each database. The crawl must not run. Of a crawl in parts, all are read.
    """
    if part_at(path) is not None:
        raise click.UsageError("the output of a part may be in that of others: name the directory of the whole crawl")
    with lock_places(path) as places:
        if to_repair:
            asyncio.run(repair_databases(places, _say))
        report = asyncio.run(check_agreement(places, limit=limit))
        note_elsewhere(path)
    for told_elsewhere in report.elsewhere:
        _say(f"note: {told_elsewhere}")
    for aside in report.set_aside:
        _say(f"note: {aside.file}: {number_of(aside.bytes, 'damaged byte')}, moved there by a repair or a start")
    if report.bodiless:
        records = number_of(report.bodiless, "record")
        _say(f"note: {records} of what rendered pages loaded, or of robots.txt files: the body was moved aside")
    show(report, _lines_of_verification(report), as_json=as_json)
    return FAILED if report.problem_count else COMPLETE


def _lines_of_check(report: FsckReport) -> Iterator[str]:
    for problem in report.problems:
        yield f"{_part(problem)}{problem.kind}: {problem.where}: {problem.message}"
    yield from _rest(report.problem_count - len(report.problems))
    problems = number_of(report.problem_count, "problem") if report.problem_count else "no problems"
    yield (
        f"{number_of(report.urls, 'URL')}, {report.pending:,} pending, {report.retrying:,} to try again, "
        f"{number_of(report.queues, 'queue')}: {problems}"
    )


def _lines_of_verification(report: AgreementReport) -> Iterator[str]:
    for problem in report.problems:
        yield f"{problem.kind}: {problem.where}: {problem.message}"
    yield from _rest(report.problem_count - len(report.problems))
    for place, told in enumerate(report.told):
        again = f", {told.repeated:,} of them more than once" if told.repeated else ""
        gone = f", {told.forgotten:,} that the ledger does not know any more" if told.forgotten else ""
        pruned = f", {told.pruned:,} that were pruned" if told.pruned else ""
        lacks = f"; {told.unarchived:,} not archived (no answer, or left out)" if told.unarchived else ""
        # The ledger has one number for each URL, the outputs have one for each visit.
        numbers = number_of(told.numbers, "visit" if place else "URL")
        yield f"{told.name}: {numbers}{again}{gone}{pruned}{lacks}"
    yield number_of(report.problem_count, "problem") if report.problem_count else "no problems"


def _rest(count: int) -> Iterator[str]:
    if count:
        yield f"and {count:,} more; --limit shows them"


def _part(problem: FoundProblem) -> str:
    return "" if problem.part is UNSET else f"part {problem.part}: "


@click.command()
@click.argument("path", metavar="DIRECTORY", type=named_path)
@click.option(
    "--from-records", is_flag=True, required=True, expose_value=False, help="Required; there is no other source yet."
)
def rebuild(path: Path) -> int:
    """Rebuild the frontier of the crawl in DIRECTORY from its output.

    The records tell which URLs are settled. The waiting URLs are the links in the records (output.links), or else those
    of the archived pages. A copy of the old frontier is kept. Of a crawl in parts, each frontier is rebuilt from the
    output of all parts; they must be there.
    """
    with lock_places(path, to_repair=True) as places:
        places.check_unbroken()
        repairing = Repairing(places, _say)
        if not repairing.has_output():
            raise click.UsageError(f"the crawl in {path} has no output to rebuild a frontier from")
        rebuilt = [repairing.rebuild(place) for place in places.each]
        repairing.finish()
    admitted, pending = sum(each.admitted for each in rebuilt), sum(each.pending for each in rebuilt)
    say_result(f"{number_of(admitted, 'URL')}, {pending:,} pending")
    return FAILED if any(each.lost for each in rebuilt) else COMPLETE
