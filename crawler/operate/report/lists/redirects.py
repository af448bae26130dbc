"""Every page that links to a redirect."""

from collections.abc import Iterator

from crawler.operate.report.forms import RedirectLink
from crawler.operate.report.lists.endings import Endings
from crawler.operate.report.lists.linking import Link, Linking
from crawler.page import LinkKind


class Redirects:
    """First `find`, when all URLs are in the endings, then `rows`, when all links are known."""

    def __init__(self, endings: Endings, linking: Linking) -> None:
        self._endings = endings
        self._linking = linking
        self.count = 0
        """How many URLs redirect."""

    def find(self) -> None:
        for name, _, _, first in self._endings.redirects():
            self._linking.want(name, first)
            self.count += 1

    def rows(self) -> Iterator[RedirectLink]:
        """The rows in the order of URLs, then of pages. URLs that the crawl has guessed redirect, too."""
        for name, status, ending, first in self._endings.redirects():
            for link in list(self._linking.links(name, first)) or [Link(None, None, first.kind)]:
                yield RedirectLink(
                    url=first.url,
                    status=status,
                    hops=ending.hops,
                    leads_to=ending.url,
                    end_status=ending.status,
                    end_reason=ending.reason,
                    page=link.page,
                    anchor=link.anchor,
                    kind=link.kind,
                    external=first.kind == LinkKind.EXTERNAL,
                )
