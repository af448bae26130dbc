"""The anchors of pages, and links to anchors that are not there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.page import Wanted
from crawler.page.anchors import Anchors, packed
from crawler.read.content.document import MAX_HTML_BYTES
from crawler.read.elements.hostile import is_hostile
from tests.unit.read.content.test_main_text import read

ANCHORS = Wanted(anchors=True)
PAGE = '<h1 id="one">x</h1><a name="two"></a><p name="three" id="Übersicht">y'


def test_ids_and_names_of_links_are_anchors() -> None:
    text = read(PAGE, ANCHORS).anchors
    assert text is not None
    anchors = Anchors(text)
    for fragment in ("one", "two", "Übersicht", "%C3%9Cbersicht", "", "top", "TOP", "one:~:text=x", ":~:text=x"):
        assert anchors.have(fragment), fragment
    for fragment in ("One", "three", "four", "four:~:text=x"):
        assert not anchors.have(fragment), fragment


def test_a_page_that_is_read_without_its_structure_keeps_its_anchors() -> None:
    """As long manuals that nest thousands of elements."""
    ids = [*(f"d{number}" for number in range(6_000)), "cell", "within", "drawn", "formatted"]
    body = "".join(f'<div id="{name}">' for name in ids[:6_000])
    body += (
        '<table><tr><td id=cell>x</table><a href="#cell">a<p ID="within">b</a><svg><g id=drawn></svg><b id=formatted>'
    )
    assert is_hostile(body.encode())
    found = read(body + "".join(f'<a href="#{name}">x</a>' for name in (*ids, "no")), ANCHORS)
    assert found.broken_fragments == ["no"]


def test_links_within_a_page_are_looked_up_at_once() -> None:
    links = '<a href="#one">a</a><a href="#no">b</a><a href=" #no">c</a><a href="#">d</a><a href="#top">e</a>'
    assert read(PAGE + links, ANCHORS).broken_fragments == ["no"]
    assert read(PAGE + '<a href="#one">a</a>', ANCHORS).broken_fragments is None
    assert read('<base href="/other">' + PAGE + links, ANCHORS).broken_fragments is None


def test_of_a_page_that_was_not_read_to_its_end_nobody_knows_the_anchors() -> None:
    found = read(PAGE + "x" * MAX_HTML_BYTES + '<a href="#no">', ANCHORS)
    assert (found.anchors, found.broken_fragments) == (None, None)
    assert read(PAGE, Wanted(text=True)).anchors is None


@given(st.sets(st.text(min_size=1)), st.text())
def test_every_anchor_is_there(names: set[str], other: str) -> None:
    anchors = Anchors(packed(names))
    assert all(anchors.have(name) for name in names if ":~:" not in name)
    if other not in names and "%" not in other and ":~:" not in other and other and other.lower() != "top":
        assert not anchors.have(other)


@pytest.mark.parametrize("damaged", ["", "x", "!!!!", "AAAA", "é"])
def test_what_is_no_list_of_anchors_has_none(damaged: str) -> None:
    assert not Anchors(damaged).have("one")
