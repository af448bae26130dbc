"""Collects the links and metadata of one document from its elements.

The contents of templates and comments are not part of the document. The contents of `noscript` are, because a crawler
runs no scripts. A shadow root, `srcdoc` and `noframes` contain documents of their own; the reader collects their HTML
in `nested_documents`, for `pages` to parse.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from crawler.page import Link, LinkKind
from crawler.preferences.directives import robots_words
from crawler.read.css import css_urls
from crawler.read.elements.attributes import (
    WHITE_SPACE,
    collapse_space,
    refresh_url,
    srcset_urls,
)
from crawler.read.elements.link_tables import FEED_TYPES, KEPT_META, PREVIEW_IMAGES, kinds_of_rel
from crawler.read.elements.speculative import script_urls
from crawler.read.options import Options

Node = TypeVar("Node")

MAX_ANCHOR_CHARACTERS: Final = 200
MAX_TEXT_CHARACTERS: Final = 1000
"""Limit for a title, a description, an author."""
MAX_LINKS: Final = 100_000
"""Limit per document; further links are ignored."""
MAX_NESTED_DOCUMENTS: Final = 1000
_SVG_CONTAINERS: Final = frozenset(
    "a g path symbol use defs rect circle ellipse line polyline polygon text tspan textpath image switch marker"
    " pattern mask clippath filter lineargradient radialgradient".split()
)
"""Elements of SVG that may hold others, in lower case. Not all parsers tell the name space of an element."""


class Attributes(Protocol):
    """The attributes of an element, as in a dict: names in lower case, values without references."""

    def get(self, name: str, /) -> str | None: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __getitem__(self, name: str, /) -> str | None: ...


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What a parser adapter reads."""

    html: bytes
    """In UTF-8, broken or not. A parser gets only documents that can't harm it."""
    robots_names: frozenset[str]
    """The <meta> names that address this crawler."""
    options: Options


class ElementReader(Generic[Node]):
    """Collects links and metadata from the elements of one document. The caller passes them in document order."""

    def __init__(
        self,
        document: Document,
        /,
        *,
        text_of: Callable[[Node], str],
        tags_around: Callable[[Node], Iterable[str]],
        has_svg: bool = True,
    ) -> None:
        """`tags_around`: the names of the elements around one, from its parent on. `has_svg`: False if the document
        contains no SVG."""
        self.links: list[Link] = []
        self.scanned: Sequence[Link] | None = None
        """All links, if the adapter has read them itself."""
        self.nested_documents: list[tuple[int, str, bool]] = []
        """HTML documents within this one, each with the number of links before it, and whether it is a page of its own,
        which is in UTF-8 whatever the encoding of this one."""
        self.base_href: str | None = None
        self.title: str | None = None
        self.language: str | None = None
        self.canonical_href: str | None = None
        self.abstract: str | None = None
        """The first sentences. The adapter sets it if the document has no description."""
        self.robots: set[str] = set()
        self.meta: dict[str, str] = {}
        self._text_of = text_of
        self._tags_around = tags_around
        # Elements may be nested, such as anchors through <object>. Without a budget we would read the innermost text
        # once for each of them. And parsers repeat an unclosed anchor, with its whole href, in each block that follows.
        self._text_budget = self._href_budget = 4 * len(document.html) + 1000
        # Where containers of SVG are nested, each is looked through for the <svg> around each element.
        self._container_budget = 2 * len(document.html) + 20_000
        self._robots_names = document.robots_names
        self._options = document.options
        self._has_svg = has_svg

    @property
    def all_links(self) -> Sequence[Link]:
        return self.links if self.scanned is None else self.scanned

    @property
    def description(self) -> str | None:
        return self.meta.get("description") or self.meta.get("og:description") or self.meta.get("twitter:description")

    def add(self, href: str | None, kind: LinkKind, *, text: str = "", rel: str | None = None) -> None:
        href = href.strip(WHITE_SPACE) if href else ""
        if href:
            self._append(href, kind, text, rel)

    def add_nested(self, html: str | None, *, is_page: bool = False) -> None:
        """Collect a document within this one."""
        if html and "<" in html and len(self.nested_documents) < MAX_NESTED_DOCUMENTS:
            self.nested_documents.append((len(self.links), html, is_page))

    def in_svg(self, node: Node) -> bool:
        """Whether the element belongs to SVG, whatever its name means in HTML."""
        return self._has_svg and self._is_within_svg(node)

    def _is_within_svg(self, node: Node, *, through_all: bool = False) -> bool:
        """`through_all`: other elements than containers of SVG may lie between."""
        for tag in islice(self._tags_around(node), self._container_budget):
            self._container_budget -= 1
            name = tag.lower()
            if name == "svg" or not (through_all or name in _SVG_CONTAINERS):
                return name == "svg"
        return not through_all or self._container_budget == 0

    def _append(self, href: str, kind: LinkKind, text: str, rel: str | None) -> None:
        self._href_budget -= len(href)
        if self._href_budget >= 0 and len(self.links) < MAX_LINKS:
            self.links.append(Link(href, kind, text, " ".join(rel.lower().split()) if rel else ""))

    def anchor(self, attributes: Attributes, node: Node) -> None:
        # Most elements are anchors, so this method inlines `_append` and `_text`.
        href = attributes.get("href")
        if href is None:
            # An empty href is a link to the base URL; some parsers return None for it.
            if "href" in attributes:
                href = ""
            elif (href := attributes.get("xlink:href")) is None or not self._is_within_svg(node):
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
        """The text of an element; empty once the budget is spent."""
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
        # Scripts for lazy loading keep the URLs of images in these attributes.
        for name in ("data-src", "data-original", "data-lazy-src"):
            self.add(attributes.get(name), LinkKind.EMBED)
        for name in ("data-srcset", "data-lazy-srcset"):
            if srcset := attributes.get(name):
                for url in srcset_urls(srcset):
                    self.add(url, LinkKind.EMBED)

    def iframe(self, attributes: Attributes, node: Node) -> None:
        for name in ("src", "data-src", "data-lazy-src"):
            self.add(attributes.get(name), LinkKind.FRAME)
        self.add_nested(attributes.get("srcdoc"), is_page=True)

    def noframes(self, attributes: Attributes, node: Node) -> None:
        self.add_nested(self._text(node))

    def svg_reference(self, attributes: Attributes, node: Node) -> None:
        href = attributes.get("href" if "href" in attributes else "xlink:href")
        # Most point into the same document, whatever its base.
        if href and not href.lstrip(WHITE_SPACE).startswith("#"):
            self.add(href, LinkKind.EMBED)

    def svg_reference_within(self, attributes: Attributes, node: Node) -> None:
        # Outside of SVG it has no meaning.
        if self._has_svg and self._is_within_svg(node, through_all=True):
            self.svg_reference(attributes, node)

    def svg_image(self, attributes: Attributes, node: Node) -> None:
        # Outside of SVG, <image> means <img>, but not all parsers know that.
        if self.in_svg(node):
            self.svg_reference(attributes, node)
        else:
            self.image(attributes, node)

    def title_element(self, attributes: Attributes, node: Node) -> None:
        if self.title is None and not self.in_svg(node):
            self.title = collapse_space(self._text(node), MAX_TEXT_CHARACTERS)

    def style(self, attributes: Attributes, node: Node) -> None:
        text = self._text(node)
        if "(" in text or "@" in text:
            for url in css_urls(text):
                self.add(url, LinkKind.CSS)

    def inline_style(self, style: str | None) -> None:
        """Read a style attribute. Any element may have one; the adapter finds those that contain a URL."""
        for url in css_urls(style or ""):
            self.add(url, LinkKind.CSS)

    def background(self, value: str | None) -> None:
        """Read a `data-bg` attribute, which any element may have: a URL, a style, or a colour."""
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
        if self._options.scripts and not src:
            media_type = (attributes.get("type") or "").strip(WHITE_SPACE).lower()
            for url in script_urls(self._text(node), media_type):
                self.add(url, LinkKind.SPECULATIVE)

    def base(self, attributes: Attributes, node: Node) -> None:
        # Only the first <base> with an href counts. An empty one, None for some parsers, is the page's own URL.
        if self.base_href is None and "href" in attributes:
            self.base_href = (attributes["href"] or "").strip(WHITE_SPACE)

    def html(self, attributes: Attributes, node: Node) -> None:
        # A second <html> adds the attributes that the first lacks.
        self.language = self.language or attributes.get("lang") or attributes.get("xml:lang") or None

    def form(self, attributes: Attributes, node: Node) -> None:
        self.add(attributes.get("action"), LinkKind.FORM)

    def input(self, attributes: Attributes, node: Node) -> None:
        if (attributes.get("type") or "").lower() == "image":
            self.add(attributes.get("src"), LinkKind.EMBED)
        if self._options.forms:
            self.add(attributes.get("formaction"), LinkKind.FORM)

    def link(self, attributes: Attributes, node: Node) -> None:
        href = attributes.get("href")
        imagesrcset = attributes.get("imagesrcset")
        if not href and not imagesrcset:
            return
        rel = attributes.get("rel") or ""
        kinds = kinds_of_rel(rel)
        if imagesrcset and "preload" in rel.lower().split():
            for url in srcset_urls(imagesrcset):
                self.add(url, LinkKind.EMBED, rel=rel)
        kind = kinds[0]
        if not href or kind is None:
            return
        if kind is LinkKind.ALTERNATE and (attributes.get("type") or "").strip(WHITE_SPACE).lower() in FEED_TYPES:
            kind = LinkKind.FEED
        if LinkKind.CANONICAL in kinds and self.canonical_href is None:
            self.canonical_href = href.strip(WHITE_SPACE)
        title = attributes.get("title")
        self.add(href, kind, text=(collapse_space(title, MAX_ANCHOR_CHARACTERS) or "") if title else "", rel=rel)

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
        name = (attributes.get("name") or attributes.get("property") or "").strip(WHITE_SPACE).lower()
        if name in self._robots_names:
            self.robots.update(robots_words(content))
        elif name in KEPT_META and name not in self.meta and (value := collapse_space(content, MAX_TEXT_CHARACTERS)):
            self.meta[name] = value
        elif self._options.preview_images and name in PREVIEW_IMAGES:
            self.add(content, LinkKind.EMBED)
