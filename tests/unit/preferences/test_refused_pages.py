"""What a crawl with a purpose does about pages whose use is refused."""

import pytest

from config.schema.crawl import Crawl
from config.schema.kinds import PURPOSES as SETTINGS
from crawler.page import Extract, Link, LinkKind, NotModified, Page, Preference, Verdict
from crawler.preferences.judging import Preferences
from crawler.preferences.signals import PURPOSES, ROBOTS_GROUP
from frontier import UrlState
from tests.unit.crawling import SEED, START, Rig, Site, page, star

NO_TRAINING = [(b"Content-Usage", b"train-ai=n")]
SAID = Preference("content-usage", "robots.txt", "train-ai=n", ("train-ai",))
TRAINING = Preferences(["train-ai"])
FAR = f"{SEED}far"


def verdict(*preferences: Preference) -> list[Verdict]:
    return [Verdict(allowed=True, reason="robots", preferences=preferences)]


async def crawl(rig: Rig, *, link_details: bool = False) -> None:
    async with rig.engine(sitemaps=True, link_details=link_details, references=True) as engine:
        await engine.run()
        refused = sum(each.reason == "preferences" for each in rig.sink.records)
        assert engine.counters.excluded["preferences"] == refused


async def test_a_page_that_is_refused_leaves_a_record_without_content_and_its_links_are_followed() -> None:
    site: Site = {SEED: page(SEED, [FAR], headers=NO_TRAINING), FAR: page(FAR)}
    rig = Rig(site)
    rig.preferences = TRAINING
    await crawl(rig, link_details=True)
    refused, followed = rig.sink.records
    assert (refused.state, refused.reason, refused.not_archived) == ("excluded", "preferences", "preferences")
    assert (refused.status, refused.refused_for, refused.references) == (200, ["train-ai"], [FAR])
    assert (refused.title, refused.link_details, refused.message) == (
        None,
        None,
        "content-usage (header) 'train-ai=n' refuses train-ai",
    )
    assert (followed.url, followed.state) == (FAR, "done")
    assert rig.sink.pages == [None, site[FAR]]


async def test_what_robots_txt_refuses_is_not_fetched_but_for_sitemaps() -> None:
    sitemap = f"{SEED}sitemap.xml"
    site: Site = {SEED: page(SEED), sitemap: page(sitemap, [FAR]), FAR: page(FAR)}
    rig = Rig(site, verdicts={SEED: verdict(SAID), sitemap: verdict(SAID)})
    rig.rules.sitemaps = {SEED: [Link(sitemap, LinkKind.SITEMAP)]}
    rig.preferences = TRAINING
    await crawl(rig)
    assert dict(rig.web.asked) == {sitemap: 1, FAR: 1}
    found = {each.url: each for each in rig.sink.records}
    assert (found[SEED].state, found[SEED].reason) == ("excluded", "preferences")
    assert found[SEED].message == "content-usage (robots.txt) 'train-ai=n' refuses train-ai"
    assert (found[SEED].refused_for, found[SEED].preferences) == (["train-ai"], [SAID])
    assert (found[sitemap].state, found[FAR].state) == ("done", "done")


@pytest.mark.parametrize(
    "preferences",
    [
        Preferences(),
        Preferences(["search"]),
        Preferences(["train-ai"], are_respected=False),
        Preferences(["search", "train-ai"]),
    ],
)
async def test_what_is_not_refused_for_all_purposes_is_kept_and_says_so(preferences: Preferences) -> None:
    rig = Rig({SEED: page(SEED, headers=NO_TRAINING)}, verdicts={SEED: verdict(SAID)})
    rig.preferences = preferences
    await crawl(rig)
    [record] = rig.sink.records
    assert (record.state, record.reason, record.refused_for) == ("done", None, ["train-ai"])
    assert record.preferences == [Preference("content-usage", "header", "train-ai=n", ("train-ai",)), SAID]


async def test_an_error_is_no_page_whose_use_could_be_refused() -> None:
    rig = Rig({SEED: page(SEED, status=404, headers=NO_TRAINING)})
    rig.preferences = TRAINING
    await crawl(rig)
    assert [each.state for each in rig.sink.records] == ["done"]


async def test_a_page_that_has_not_changed_says_what_its_site_says_now() -> None:
    answer = NotModified(url=SEED, status=304, headers=NO_TRAINING, fetched_at=START, duration_s=0.0)
    rig = Rig({SEED: answer})
    await crawl(rig)
    assert [each.refused_for for each in rig.sink.records] == [["train-ai"]]


async def test_refused_pages_do_not_count_as_pages_and_are_excluded_in_the_ledger() -> None:
    site = star(5)
    site[SEED] = page(SEED, [f"{SEED}{number}" for number in range(1, 5)], headers=NO_TRAINING)
    rig = Rig(site)
    rig.preferences = TRAINING
    async with rig.engine() as engine:
        await engine.run()
        assert engine.counters.pages == 4
        entry = rig.store.reads.entry(SEED)
    assert entry is not None
    assert (entry.state, entry.reason, entry.etag) == (UrlState.EXCLUDED, "preferences", None)


async def test_what_a_page_embeds_is_not_fetched_if_its_images_are_refused() -> None:
    class Pictured:
        def extract(self, page: Page, /) -> Extract:
            links = [Link(href="/i.png", kind=LinkKind.EMBED), Link(href="/next", kind=LinkKind.LINK)]
            said = Preference("robots", "meta", "noimageai")
            return Extract(content_type="text/html", base_url=page.url, links=links, preferences=[said])

    rig = Rig({SEED: page(SEED)})
    rig.extractor = Pictured()
    rig.preferences = TRAINING
    await crawl(rig)
    first = rig.sink.records[0]
    assert (first.state, first.refused) == ("done", {"preferences": 1})
    assert set(rig.web.asked) == {SEED, f"{SEED}next"}


def test_settings_know_the_purposes_and_names_of_the_table() -> None:
    assert SETTINGS == PURPOSES
    assert {name.lower(): (purpose,) for name, purpose in Crawl().purpose_names.items()} == ROBOTS_GROUP.refuses
