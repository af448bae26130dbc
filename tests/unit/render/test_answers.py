"""What is kept of answers for the next page."""

import pytest

from crawler.render.answers import MOST_LIFE_S, USUAL_LIFE_S, Answer, Kept, life_s_of


def answer(*cache_control: str, body: bytes = b"x", status: int = 200) -> Answer:
    return Answer(status, [("Cache-Control", value) for value in cache_control], body)


@pytest.mark.parametrize(
    ("said", "life_s"),
    [
        ((), USUAL_LIFE_S),
        (("public",), USUAL_LIFE_S),
        (("max-age=60",), 60.0),
        (("public, Max-Age = 60",), 60.0),
        (("public", "max-age=60"), 60.0),
        (("max-age=31536000, immutable",), MOST_LIFE_S),
        (("max-age=0",), 0.0),
        (("no-store",), 0.0),
        (("max-age=60, private",), 0.0),
        (("No-Cache",), 0.0),
    ],
)
def test_an_answer_lives_as_long_as_it_says_within_limits(said: tuple[str, ...], life_s: float) -> None:
    assert life_s_of(answer(*said)) == life_s


def test_an_answer_is_found_until_its_life_is_over() -> None:
    kept = Kept()
    kept.keep("/a", answer("max-age=60"), now=100.0)
    assert kept.find("/a", now=159.0) == answer("max-age=60")
    assert kept.find("/a", now=160.0) is None
    assert kept.find("/a", now=100.0) is None


def test_the_answer_kept_last_counts() -> None:
    kept = Kept()
    kept.keep("/a", answer(body=b"old"), now=0.0)
    kept.keep("/a", answer(body=b"new"), now=1.0)
    assert kept.find("/a", now=2.0) == answer(body=b"new")
    kept.keep("/a", answer("no-store"), now=3.0)
    assert kept.find("/a", now=4.0) is None


@pytest.mark.parametrize("refused", [answer("no-store"), answer(status=404), answer(body=bytes(26))])
def test_what_is_not_good_for_others_is_not_kept(refused: Answer) -> None:
    kept = Kept(max_bytes=100)
    kept.keep("/a", refused, now=0.0)
    assert kept.find("/a", now=0.0) is None


def test_the_least_used_makes_room() -> None:
    kept = Kept(max_bytes=100)
    for name in "abcd":
        kept.keep(name, answer(body=bytes(25)), now=0.0)
    assert kept.find("a", now=0.0) is not None
    kept.keep("e", answer(body=bytes(25)), now=0.0)
    assert [name for name in "abcde" if kept.find(name, now=0.0) is not None] == ["a", "c", "d", "e"]
