"""Says whether the ledger of a crawl knows a page."""

from http import HTTPStatus
from typing import Final

from config import Config
from crawler.page import LinkKind
from crawler.wiring.backends import named_frontier
from crawler.wiring.crawl import OpenedCrawl
from crawler.wiring.plugins.guarded_frontier import guarded_ledger
from frontier import Damaged, KnownUrl, LedgerReads, UrlState

_NO_PAGES: Final = frozenset({LinkKind.SITEMAP, LinkKind.EXTERNAL})


def knows_page(crawl: OpenedCrawl, config: Config, *, resumed: bool) -> bool:
    """Whether a URL of the crawl is a page by its last visit. Reads the ledger up to the first page, so it takes long
    only if there are many URLs before. If the frontier can't tell about its URLs, an earlier run may have had one."""
    if not isinstance(crawl.state, LedgerReads):
        return resumed and crawl.frontier.describe().done > 0
    return any(map(_is_page, guarded_ledger(crawl.state, named_frontier(config)).all_known()))


def _is_page(known: KnownUrl | Damaged) -> bool:
    """As `counts_as_page` has it of a record."""
    if isinstance(known, Damaged) or known.entry.state is not UrlState.DONE or known.entry.kind in _NO_PAGES:
        return False
    status = known.entry.status
    return status is not None and (status // 100 == 2 or status == HTTPStatus.NOT_MODIFIED)
