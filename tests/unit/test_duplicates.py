"""That a record names the page which it repeats."""

import hashlib

from crawler.page import Page
from crawler.page.duplicates import Duplicates, Repeat


def page(body: bytes, *, status: int = 200) -> Page:
    return Page(
        url="http://a.test/", status=status, headers=[], body=body, raw_body=body, fetched_at=5.0, duration_s=0.1
    )


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


def test_a_page_that_has_changed_or_gone_is_no_longer_named_by_those_that_get_its_old_body() -> None:
    duplicates = Duplicates()
    duplicates.mark(None, page(b"x"), b"x", "http://a.test/changed")
    duplicates.mark(None, page(b"y"), b"y", "http://a.test/changed", before=b"x")
    duplicates.mark(None, page(b"z"), b"z", "http://a.test/gone")
    duplicates.mark(None, page(b"no", status=404), b"no", "http://a.test/gone", before=b"z")
    duplicates.mark(None, page(b"r"), b"r", "http://a.test/refused")
    duplicates.mark(None, page(b"s"), b"s", "http://a.test/refused", before=b"r", is_refused=True)
    for body in (b"x", b"z", b"r", b"s"):
        assert duplicates.mark(None, page(body), body, "http://a.test/new") is None
    marked = duplicates.mark(None, page(b"y"), b"y", "http://a.test/copy")
    assert marked == Repeat(duplicate_of="http://a.test/changed")


def test_a_copy_that_changes_does_not_make_the_first_page_forgotten() -> None:
    duplicates = Duplicates()
    for name in ("first", "copy"):
        duplicates.mark(None, page(b"x"), b"x", f"http://a.test/{name}")
    duplicates.forget(b"x", "http://a.test/copy")
    marked = duplicates.mark(None, page(b"x"), b"x", "http://a.test/new")
    assert marked == Repeat(duplicate_of="http://a.test/first")


def test_a_page_that_the_server_calls_unmodified_is_named_by_new_copies_of_its_body() -> None:
    duplicates = Duplicates()
    duplicates.confirm(b"x", "http://a.test/old")
    marked = duplicates.mark(None, page(b"x"), b"x", "http://a.test/new")
    assert marked == Repeat(duplicate_of="http://a.test/old")


def test_an_empty_page_that_the_server_calls_unmodified_is_not_remembered() -> None:
    duplicates, empty = Duplicates(), hashlib.sha1(b"", usedforsecurity=False).digest()
    for name in ("first", "second"):
        duplicates.confirm(empty, f"http://a.test/{name}")
    assert duplicates.remember(empty, "http://a.test/other") is None
