import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.discover.discovery import ScopedDiscovery
from crawler.discover.focus import Focus, precedence_of
from crawler.discover.links.filter import LinkRefusal
from crawler.discover.scope import Scope
from crawler.page import Link, LinkKind
from crawler.steps import run_all
from crawler.url.urls import UrlReader

WORDS = {"Glacier": 0.5, "sea level": 0.8, "sea": 0.1, "Eis": 1.0}
FOCUS = Focus(WORDS)


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("", 0.0),
        ("glaciers and seals", 0.0),
        ("A GLACIER, and another glacier", 0.5),
        ("glacier: sea\n level", 0.9),
        ("the sea", 0.1),
        ("/some_glacier/sea-level.html", 0.9),
        ("schönes Eis", 1.0),
    ],
)
def test_a_text_is_worth_the_guide_words_it_holds_each_once(text: str, weight: float) -> None:
    assert FOCUS.of_text(text) == pytest.approx(weight)


def test_anchor_url_and_page_are_witnesses_of_unlike_credit() -> None:
    anchor = FOCUS.of_link("the glacier", "https://example.org/x", 0.0)
    url = FOCUS.of_link("", "https://example.org/gl%61cier", 0.0)
    page = FOCUS.of_link("", "https://example.org/x", 0.5)
    assert (anchor, url, page) == (0.5, 0.4, 0.25)
    assert FOCUS.of_link("the glacier", "https://example.org/glacier", 0.5) == pytest.approx(1 - 0.5 * 0.6 * 0.75)


def test_a_page_off_the_subject_passes_on_half_of_what_led_to_it() -> None:
    assert FOCUS.of_page("nothing", 0.8) == 0.4
    assert FOCUS.of_page("glacier", 0.8) == 0.5


def test_weight_decides_precedence_and_seeds_come_before_all() -> None:
    assert [precedence_of(weight) for weight in (1.0, 0.5, 0.0)] == [1, 128, 255]


@pytest.mark.parametrize("words", [{"": 1.0}, {" ": 1.0}, {"x": 0.0}, {"x": 1.5}, {"x": float("nan")}])
def test_a_weight_that_makes_no_sense_is_refused(words: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="guide word"):
        Focus(words)


def test_links_that_promise_more_go_first_and_those_that_promise_too_little_not_at_all() -> None:
    urls = UrlReader()
    scope = Scope(within="any", seeds=[])
    links = [Link("/a", LinkKind.LINK, "the sea"), Link("/b", LinkKind.LINK, "glacier"), Link("/c", LinkKind.LINK, "")]
    made = ScopedDiscovery(urls=urls, scope=scope, focus=FOCUS)
    [seed] = made.seeds(["https://example.org/"])
    assert (seed.weight, seed.precedence) == (1.0, 0)
    found = run_all(made.links(seed.url, links, parent=seed, about="On ice")).urls
    assert [url.url[-1] for url in sorted(found, key=lambda url: url.precedence)] == ["b", "a", "c"]
    assert [url.precedence for url in found] == [precedence_of(url.weight) for url in found]
    richer = run_all(made.links(seed.url, links, parent=found[0], about="All on the sea level")).urls
    poorer = run_all(made.links(seed.url, links, parent=found[0], about="Nothing")).urls
    assert richer[-1].weight > poorer[-1].weight
    strict = ScopedDiscovery(urls=urls, scope=scope, focus=Focus(WORDS, min_weight=0.6))
    strict_found = run_all(strict.links(seed.url, links, parent=seed))
    assert [url.url[-1] for url in strict_found.urls] == ["b"]
    assert strict_found.refused == {LinkRefusal.IRRELEVANT: 2}


def test_without_words_depth_decides() -> None:
    made = ScopedDiscovery(urls=UrlReader(), scope=Scope(within="any", seeds=[]), focus=Focus({}))
    [seed] = made.seeds(["https://example.org/"])
    [found] = run_all(made.links(seed.url, [Link("/a", LinkKind.LINK, "glacier")], parent=seed)).urls
    assert (seed.weight, found.weight, found.precedence) == (0.0, 0.0, 1)


@given(st.text(max_size=60), st.text(max_size=60), st.floats(0, 1))
def test_every_weight_lies_between_0_and_1(anchor: str, url: str, page: float) -> None:
    assert 0 <= FOCUS.of_link(anchor, url, page) <= 1


@pytest.mark.parametrize("text", ["全球气候变化", "気候変動の話", "기후가 바뀐다", "สภาพภูมิอากาศโลก"])
def test_words_of_scripts_without_spaces_are_found_within_others(text: str) -> None:
    focus = Focus({"气候": 0.5, "気候": 0.5, "기후": 0.5, "ภูมิอากาศ": 0.5, "ice": 0.5})
    assert focus.of_text(text) == 0.5
    assert focus.of_text("notice of iced 气候") == 0.5
    assert focus.of_text("ice气候") == 0.5


@pytest.mark.parametrize(
    ("text", "weight"),
    [("C++ and c#", 1 - 0.5 * 0.75), ("c", 0.0), ("your e-mail", 0.125), ("/covid-19/", 1.0), ("covid 19", 0.0)],
)
def test_signs_within_guide_words_are_part_of_them(text: str, weight: float) -> None:
    assert Focus({"c++": 0.5, "C#": 0.25, "E-Mail": 0.125, "covid-19": 1.0}).of_text(text) == pytest.approx(weight)
