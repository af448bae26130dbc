"""Whether the texts of WARC records are the same from C and from Python."""

import hashlib
from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler.write.warc_members import (
    IS_COMPILED,
    Field,
    Value,
    lines,
    lines_in_python,
    record,
    record_in_python,
)

needs_compiled = pytest.mark.skipif(not IS_COMPILED, reason="it was built without the extension")
TEXTS = st.text(st.sampled_from("a: \t\r\n\x85é\ud800\0") | st.characters()) | st.just("long " * 1000)
VALUES = TEXTS | st.binary() | st.integers(-(2**63), 2**63 - 1)
FIELDS = st.lists(st.tuples(TEXTS | st.binary(), VALUES | st.none()))


@pytest.mark.parametrize("make", [lines, lines_in_python], ids=["best", "python"])
def test_fields_are_lines_in_order_and_what_is_none_is_left_out(
    make: Callable[[Value, Sequence[Field]], bytes],
) -> None:
    fields: list[Field] = [("A", "é\ud800"), (b"B", b"\xff"), ("C", None), ("D", -7), ("E", "")]
    assert make(None, fields) == b"A: \xc3\xa9?\r\nB: \xff\r\nD: -7\r\nE: \r\n"
    assert make("GET / HTTP/1.1", tuple(fields[3:4])) == b"GET / HTTP/1.1\r\nD: -7\r\n"
    assert make(b"", []) == b"\r\n"


@pytest.mark.parametrize("make", [lines, lines_in_python], ids=["best", "python"])
def test_no_value_begins_a_field_of_its_own(make: Callable[[Value, Sequence[Field]], bytes]) -> None:
    assert make("a\r\n b\n\n\t \rc\n", [("A", "\n B: c\r"), ("D\n", b"e\rf")]) == b"a b  c \r\nA:  B: c \r\nD : e f\r\n"


@needs_compiled
@given(VALUES | st.none(), FIELDS)
@example("a" * 2047, [("b" * 2047, "c" * 5000)])
def test_lines_are_the_same_from_c_and_from_python(first: Value, fields: list[Field]) -> None:
    assert lines(first, fields) == lines_in_python(first, fields)


@needs_compiled
@given(st.text(st.characters(exclude_categories=["Cs"])), st.binary(), FIELDS, st.lists(st.binary()).map(tuple))
@example("response", b"A: b\r\n" * 1000, [("A", "b" * 5000)], (b"head", b"body" * 100_000))
def test_a_record_is_the_same_from_c_and_from_python(
    text: str, common: bytes, fields: list[Field], block: tuple[bytes, ...]
) -> None:
    parts = (hashlib.sha1, text, text, common, fields, block)
    assert record(*parts) == record_in_python(*parts)


@needs_compiled
@pytest.mark.parametrize("block", ["text", ("text",), [b"list"]])
def test_a_block_is_a_tuple_of_bytes(block: object) -> None:
    with pytest.raises(TypeError):
        record(hashlib.sha1, "response", "uuid:1", b"", [], block)  # type: ignore[arg-type]


@needs_compiled
def test_a_digest_has_20_bytes() -> None:
    with pytest.raises(ValueError, match="expected a SHA-1: 20 bytes"):
        record(hashlib.sha256, "response", "uuid:1", b"", [], (b"block",))
