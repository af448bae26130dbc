"""Of which rendered pages the archive gets what they loaded."""

import pytest

from config import load
from crawler.page import PageRecord, Preference
from crawler.wiring.components.content import keeps_loads_of

CONTACT = 'fetch.user_agent="test/1.0 (+http://a.test/)"'


def record(*preferences: Preference) -> PageRecord:
    return PageRecord(number=1, url="http://a.test/", state="done", depth=0, kind="seed", preferences=[*preferences])


@pytest.mark.parametrize(
    ("word", "purpose", "is_kept"),
    [("noimageai", "train-ai", False), ("noimageai", "search", True), ("noindex", "train-ai", True)],
)
def test_what_a_page_embeds_is_not_archived_if_it_refuses_that(word: str, purpose: str, is_kept: bool) -> None:
    loaded = load(
        None, overrides=[CONTACT, "render.patterns=['.']", f"crawl.purpose=['{purpose}']"], require_seeds=False
    )
    keeps = keeps_loads_of(loaded.config)
    assert keeps is not None
    said = Preference(signal="robots", source="meta", value=word)
    assert keeps(record(said)) == is_kept
    assert keeps(record())


@pytest.mark.parametrize("settings", [[], ["render.patterns=['.']", "render.archive=false"]])
def test_nothing_is_kept_if_nothing_is_rendered_or_wanted(settings: list[str]) -> None:
    loaded = load(None, overrides=[CONTACT, *settings], require_seeds=False)
    assert keeps_loads_of(loaded.config) is None


def test_screenshots_alone_are_kept_by_the_same_rule() -> None:
    settings = ["render.patterns=['.']", "render.archive=false", "render.screenshot=['view']"]
    loaded = load(None, overrides=[CONTACT, *settings, "crawl.purpose=['train-ai']"], require_seeds=False)
    keeps = keeps_loads_of(loaded.config)
    assert keeps is not None
    assert not keeps(record(Preference(signal="robots", source="meta", value="noimageai")))
