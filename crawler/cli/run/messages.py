"""What a person reads about a run: how it began, what it rebuilds, and how it ended."""

import logging
import resource
import shlex
from collections.abc import Iterable, Sequence

from crawler.cli.run.diagnostics import Diagnostics
from crawler.engine import Ending
from crawler.library.crawl_log import at_most_every
from crawler.library.result import CrawlResult
from crawler.status import number_of
from crawler.wiring.opening.kept import RebuildProgress
from frontier import FrontierStats

log = logging.getLogger(__name__)

REBUILD_INTERVAL_S = 1.0


def warn_of_address_space() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        log.warning(
            "the address space is limited to %d MiB (ulimit -v). LevelDB maps its files into memory, and aborts the "
            "process if that is not enough; limit the memory by a control group instead",
            limit >> 20,
        )


def rebuild_printer(console: Diagnostics) -> RebuildProgress:
    """A function that prints the progress of a rebuild, at most once in each interval."""
    return at_most_every(
        REBUILD_INTERVAL_S, lambda what, urls: console.tell(f"Rebuilding {what}: {number_of(urls, 'URL')} so far.")
    )


def tell_changed(changed: Iterable[str], console: Diagnostics) -> None:
    """Print and log how the settings differ from those of the last run."""
    for line in changed:
        console.tell(f"Changed: {line}.")
        log.info("changed: %s", line)


def print_resumed(stats: FrontierStats, console: Diagnostics) -> None:
    retired = f", {stats.retired:,} retired" if stats.retired else ""
    console.tell(
        f"Resuming: {stats.settled:,} of {number_of(stats.admitted, 'URL is', 'URLs are')} settled, "
        f"{number_of(stats.queued, 'waits', 'wait')}{retired}."
    )


def ending_text(run: CrawlResult, again: str, *, may_begin_anew: bool, why: Sequence[str] = ()) -> str:
    """`why` says of seeds why they gave no page."""
    frontier = run.status.frontier
    waiting = frontier.queued
    match run.ending:
        case Ending.COMPLETE if waiting:
            left_out = number_of(waiting, "URL")
            return f"The crawl is complete, but for {left_out} that frontier.precedence_floor leaves out."
        case Ending.COMPLETE if run.has_no_page:
            where = shlex.quote(run.directory)
            lines = why or [f"onceover inspect {where} url SEED says why"]
            return (
                "The crawl has ended without a page.\n"
                + "".join(f"    {line}\n" for line in lines)
                + f"To try again: onceover recrawl {where}, then {again}"
                + (f"\nTo begin anew: {again} --fresh" if may_begin_anew else "")
            )
        case Ending.COMPLETE if run.had_nothing_left:
            where = shlex.quote(run.directory)
            return (
                "The crawl is complete: nothing was left to fetch.\n"
                f"To visit its pages again: onceover recrawl {where}, then {again}\n"
                f"To fetch another URL: onceover add {where} URL, then {again}"
                + (f"\nTo begin anew: {again} --fresh" if may_begin_anew else "")
            )
        case Ending.COMPLETE:
            return "The crawl is complete."
        case Ending.INCOMPLETE:
            return _incomplete_text(run)
        case Ending.LIMIT:
            return f"Stopped by a limit. To go on: {again}"
        case Ending.SIGNAL | Ending.STOPPED:
            return f"Stopped. To go on: {again}"


def _incomplete_text(run: CrawlResult) -> str:
    frontier, where = run.status.frontier, shlex.quote(run.directory)
    aside = frontier.missing - frontier.lost
    texts = []
    if frontier.lost:
        texts.append(
            f"{number_of(frontier.lost, 'URL was', 'URLs were')} lost to damage. "
            f"To fetch the pages again that may link to them: onceover inspect {where} fsck --refetch"
        )
    if aside:
        texts.append(
            f"{number_of(aside, 'URL was', 'URLs were')} set aside as unreadable: "
            f"onceover inspect {where} fsck --repair"
        )
    if frontier.gaps:
        texts.append(f"links from other parts were lost on their way: onceover inspect {where} fsck names the parts")
    if not texts:
        texts.append("URLs, or links to them, were lost in parts on other machines")
    return "The crawl is not complete, although nothing waits: " + "; ".join(texts)
