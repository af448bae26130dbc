"""Simulated pages change by a Poisson process each, and all servers agree on it."""

from datetime import datetime
from email.utils import parsedate_to_datetime
from itertools import pairwise
from statistics import fmean, stdev

import pytest

from crawler.page import Link
from crawler.read.feeds.feeds import xml_links
from crawler.simweb.changes import EPOCH_S, Changes
from crawler.simweb.params import WorldParams
from crawler.simweb.world import World

NOW = 1.8e9
HOST = "h00000.sim.test"


def change_times(changes: Changes, page: int, *, until: float) -> list[float]:
    """When a page changed before a moment, the last one first, down to the beginning of 2027."""
    found = []
    while (version := changes.version(page, now=until)) is not None and version.since > NOW:
        found.append(version.since)
        until = version.since - 1e-3
    return found


def test_changes_are_independent_and_as_frequent_as_asked_for() -> None:
    changes = Changes(WorldParams(change_every_s=50.0))
    gaps = []
    for page in range(30):
        times = change_times(changes, page, until=NOW + 5_000)
        assert 60 <= len(times) <= 145  # 100 on average, and with four standard deviations
        gaps += [later - earlier for later, earlier in pairwise(times)]
    # Between independent events the mean and the standard deviation are the same.
    assert fmean(gaps) == pytest.approx(50, rel=0.05)
    assert stdev(gaps) == pytest.approx(50, rel=0.1)


def test_each_page_has_a_rate_of_its_own_around_the_median() -> None:
    means = [Changes(WorldParams(change_every_s=100.0, change_spread=5)).mean_s(page) for page in range(400)]
    assert 20 <= min(means) < 25
    assert 400 < max(means) <= 500
    assert 180 < sum(mean < 100 for mean in means) < 220


def test_a_version_lasts_until_the_next_one_and_a_moment_has_one_version() -> None:
    params = WorldParams(change_every_s=10.0)
    one, other = Changes(params), Changes(params)
    moments = [NOW + step * 0.5 for step in range(400)]
    versions = [one.version(3, now=moment) for moment in moments]
    assert [other.version(3, now=moment) for moment in reversed(moments)] == versions[::-1]
    known = [version for version in versions if version is not None]
    assert [each.since for each in known] == sorted(each.since for each in known)
    assert all(each.since <= moment for each, moment in zip(known, moments, strict=True))
    assert len({each.since for each in known}) == len({each.noise for each in known}) > 10
    assert one.version(3, now=EPOCH_S - 1) is None
    assert Changes(WorldParams()).version(3, now=NOW) is None


def test_a_page_changes_what_it_says_and_never_which_pages_it_needs() -> None:
    world = World(WorldParams(hosts=2, pages_per_host=30, change_every_s=100.0, links_per_page=12))
    target = world.url(0, 1).removeprefix(world.origin(0))
    before, after = (world.respond(HOST, target, now=now) for now in (NOW, NOW + 5_000))
    assert world.respond(HOST, target, now=NOW) == before
    assert before.body != after.body
    assert before.header("ETag") != after.header("ETag")
    dates = [parsedate_to_datetime(each.header("Last-Modified")).timestamp() for each in (before, after)]
    assert NOW - 2_000 < dates[0] <= NOW < dates[1] <= NOW + 5_000
    assert not before.steady
    sitemap = world.respond(HOST, "/sitemap.xml", now=NOW + 5_000)
    listed = {link.href: link.last_modified for link in _links(sitemap.body)}
    assert len(listed) == 30
    assert int(datetime.fromisoformat(listed[world.url(0, 1)]).timestamp()) == dates[1]


def test_fleeting_pages_come_and_go_and_those_of_the_trunk_stay() -> None:
    world = World(WorldParams(hosts=1, pages_per_host=40, change_every_s=100.0, fleeting=0.5))
    statuses = {
        page: [
            world.respond(HOST, world.url(0, page).removeprefix(world.origin(0)), now=NOW + moment).status
            for moment in range(0, 10_000, 200)
        ]
        for page in range(40)
    }
    fleeting = {page for page, found in statuses.items() if set(found) != {200}}
    assert 10 < len(fleeting) < 25
    assert min(fleeting) >= world.geography.site(0).trunk_count
    for page in fleeting:
        assert set(statuses[page]) in ({200, 404}, {200, 410})
        assert 10 < statuses[page].count(200) < 40
    with pytest.raises(ValueError, match="set fleeting to 0"):
        list(world.expected())


def _links(body: bytes) -> list[Link]:
    return list(xml_links([body]).links)
