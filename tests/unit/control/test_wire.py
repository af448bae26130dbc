"""Requests and replies as lines."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.control.replies import Judged, JudgedUrl, PauseState, Refusal
from crawler.control.requests import (
    Add,
    AnyRequest,
    Export,
    Forget,
    GetStatus,
    InspectNext,
    InspectQueues,
    InspectUrl,
    Pause,
    Resume,
    SetBudget,
    Stop,
)
from crawler.control.wire import (
    MAX_REQUEST_BYTES,
    WORKING,
    BadReply,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
requests: st.SearchStrategy[AnyRequest] = st.one_of(
    st.builds(GetStatus),
    st.builds(Pause, reason=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=50)),
    st.builds(Resume),
    st.builds(Stop, now=st.booleans()),
    st.builds(Add, urls=st.lists(texts), precedence=st.none() | st.integers(0, 255), force=st.booleans()),
    st.builds(Forget, urls=st.lists(texts)),
    st.builds(SetBudget, host=texts, cost=st.none() | st.integers(0, 1 << 53)),
    st.builds(InspectUrl, url=texts),
    st.builds(InspectNext, host=texts),
    st.builds(InspectQueues, sort=st.sampled_from(["size", "wake", "errors", "key"]), match=texts),
    st.builds(Export, after=texts, pending=st.booleans()),
)


@given(requests)
def test_a_request_arrives_as_it_was_sent(request: AnyRequest) -> None:
    line = encode_request(request)
    assert line.count(b"\n") == 1
    assert decode_request(line) == request


@given(st.builds(Judged, urls=st.lists(st.builds(JudgedUrl, url=texts, outcome=st.just("added"), reason=texts))))
def test_a_reply_arrives_as_it_was_sent(reply: Judged) -> None:
    line = encode_reply(reply)
    assert line.count(b"\n") == 1
    assert decode_reply(line, Judged) == reply


@given(st.builds(Refusal, texts, st.integers(0, 255)))
def test_a_refusal_arrives_whatever_was_expected(refusal: Refusal) -> None:
    assert decode_reply(encode_reply(refusal), PauseState) == refusal


@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused_as_a_request_and_as_a_reply(line: bytes) -> None:
    refusal = decode_request(line)
    assert isinstance(refusal, Refusal)
    assert "expected a request as a line of JSON" in refusal.message
    with pytest.raises(BadReply):
        decode_reply(line, PauseState)


@given(requests, st.data())
def test_a_request_that_is_changed_on_its_way_is_refused_or_another_request(
    request: AnyRequest, data: st.DataObject
) -> None:
    line = bytearray(encode_request(request))
    for _ in range(data.draw(st.integers(1, 4))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    decoded = decode_request(bytes(line))
    if not isinstance(decoded, Refusal):
        assert decode_request(encode_request(decoded)) == decoded


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b'{"version":1,"request":' + b'{"a":' * 100_000,
        b'{"version":1,"request":{"type":"pause","reason":"x","other":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    ],
)
def test_a_request_of_boundless_depth_is_refused(line: bytes) -> None:
    assert isinstance(decode_request(line), Refusal)


def test_fields_that_a_later_version_adds_are_ignored() -> None:
    line = b'{"version":1,"id":7,"request":{"type":"pause","reason":"x","until":"tomorrow"}}\n'
    assert decode_request(line) == Pause(reason="x")
    assert decode_reply(b'{"version":1,"reply":{"paused":null,"running":true,"by":"me"}}', PauseState) == PauseState(
        paused=None, running=True
    )


def test_another_version_is_named_on_both_sides() -> None:
    refusal = decode_request(b'{"version":2,"request":{"type":"resume"}}')
    assert isinstance(refusal, Refusal)
    assert "version 1" in refusal.message
    assert "version 2" in refusal.message
    with pytest.raises(BadReply, match="version 2"):
        decode_reply(b'{"version":2,"reply":{}}', PauseState)


def test_what_is_wrong_with_a_request_is_told() -> None:
    wrong = decode_request(b'{"version":1,"request":{"type":"budget","host":"h","cost":"much"}}')
    assert isinstance(wrong, Refusal)
    assert "Expected `int | null`, got `str`" in wrong.message
    for reason in (b"", b"red\\u001b[31m", b"the last line\\n"):
        control = decode_request(b'{"version":1,"request":{"type":"pause","reason":"%s"}}' % reason)
        assert isinstance(control, Refusal)
        assert "at `$.reason`" in control.message
    unknown = decode_request(b'{"version":1,"request":{"type":"explode"}}')
    assert isinstance(unknown, Refusal)
    assert "explode" in unknown.message


def test_a_request_too_long_is_refused_before_it_is_sent() -> None:
    with pytest.raises(ValueError, match="at most 1,048,576 bytes"):
        encode_request(Add(urls=["x" * MAX_REQUEST_BYTES]))


def test_a_crawl_at_work_has_not_replied() -> None:
    assert decode_reply(WORKING, PauseState) is None
    assert msgspec.json.decode(WORKING) == {"version": 1, "working": True}
