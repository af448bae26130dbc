"""Headers are found by names in any case, whether by C or by Python."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.page.wanted import MOST_WANTED, Header, wanted_headers, wanted_in_python

_NAMES = st.sampled_from(
    [b"etag", b"link", b"x", b"", "ä".encode(), "Ä".encode("latin-1").lower(), b"@[", b"`{", b"\0"]
)


@given(
    headers=st.lists(st.tuples(_NAMES.map(bytes.swapcase) | _NAMES | st.binary(max_size=4), st.binary(max_size=3))),
    names=st.lists(_NAMES, max_size=MOST_WANTED).map(tuple),
)
def test_c_finds_what_python_finds(headers: list[Header], names: tuple[bytes, ...]) -> None:
    assert wanted_headers(headers, names) == wanted_in_python(headers, names)
    assert wanted_headers(tuple(headers), names) == wanted_in_python(headers, names)


def test_headers_are_found_in_any_case_and_in_their_order() -> None:
    headers = [(b"Link", b"<a>"), (b"ETag", b'"1"'), (b"LINK", b"<b>"), (b"linker", b"c"), (b"etag", b'"2"')]
    assert wanted_headers(headers, (b"etag", b"link")) == [
        (b"link", b"<a>"),
        (b"etag", b'"1"'),
        (b"link", b"<b>"),
        (b"etag", b'"2"'),
    ]
    assert wanted_headers(headers, ()) == wanted_headers([], (b"link",)) == []


@pytest.mark.skipif(wanted_headers is wanted_in_python, reason="it was built without the extension")
@pytest.mark.parametrize("headers", [[b"etag"], [(b"etag",)], [("etag", b"1")], [(b"etag", "1")], 3])
def test_c_refuses_what_is_no_header(headers: list[Header]) -> None:
    with pytest.raises(TypeError):
        wanted_headers(headers, (b"etag",))
