import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from selectolax.lexbor import LexborHTMLParser

from crawler.read.elements.markup import (
    IS_COMPILED,
    Survey,
    survey,
    survey_by_patterns,
)
from tests.unit.read.suites import real_pages
from tests.unit.read.trees import depth_of

PIECES = (
    '<div>|</div>|<b>|</b>|<B a=1>|</B>|<em\t>|</em >|<h1>|</h1>|<br/>|<p a>|</p>|<a b="c" d>|</a>|<a b=c=d>|<a b=`>|'
    "<a =x>|<i b= c>|</i>|<i\0>|<table>|</table>|<td>|</td>|<object>|</object>|<svg>|</svg>|<path/>|<!--|-->|<script>|"
    "</script>|<textarea>|</textarea>|<![CDATA[|]]>|<?|<html a>|<body/b>|<body>|<|>|/|'|\"|=| |\0|x|a b c|<a b c|</|"
    "<x1 y2='z3'>|</x1>|<a b='>'>|<strong|<u/"
).split("|")
pieces = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


def agree(html: bytes, most_attributes: int) -> None:
    compiled = survey(html, most_attributes=most_attributes)
    patterns = survey_by_patterns(html, most_attributes=most_attributes)
    assert compiled.elements <= patterns.elements
    assert compiled.formatting <= patterns.formatting
    assert replace(compiled, elements=0, formatting=0) == replace(patterns, elements=0, formatting=0)


@pytest.mark.skipif(not IS_COMPILED, reason="built without its C code")
@given(pieces.map(str.encode) | st.binary(max_size=200), st.integers(0, 4))
@example(b"<a a a a a>", 3)
@example(b"<a b='c" * 5, 4)
def test_the_compiled_survey_agrees_with_the_patterns(html: bytes, most_attributes: int) -> None:
    agree(html, most_attributes)


@pytest.mark.skipif(not IS_COMPILED, reason="built without its C code")
def test_they_agree_on_real_pages(corpora: Path) -> None:
    for _, page in islice(real_pages(corpora), 0, None, 5):
        for most in (3, 20):
            agree(page.body, most)


@pytest.mark.parametrize(
    ("html", "elements", "formatting"),
    [
        (b"<ul><li class='x'>text <b>bold</b></li><li>more</li></ul>", 3, 1),
        (b"<b>x</b>" * 50, 1, 1),
        (b"<div>" * 50 + b"</div>" * 50, 50, 0),
        (b"<i>" * 50 + b"<p>x</p>" * 50 + b"</i>" * 50, 51, 50),
        (b"<div><x></div></x>", 2, 0),
        (b'<div a=">x</div>">', 1, 0),
        (b'<div a=b="c d="e>x</div>">', 1, 0),
        (b"<di<b>x</b>v>y</div>", 2, 1),
        (b"<div><!--</div>-->", 2, 0),
        (b"<div><? </div>", 2, 0),
        (b"<b><table></b></table>", 2, 1),
        (b"<p>a<br>b</p>", 2, 0),
        (b"<i>x</I>", 1, 1),
    ],
)
def test_the_survey_tells_what_may_be_open_at_once(html: bytes, elements: int, formatting: int) -> None:
    for found in (survey(html, most_attributes=100), survey_by_patterns(html, most_attributes=100)):
        assert (found.elements, found.formatting) == (elements, formatting)


def test_attributes_and_roots_are_counted() -> None:
    html = b"<a b c='>' d=e/f>x</a><BODY a><html/><body>"
    assert survey(html, most_attributes=3) == Survey(
        tags=5, elements=4, formatting=0, formatting_ends=1, roots=2, is_laden=False
    )
    assert survey(html, most_attributes=2).is_laden


@pytest.mark.parametrize("piece", [b"<a", b"<a/b=", b"<a b='", b"<a b=\"'"])
def test_tags_that_begin_within_others_are_not_read_again_and_again(piece: bytes) -> None:
    html = piece * 2_000 + b"x" * 500_000
    assert survey(html, most_attributes=10_000).is_laden
    assert survey_by_patterns(html, most_attributes=10_000).is_laden


@given(pieces | st.integers(0, 9).map(lambda depth: "<div>" * depth + "</div>" * depth))
def test_no_tree_is_deeper_than_the_survey_allows(html: str) -> None:
    found = survey(html.encode(), most_attributes=100)
    deepest = max(map(depth_of, LexborHTMLParser(html).tags("*")))
    # A cell may open a row, a group of rows and a table's body before it, and a formatting element is opened anew.
    assert deepest <= 4 + 4 * found.elements + found.formatting


def test_what_was_compiled_from_older_code_is_not_used() -> None:
    older = """
import sys, types
sys.modules["crawler.read.elements._markup"] = types.SimpleNamespace(survey=lambda html, most: (1, 0, 0, False))
from crawler.read.elements.hostile import is_hostile
from crawler.read.elements.markup import IS_COMPILED
print(IS_COMPILED, is_hostile(b"<a href='/a'>x</a>" * 4000), is_hostile(b"<div>" * 20_000))
"""
    done = subprocess.run([sys.executable, "-c", older], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]
