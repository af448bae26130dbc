"""Makes the difference of two crawls. It blocks, for as long as it takes to read all records twice."""

from collections.abc import Collection, Iterator
from pathlib import Path

from crawler.codes.exit_codes import REFUSED
from crawler.control.requests import GetStatus
from crawler.disk.layout import record_directories
from crawler.operate.diff.comparing import Compared
from crawler.operate.diff.forms import Crawl, Diff
from crawler.operate.diff.sides import TABLE, Renaming, Side, read_side
from crawler.operate.missing import notes_of_missing
from crawler.operate.reach import reach
from crawler.operate.refused import Refused
from crawler.operate.report.lists.temporary import temporary_database
from crawler.operate.report.making import names_of, pruned_records, why_no_records
from crawler.page import rfc3339
from crawler.status import number_of
from crawler.write.records import record_files


def make_diff(
    before: Path, after: Path, *, since: float | None, renaming: Renaming, only: Collection[str], limit: int | None
) -> Diff:
    """What has changed from the crawl in `before`, by its visits up to `since` (seconds since 1970), to that in
    `after`, which may be the same; `only` and `limit` as of `Compared`. Raises whatever `reach` raises, and
    `Refused`."""
    until = None if since is None else rfc3339(since)
    name_of = names_of(after)
    with temporary_database() as database:
        database.execute(TABLE)
        pages_before = read_side(
            database, Side.BEFORE, _records(before), name_of=name_of, renaming=renaming, until=until
        )
        pages_after = read_side(database, Side.AFTER, _records(after), name_of=name_of, renaming=Renaming())
        compared = Compared(database, renaming=renaming, only=only, limit=limit)
        return Diff(
            before=Crawl(directory=str(before), until=until, pages=pages_before),
            after=Crawl(directory=str(after), until=None, pages=pages_after),
            same=compared.same,
            counts=compared.counts,
            fields=compared.fields,
            differences=list(compared.differences()),
            more=compared.more,
            notes=[*_notes(before, after), *_of_nothing_shared(compared, pages_before, pages_after, renaming)],
        )


def _records(directory: Path) -> list[Path]:
    """Where the records of a crawl are. Raises `Refused` if it has none."""
    with reach(directory):
        places = record_directories(directory)
        found = [each for each in places if record_files(each)]
    if not found:
        why = why_no_records(places, do="compare that")
        raise Refused(f"the crawl in {directory} has no records, which would be compared: {why}", REFUSED)
    return found


def _of_nothing_shared(compared: Compared, before: int, after: int, renaming: Renaming) -> Iterator[str]:
    if not (before and after and compared.counts["new"] == after and compared.counts["gone"] == before):
        return
    if renaming.prefixes:
        yield (
            "no page is in both crawls: in --map OLD NEW, OLD is how URLs of the first crawl begin, NEW how those "
            "of the second begin"
        )
    else:
        yield "no page is in both crawls: if the second is of another host, --map OLD NEW compares it with the first"


def _notes(before: Path, after: Path) -> Iterator[str]:
    for directory in dict.fromkeys((before, after)):
        for note in notes_of_missing(directory):
            yield f"{directory}: {note}"
        if pruned := pruned_records(record_directories(directory)):
            yield f"{directory}: {number_of(pruned, 'record was', 'records were')} deleted; what they told is missing"
        with reach(directory) as crawl:
            queued = crawl.ask(GetStatus()).frontier.queued
        if queued:
            wait = number_of(queued, "URL waits", "URLs wait")
            what = "gone" if directory == after else "new"
            yield f"{directory}: {wait} to be fetched, so pages that count as {what} may be among these"
