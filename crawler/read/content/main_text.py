"""The main part of a page, as plain text and as Markdown."""

from typing import Final

import turbohtml
from turbohtml import Markdown, PlainText

from crawler.url.urls import join

_MAIN_ELEMENTS: Final = ("article", "main", "body")
_MOST_ELEMENTS: Final = 100
"""That are compared: they may be within each other, so that each has nearly all of the text."""
_AROUND: Final = 'main, [role="main" i], body'
"""What a page itself calls its main part, or else all of it."""
_PARAGRAPHS: Final = ":is(p, pre):not(p *, pre *)"
_MAX_LINK_CHARACTERS: Final = 4_000_000
"""Of all absolute links together: twice as many as the largest page that is read. A long base would multiply the
page."""
_OTHER_SCHEMES: Final = ("mailto:", "tel:")
_PLAIN: Final = PlainText()
_MARKDOWN: Final = Markdown()


def main_element(tree: turbohtml.Document) -> turbohtml.Element | None:
    """The element with the main part of a page. turbohtml finds it by the density of text and links. That may be the
    entry of one function in a long manual, or a note about cookies. So it is the <main> around that, if this has more
    than twice as much in paragraphs. Where none is around it, it is <body>, if this has more than twenty times as much,
    because it has other texts, too. Where turbohtml finds nothing, as in a page of links, it is the longest <article>,
    or <main>, or all of <body>."""
    found = tree.main_content()
    if found is not None:
        around = found.closest(_AROUND)
        is_part = around is not None and _is_part(found, around, times=20 if around.tag == "body" else 2)
        return around if is_part else found
    for name in _MAIN_ELEMENTS:
        if elements := tree.select(name)[:_MOST_ELEMENTS]:
            return max(elements, key=lambda each: len(each.text))
    return None


def _is_part(part: turbohtml.Element, whole: turbohtml.Element, *, times: int) -> bool:
    """Whether the whole has more than so many times as much in paragraphs. All text would say less: what surrounds an
    article are lists of links."""
    return len(whole.text) > times * len(part.text) and _in_paragraphs(whole) > times * _in_paragraphs(part)


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
