"""What elements and attributes mean, whichever parser found them.

The HTML standard says which attributes hold URLs. Contents of `template` and comments are no part of the document;
`noscript` is, because a crawler runs no scripts. A template that is a shadow root is shown, and so is what `srcdoc` and
`noframes` hold; these are documents of their own, which the adapter can't read (`Reading.inner`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from crawler.page import Link, LinkKind
from crawler.read.css import css_urls
from crawler.read.elements.attributes import (
    WHITE_SPACE,
    collapsed,
    refresh_url,
    robots_words,
    srcset_urls,
)
from crawler.read.elements.speculative import script_urls
from crawler.read.options import Options

Node = TypeVar("Node")
Attributes = Mapping[str, str | None]

MAX_ANCHOR_CHARACTERS: Final = 200
MAX_TEXT_CHARACTERS: Final = 1000
"""Of a title, a description, an author."""
MAX_LINKS: Final = 100_000
"""Per document; what follows is ignored."""

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
    "td": (("background", LinkKind.EMBED),),
    "th": (("background", LinkKind.EMBED),),
}
"""Elements whose attributes are URLs and nothing more; for others `Reading` has a method."""

KIND_OF_REL: Final[dict[str, LinkKind | None]] = {
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

MAX_INNER: Final = 1000
"""Documents within a document."""
PREVIEWS: Final = frozenset({"og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src"})
"""Names of <meta> whose content is an image that others show beside a link to the page."""
DATA_LINKS: Final = ("data-href", "data-url")
"""Attributes by which scripts know where an element leads."""
_FEED_TYPES: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})
_SVG_PARENTS: Final = frozenset(
    {"svg", "g", "path", "symbol", "use", "defs", "rect", "circle", "text", "tspan", "image", "switch", "marker"}
)


def _kinds_of_rel(rel: str) -> tuple[LinkKind | None, ...]:
    return tuple(KIND_OF_REL[token] for token in rel.lower().split() if token in KIND_OF_REL) or (LinkKind.ALTERNATE,)


class Reading(Generic[Node]):
    """Collects links and metadata from the elements of one document, given in document order."""

    def __init__(
        self,
        *,
        text_of: Callable[[Node], str],
        parent_tag_of: Callable[[Node], str | None],
        size: int,
        robots_names: frozenset[str],
        wishes: Options,
        has_svg: bool = True,
    ) -> None:
        """`size` is the length of the document, `robots_names` are the <meta> names that speak to this crawler; without
        SVG no element can be in it."""
        self.links: list[Link] = []
        self.inner: list[tuple[int, str]] = []
        """Documents within this one, and how many links stand before each."""
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
        # Elements may be nested, as anchors through <object>; without an end the innermost text would be read again for
        # each of them. And an anchor that is left open is opened again in each block that follows, with all its href.
        self._text_budget = 4 * size + 1000
        self._href_budget = 4 * size + 1000
        self._robots_names = robots_names
        self._scripts = wishes.scripts
        self._forms = wishes.forms
        self._previews = wishes.preview_images
        self._has_svg = has_svg

    @property
    def description(self) -> str | None:
        return self.meta.get("description") or self.meta.get("og:description") or self.meta.get("twitter:description")

    def add(self, href: str | None, kind: LinkKind, *, text: str = "", rel: str | None = None) -> None:
        href = href.strip(WHITE_SPACE) if href else ""
        if href:
            self._append(href, kind, text, rel)

    def nest(self, html: str | None) -> None:
        """Note a document within this one."""
        if html and "<" in html and len(self.inner) < MAX_INNER:
            self.inner.append((len(self.links), html))

    def in_svg(self, node: Node) -> bool:
        """Whether an element is one of SVG, whatever its name means in HTML."""
        return self._has_svg and self._parent_tag_of(node) in _SVG_PARENTS

    def _append(self, href: str, kind: LinkKind, text: str, rel: str | None) -> None:
        self._href_budget -= len(href)
        if self._href_budget >= 0 and len(self.links) < MAX_LINKS:
            self.links.append(Link(href, kind, text, " ".join(rel.lower().split()) if rel else ""))

    def anchor(self, attributes: Attributes, node: Node) -> None:
        # Most elements that are read are these, so it spares calls.
        href = attributes.get("href")
        if href is None:
            # An empty href is a link too, to the base URL; some parsers give None for an empty value.
            if "href" in attributes:
                href = ""
            elif (href := attributes.get("xlink:href")) is None or self._parent_tag_of(node) not in _SVG_PARENTS:
                return
        text = ""
        if self._text_budget > 0:
            text = self._text_of(node)
            self._text_budget -= len(text) + 1
            text = " ".join(text[: 20 * MAX_ANCHOR_CHARACTERS].split())[:MAX_ANCHOR_CHARACTERS]
        href = href.strip(WHITE_SPACE)
        self._href_budget -= len(href)
        if self._href_budget >= 0 and len(self.links) < MAX_LINKS:
            rel = attributes.get("rel")
            self.links.append(Link(href, LinkKind.LINK, text, " ".join(rel.lower().split()) if rel else ""))

    def _text(self, node: Node) -> str:
        """The text in an element; nothing once the budget is spent."""
        if self._text_budget <= 0:
            return ""
        text = self._text_of(node)
        self._text_budget -= len(text) + 1
        return text

    def area(self, attributes: Attributes, node: Node) -> None:
        href = attributes.get("href")
        if href is not None or "href" in attributes:
            text = (attributes.get("alt") or "")[:MAX_ANCHOR_CHARACTERS]
            self._append((href or "").strip(WHITE_SPACE), LinkKind.LINK, text, attributes.get("rel"))

    def image(self, attributes: Attributes, node: Node) -> None:
        if srcset := attributes.get("srcset"):
            for url in srcset_urls(srcset):
                self.add(url, LinkKind.EMBED)
        self.add(attributes.get("src"), LinkKind.EMBED)
        # Scripts that load images when they come into view keep their URLs so.
        for name in ("data-src", "data-original", "data-lazy-src"):
            self.add(attributes.get(name), LinkKind.EMBED)
        for name in ("data-srcset", "data-lazy-srcset"):
            if srcset := attributes.get(name):
                for url in srcset_urls(srcset):
                    self.add(url, LinkKind.EMBED)

    def iframe(self, attributes: Attributes, node: Node) -> None:
        for name in ("src", "data-src", "data-lazy-src"):
            self.add(attributes.get(name), LinkKind.FRAME)
        self.nest(attributes.get("srcdoc"))

    def noframes(self, attributes: Attributes, node: Node) -> None:
        self.nest(self._text(node))

    def svg_reference(self, attributes: Attributes, node: Node) -> None:
        href = attributes.get("href" if "href" in attributes else "xlink:href")
        # Most refer to what stands in the same document, whatever its base.
        if href and not href.lstrip(WHITE_SPACE).startswith("#"):
            self.add(href, LinkKind.EMBED)

    def svg_image(self, attributes: Attributes, node: Node) -> None:
        # Outside of SVG, <image> is another name of <img>, which not all parsers know.
        if self.in_svg(node):
            self.svg_reference(attributes, node)
        else:
            self.image(attributes, node)

    def title_element(self, attributes: Attributes, node: Node) -> None:
        if self.title is None and not self.in_svg(node):
            self.title = collapsed(self._text(node), MAX_TEXT_CHARACTERS)

    def style(self, attributes: Attributes, node: Node) -> None:
        text = self._text(node)
        if "(" in text or "@" in text:
            for url in css_urls(text):
                self.add(url, LinkKind.CSS)

    def inline_style(self, style: str | None) -> None:
        """A style attribute, which any element may have; the adapter looks for those that hold a URL."""
        for url in css_urls(style or ""):
            self.add(url, LinkKind.CSS)

    def background(self, value: str | None) -> None:
        """A `data-bg` attribute, which any element may have: a URL, a style, or a colour."""
        value = (value or "").strip(WHITE_SPACE)
        if "(" in value:
            self.inline_style(value)
        elif not value.startswith("#"):
            self.add(value, LinkKind.EMBED)

    def script(self, attributes: Attributes, node: Node) -> None:
        if self.in_svg(node):
            self.svg_reference(attributes, node)
            return
        src = attributes.get("src")
        self.add(src, LinkKind.EMBED)
        if self._scripts and not src:
            media_type = (attributes.get("type") or "").strip(WHITE_SPACE).lower()
            for url in script_urls(self._text(node), media_type):
                self.add(url, LinkKind.SPECULATIVE)

    def base(self, attributes: Attributes, node: Node) -> None:
        # An empty href, which some parsers give as None, is the page's own URL; what follows has no say then either.
        if self.base_href is None and "href" in attributes:
            self.base_href = (attributes["href"] or "").strip(WHITE_SPACE)

    def html(self, attributes: Attributes, node: Node) -> None:
        # A second <html> adds what the first has not.
        self.language = self.language or attributes.get("lang") or attributes.get("xml:lang") or None

    def form(self, attributes: Attributes, node: Node) -> None:
        self.add(attributes.get("action"), LinkKind.FORM)

    def input(self, attributes: Attributes, node: Node) -> None:
        if (attributes.get("type") or "").lower() == "image":
            self.add(attributes.get("src"), LinkKind.EMBED)
        if self._forms:
            self.add(attributes.get("formaction"), LinkKind.FORM)

    def link(self, attributes: Attributes, node: Node) -> None:
        href = attributes.get("href")
        imagesrcset = attributes.get("imagesrcset")
        if not href and not imagesrcset:
            return
        rel = attributes.get("rel") or ""
        kinds = _kinds_of_rel(rel)
        if imagesrcset and "preload" in rel.lower().split():
            for url in srcset_urls(imagesrcset):
                self.add(url, LinkKind.EMBED, rel=rel)
        kind = kinds[0]
        if not href or kind is None:
            return
        if kind is LinkKind.ALTERNATE and (attributes.get("type") or "").strip(WHITE_SPACE).lower() in _FEED_TYPES:
            kind = LinkKind.FEED
        if LinkKind.CANONICAL in kinds and self.canonical_href is None:
            self.canonical_href = href.strip(WHITE_SPACE)
        title = attributes.get("title")
        self.add(href, kind, text=(collapsed(title, MAX_ANCHOR_CHARACTERS) or "") if title else "", rel=rel)

    def meta_element(self, attributes: Attributes, node: Node) -> None:
        content = attributes.get("content")
        if content is None:
            return
        equivalent = attributes.get("http-equiv")
        if equivalent is not None:
            equivalent = equivalent.strip(WHITE_SPACE).lower()
            if equivalent == "refresh" and (url := refresh_url(content)):
                self.add(url, LinkKind.REFRESH)
            elif equivalent == "content-language":
                self.meta.setdefault("content-language", content.strip(WHITE_SPACE)[:MAX_TEXT_CHARACTERS])
        name = attributes.get("name") or attributes.get("property")
        if not name:
            return
        name = name.strip(WHITE_SPACE).lower()
        if self._previews and name in PREVIEWS:
            self.add(content, LinkKind.EMBED)
        if name in self._robots_names:
            self.robots.update(robots_words(content))
        elif name in KEPT_META and name not in self.meta and (value := collapsed(content, MAX_TEXT_CHARACTERS)):
            self.meta[name] = value


KEPT_META: Final = frozenset(
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
"""Names of <meta> whose content is kept."""


Taker = Callable[[Reading[Any], Attributes, Any], None]
"""Reads an element, given its attributes (names in lower case, values unescaped) and its node."""


def _taker_of(names: tuple[tuple[str, LinkKind], ...]) -> Taker:
    def take(reading: Reading[Any], attributes: Attributes, _: Any) -> None:
        for name, kind in names:
            reading.add(attributes.get(name), kind)

    return take


def _outside_svg(take: Taker) -> Taker:
    def taken(reading: Reading[Any], attributes: Attributes, node: Any) -> None:
        if not reading.in_svg(node):
            take(reading, attributes, node)

    return taken


_OF_HTML: Final[dict[str, Taker]] = {
    **{tag: _taker_of(names) for tag, names in URL_ATTRIBUTES.items()},
    "area": Reading.area,
    "base": Reading.base,
    "form": Reading.form,
    "iframe": Reading.iframe,
    "input": Reading.input,
    "link": Reading.link,
    "noframes": Reading.noframes,
    "source": Reading.image,
}
"""Elements that mean nothing within SVG."""

_TAKERS: Final[dict[str, Taker]] = {
    **{tag: _outside_svg(take) for tag, take in _OF_HTML.items()},
    "a": Reading.anchor,
    "amp-img": Reading.image,
    "feimage": Reading.svg_reference,
    "html": Reading.html,
    "image": Reading.svg_image,
    "img": Reading.image,
    "meta": Reading.meta_element,
    "script": Reading.script,
    "style": Reading.style,
    "title": Reading.title_element,
    "use": Reading.svg_reference,
}

ELEMENTS: Final = frozenset(_TAKERS)
"""All elements that may be read."""


def takers(wishes: Options, /) -> dict[str, Taker]:
    """What reads the elements that a parser adapter must hand over, by tag."""
    left = (set() if wishes.forms else {"form", "button"}) | (set() if wishes.amp_images else {"amp-img"})
    return {tag: take for tag, take in _TAKERS.items() if tag not in left}


def is_shadow_root(attributes: Attributes, /) -> bool:
    """Whether the contents of a template with these attributes are shown."""
    return (attributes.get("shadowrootmode") or "").lower() in ("open", "closed")
