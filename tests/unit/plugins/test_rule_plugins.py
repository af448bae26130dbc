"""A canonical rule of a plug-in that fails is named, and no URL takes the name of another because of it."""

import pytest

from config import ConfigError
from crawler.wiring.components.discovering import url_reader
from crawler.wiring.configuration import load
from crawler.wiring.crawl import check_configuration
from crawler.wiring.plugins.blame import blaming
from crawler.wiring.plugins.checks import PluginFailed
from tests.unit.plugins.installing import Site

RULES = """
    import msgspec


    def lower(url):
        return msgspec.structs.replace(url, path=url.path.lower())


    def forgets_to_return(url):
        if url.query:
            return url


    def returns_text(url):
        return "http://a.test/"


    def returns_bytes(url):
        return msgspec.structs.replace(url, path=b"/")


    def raises(url):
        return {}[url.path]
"""


def test_what_a_rule_returns_is_the_canonical_form(site: Site) -> None:
    site.add("own-rules", "ours", RULES)
    reader = url_reader(load(None, overrides=['urls.rules=["ours:lower"]'], require_seeds=False))
    assert reader.seed("http://a.test/A?B").canonical == "http://a.test/a?B"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("forgets_to_return", "TypeError: expected UrlComponents, found NoneType"),
        ("returns_text", "TypeError: expected UrlComponents, found str"),
        ("returns_bytes", "Expected `str`, got `bytes` - at `$.path`"),
        ("raises", "KeyError: '/b'"),
    ],
)
def test_a_rule_that_fails_is_named_with_the_url(site: Site, name: str, error: str) -> None:
    site.add("own-rules", "ours", RULES)
    reader = url_reader(load(None, overrides=[f'urls.rules=["ours:{name}"]'], require_seeds=False))
    with pytest.raises(PluginFailed) as failed:
        reader.read_many(["/b"], "http://a.test/")
    title = f'the canonical rule "ours:{name}" of own-rules 1.0'
    assert str(failed.value) == f"{title} failed: {error} (http://a.test/b)"
    with pytest.raises(PluginFailed) as told, blaming([]):
        raise ExceptionGroup("several", [failed.value])
    assert str(told.value) == str(failed.value)


def test_a_rule_that_fails_for_a_seed_is_a_problem_of_the_configuration(site: Site) -> None:
    site.add("own-rules", "ours", RULES)
    settings = ['crawl.seeds=["http://a.test/"]', 'urls.rules=["ours:raises"]', "politeness.hours=at night"]
    with pytest.raises(ConfigError) as refused:
        check_configuration(load(None, overrides=settings))
    failed, hours = map(str, refused.value.problems)
    assert failed == """the canonical rule "ours:raises" of own-rules 1.0 failed: KeyError: '/' (http://a.test/)"""
    assert "politeness.hours" in hours
