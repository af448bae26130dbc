import pytest

from crawler.discover.links.cache import LinkCache
from crawler.discover.links.judgement import Judgement
from crawler.url.urls import BadUrl, UrlReader

PAGE = "https://example.org/a/page.html"


class Judge:
    """Reads hrefs, and counts them."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._urls = UrlReader()

    def __call__(self, hrefs: list[str], base_url: str) -> list[Judgement]:
        self.asked += hrefs
        return [Judgement(target) for target in self._urls.read_many(hrefs, base_url)]


@pytest.mark.parametrize("size", [1, 7, 50, 333])
def test_the_memory_of_hrefs_is_bounded(size: int) -> None:
    made = LinkCache(Judge(), capacity=100)
    for start in range(0, 1000, size):
        hrefs = [f"/{start + number}" for number in range(size)]
        assert made.judge(hrefs, PAGE) == [Judgement(UrlReader().read(href, PAGE)) for href in hrefs]
    assert 50 <= sum(map(len, [*made._young.values(), *made._old.values()])) <= 100


def test_what_was_judged_lately_is_not_judged_again() -> None:
    judge = Judge()
    made = LinkCache(judge, capacity=10)
    for hrefs in (["/1", "2", "https://e.org/"], ["/3", "/1", "2"], ["/4", "/5", "/6"], ["2", "/1", "https://e.org/"]):
        assert made.judge(hrefs, PAGE) == [Judgement(UrlReader().read(href, PAGE)) for href in hrefs]
    assert sorted(judge.asked) == sorted(["/1", "2", "https://e.org/", "/3", "/4", "/5", "/6"])
    made.judge([f"/{number}" for number in range(10, 30)], PAGE)
    judge.asked.clear()
    made.judge(["2"], PAGE)
    assert judge.asked == ["2"]


@pytest.mark.parametrize(
    "href", ["", "?x", " ?x", "\t#y", "http:?x", "HTTPS:x", "ht\ntps:?x", "h\tttp:", "/" + "x" * 600]
)
def test_what_depends_on_the_document_or_is_long_is_judged_each_time(href: str) -> None:
    judge = Judge()
    made = LinkCache(judge, capacity=10)
    assert made.judge([href], PAGE) == made.judge([href], PAGE)
    assert judge.asked == [href, href]


def test_what_has_a_long_base_is_judged_each_time() -> None:
    judge = Judge()
    made = LinkCache(judge, capacity=10)
    base = f"https://example.org/{'x' * 600}/"
    assert made.judge(["a"], base) == made.judge(["a"], base)
    assert judge.asked == ["a", "a"]


def test_what_is_no_url_is_remembered_too() -> None:
    judge = Judge()
    made = LinkCache(judge, capacity=10)
    for _ in range(2):
        assert made.judge(["mailto:a"], PAGE) == [Judgement(BadUrl.SCHEME)]
    assert judge.asked == ["mailto:a"]
