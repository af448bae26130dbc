"""Makes a report of the crawl in a directory. It blocks, for as long as it takes to read all records."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.exit_codes import REFUSED
from crawler.control.address import SocketRefused
from crawler.control.client import NoAnswer
from crawler.control.replies import CrawlStatus, RobotsForm
from crawler.control.requests import GetStatus
from crawler.course.remaining import no_estimate
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import part_at, record_directories
from crawler.disk.pruned import read_pruned
from crawler.operate.course import course_of
from crawler.operate.missing import notes_of_missing
from crawler.operate.opening import stored_configuration
from crawler.operate.reach import reach
from crawler.operate.refused import Refused
from crawler.operate.report.counted import Counted
from crawler.operate.report.forms import External, Report, Summary
from crawler.operate.report.lists.endings import Canonical
from crawler.operate.report.lists.forms import Lists
from crawler.operate.report.lists.making import SECTIONS, count_dead_checks, make_lists
from crawler.operate.report.visits import ledger_visits
from crawler.operate.report.waiting import robots_of, sitemaps_of, who_waits, with_facts
from crawler.page import rfc3339
from crawler.politeness.response_policy import UNREACHABLE
from crawler.status import number_of
from crawler.url.seeds import read_seed
from crawler.wiring.components.discovering import url_reader
from crawler.write.records import record_files

HOSTS: Final = 10
"""How many hosts each table has, if nobody says."""


def make_report(directory: Path, sections: Collection[str], *, limit: int | None, needs_lists: bool = True) -> Report:
    """The report of a crawl, or of one part of it, whether it runs or not, with up to `limit` hosts of each kind, and
    with the lists that `sections` name. Unless it `needs_lists`, a crawl without records has none. Raises whatever
    `reach` raises, and `Refused`."""
    now = time.time()
    places = record_directories(directory)
    directories = [each for each in places if record_files(each)]
    lists = [each for each in SECTIONS if each in sections]
    with reach(directory) as crawl:
        if lists and not directories and needs_lists:
            raise Refused(
                f"the crawl in {directory} has no records, from which {', '.join(lists)} would be made: "
                f"{why_no_records(places, do='make the report of that')}",
                REFUSED,
            )
        status = crawl.ask(GetStatus())
        counted, waiting = Counted(), who_waits(crawl)
        if not directories:
            counted.add(ledger_visits(crawl))
    # Nobody has to wait for the crawl while its records are read.
    canonical = names_of(directory)
    has_forgotten = status.frontier.generation > 0
    counted.add_records(directories, canonical, has_forgotten=has_forgotten)
    external = counted.checks.found()
    if counted.has_repeats and external is not None and external.dead:
        dead = count_dead_checks(directories, canonical, has_forgotten=has_forgotten)
        external = msgspec.structs.replace(external, dead=dead)
    made = Lists()
    if lists and directories:
        sitemaps = partial(_sitemaps_of, directory)
        made = make_lists(
            directories,
            lists,
            canonical,
            limit,
            has_forgotten=has_forgotten,
            seeds=_seeds(directory),
            sitemaps_of=sitemaps,
        )
    hosts = counted.hosts.table(HOSTS if limit is None else limit, has_bytes=bool(directories))
    robots: Mapping[str, RobotsForm] = {}
    # It may have ended meanwhile, or have begun.
    with suppress(NoAnswer, SocketRefused, DirectoryRefused), reach(directory) as crawl:
        robots = robots_of(crawl, [row.host for row in hosts.rows])
    # A place of which all records were deleted counts, too.
    pruned = pruned_records(places) if directories else 0
    summary = _summary(status, counted, external, has_records=bool(directories), pruned=pruned)
    return Report(
        directory=str(directory),
        at=rfc3339(now),
        running=status.running,
        source="records" if directories else "ledger",
        summary=summary,
        course=course_of(directory, status),
        activity=counted.activity.found(),
        hosts=with_facts(hosts, waiting, robots),
        notes=notes_of_missing(directory) + (_notes_of_lists(directory, summary, counted) if lists else []),
        **msgspec.structs.asdict(made),
    )


def _sitemaps_of(directory: Path, robots_files: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """See `SitemapsOf`."""
    with suppress(NoAnswer, SocketRefused, DirectoryRefused), reach(directory) as crawl:
        yield from sitemaps_of(crawl, robots_files)


def _notes_of_lists(directory: Path, summary: Summary, counted: Counted) -> list[str]:
    """What lists can't tell: of URLs whose old records were deleted, unless they were fetched again and a newer record
    tells; of URLs that nobody may ask for as long as robots.txt can't be fetched; and of a site without a page."""
    notes = []
    if summary.pruned and (unknown := summary.settled - counted.told) > 0:
        notes.append(
            f"old records of {number_of(unknown, 'URL')} were deleted, so the lists lack what these would tell"
        )
    if barred := summary.exclusions.get(UNREACHABLE):
        notes.append(
            f"robots.txt could not be fetched for {number_of(barred, 'URL')}, so the lists lack what they tell"
        )
    if not summary.pages and part_at(directory) is None:  # a part may have none
        notes.append("the crawl has no page, so the lists say nothing of the site")
    return notes


def pruned_records(directories: Iterable[Path]) -> int:
    """How many records of these directories were deleted on purpose."""
    return sum(read_pruned(CrawlDirectory(each.parent)).total("records").records for each in directories)


def why_no_records(directories: Iterable[Path], *, do: str) -> str:
    """Why none of these directories has records, and what to do. `do`: what a copy from before is good for."""
    if deleted := pruned_records(directories):
        return f"{number_of(deleted, 'was', 'were')} deleted on purpose; restore a copy from before, and {do}"
    return "set output.records to true before the next crawl"


def names_of(directory: Path) -> Canonical:
    """The name of a URL by the rules of the crawl. It may have got one that these rules do not take."""
    urls = url_reader(stored_configuration(directory))
    return lambda url: urls.canonical_of(url) or url


def _seeds(directory: Path) -> list[str]:
    """The names of the seeds in `crawl.seeds` that the rules of the crawl take."""
    loaded = stored_configuration(directory)
    urls, names = url_reader(loaded), []
    for seed in loaded.config.crawl.seeds:
        with suppress(ValueError):
            names.append(read_seed(urls, seed)[0].canonical)
    return names


def _summary(
    status: CrawlStatus, counted: Counted, external: External | None, *, has_records: bool, pruned: int
) -> Summary:
    """Without records, the ledger was counted."""
    totals = counted.totals
    frontier = status.frontier
    return Summary(
        urls=frontier.admitted,
        settled=frontier.settled,
        share_done=status.share_done,
        pages=totals.pages,
        failed=totals.failed,
        excluded=totals.excluded,
        bytes_received=totals.bytes_received if has_records else None,
        bytes_decoded=totals.bytes_decoded if has_records else None,
        hosts=counted.hosts.count,
        visits=totals.visits,
        times=totals.clock.times(),
        remaining=status.remaining or no_estimate(frontier.queued, "nobody can tell"),
        statuses=totals.statuses.counts(),
        failures=totals.failures.counts(),
        exclusions=totals.exclusions.counts(),
        refused=totals.refused.counts() if has_records else None,
        pruned=pruned,
        types=totals.types.counts() if has_records else {},
        depths=totals.depths.counts() if has_records else {},
        external=external,
        read_in_part=totals.read_in_part if has_records else None,
        truncated=totals.truncated.counts() if has_records else None,
    )
