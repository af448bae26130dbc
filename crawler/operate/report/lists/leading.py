"""Every page that links to an error, or to a redirect."""

from collections.abc import Iterator

from crawler.operate.report.forms import DeadLink, RedirectLink
from crawler.operate.report.lists.endings import Endings
from crawler.operate.report.lists.linking import Link, Linking
from crawler.page import LinkKind


def dead_links(endings: Endings, linking: Linking) -> Iterator[DeadLink]:
    """In the order of URLs, then of pages."""
    for lead in endings.dead():
        for link in linking.links(lead):
            yield DeadLink(
                url=lead.url,
                leads_to=lead.end.url if lead.end.url != lead.url else None,
                status=lead.end.status,
                reason=lead.end.reason,
                page=link.page,
                anchor=link.anchor,
                kind=link.kind,
                external=lead.kind == LinkKind.EXTERNAL,
            )


def redirects(endings: Endings, linking: Linking) -> Iterator[RedirectLink]:
    """In the order of URLs, then of pages. URLs that the crawl has guessed redirect, too."""
    for lead in endings.redirects():
        for link in list(linking.links(lead)) or [Link(None, None, lead.kind)]:
            yield RedirectLink(
                url=lead.url,
                status=lead.status,
                hops=lead.end.hops,
                leads_to=lead.end.url,
                end_status=lead.end.status,
                end_reason=lead.end.reason,
                page=link.page,
                anchor=link.anchor,
                kind=link.kind,
                external=lead.kind == LinkKind.EXTERNAL,
            )
