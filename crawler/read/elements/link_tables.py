"""Tables of HTML: which attributes and names are links, and of which kind."""

from typing import Final

from crawler.page import LinkKind

URL_ATTRIBUTES: Final[dict[str, tuple[tuple[str, LinkKind], ...]]] = {
    "frame": (("src", LinkKind.FRAME),),
    "button": (("formaction", LinkKind.FORM),),
    "embed": (("src", LinkKind.EMBED),),
    "object": (("data", LinkKind.EMBED),),
    "video": (("src", LinkKind.EMBED), ("data-src", LinkKind.EMBED), ("poster", LinkKind.EMBED)),
    "audio": (("src", LinkKind.EMBED), ("data-src", LinkKind.EMBED)),
    "track": (("src", LinkKind.EMBED),),
    "body": (("background", LinkKind.EMBED),),
    "table": (("background", LinkKind.EMBED),),
    "tbody": (("background", LinkKind.EMBED),),
    "td": (("background", LinkKind.EMBED),),
    "tfoot": (("background", LinkKind.EMBED),),
    "th": (("background", LinkKind.EMBED),),
    "thead": (("background", LinkKind.EMBED),),
    "tr": (("background", LinkKind.EMBED),),
}
"""Elements from which we read URL attributes only. `ElementReader` has a method for each other element."""

KIND_OF_REL: Final[dict[str, LinkKind | None]] = {
    "stylesheet": LinkKind.EMBED,
    "icon": LinkKind.EMBED,
    "apple-touch-icon": LinkKind.EMBED,
    "apple-touch-icon-precomposed": LinkKind.EMBED,
    "apple-touch-startup-image": LinkKind.EMBED,
    "mask-icon": LinkKind.EMBED,
    "fluid-icon": LinkKind.EMBED,
    "android-touch-icon": LinkKind.EMBED,
    "manifest": LinkKind.EMBED,
    "preload": LinkKind.EMBED,
    "modulepreload": LinkKind.EMBED,
    "prefetch": LinkKind.EMBED,
    "image_src": LinkKind.EMBED,
    "canonical": LinkKind.CANONICAL,
    "sitemap": LinkKind.SITEMAP,
    "next": LinkKind.NEXT,
    "prev": LinkKind.NEXT,
    "previous": LinkKind.NEXT,
    "first": LinkKind.NEXT,
    "last": LinkKind.NEXT,
    "up": LinkKind.NEXT,
    "start": LinkKind.NEXT,
    "contents": LinkKind.NEXT,
    "index": LinkKind.NEXT,
    "chapter": LinkKind.NEXT,
    "section": LinkKind.NEXT,
    "appendix": LinkKind.NEXT,
    "glossary": LinkKind.NEXT,
    "dns-prefetch": None,
    "preconnect": None,
    "pingback": None,
    "webmention": None,
    "edituri": None,
    "wlwmanifest": None,
    "profile": None,
    "https://api.w.org/": None,
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
