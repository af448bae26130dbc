import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.read.html.bs4 import bs4_extractor
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.html.lxml import lxml_extractor
from crawler.read.options import Options
from crawler.read.similarity.ranges import BREAKS, SINGLE
from crawler.read.similarity.simhash import (
    BITS,
    IS_COMPILED,
    SHINGLE,
    Fingerprint,
    fingerprint,
    fingerprint_in_python,
)
from crawler.seams import LinkExtractor
from tests.unit.read.pieces import TEXTS
from tests.unit.read.suites import page, real_pages

EXTRACTORS = [lexbor_extractor, lxml_extractor, bs4_extractor]
SIMILARITY = Options(fingerprint_words=3)
LATIN = (("Content-Type", "text/html; charset=iso-8859-1"),)

PIECES = [
    *(each.encode() for each in TEXTS),
    *b"<p> </p> <br/> <script> </SCRIPT > <style> </style <template> </template/> <!-- --> <!--> <!doctype>".split(),
    *b"""<?x <a/ title="a>b" = ' " > < & &amp; &eacute; &notit; &#233; &#xe9; &#x110000; &#55296;""".split(),
    *b"&lt; &#60; word Word b9 _".split(),
    *(each.encode() for each in ("é", "É", "中文", "ไทย", "—", "\u3000", "𝒳", "😀", "ﬁ")),
    b"\xff",
    b"\xe4\xb8",
    b"\xed\xa0\x80",
    b"\xf0\x90",
    b"\0",
    b"\n",
]
TEXT = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=4)), max_size=40).map(b"".join)


def words_of(html: str) -> int:
    return fingerprint(html.encode(), is_markup=True).words


def is_same(one: str, other: str) -> bool:
    return fingerprint(one.encode(), is_markup=True) == fingerprint(other.encode(), is_markup=True)


def plain_simhash(features: list[int]) -> int:
    """By the definition of Charikar."""
    sums = [sum(1 if feature >> bit & 1 else -1 for feature in features) for bit in range(BITS)]
    return sum(1 << bit for bit, each in enumerate(sums) if each > 0)


@given(TEXT, st.booleans())
@settings(max_examples=400)
def test_compiled_code_and_python_agree(text: bytes, is_markup: bool) -> None:
    assert fingerprint(text, is_markup=is_markup) == fingerprint_in_python(text, is_markup=is_markup)


def test_compiled_code_and_python_agree_on_each_kind_of_character() -> None:
    edges = {each + step for pair in (*BREAKS, *SINGLE) for each in pair for step in (-1, 0, 1)}
    for edge in sorted(edges & {*range(0xD800), *range(0xE000, 0x110000)}):
        text = f"a{chr(edge)}b c{chr(edge)}".encode()
        assert fingerprint(text, is_markup=False) == fingerprint_in_python(text, is_markup=False), hex(edge)


def test_compiled_code_and_python_agree_on_real_pages(corpora: Path) -> None:
    for _, each in list(real_pages(corpora))[::40]:
        html = each.body[:30_000]
        assert fingerprint(html, is_markup=True) == fingerprint_in_python(html, is_markup=True)


@given(st.lists(st.sampled_from("abcdefgh"), min_size=SHINGLE, max_size=40))
def test_a_bit_is_set_if_most_shingles_have_it(words: list[str]) -> None:
    shingles = [" ".join(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1)]
    alone = [fingerprint(each.encode(), is_markup=False).simhash for each in shingles]
    assert fingerprint(" ".join(words).encode(), is_markup=False).simhash == plain_simhash(alone)


def test_a_text_of_one_shingle_has_its_hash() -> None:
    one, other = (fingerprint(text, is_markup=False).simhash for text in (b"a b", b"a c"))
    assert (one ^ other).bit_count() > 16
    assert Fingerprint(0, 0) == fingerprint(b" <>... ", is_markup=False)


def test_text_is_what_stands_between_the_tags() -> None:
    assert is_same(
        '<p title="never > this">One two<!-- not > this --> three four<br>five</p>', "one two three four five"
    )
    assert is_same(
        "one<script>no = '<p>';</script> <STYLE>no</sTyle >two three<template><p>no</template>", "one two three"
    )
    assert is_same("<table><tr><td>one<td>two</table>three", "one two three")
    assert is_same("3 < 4 one &lt; two", "3 4 one two")
    assert is_same("T&eacute;l&#233;phone caf&#xE9; n&uacute;mero", "Téléphone café número")
    assert words_of("one <!-- never closed two") == 1
    assert words_of("<script>never closed two") == 0


def test_markup_alone_does_not_change_a_fingerprint() -> None:
    text = "<p>The crawl fetches every page of a web once, politely.</p>"
    moved = '<DIV class="x"><p id=a>THE crawl <b>fetches</b> every page<br> of a web once, politely.</p></DIV>'
    assert is_same(text, moved)


def test_scripts_without_spaces_have_a_word_for_each_character() -> None:
    assert words_of("网络爬虫抓取每个页面") == 10
    assert words_of("ウェブのページ") == 7
    assert words_of("웹 크롤러") == 2
    assert words_of("Жизнь — это café") == 3


@pytest.mark.parametrize("count", range(2 * SHINGLE))
def test_short_texts_have_fingerprints_too(count: int) -> None:
    text = b" ".join(b"w%d" % number for number in range(count))
    found = fingerprint(text, is_markup=True)
    assert found.words == count
    assert bool(found.simhash) == (count > 0)
    assert found == fingerprint_in_python(text, is_markup=True)


def test_a_small_change_of_a_long_text_changes_few_bits() -> None:
    words = [f"word{number * 7919 % 1009}" for number in range(1500)]
    changed = [*words[:700], "another", *words[701:]]
    one, other = (fingerprint(" ".join(each).encode(), is_markup=True).simhash for each in (words, changed))
    assert one != 0
    assert (one ^ other).bit_count() <= 3
    unlike = fingerprint(" ".join(words[::-1]).encode(), is_markup=True).simhash
    assert (one ^ unlike).bit_count() > 16


def test_a_large_text_is_read_like_its_parts() -> None:
    words = "über die 页面 crawl " * 20_000
    assert fingerprint(words.encode(), is_markup=True) == fingerprint(f"<p>{words}</p>".encode(), is_markup=True)
    assert fingerprint(words.encode(), is_markup=False).words == 100_000


@pytest.mark.parametrize("make", EXTRACTORS)
def test_each_extractor_gives_the_same_fingerprint_if_it_is_asked_for(make: Callable[..., LinkExtractor]) -> None:
    html = page("<title>Ein Titel</title><p>gr\xfc\xdfe</p>".encode("latin-1"), headers=LATIN)
    assert make().extract(html).simhash is None
    found = make(options=SIMILARITY).extract(html)
    assert found.simhash == fingerprint("Ein Titel grüße".encode(), is_markup=False).simhash


def test_plain_text_has_a_fingerprint_and_other_documents_have_none() -> None:
    read = lexbor_extractor(options=SIMILARITY).extract
    plain = read(page(b"a <b> c", headers=(("Content-Type", "text/plain"),)))
    assert plain.simhash == fingerprint(b"a b c", is_markup=False).simhash
    assert read(page(b"a {color: red}", headers=(("Content-Type", "text/css"),))).simhash is None
    assert read(page(b"too short", headers=(("Content-Type", "text/html"),))).simhash is None


def test_a_name_may_go_while_its_long_text_is_read() -> None:
    """The text is so long that other threads run meanwhile."""
    compiled = pytest.importorskip("crawler.read.similarity._simhash")
    names = {"amp;": "b " * 2_000_000}
    expected = fingerprint(names["amp;"].encode(), is_markup=False)
    begins = threading.Event()

    def forget() -> None:
        begins.wait()
        names.clear()

    thread = threading.Thread(target=forget)
    thread.start()
    begins.set()
    found = Fingerprint(*compiled.simhash(b"&amp;", True, names))
    thread.join()
    assert found in (expected, Fingerprint(*compiled.simhash(b"&amp;", True, {})))


def test_the_extension_is_compiled_where_tests_run() -> None:
    assert IS_COMPILED
