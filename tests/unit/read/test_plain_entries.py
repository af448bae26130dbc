"""Plain entries of a sitemap are read as a parser reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.read.feeds import feeds, xml_reader
from crawler.read.feeds.feeds import xml_links
from crawler.read.feeds.plain_entries import MAX_TORN_BYTES, plain_entries
from crawler.read.feeds.sitemaps import Listing

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
URL = "http://a.test/sitemap.xml"
PLAIN = (
    "<url><loc>http://a.test/1</loc></url>",
    "<url>\n  <loc> http://a.test/?a=2&amp;b=%20 </loc>\n  <lastmod>2026-11-30</lastmod>\n</url>\n",
    "<url><loc>a.test/3</loc><changefreq>Daily</changefreq><priority>0.5</priority></url>",
    "<url><loc>/4 b</loc><lastmod>2026-11-30 10:00</lastmod><changefreq>often</changefreq></url>",
)
OTHERS = (
    *(
        "<url>",
        "</url>",
        "<loc>",
        "</loc>",
        "http://a.test/a",
        "<lastmod>2026</lastmod>",
        " ",
        "\n",
        "\xe9",
        "&",
        "&lt;",
    ),
    *("<!-- <url><loc>http://a.test/b</loc></url> -->", "<![CDATA[<url><loc>http://a.test/c</loc></url>]]>", "<?a?>"),
    *("<URL><LOC>http://a.test/d</LOC></URL>", "<url xml:base='http://b.test/'><loc>e</loc></url>", "\x0b", "]]>", "<"),
    *("<sitemap><loc>http://a.test/f</loc></sitemap>", "<url>http://a.test/g</url>", "</urlset>", "<urlset>", "</a>"),
    "<url><loc>http://a.test/h</loc><image:image><image:loc>http://a.test/i</image:loc></image:image></url>",
)
texts = st.lists(st.sampled_from(PLAIN) | st.sampled_from((*PLAIN, *OTHERS)), max_size=12).map("".join)


def by_parser(text: str) -> Listing:
    """A value between other quotes leaves the whole sitemap to the parser."""
    return xml_links([f"<urlset xmlns='{NAMESPACE}'>{text}".encode()], url=URL)


@given(texts, st.sampled_from(("", "</urlset>", "</urlset>\n")), st.lists(st.integers(0, 500), max_size=3).map(sorted))
def test_entries_are_read_as_a_parser_reads_them(text: str, end: str, cuts: list[int]) -> None:
    sitemap = f'<urlset xmlns="{NAMESPACE}">{text}{end}'.encode()
    pieces = [sitemap[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(sitemap)], strict=True)]
    assert xml_links(pieces, url=URL) == by_parser(text + end)


def test_plain_entries_take_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = by_parser("".join(PLAIN) * 3 + "</urlset>")
    monkeypatch.setattr(xml_reader, "_new_parser", None)
    sitemap = f'<urlset xmlns="{NAMESPACE}">{"".join(PLAIN) * 3}</urlset>'.encode()
    for size in (50, 1000):
        pieces = [sitemap[at : at + size] for at in range(0, len(sitemap), size)]
        assert xml_links(pieces, url=URL) == expected


def test_no_more_plain_entries_are_read_than_a_sitemap_may_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (feeds, xml_reader):
        monkeypatch.setattr(module, "MAX_LINKS", 5)
    listing = xml_links([f'<urlset xmlns="{NAMESPACE}">{"".join(PLAIN) * 2}</urlset>'.encode()], url=URL)
    assert len(listing.links) == 5
    assert listing.trouble == "lists more than 5 URLs; the rest is not read"


@pytest.mark.parametrize("filling", [" ", "\n", "a", "a ", "&amp;", "<url>", "<url><loc>", "<url><loc>a</loc>"])
def test_what_goes_on_for_long_is_left_to_the_parser(filling: str) -> None:
    text = f"{PLAIN[0]}<url><loc>http://a.test/{filling * MAX_TORN_BYTES}"
    assert [entry.loc for entry in plain_entries(text.encode())] == ["http://a.test/1"]
    sitemap = f'<urlset xmlns="{NAMESPACE}">{text}'.encode()
    pieces = [sitemap[at : at + 1000] for at in range(0, len(sitemap), 1000)]
    assert xml_links(pieces, url=URL) == by_parser(text)


def test_the_texts_of_an_entry_are_those_that_stand_there() -> None:
    [entry] = plain_entries(PLAIN[1].encode())
    assert (entry.loc, entry.lastmod, entry.changefreq) == ("http://a.test/?a=2&b=%20", "2026-11-30", "")
