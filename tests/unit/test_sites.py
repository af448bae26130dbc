"""Which blocks hold for a URL, and for a queue."""

import pytest

from crawler.discover.sites import Blocks, BySite

DOMAIN, HOST, PART, OTHER_HOST, WIDER, LATER_HOST = range(6)
BLOCKS = Blocks(
    [
        ["*.example.org"],
        ["www.example.org"],
        ["https://www.example.org/docs/index.html", "http://example.net/a/"],
        ["other.test:8080", "192.0.2.1", "[2001:db8::1]"],
        ["org,"],
        ["www.example.org"],
    ]
)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/", (WIDER, DOMAIN)),
        ("https://a.b.example.org/docs/", (WIDER, DOMAIN)),
        ("https://www.example.org/", (WIDER, DOMAIN, HOST, LATER_HOST)),
        ("http://www.example.org/doc", (WIDER, DOMAIN, HOST, LATER_HOST)),
        ("https://www.example.org/docs/a?b#c", (WIDER, DOMAIN, HOST, LATER_HOST, PART)),
        ("https://example.net/a/b", (PART,)),
        ("https://example.net/b", ()),
        ("https://other.test/", ()),
        ("https://other.test:8080/", (OTHER_HOST,)),
        ("http://192.0.2.1/", (OTHER_HOST,)),
        ("http://192.0.2.10/", ()),
        ("http://[2001:db8::1]/", (OTHER_HOST,)),
        ("https://elsewhere.org/", (WIDER,)),
        ("https://notexample.org/", (WIDER,)),
        ("https://user:secret@www.example.org/docs/", (WIDER, DOMAIN, HOST, LATER_HOST, PART)),
    ],
)
def test_the_more_special_goes_before_and_of_equals_the_later(url: str, expected: tuple[int, ...]) -> None:
    assert BLOCKS.of(url) == expected
    assert BLOCKS.of(url) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("org,example,www", (WIDER, DOMAIN, HOST, LATER_HOST)),
        ("org,example,www#3", (WIDER, DOMAIN, HOST, LATER_HOST)),
        ("org,example", (WIDER, DOMAIN)),
        ("net,example", ()),
        ("test,other:8080", (OTHER_HOST,)),
    ],
)
def test_for_a_queue_holds_what_holds_for_all_of_it(key: str, expected: tuple[int, ...]) -> None:
    assert BLOCKS.of_queue(key) == expected


def test_a_value_is_made_once_for_each_choice_of_blocks() -> None:
    made: list[tuple[int, ...]] = []

    def make(chosen: tuple[int, ...]) -> str:
        made.append(chosen)
        return str(chosen)

    values = BySite(BLOCKS, make)
    for number in range(3):
        assert values.of(f"https://a{number}.example.org/") == str((WIDER, DOMAIN))
        assert values.of(f"https://a{number}.test/") == "()"
    assert values.of_queue("org,example") == str((WIDER, DOMAIN))
    assert made == [(), (WIDER, DOMAIN)]


def test_what_is_no_place_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'a b' is not a place: expected a host"):
        Blocks([["a.test"], ["a b"]])


def test_one_value_is_for_all_urls_only_if_there_are_no_blocks() -> None:
    assert BySite(BLOCKS, str).everywhere is None
    alone = BySite(Blocks([]), str)
    assert alone.everywhere is alone.of("http://a.test/")
