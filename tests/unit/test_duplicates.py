"""That a record names the page which it repeats."""

from crawler.page.duplicates import Duplicates


def test_the_first_page_of_a_body_is_named_by_all_that_repeat_it() -> None:
    duplicates = Duplicates()
    assert duplicates.remember(b"d", "http://a.test/1") is None
    assert duplicates.remember(b"d", "http://a.test/2") == "http://a.test/1"
    assert duplicates.remember(b"d", "http://a.test/3") == "http://a.test/1"


def test_a_page_that_is_fetched_again_does_not_repeat_itself() -> None:
    duplicates = Duplicates()
    duplicates.remember(b"d", "http://a.test/1")
    assert duplicates.remember(b"d", "http://a.test/1") is None


def test_the_body_met_longest_ago_is_forgotten_first() -> None:
    duplicates = Duplicates(capacity=2)
    for sha1 in ("a", "b", "a", "c"):
        duplicates.remember(sha1.encode(), f"http://x.test/{sha1}")
    assert duplicates.remember(b"a", "http://x.test/other") == "http://x.test/a"
    assert duplicates.remember(b"b", "http://x.test/other") is None


def test_the_oldest_hundredth_is_forgotten_at_once_so_that_not_every_page_has_to_look_for_the_oldest() -> None:
    duplicates = Duplicates(capacity=1000)
    for number in range(1001):
        duplicates.remember(b"%d" % number, f"http://x.test/{number}")
    assert duplicates.remember(b"10", "http://x.test/other") == "http://x.test/10"
    assert duplicates.remember(b"9", "http://x.test/other") is None
