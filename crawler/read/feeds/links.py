"""Makes the links of feeds."""

from crawler.page import Link, LinkKind


def link_to(href: str | None, kind: LinkKind, /, *, rel: str = "") -> Link | None:
    """None for an empty href."""
    href = (href or "").strip()
    return Link(href, kind, "", rel.lower()) if href else None
