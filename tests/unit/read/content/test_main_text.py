"""The main text of pages."""

from itertools import islice
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.page import Content, Page, Wanted
from crawler.read.content.document import MAX_HTML_BYTES
from crawler.read.content.reading import read_content
from crawler.read.elements.hostile import is_hostile
from crawler.read.html.lexbor import lexbor_extractor
from tests.unit.read.suites import real_pages

BOTH = Wanted(text=True, markdown=True)
URL = "http://h.test/a/b?c"
SENTENCES = "It was a bright cold day in April, and the clocks were striking thirteen. " * 3
ARTICLE = f"""<!doctype html><title>News</title><nav><ul><li><a href=/>Home</a><li><a href=/all>All of it</a></ul></nav>
<article><h1>The clocks</h1><p>{SENTENCES}<p>{SENTENCES}{{}}</article><footer>Imprint, and so on</footer>
"""


def read(html: str | bytes, wanted: Wanted = BOTH, *, content_type: str = "text/html; charset=utf-8") -> Content:
    body = html.encode() if isinstance(html, str) else html
    headers = [(b"Content-Type", content_type.encode())]
    page = Page(url=URL, status=200, headers=headers, fetched_at=0, duration_s=0, body=body, raw_body=body)
    return read_content(page, lexbor_extractor().extract(page), wanted)


def test_the_main_text_is_read_without_navigation_and_footer() -> None:
    found = read(ARTICLE.format(""))
    assert found.text is not None
    assert found.text.count("It was a bright cold day in April") == 6
    assert "The clocks" in found.text
    assert "Home" not in found.text
    assert "Imprint" not in found.text
    assert found.troubles == ()


@pytest.mark.parametrize("tag", ["main", "div role=main"])
def test_a_manual_is_read_whole_and_not_one_entry_of_it(tag: str) -> None:
    entries = [f"<dl><dt>f{number}()<dd><p>Entry {number}. {SENTENCES[: 80 + number]}</dl>" for number in range(20)]
    longest = f"<dl><dt>walk()<dd><p>Walks. {SENTENCES}<p>{SENTENCES}<pre>for each in walk(): pass</pre></dl>"
    found = read(f"<nav><a href=/>Home</a></nav><{tag}>{''.join(entries)}{longest}</{tag.partition(' ')[0]}><p>Imprint")
    assert found.text is not None
    assert [number for number in range(20) if f"Entry {number}." not in found.text] == []
    assert "Walks." in found.text
    assert "Imprint" not in found.text


def test_a_note_beside_the_text_is_not_taken_for_it() -> None:
    """Where no <main> says what is the main part, only a very small one is not believed."""
    note = f"<div><p>{SENTENCES}<p>{SENTENCES}</div>"
    chapters = "".join(f"<div><div><h2>Chapter {number}</h2><p>{SENTENCES[:200]}</div></div>" for number in range(70))
    found = read(f"<body>{note}{chapters}")
    assert found.text is not None
    assert [number for number in range(70) if f"Chapter {number}\n" not in found.text] == []
    beside = read(f"<body><h1>Title</h1>{note}<div><div>{chapters[:3000]}</div></div>")
    assert beside.text is not None
    assert "Chapter 2" not in beside.text


def test_lists_of_links_around_an_article_are_left_out_although_the_page_calls_them_main() -> None:
    links = "".join(f"<li><a href=/{number}>Another piece of news, number {number}</a>" for number in range(200))
    found = read(f"<main><article><p>{SENTENCES}<p>{SENTENCES}<p>{SENTENCES}</article><ul>{links}</ul></main>")
    assert found.text is not None
    assert "Another piece" not in found.text
    assert found.text.count("It was a bright cold day in April") == 9


def test_only_what_is_wanted_is_read() -> None:
    assert read(ARTICLE.format(""), Wanted(markdown=True)).text is None
    assert read(ARTICLE.format(""), Wanted(text=True)).markdown is None


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("<a href='../x?y=1#z'>up</a>", "[up](http://h.test/x?y=1#z)"),
        ("<a href='?q'>query</a>", "[query](http://h.test/a/b?q)"),
        ("<a href='//i.test/p q'>other</a>", "[other](http://i.test/p%20q)"),
        ("<a href='mailto:a@h.test'>mail</a>", "[mail](mailto:a@h.test)"),
        ("<a href=' java\nscript:alert(1)'>run</a>", "run"),
        ("<img src=i.png alt=pic>", "![pic](http://h.test/a/i.png)"),
        ("<img src='data:image/png;base64,AAAA' alt=pic>", ""),
    ],
)
def test_links_in_markdown_are_absolute_and_none_can_run_a_script(link: str, expected: str) -> None:
    found = read(ARTICLE.format(f"<p>{SENTENCES} Here: {link}|"))
    assert found.markdown is not None
    assert f"Here: {expected}|" in found.markdown.replace("\\|", "|")


def test_links_in_markdown_start_from_the_base_of_the_page() -> None:
    found = read("<base href=http://c.test/d/>" + ARTICLE.format("<a href=e>link</a>"))
    assert "[link](http://c.test/d/e)" in (found.markdown or "")


def test_a_long_base_makes_no_more_of_a_page_than_a_few_times_the_largest() -> None:
    base = f"<base href='http://o.test/{'b' * 9_900}/'>"
    markdown = read(
        base + ARTICLE.format("<a href=x>word</a> <img src=y> " * 1_000),
        Wanted(markdown=True, max_bytes=100_000_000),
    ).markdown
    assert markdown is not None
    assert markdown.count("word") == 1_000
    assert markdown.count("http://o.test/") > 100
    assert len(markdown) < 2 * MAX_HTML_BYTES + 100_000


def test_markdown_keeps_headings_lists_tables_and_code() -> None:
    more = "<h2>More</h2><ul><li>one<li>two</ul><pre>x = 1\ny = 2</pre><table><tr><th>a<th>b<tr><td>1<td>2</table>"
    found = read(ARTICLE.format(more)).markdown or ""
    for part in ("# The clocks", "## More", "- one\n- two", "x = 1\ny = 2", "| a | b |", "| 1 | 2 |"):
        assert part in found


def test_a_page_without_a_main_part_gives_the_text_of_all_of_it() -> None:
    assert (read("<ul><li><a href=/a>First</a><li><a href=/b>Second</a></ul>").text or "").split() == [
        "*",
        "First",
        "*",
        "Second",
    ]
    assert read("<html></html>") == Content()


@pytest.mark.parametrize("encoding", ["windows-1251", "shift_jis", "utf-16le"])
def test_a_text_is_decoded_as_its_page_is(encoding: str) -> None:
    text = {"windows-1251": "Холодный день", "shift_jis": "寒い日", "utf-16le": "寒い日 день"}[encoding]
    body = ARTICLE.format(f"<p>{text}").encode(encoding)
    assert text in (read(body, content_type=f"text/html; charset={encoding}").text or "")


def test_xhtml_is_read_as_xml() -> None:
    html = (
        f'<html xmlns="http://www.w3.org/1999/xhtml"><body><script src="x"/><p>{SENTENCES}<![CDATA[a < b]]></p></body>'
    )
    assert "a < b" in (read(html, content_type="application/xhtml+xml").text or "")


def test_lines_of_xhtml_stay_where_they_look_like_an_attribute() -> None:
    html = f"<html><body><p>{SENTENCES}</p><pre>a = 'b\n  c'\nd</pre></body></html>"
    assert "a = 'b\n  c'\nd" in (read(html, content_type="application/xhtml+xml").markdown or "")


def test_what_is_no_html_has_no_text() -> None:
    assert read(b"\x89PNG\r\n\x1a\n", content_type="image/png") == Content()


def test_a_long_text_is_cut_between_characters_and_says_so() -> None:
    html = ARTICLE.format("<p>" + "é" * 500)
    found = read(html, msgspec.structs.replace(BOTH, max_bytes=801))
    assert found.text is not None
    assert 798 <= len(found.text.encode()) <= 801
    assert found.troubles == ("its text is cut at 801 bytes", "its markdown is cut at 801 bytes")
    whole = read(html, msgspec.structs.replace(BOTH, max_bytes=len((read(html).text or "").encode())))
    assert whole.text == read(html).text


def test_only_the_beginning_of_a_huge_page_is_read_and_that_is_said() -> None:
    found = read("<p>" + "word " * (MAX_HTML_BYTES // 5 + 10), Wanted(text=True, max_bytes=10**8))
    assert len(found.text or "") < MAX_HTML_BYTES
    assert found.troubles == (f"its text is that of the first {MAX_HTML_BYTES:,} bytes",)


@pytest.mark.parametrize("tag", ["<div>", "<b>", "<table><tr><td>", "<a href=x>", "<ul><li>", "<blockquote>", "<p x>y"])
def test_deep_nesting_is_read(tag: str) -> None:
    found = read(tag * (400_000 // len(tag)) + "the end", Wanted(text=True, markdown=True, max_bytes=1000))
    assert all("can't be read" not in each for each in found.troubles)
    assert len(found.markdown or "") <= 1000


def test_words_stay_apart_where_a_page_is_read_without_its_structure() -> None:
    """As in long manuals without white space between their elements."""
    body = "<ul><li>one<b>s</b></li><li>two</li></ul><table><tr><td>three<td>four</table>five<br>six<h2 id=x>seven</h2>"
    html = "<title>t</title>" + body + "<div>" * 6_000 + "eight"
    assert is_hostile(html.encode())
    text = read(html).text
    assert text is not None
    assert text.split() == ["ones", "two", "three", "four", "five", "six", "seven", "eight"]
    assert len(text.splitlines()) == 8


def test_a_surrogate_is_no_reason_to_stop() -> None:
    found = read(ARTICLE.format("<p>&#xD800; &#0; \x00 \ufffe"))
    assert "bright" in (found.text or "")
    assert (found.text or "").encode()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "<p>",
                "<article>",
                "</div>",
                "<table>",
                "<td>",
                "<a href=x>",
                "<!--",
                "<svg>",
                "word ",
                "<template>",
                "<select>",
                "<script>",
                "&amp",
                "\0",
                "<math>",
                "<pre>",
                "<li>",
                "é",
                "<img src=' '>",
                "<h1>",
            ]
        ),
        max_size=60,
    )
)
def test_random_markup_is_read(pieces: list[str]) -> None:
    found = read("".join(pieces))
    assert all("can't be read" not in each for each in found.troubles)


def test_every_real_page_has_a_text_and_markdown_with_absolute_links(corpora: Path) -> None:
    for row, page in islice(real_pages(corpora), 60):
        found = read_content(page, lexbor_extractor().extract(page), BOTH)
        assert found.text, row["file"]
        assert "](/" not in (found.markdown or ""), row["file"]
        assert not found.troubles, row["file"]
