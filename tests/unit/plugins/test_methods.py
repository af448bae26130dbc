"""A component whose methods can't be called as its protocol says is found before it is called."""

from functools import partial

import pytest

from config import ConfigError
from crawler.page import Extract, Page
from crawler.wiring.components import processing
from crawler.wiring.configuration import load
from crawler.wiring.plugins.checks import find_misfit, missing_methods
from crawler.wiring.plugins.kinds import CANONICAL_RULE, EXTRACTOR, SINK, VISITED
from tests.unit.plugins.installing import Site


class Good:
    def extract(self, page: Page, /) -> Extract:
        raise NotImplementedError


class Waiting:
    async def extract(self, page: Page, /) -> Extract:
        raise NotImplementedError


class Short:
    def extract(self) -> Extract:
        raise NotImplementedError


class Long:
    def extract(self, page: Page, encoding: str) -> Extract:
        raise NotImplementedError


class Named:
    def extract(self, *, page: Page) -> Extract:
        raise NotImplementedError


class Lenient:
    def extract(self, *arguments: object, **options: object) -> Extract:
        raise NotImplementedError


class Lent:
    """Has a method that is not written in Python."""

    def __init__(self) -> None:
        self.extract = partial(Good().extract)


@pytest.mark.parametrize("component", [Good(), Lenient(), Lent()])
def test_a_component_as_its_protocol_says_has_no_fault(component: object) -> None:
    assert find_misfit(component, EXTRACTOR.methods) is None


@pytest.mark.parametrize(
    ("component", "found"),
    [
        (Waiting(), "async def extract(self, page, /)"),
        (Short(), "def extract(self)"),
        (Long(), "def extract(self, page, encoding)"),
        (Named(), "def extract(self, *, page)"),
    ],
)
def test_what_is_wrong_with_it_is_told(component: object, found: str) -> None:
    expected = f"expected `def extract(self, page, /)` in {type(component).__name__}, found `{found}`"
    assert find_misfit(component, EXTRACTOR.methods) == expected


def test_a_rule_is_a_function() -> None:
    def rule(url: object, more: object) -> object: ...

    assert find_misfit(lambda url: url, CANONICAL_RULE.methods) is None
    expected = "expected `def __call__(self, url, /)` in function, found `def rule(url, more)`"
    assert find_misfit(rule, CANONICAL_RULE.methods) == expected


def test_what_it_lacks_is_listed() -> None:
    assert missing_methods(Good(), SINK.methods) == ["write", "aclose"]
    assert missing_methods(set(), VISITED.methods)[:2] == ["add_many", "forget_many"]
    assert find_misfit(object(), (*SINK.methods, *SINK.optional)) is None


def test_a_maker_of_something_else_is_told(site: Site) -> None:
    site.add("plain-readers", "plain_readers", "def make(parameters):\n    return 5\n")
    loaded = load(None, overrides=['crawl.seeds=["http://a.test/"]', "fetch.extractor=plain_readers:make"])
    with pytest.raises(ConfigError, match=r"expected an extractor, but its maker returned int, which has no extract$"):
        processing.extractor(loaded)
