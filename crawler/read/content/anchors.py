"""The anchors of a page, and its links to anchors of its own that it lacks."""

import turbohtml

from crawler.page import Extract, Page
from crawler.page.anchors import Anchors


def anchor_names(tree: turbohtml.Document) -> set[str]:
    """Every id, and the names of links."""
    names: set[str] = set()
    for element in tree.select("[id],a[name]"):
        for attribute in ("id", "name") if element.tag == "a" else ("id",):
            if name := element.attrs.get(attribute):
                names.add(str(name))
    return names


def broken_fragments(page: Page, extract: Extract, anchors: str) -> list[str]:
    """The fragments of links within the page that lead nowhere, each once, in their order."""
    if extract.base_url.partition("#")[0] != page.url.partition("#")[0]:
        return []  # a <base> leads them to another page
    known = Anchors(anchors)
    fragments = dict.fromkeys(link.href.strip()[1:] for link in extract.links if link.href.lstrip().startswith("#"))
    return [each for each in fragments if not known.have(each)]
