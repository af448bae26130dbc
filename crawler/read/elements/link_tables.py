"""Tables of HTML: which attributes and names are links, and of which kind."""

from typing import Final

from crawler.page import LinkKind

WITH_BACKGROUND: Final = ("body", "table", "tbody", "td", "tfoot", "th", "thead", "tr")
URL_ATTRIBUTES: Final[dict[str, tuple[tuple[str, LinkKind], ...]]] = {
    "frame": (("src", LinkKind.FRAME),),
    "button": (("formaction", LinkKind.FORM),),
    "embed": (("src", LinkKind.EMBED),),
    "object": (("data", LinkKind.EMBED),),
    "video": (("src", LinkKind.EMBED), ("data-src", LinkKind.EMBED), ("poster", LinkKind.EMBED)),
    "audio": (("src", LinkKind.EMBED), ("data-src", LinkKind.EMBED)),
    "track": (("src", LinkKind.EMBED),),
    **dict.fromkeys(WITH_BACKGROUND, (("background", LinkKind.EMBED),)),
}
"""Elements from which we read URL attributes only. `ElementReader` has a method for each other element."""

_OF_SHOWN: Final = (
    "stylesheet icon apple-touch-icon apple-touch-icon-precomposed apple-touch-startup-image mask-icon fluid-icon"
    " android-touch-icon manifest preload modulepreload prefetch image_src"
)
_OF_SERIES: Final = "next prev previous first last up start contents index chapter section appendix glossary"
_OF_NO_DOCUMENT: Final = "dns-prefetch preconnect pingback webmention edituri wlwmanifest profile https://api.w.org/"
KIND_OF_REL: Final[dict[str, LinkKind | None]] = {
    **dict.fromkeys(_OF_SHOWN.split(), LinkKind.EMBED),
    "canonical": LinkKind.CANONICAL,
    "sitemap": LinkKind.SITEMAP,
    **dict.fromkeys(_OF_SERIES.split(), LinkKind.NEXT),
    **dict.fromkeys(_OF_NO_DOCUMENT.split()),
}
"""The kind of a <link> by its rel token; None if the URL is not a document. Other tokens make an alternate."""

UNSHOWN: Final = ("script", "style")
"""Elements whose content is no text of the page."""

PREVIEW_IMAGES: Final = frozenset(
    {"og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src"}
)
"""Names of <meta> whose content is an image that other sites show beside a link to the page."""
DATA_LINKS: Final = ("data-href", "data-url")
"""Attributes in which scripts keep the target of an element."""
FEED_TYPES: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})
KEPT_META: Final = frozenset(
    {
        "author",
        "article:author",
        "description",
        "dc.creator",
        "dc.description",
        "og:description",
        "og:title",
        "tdm-policy",
        "tdm-reservation",
        "twitter:description",
    }
)
"""Names of <meta> whose content is kept."""


def kinds_of_rel(rel: str) -> tuple[LinkKind | None, ...]:
    found = [KIND_OF_REL[token] for token in rel.lower().split() if token in KIND_OF_REL]
    # Of `dns-prefetch stylesheet`, browsers load the style sheet.
    return tuple(filter(None, found)) or (None if found else LinkKind.ALTERNATE,)
