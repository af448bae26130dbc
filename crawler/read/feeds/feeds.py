"""Finds links in sitemaps, RSS and Atom.

We read XML as a stream, since a sitemap may have fifty megabytes, and as far as possible, since feeds are often broken.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from crawler.page import Link, LinkKind
from crawler.read.feeds.entries import Entries
from crawler.read.feeds.json_feed import ReadHtml
from crawler.read.feeds.plain_entries import MAX_TORN_BYTES, PLAIN_END, PLAIN_ROOT, plain_entries
from crawler.read.feeds.sitemaps import MAX_LINKS, Listing
from crawler.read.feeds.xml_fixups import RepairedXml
from crawler.url.seeds import scheme_adder


def xml_links(pieces: Iterable[bytes], /, *, url: str = "", read_html: ReadHtml | None = None) -> Listing:
    """Links of a sitemap, a sitemap index or a feed, in document order; none for any other XML.

    The document is in UTF-8, in any number of pieces; only as many are requested as needed. `url` is its URL. Links
    with another base (`xml:base`) are absolute. `read_html` reads the HTML of a feed's entries.
    """
    document, entries, trouble = RepairedXml(pieces), Entries(), None
    add_scheme = scheme_adder(url)
    rest = _after_plain_entries(document, entries, add_scheme)
    first = next(rest, None)
    if first is not None:
        # It loads lxml, which takes half as long as an empty Python.
        from crawler.read.feeds.xml_reader import XmlReader  # noqa: PLC0415 - see above

        reader = XmlReader(document, entries, url=url, add_scheme=add_scheme, read_html=read_html)
        trouble = reader.read(chain((first,), rest))
    trouble = trouble or document.trouble
    if trouble is None and entries.wrong_frequencies:
        values = "1 value" if entries.wrong_frequencies == 1 else f"{entries.wrong_frequencies} values"
        trouble = f"ignored {values} of <changefreq> without a meaning"
    return Listing(entries.links, trouble)


def _after_plain_entries(
    document: Iterable[bytes], entries: Entries, add_scheme: Callable[[str], str]
) -> Iterator[bytes]:
    """The document without the plain entries of a sitemap with which it begins, which this reads. Nothing is left of
    most sitemaps."""
    pieces = iter(document)
    text = next(pieces, b"")
    root = PLAIN_ROOT.match(text)
    if root is None:
        return chain((text,), pieces)
    text = _read_plain_entries(text[root.end() :], entries, add_scheme)
    # What is left may be the beginning of one.
    while len(text) <= MAX_TORN_BYTES and b"</url>" not in text and (piece := next(pieces, b"")):
        text = _read_plain_entries(text + piece, entries, add_scheme)
    further = next(filter(None, pieces), b"")
    if PLAIN_END.fullmatch(text) and not further:
        return iter(())
    return chain((root[0] + text, further), pieces)


def _read_plain_entries(text: bytes, entries: Entries, add_scheme: Callable[[str], str]) -> bytes:
    """Read the plain entries with which the text begins; returns the rest."""
    end = 0
    for entry in islice(plain_entries(text), MAX_LINKS - entries.count):
        entries.begin()
        entries.links.append(Link(add_scheme(entry.loc), LinkKind.LISTED))
        if entry.lastmod or entry.changefreq:
            entries.set_hints({"lastmod": entry.lastmod, "changefreq": entry.changefreq}, of_feed=False)
        entries.count += 1
        end = entry.end
    return text[end:]
