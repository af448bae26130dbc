"""What is cached of responses for the next page."""

import pytest

from crawler.page import Page
from crawler.render.responses import DEFAULT_LIFE_S, MAX_LIFE_S, ResponseCache, SubResponse, lifetime_s


def answer(*cache_control: str, body: bytes = b"x", status: int = 200) -> SubResponse:
    return SubResponse(status, [("Cache-Control", value) for value in cache_control], body)


@pytest.mark.parametrize(
    ("said", "life_s"),
    [
        ((), DEFAULT_LIFE_S),
        (("public",), DEFAULT_LIFE_S),
        (("max-age=60",), 60.0),
        (("public, Max-Age = 60",), 60.0),
        (("public", "max-age=60"), 60.0),
        (("max-age=31536000, immutable",), MAX_LIFE_S),
        (("max-age=0",), 0.0),
        (("no-store",), 0.0),
        (("max-age=60, private",), 0.0),
        (("No-Cache",), 0.0),
    ],
)
def test_an_answer_lives_as_long_as_it_says_within_limits(said: tuple[str, ...], life_s: float) -> None:
    assert lifetime_s(answer(*said)) == life_s


def test_an_answer_is_found_until_its_life_is_over() -> None:
    cache = ResponseCache()
    cache.keep("/a", answer("max-age=60"), now=100.0)
    assert cache.find("/a", now=159.0) == answer("max-age=60")
    assert cache.find("/a", now=160.0) is None
    assert cache.find("/a", now=100.0) is None


def test_the_answer_kept_last_counts() -> None:
    cache = ResponseCache()
    cache.keep("/a", answer(body=b"old"), now=0.0)
    cache.keep("/a", answer(body=b"new"), now=1.0)
    assert cache.find("/a", now=2.0) == answer(body=b"new")
    cache.keep("/a", answer("no-store"), now=3.0)
    assert cache.find("/a", now=4.0) is None


@pytest.mark.parametrize("refused", [answer("no-store"), answer(status=404), answer(body=bytes(26_000))])
def test_what_is_not_good_for_others_is_not_kept(refused: SubResponse) -> None:
    cache = ResponseCache(max_bytes=100_000)
    cache.keep("/a", refused, now=0.0)
    assert cache.find("/a", now=0.0) is None


def test_the_least_used_makes_room() -> None:
    cache = ResponseCache(max_bytes=100_000)
    for name in "abcd":
        cache.keep(name, answer(body=bytes(23_000)), now=0.0)
    assert cache.find("a", now=0.0) is not None
    cache.keep("e", answer(body=bytes(23_000)), now=0.0)
    assert [name for name in "abcde" if cache.find(name, now=0.0) is not None] == ["a", "c", "d", "e"]


@pytest.mark.parametrize(("size", "kept"), [(0, 99), (10_000, 4)])
def test_names_and_headers_take_room_too(size: int, kept: int) -> None:
    cache = ResponseCache(max_bytes=100_000)
    names = [f"/{number}{'n' * size}" for number in range(101)]
    for name in names:
        cache.keep(name, SubResponse(200, [("X", "v" * size)]), now=0.0)
    assert [name for name in names if cache.find(name, now=0.0) is not None] == names[-kept:]


@pytest.mark.parametrize(("raw_body", "is_kept"), [(b"", True), (bytes(10_000), True), (bytes(15_000), False)])
def test_a_body_for_the_archive_takes_room_too(raw_body: bytes, is_kept: bool) -> None:
    body = bytes(13_000)
    page = Page(
        url="http://a.test/x", status=200, headers=[], body=body, raw_body=raw_body or body, fetched_at=0, duration_s=0
    )
    cache = ResponseCache(max_bytes=100_000)
    cache.keep("/x", SubResponse(200, [], body, page), now=0.0)
    assert (cache.find("/x", now=0.0) is not None) == is_kept
