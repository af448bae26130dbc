"""Where each redirect leads."""

from collections.abc import Iterator

from crawler.operate.report.forms import RedirectRow
from crawler.operate.report.lists.endings import Endings


def redirect_rows(endings: Endings) -> Iterator[RedirectRow]:
    """In the order of URLs."""
    for url, status, ending in endings.redirects():
        yield RedirectRow(
            url=url,
            status=status,
            hops=ending.hops,
            leads_to=ending.url,
            end_status=ending.status,
            end_reason=ending.reason,
        )
