"""Makes the links of feeds."""

from collections.abc import Iterator

from crawler.page import Link, LinkKind


def link_to(href: str | None, kind: LinkKind, /, *, rel: str = "") -> Iterator[Link]:
    """One link; none for an empty href."""
    href = (href or "").strip()
    if href:
        yield Link(href, kind, "", rel.lower())
