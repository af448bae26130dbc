"""The main part of a page, as plain text and as Markdown."""

from typing import Final

import turbohtml
from turbohtml import Markdown, PlainText

from crawler.url.urls import join

_MAIN_ELEMENTS: Final = ("article", "main", "body")
_MOST_ELEMENTS: Final = 100
"""That are compared: they may be within each other, so that each has nearly all of the text."""
_NAMED: Final = 'main, [role="main" i]'
"""What a page itself calls its main part."""
_PARAGRAPHS: Final = ":is(p, pre):not(p *, pre *)"
_MAX_LINK_CHARACTERS: Final = 4_000_000
"""Of all absolute links together: twice as many as the largest page that is read. A long base would multiply the
page."""
_OTHER_SCHEMES: Final = ("mailto:", "tel:")
_PLAIN: Final = PlainText()
_MARKDOWN: Final = Markdown()


def main_element(tree: turbohtml.Document) -> turbohtml.Element | None:
    """The element with the main part of a page. turbohtml finds it by the density of text and links. In a long manual
    that may be the entry of one function: if the <main> around it has more than twice as much in paragraphs, it is that
    one. Where turbohtml finds nothing, as in a page of links, it is the longest <article>, or <main>, or all of
    <body>."""
    found = tree.main_content()
    if found is not None:
        named = found.closest(_NAMED)
        return named if named is not None and _is_small_part(found, named) else found
    for name in _MAIN_ELEMENTS:
        if elements := tree.select(name)[:_MOST_ELEMENTS]:
            return max(elements, key=lambda each: len(each.text))
    return None


def _is_small_part(part: turbohtml.Element, whole: turbohtml.Element) -> bool:
    """Whether it has less than half of what stands in paragraphs. All text says less: what surrounds an article are
    lists of links."""
    return 2 * len(part.text) < len(whole.text) and 2 * _in_paragraphs(part) < _in_paragraphs(whole)


def _in_paragraphs(element: turbohtml.Element) -> int:
    return sum(len(each.text) for each in element.select(_PARAGRAPHS))


def plain_text(element: turbohtml.Element) -> str:
    text: str = element.to_text(_PLAIN)
    return text


def markdown(element: turbohtml.Element, base_url: str) -> str:
    """Changes the links of the element."""
    make_links_absolute(element, base_url)
    text: str = element.to_markdown(_MARKDOWN)
    return text


def make_links_absolute(element: turbohtml.Element, base_url: str) -> None:
    """Links that lead nowhere become plain text, and images that are in the page itself (`data:`) go away; so do those
    behind the limit."""
    left = _MAX_LINK_CHARACTERS
    for each in element.select("a[href],img[src]"):
        name = "href" if each.tag == "a" else "src"
        url = _absolute(base_url, str(each.attrs[name])) if left > 0 else None
        left -= len(url or "")
        if url is not None and left >= 0:
            each.attrs[name] = url
        elif name == "href":
            del each.attrs[name]
        else:
            each.decompose()


def _absolute(base_url: str, href: str) -> str | None:
    url = join(base_url, href)
    if url is not None:
        return url
    stripped = href.strip()
    return stripped if stripped.lower().startswith(_OTHER_SCHEMES) else None
