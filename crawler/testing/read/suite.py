"""What the parts of the suites have in common: how an extractor is made, and pages for it."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import pytest

from crawler.page import Extract, LinkKind, Page
from crawler.read.descriptor import Descriptor, Parameters
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.options import DEFAULT_OPTIONS, Options
from crawler.seams import LinkExtractor
from crawler.testing.timeouts import MAX_WAIT_S

Headers = tuple[tuple[str, str], ...]
HTML: Final[Headers] = (("Content-Type", "text/html"),)
MANY_OPEN: Final = "<p>" * 10_000
"""So many elements are left open that our extractors change the page before they parse it."""


class LinkExtractorSuite:
    """Makes an extractor. Override what differs."""

    descriptor: Descriptor | None = None
    options: Mapping[str, object] = {}
    """The options of the descriptor."""

    def make_extractor(self, *, agent: str = "onceover", reads: Options = DEFAULT_OPTIONS) -> LinkExtractor:
        """`agent` is the name by which robots directives address the crawler. `reads` is what an extractor of HTML
        reads beside the default links."""
        if self.descriptor is None:
            pytest.fail(f"expected a `descriptor` or a method `make_extractor` in {type(self).__name__}, found neither")
        parameters = Parameters(
            agent=agent, reads=reads, make_default=lambda: lexbor_extractor(agent=agent, options=reads)
        )
        return self.descriptor.make(parameters, msgspec.convert(self.options, self.descriptor.options))


class HtmlExtractorSuite(LinkExtractorSuite):
    """Makes an extractor that reads HTML."""

    def read(self, html: str | bytes, **reads: Any) -> Extract:
        """The extract of a page without errors."""
        body = html if isinstance(html, bytes) else html.encode()
        extract = self.make_extractor(reads=Options(**reads)).extract(page(body))
        assert extract.error is None
        return extract


def page(body: bytes, *, url: str = "https://example.org/a/page.html", headers: Headers = HTML) -> Page:
    return Page(
        url=url,
        status=200,
        headers=[(name.encode(), value.encode("latin-1")) for name, value in headers],
        fetched_at=0.0,
        duration_s=0.1,
        body=body,
        raw_body=body,
    )


def hrefs(extract: Extract, *kinds: LinkKind) -> list[str]:
    """The links of some kinds, or all, in their order."""
    return [link.href for link in extract.links if not kinds or link.kind in kinds]


def check_that_it_ends(call: Callable[[], object]) -> None:
    """Fail the test if a call does not end."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(MAX_WAIT_S)
    if thread.is_alive():
        pytest.fail(f"it should take seconds, and has not ended after {MAX_WAIT_S:.0f} s")
