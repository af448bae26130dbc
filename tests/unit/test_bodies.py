"""That a record names the page which it repeats."""

from crawler.bodies import Bodies


def test_the_first_page_of_a_body_is_named_by_all_that_repeat_it() -> None:
    bodies = Bodies()
    assert bodies.met("d", "http://a.test/1") is None
    assert bodies.met("d", "http://a.test/2") == "http://a.test/1"
    assert bodies.met("d", "http://a.test/3") == "http://a.test/1"


def test_a_page_that_is_fetched_again_does_not_repeat_itself() -> None:
    bodies = Bodies()
    bodies.met("d", "http://a.test/1")
    assert bodies.met("d", "http://a.test/1") is None


def test_the_body_met_longest_ago_is_forgotten_first() -> None:
    bodies = Bodies(capacity=2)
    for digest in ("a", "b", "a", "c"):
        bodies.met(digest, f"http://x.test/{digest}")
    assert bodies.met("a", "http://x.test/other") == "http://x.test/a"
    assert bodies.met("b", "http://x.test/other") is None
