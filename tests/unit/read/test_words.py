from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.read.encoding import words
from tests.unit.read.suites import real_pages, suite_files

_PIECES = (
    "< > </ <! <? <!-- --> -- - <a <a> <A\n> <script <SCRIPT> <script/ <scripts> </Script </script> <style> <style\t> "
    "</STYLE </style> <styles a Z 1 / ? é à"
).split()


@pytest.mark.skipif(not words.IS_COMPILED, reason="the extension is not compiled")
@given(
    st.lists(
        st.one_of(
            st.sampled_from([each.encode("latin-1") for each in (*_PIECES, " ", "\n", "@", "[", "`", "{")]),
            st.sampled_from([b"a " * 1100, b"\xe9" * 1500, b"<p>" * 700]),
            st.binary(max_size=9),
        ),
        max_size=40,
    ).map(b"".join)
)
def test_compiled_code_finds_the_same_words_as_python(body: bytes) -> None:
    assert words.gather_words(body) == words.gather_words_in_python(body)
    assert words.count_beyond_ascii(body) == words.count_beyond_ascii_in_python(body)
    assert words.count_runs(body) == words.count_runs_in_python(body)


@pytest.mark.parametrize(
    "tail", [b"<p>\xe9", b"<script", b"<script>x", b"<style>x</style>\xe9", b"<!--x", b"<!--x-->\xe9"]
)
@pytest.mark.parametrize("short_of", range(12))
def test_words_are_gathered_up_to_a_limit_wherever_it_falls(tail: bytes, short_of: int) -> None:
    body = b"<p>".ljust(words._MARKUP_BYTES - short_of, b"-") + tail
    assert words.gather_words(body) == words.gather_words_in_python(body)


def test_real_pages_have_the_same_words_by_both(corpora: Path) -> None:
    bodies = [page.body for _, page in real_pages(corpora)] + [
        body for _, body in suite_files(corpora, "chardet-tests/")
    ]
    assert len(bodies) > 100
    for body in bodies:
        assert words.gather_words(body) == words.gather_words_in_python(body)
        assert words.count_runs(body) == words.count_runs_in_python(body)


def test_markup_scripts_styles_and_comments_hold_no_words() -> None:
    body = b"<p class=x>\xe9t\xe9</p><script>\xff</script><STYLE >\xff</style><!-- \xff -->fin"
    assert words.gather_words(body).split() == [b"\xe9t\xe9", b"->fin"]


def test_of_ascii_only_a_part_is_gathered() -> None:
    body = b"a" * 3_000 + b"<p>" + b"b" * 10 + b"<p>" + b"\xe9" * 5_000
    half = words.TEXT_BYTES // 2
    assert words.gather_words(body) == b"a" * half + b"\n\n" + b"\xe9" * half
