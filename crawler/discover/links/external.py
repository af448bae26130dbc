"""Links out of scope, which are checked: asked whether they are there, and nothing more. Pure.

To the frontier a check is a URL like any other: it waits in the queue of its host, comes once, and survives a crash.
Its kind says that it is a check, and its name ends in a mark. So the crawl still knows the URL as new if it comes into
scope later, for example by a seed's redirect, and then crawls it.
"""

from typing import Final

from crawler.discover.focus import WORST_PRECEDENCE
from crawler.discover.links.filter import LinkFilter
from crawler.discover.marks import EXTERNAL
from crawler.discover.scope import Scope, ScopeRefusal
from crawler.page import Link, LinkKind
from crawler.url.urls import Target
from frontier import CrawlUrl

_NOT_CHECKED: Final = frozenset({LinkKind.SITEMAP, LinkKind.LISTED, LinkKind.SPECULATIVE, LinkKind.FORM})
"""Nobody has written such a link for readers to follow."""


class ExternalLinks:
    """Collects what is to be checked of the links of a page."""

    def __init__(self, link_filter: LinkFilter, parent: CrawlUrl) -> None:
        self.urls: list[CrawlUrl] = []
        self._scope = link_filter.scope
        self._left = link_filter.max_links
        self._parent = parent

    def add(self, link: Link, target: Target, count: int) -> None:
        """A link out of scope that stands on the page so often. What is excluded is not checked either."""
        if not self._left or link.kind in _NOT_CHECKED or self._scope.exclusion(target) is not None:
            return
        self._left -= 1
        depth = self._parent.depth + 1
        self.urls.append(
            CrawlUrl(
                url=target.url,
                canonical=target.canonical + EXTERNAL,
                queue_key=target.queue_key,
                depth=depth,
                via=self._parent.url,
                kind=LinkKind.EXTERNAL,
                anchor=link.text or None,
                precedence=min(WORST_PRECEDENCE, depth),
                link_count=count,
            )
        )


def external_redirect(target: Target, parent: CrawlUrl, scope: Scope) -> CrawlUrl | ScopeRefusal:
    """The check of where a check, or a page, redirects to; or why it is not made."""
    refusal = scope.exclusion(target)
    if refusal is not None:
        return refusal
    canonical = target.canonical + EXTERNAL
    if canonical == parent.canonical:
        canonical = f"{canonical}-{parent.redirects + 1}"  # see `crawler.discover.marks`
    return CrawlUrl(
        url=target.url,
        canonical=canonical,
        queue_key=target.queue_key,
        depth=parent.depth,
        via=parent.url,
        kind=LinkKind.EXTERNAL,
        precedence=parent.precedence,
        redirects=parent.redirects + 1,
        link_count=0,
    )
