"""What elements and attributes mean, whichever parser found them.

The HTML standard says which attributes hold URLs. Contents of `template` and comments are no part of the document;
`noscript` is, because a crawler runs no scripts.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Generic, TypeVar

from crawler.page import Link, LinkKind
from crawler.read.css import css_urls
from crawler.read.speculative import script_urls
from crawler.read.wishes import Wishes

Node = TypeVar("Node")
Attributes = Mapping[str, str | None]

MAX_ANCHOR_CHARACTERS: Final = 200
MAX_TEXT_CHARACTERS: Final = 1000
"""Of a title, a description, an author."""
MAX_LINKS: Final = 100_000
"""Per document; what follows is ignored."""

URL_ATTRIBUTES: Final[dict[str, tuple[tuple[str, LinkKind], ...]]] = {
    "img": (("src", LinkKind.EMBED),),
    "iframe": (("src", LinkKind.FRAME),),
    "frame": (("src", LinkKind.FRAME),),
    "source": (("src", LinkKind.EMBED),),
    "embed": (("src", LinkKind.EMBED),),
    "object": (("data", LinkKind.EMBED),),
    "video": (("src", LinkKind.EMBED), ("poster", LinkKind.EMBED)),
    "audio": (("src", LinkKind.EMBED),),
    "track": (("src", LinkKind.EMBED),),
    "body": (("background", LinkKind.EMBED),),
    "table": (("background", LinkKind.EMBED),),
    "td": (("background", LinkKind.EMBED),),
    "th": (("background", LinkKind.EMBED),),
    "image": (("href", LinkKind.EMBED), ("xlink:href", LinkKind.EMBED)),
}
"""Elements whose attributes are URLs and nothing more; the others have a method of `Reading` each."""

SPECIAL_ELEMENTS: Final = ("a", "area", "base", "form", "html", "input", "link", "meta", "script", "style", "title")

ELEMENTS: Final = frozenset(URL_ATTRIBUTES) | frozenset(SPECIAL_ELEMENTS)
"""All elements that a parser adapter must hand over."""

_KIND_OF_REL: Final[dict[str, LinkKind | None]] = {
    "stylesheet": LinkKind.EMBED,
    "icon": LinkKind.EMBED,
    "apple-touch-icon": LinkKind.EMBED,
    "apple-touch-icon-precomposed": LinkKind.EMBED,
    "mask-icon": LinkKind.EMBED,
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
"""What a rel token of <link> makes of it; None where the URL is no document. Other tokens make an alternate."""

_FEED_TYPES: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})
_SPACE = " \t\n\r\f\v\0"
_SVG_PARENTS: Final = frozenset({"svg", "g", "path", "symbol", "use", "defs", "rect", "circle", "text", "image"})


class Reading(Generic[Node]):
    """Collects links and metadata from the elements of one document, given in document order."""

    def __init__(
        self,
        *,
        text_of: Callable[[Node], str],
        parent_tag_of: Callable[[Node], str | None],
        size: int,
        robots_names: frozenset[str],
        wishes: Wishes,
    ) -> None:
        """`size` is the length of the document, `robots_names` are the <meta> names that speak to this crawler."""
        self.links: list[Link] = []
        self.base_href: str | None = None
        self.title: str | None = None
        self.language: str | None = None
        self.canonical_href: str | None = None
        self.abstract: str | None = None
        """The first sentences, set by the adapter of a document without description."""
        self.robots: set[str] = set()
        self.meta: dict[str, str] = {}
        self._text_of = text_of
        self._parent_tag_of = parent_tag_of
        # Anchors may be nested through <object> and the like; without an end the innermost text would be read again
        # for each of them.
        self._text_budget = 4 * size + 1000
        self._robots_names = robots_names
        self._forms = wishes.forms
        self._scripts = wishes.scripts

    def take(self, tag: str, attributes: Attributes, node: Node, /) -> None:
        """Read one element of `ELEMENTS`. Attribute names are lower-case, values unescaped."""
        match tag:
            case "a" | "area":
                href = attributes.get("href") or attributes.get("xlink:href")
                # An empty href is a link too, to the base URL; some parsers give None for an empty value.
                if href is not None or "href" in attributes:
                    self._add(
                        href or "", LinkKind.LINK, text=self._anchor(tag, attributes, node), rel=attributes.get("rel")
                    )
            case "link":
                self._link(attributes)
            case "meta":
                self._meta(attributes)
            case "img" | "source":
                if srcset := attributes.get("srcset"):
                    for url in srcset_urls(srcset):
                        self._add(url, LinkKind.EMBED)
                self._add(attributes.get("src"), LinkKind.EMBED)
            case "title":
                if self.title is None and self._parent_tag_of(node) not in _SVG_PARENTS:
                    self.title = collapsed(self._text_of(node), MAX_TEXT_CHARACTERS)
            case "style":
                text = self._text_of(node)
                if "(" in text or "@" in text:
                    for url in css_urls(text):
                        self._add(url, LinkKind.CSS)
            case "script":
                src = attributes.get("src")
                self._add(src, LinkKind.EMBED)
                if self._scripts and not src:
                    media_type = (attributes.get("type") or "").strip(_SPACE).lower()
                    for url in script_urls(self._text_of(node), media_type):
                        self._add(url, LinkKind.SPECULATIVE)
            case "base":
                if self.base_href is None and (href := attributes.get("href")):
                    self.base_href = href.strip(_SPACE)
            case "html":
                self.language = attributes.get("lang") or attributes.get("xml:lang") or None
            case "form":
                if self._forms:
                    self._add(attributes.get("action"), LinkKind.FORM)
            case "input":
                if (attributes.get("type") or "").lower() == "image":
                    self._add(attributes.get("src"), LinkKind.EMBED)
            case _:
                for name, kind in URL_ATTRIBUTES[tag]:
                    self._add(attributes.get(name), kind)

    @property
    def description(self) -> str | None:
        return self.meta.get("description") or self.meta.get("og:description") or self.meta.get("twitter:description")

    def _add(self, href: str | None, kind: LinkKind, *, text: str = "", rel: str | None = None) -> None:
        if href is None or len(self.links) >= MAX_LINKS:
            return
        href = href.strip(_SPACE)
        if href or kind is LinkKind.LINK:
            self.links.append(Link(href, kind, text, " ".join(rel.lower().split()) if rel else ""))

    def _anchor(self, tag: str, attributes: Attributes, node: Node) -> str:
        if tag == "area":
            return (attributes.get("alt") or "")[:MAX_ANCHOR_CHARACTERS]
        if self._text_budget <= 0:
            return ""
        text = self._text_of(node)
        self._text_budget -= len(text)
        return " ".join(text[: 20 * MAX_ANCHOR_CHARACTERS].split())[:MAX_ANCHOR_CHARACTERS]

    def _link(self, attributes: Attributes) -> None:
        href = attributes.get("href")
        if not href:
            return
        rel = attributes.get("rel") or ""
        tokens = rel.lower().split()
        known = [_KIND_OF_REL[token] for token in tokens if token in _KIND_OF_REL]
        kind = known[0] if known else LinkKind.ALTERNATE
        if kind is None:
            return
        if kind is LinkKind.ALTERNATE and (attributes.get("type") or "").strip(_SPACE).lower() in _FEED_TYPES:
            kind = LinkKind.FEED
        if LinkKind.CANONICAL in known and self.canonical_href is None:
            self.canonical_href = href.strip(_SPACE)
        self._add(href, kind, text=collapsed(attributes.get("title") or "", MAX_ANCHOR_CHARACTERS) or "", rel=rel)

    def _meta(self, attributes: Attributes) -> None:
        content = attributes.get("content")
        if content is None:
            return
        equivalent = attributes.get("http-equiv")
        if equivalent is not None:
            equivalent = equivalent.strip(_SPACE).lower()
            if equivalent == "refresh" and (url := refresh_url(content)):
                self._add(url, LinkKind.REFRESH)
            elif equivalent == "content-language":
                self.meta.setdefault("content-language", content.strip(_SPACE)[:MAX_TEXT_CHARACTERS])
        name = attributes.get("name") or attributes.get("property")
        if not name:
            return
        name = name.strip(_SPACE).lower()
        if name in self._robots_names:
            self.robots.update(robots_words(content))
        elif name in _KEPT_META and name not in self.meta and (value := collapsed(content, MAX_TEXT_CHARACTERS)):
            self.meta[name] = value


_KEPT_META: Final = frozenset(
    {
        "author",
        "article:author",
        "description",
        "dc.creator",
        "dc.description",
        "og:description",
        "og:title",
        "twitter:description",
    }
)


def collapsed(text: str, limit: int, /) -> str | None:
    """White space collapsed, cut at `limit` characters; None if nothing is left."""
    return " ".join(text[: 20 * limit].split())[:limit].rstrip() or None


def robots_words(content: str, /) -> set[str]:
    """The directives of a robots <meta> or X-Robots-Tag: `noindex`, `nofollow` and others; `none` means both."""
    words = set(re.split(r"[\s,;]+", content.lower())) - {""}
    if "none" in words:
        words |= {"noindex", "nofollow"}
    return words


_MAX_REFRESH_CHARACTERS: Final = 4000
_REFRESH = re.compile(r"\s*(?=[\d.])[\d.]*(?=[\s;,])\s*[;,]?\s*(?:url\s*=\s*)?(.*)", re.IGNORECASE | re.DOTALL)


def refresh_url(content: str, /) -> str | None:
    """The URL of a <meta http-equiv=refresh>, by the HTML standard's "shared declarative refresh steps"; None if it
    names none, and so reloads the page itself."""
    match = _REFRESH.match(content[:_MAX_REFRESH_CHARACTERS])
    if match is None:
        return None
    url = match[1]
    if url[:1] in ("'", '"'):
        url = url[1:].partition(url[0])[0]
    return url.strip(_SPACE) or None


_SRCSET_GAP = re.compile(r"[\t\n\f\r ,]*")
_SRCSET_URL = re.compile(r"[^\t\n\f\r ]+")
_SRCSET_DESCRIPTORS = re.compile(r"(?:[^,(]+|\([^)]*\)?)*")


def srcset_urls(srcset: str, /) -> Iterator[str]:
    """The URLs of a srcset, by the HTML standard: a comma ends a candidate only after white space or at a URL's end,
    so URLs may hold commas."""
    position = 0
    while True:
        position = _end(_SRCSET_GAP, srcset, position)
        end = _end(_SRCSET_URL, srcset, position)
        if end == position:
            return
        word = srcset[position:end]
        url = word.rstrip(",")
        yield url
        position = end if url != word else _end(_SRCSET_DESCRIPTORS, srcset, end)


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
