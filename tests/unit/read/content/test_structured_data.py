"""JSON-LD and Open Graph of pages."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.page import Content, PageRecord, Wanted
from tests.unit.read.content.test_main_text import read

DATA = Wanted(structured_data=True)


def script(text: str, kind: str = "application/ld+json") -> str:
    return f'<script type="{kind}">{text}</script>'


def written(found: Content) -> Any:
    """What a reader of the records gets."""
    record = PageRecord(
        number=1, url="u", state="done", depth=0, kind="link", json_ld=found.json_ld, open_graph=found.open_graph
    )
    return msgspec.json.decode(msgspec.json.encode(record), type=PageRecord)


def test_all_blocks_of_json_ld_are_decoded_in_their_order() -> None:
    found = read(
        script('{"@type": "Person"}') + "<p>x" + script('[1, "a\nb"]', "Application/LD+JSON; charset=utf-8"), DATA
    )
    assert found == Content(json_ld=[{"@type": "Person"}, [1, "a\nb"]])
    assert written(found).json_ld == found.json_ld


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("{", "block 2 is not JSON (Expecting property name"),
        ("", "block 2 is not JSON (Expecting value"),
        ('{"a": NaN}', "block 2 is not JSON (NaN is no value"),
        ("[" * 101 + "]" * 101, "block 2 is nested too deeply"),
        ("[" * 100_000 + "]" * 100_000, "block 2 is nested too deeply"),
        ("1" * 5000 + "x", "block 2 is not JSON"),
    ],
)
def test_a_block_that_is_not_json_is_left_out_and_told(text: str, trouble: str) -> None:
    found = read(script("1") + script(text) + script("3"), DATA)
    assert found.json_ld == [1, 3]
    [told] = found.troubles
    assert told.startswith(f"its JSON-LD is incomplete: {trouble}")


def test_more_data_than_the_limit_is_left_out_and_told() -> None:
    found = read(script('"' + "é" * 60 + '"') * 2, Wanted(structured_data=True, max_bytes=200))
    assert found.json_ld == ["é" * 60]
    assert found.troubles == ("its JSON-LD is left out from block 2 of 2 on: longer than 200 bytes",)
    metas = "".join(f'<meta property=og:image content="http://h.test/{"x" * 50}{number}">' for number in range(4))
    found = read(metas, Wanted(structured_data=True, max_bytes=200))
    assert len((found.open_graph or {})["og:image"]) == 2
    assert found.troubles == ("its Open Graph properties are incomplete: longer than 200 bytes",)


def test_numbers_of_any_size_can_be_written() -> None:
    found = read(script(f"[{2**64 - 1}, {-(2**63)}, {2**64}, {10**30}, 1e999, {'9' * 400}]"), DATA)
    assert written(found).json_ld[0] == [2**64 - 1, -(2**63), float(2**64), 1e30, None, None]
    # Infinity is no JSON, so neither a line of records nor a column of PostgreSQL could have it.
    assert found.json_ld == written(found).json_ld


def test_properties_of_open_graph_are_read_by_name() -> None:
    found = read(
        "<meta property='og:title' content=' A &amp; B '><meta property=og:image content=/a.png>"
        "<meta name=OG:image content=b.png><meta property=og:description content=''>"
        "<meta property=article:tag content=x>"
        "<meta name=twitter:card content=summary><meta name=description content=no>",
        DATA,
    )
    assert found.open_graph == {
        "og:title": "A & B",
        "og:image": ["http://h.test/a.png", "http://h.test/a/b.png"],
        "article:tag": "x",
        "twitter:card": "summary",
    }
    assert written(found).open_graph == found.open_graph


def test_a_page_without_data_has_none() -> None:
    assert read("<p>text" + script("1", "application/json"), DATA) == Content()


def test_structured_data_costs_no_text() -> None:
    assert read("<p>text" + script("1"), DATA).text is None


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(_VALUES)
def test_any_json_is_read_and_can_be_written(value: Any) -> None:
    text = json.dumps(value).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    found = read(script(text), DATA)
    assert found.troubles == ()
    [read_back] = found.json_ld or []
    if all(abs(each) < 2**63 for each in _integers(value)):
        assert read_back == value


def _integers(value: Any) -> list[int]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [found for each in value for found in _integers(each)]
    return [value] if isinstance(value, int) else []
