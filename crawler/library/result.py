"""How a run ended."""

import logging
from typing import Final

import msgspec

from crawler.codes.exit_codes import COMPLETE, FAILED, LIMIT, STOPPED
from crawler.engine import Ending
from crawler.status import Status, number_of

log = logging.getLogger(__name__)

EXIT_CODES: Final = {
    Ending.COMPLETE: COMPLETE,
    Ending.INCOMPLETE: FAILED,
    Ending.LIMIT: LIMIT,
    Ending.SIGNAL: STOPPED,
    Ending.STOPPED: STOPPED,
}
"""The exit code with which the command tells each ending."""


class CrawlResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    ending: Ending
    exit_code: int
    """0 the crawl is complete; 1 nothing is left to fetch, but the crawl has no page, or URLs were lost to damage; 3
    stopped by a limit; 4 stopped by a signal or by the program."""
    directory: str
    new_seeds: int
    """Seeds that were not known before."""
    resumed: bool
    """Whether the directory had a crawl with URLs before this run."""
    status: Status
    """At the end."""

    @property
    def had_nothing_left(self) -> bool:
        """Whether the crawl was complete before this run."""
        is_idle = not self.status.responses and not self.status.failures
        return self.ending is Ending.COMPLETE and self.resumed and is_idle

    @property
    def has_no_page(self) -> bool:
        """Whether nothing is left to fetch, and the crawl has no page, as where no seed can be reached."""
        return self.ending is Ending.COMPLETE and self.exit_code == FAILED


def end_run(
    ending: Ending,
    status: Status,
    *,
    directory: str,
    new_seeds: int,
    resumed: bool,
    is_whole: bool = True,
    where: str = "in this run",
) -> CrawlResult:
    """Log how a run has ended, and return it. `is_whole`: no other machine runs a part of the crawl."""
    fields = {"ending": ending, "pages": status.pages}
    log.info("ended: %s, %s %s", ending, number_of(status.pages, "page"), where, extra={"fields": fields})
    return CrawlResult(
        ending=ending,
        exit_code=FAILED if is_whole and _has_no_page(ending, status, resumed=resumed) else EXIT_CODES[ending],
        directory=directory,
        new_seeds=new_seeds,
        resumed=resumed,
        status=status,
    )


def _has_no_page(ending: Ending, status: Status, *, resumed: bool) -> bool:
    """An earlier run has counted pages of its own, but has none if all that it settled was given up or excluded."""
    frontier = status.frontier
    is_over = ending is Ending.COMPLETE and not frontier.queued
    return is_over and not status.pages and (not resumed or not frontier.done)
