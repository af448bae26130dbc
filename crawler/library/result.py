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
    """0 the crawl is complete; 1 nothing is left to fetch, but no URL is a page, or URLs were lost to damage; 3
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
        """Whether nothing is left to fetch, and by its last visit no URL is a page, as where no seed can be reached."""
        return self.ending is Ending.COMPLETE and self.exit_code == FAILED


def end_run(
    ending: Ending,
    status: Status,
    *,
    directory: str,
    new_seeds: int,
    resumed: bool,
    has_page: bool,
    where: str = "in this run",
) -> CrawlResult:
    """Log how a run has ended, and return it. `has_page`: a URL of the crawl is a page by its last visit, or may be one
    on another machine."""
    is_over = ending is Ending.COMPLETE and not status.frontier.queued
    fields = {"ending": ending, "pages": status.pages}
    log.info("ended: %s, %s %s", ending, number_of(status.pages, "page"), where, extra={"fields": fields})
    return CrawlResult(
        ending=ending,
        exit_code=FAILED if is_over and not (status.pages or has_page) else EXIT_CODES[ending],
        directory=directory,
        new_seeds=new_seeds,
        resumed=resumed,
        status=status,
    )
