"""What a world says a complete crawl must find, against an independent walk over its answers."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.simweb.expected import Expected, Kind, counts, expected_on, statuses, urls
from crawler.simweb.params import WorldParams, bench_params, demo_params
from crawler.simweb.world import World
from tests.unit.simweb.walking import walk

WILD: dict[str, Any] = {
    "redirects": 0.2,
    "redirect_loops": 0.1,
    "not_found": 0.2,
    "broken": 0.1,
    "cut_forever": 0.1,
    "flaky": 0.2,
    "flaky_failures": 2,
    "throttled": 0.1,
    "slow": 0.1,
    "cut": 0.1,
    "duplicates": 0.2,
    "robots_rules": 0.4,
    "robots_redirect": 0.2,
    "robots_missing": 0.2,
    "robots_broken": 0.3,
    "crawl_delays": 0.5,
    "disallowed": 0.3,
    "traps": 0.5,
    "session_ids": 0.3,
    "odd_links": 0.3,
    "legacy_charsets": 0.4,
    "broken_html": 0.3,
    "compressed": 0.5,
    "chunked": 0.5,
    "page_bytes": 2_000,
}
WORLDS = {
    "demo": demo_params(),
    "bench": bench_params(500),
    "wild": WorldParams(seed=5, hosts=12, pages_per_host=30, **WILD),
    "giants": WorldParams(seed=6, hosts=20, pages_per_host=4, giant_hosts=0.2, giant_factor=30, page_bytes=1_000),
    "deep": WorldParams(seed=7, hosts=9, pages_per_host=17, branching=1, host_branching=1, links_per_page=0),
    "one page": WorldParams(hosts=1, pages_per_host=1),
    "many small hosts": WorldParams(seed=-8, hosts=300, pages_per_host=1, host_branching=3, links_per_page=2),
}


def check(world: World, *, robots: bool, agent: str = "onceover", port: int | None = None) -> None:
    expected = list(world.expected(robots=robots, agent=agent, port=port))
    walked = walk(world, obey=robots, agent=agent, port=port)
    assert len({e.url for e in expected}) == len(expected)
    assert urls(expected, Kind.EXCLUDED, Kind.BARRED) == walked.excluded
    assert {e.url: e.status for e in expected if e.kind not in (Kind.EXCLUDED, Kind.BARRED)} == walked.statuses
    assert {e.url: e.target for e in expected if e.target} == walked.targets
    always_failing = urls(expected, Kind.ERROR, Kind.CUT)
    failures = {url: n for url, n in walked.failures.items() if url not in always_failing}
    assert {e.url: e.failures for e in expected if e.failures} == failures


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name == "demo")) for name in WORLDS])
def test_a_walk_settles_exactly_what_is_expected(name: str) -> None:
    check(World(WORLDS[name]), robots=True)


@pytest.mark.parametrize("name", ["wild", "deep", pytest.param("bench", marks=pytest.mark.long)])
def test_a_walk_that_ignores_robots_settles_exactly_what_is_expected(name: str) -> None:
    params = WORLDS[name]
    without_traps = WorldParams(**{**_fields(params), "traps": 0.0})
    check(World(without_traps), robots=False)


def test_robots_rules_depend_on_the_agent_as_expected() -> None:
    world = World(WORLDS["wild"])
    check(world, robots=True, agent="Librarian/2.0")
    assert urls(world.expected(agent="librarian"), Kind.PAGE) > urls(world.expected(), Kind.PAGE)


def test_a_walk_on_another_port_settles_the_same_with_that_port() -> None:
    check(World(WorldParams(seed=3, hosts=4, pages_per_host=9, **WILD)), robots=True, port=8123)


_shares = st.sampled_from([0.0, 0.1, 0.5, 1.0])
_leaf_shares = st.sampled_from([0.0, 0.2])


@settings(max_examples=30, deadline=None)
@given(
    params=st.builds(
        WorldParams,
        seed=st.integers(-(2**63), 2**63 - 1),
        hosts=st.integers(1, 7),
        pages_per_host=st.integers(1, 20),
        giant_hosts=_shares,
        giant_factor=st.integers(1, 4),
        links_per_page=st.integers(0, 30),
        page_bytes=st.integers(0, 1500),
        branching=st.integers(1, 5),
        host_branching=st.integers(1, 5),
        redirects=_shares,
        redirect_loops=_shares,
        not_found=_shares,
        broken=_shares,
        cut_forever=_shares,
        flaky=_leaf_shares,
        throttled=_leaf_shares,
        slow=_leaf_shares,
        cut=_leaf_shares,
        duplicates=_leaf_shares,
        robots_rules=st.sampled_from([0.0, 0.3, 0.5]),
        robots_redirect=st.sampled_from([0.0, 0.3]),
        robots_missing=st.sampled_from([0.0, 0.2]),
        robots_broken=_shares,
        disallowed=_shares,
        traps=_shares,
        session_ids=_shares,
        odd_links=_shares,
        legacy_charsets=_shares,
        broken_html=_shares,
        chunked=_shares,
    )
)
def test_any_small_world_is_settled_by_a_walk_as_expected(params: WorldParams) -> None:
    check(World(params), robots=True)


def test_the_demo_has_exactly_2000_pages_on_40_hosts() -> None:
    expected = list(World(demo_params()).expected())
    pages = urls(expected, Kind.PAGE)
    assert len(pages) == 2_000
    assert len({url.split("/")[2] for url in pages}) == 40
    assert {e.obstacle for e in expected} == {None, "flaky", "throttled", "slow", "cut"}
    assert set(counts(expected)) == {Kind.PAGE, Kind.REDIRECT, Kind.DEAD, Kind.EXCLUDED}


def test_statuses_leave_out_what_may_not_be_fetched_or_never_arrives() -> None:
    expected = [
        Expected(url="http://h00000.sim.test/", status=200, kind=Kind.PAGE),
        Expected(url="http://h00000.sim.test/gone", status=404, kind=Kind.DEAD),
        Expected(url="http://h00000.sim.test/private/", status=None, kind=Kind.EXCLUDED),
    ]
    assert statuses(expected) == {"http://h00000.sim.test/": 200, "http://h00000.sim.test/gone": 404}


def test_a_world_whose_traps_are_open_has_no_complete_crawl() -> None:
    open_traps = World(WorldParams(traps=1.0, traps_disallowed=False))
    with pytest.raises(ValueError, match="endless paths"):
        list(open_traps.expected())
    disallowed = World(WorldParams(traps=1.0, robots_rules=1.0))
    with pytest.raises(ValueError, match="endless paths"):
        list(disallowed.expected(robots=False))


def test_a_host_alone_is_settled_by_its_own_links() -> None:
    world = World(WORLDS["wild"])
    for index in range(world.geography.host_count):
        expected = expected_on(world.geography, index, robots=True, agent="onceover", sitemaps=False, port=None)
        walked = walk(world, within=world.geography.host_name(index))
        assert urls(expected) == walked.statuses.keys() | walked.excluded


def _fields(params: WorldParams) -> dict[str, Any]:
    return {name: getattr(params, name) for name in params.__struct_fields__}
