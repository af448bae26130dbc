"""The world as a pure function: paths, answers, faults, encodings."""

import gzip
import re
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from urllib.parse import urljoin, urlsplit

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.simweb.expected import Kind
from crawler.simweb.geography import Geography, Obstacle
from crawler.simweb.page_facts import Declared, PageFacts
from crawler.simweb.params import WorldParams, bench_params, demo_params
from crawler.simweb.paths import Sort, Spot, canonical_target, path_of, spot_at, with_session
from crawler.simweb.world import Reply, World
from tests.unit.simweb.walking import charset_of, links

HOST = "h00000.sim.test"
SESSION = "0123456789abcdef" * 2


def header(reply: Reply, name: str) -> str | None:
    return dict(reply.headers).get(name)


def target_of(world: World, number: int, *, host: int = 0) -> str:
    return world.url(host, number).removeprefix(world.origin(host))


def first_with(world: World, obstacle: Obstacle) -> str:
    """The path of the first page of host 0 with that obstacle."""
    count = world.geography.page_count(0)
    return next(target_of(world, n) for n in range(count) if world.facts(0, n).obstacle is obstacle)


@given(
    index=st.integers(0, 10**6),
    sort=st.sampled_from([sort for sort in Sort if sort not in (Sort.ROBOTS, Sort.ROBOTS_MOVED)]),
    number=st.integers(0, 10**9),
    step=st.integers(1, 40),
)
def test_a_path_leads_back_to_what_it_is_the_path_of(index: int, sort: Sort, number: int, step: int) -> None:
    is_trap = sort in (Sort.CALENDAR, Sort.MAZE)
    has_steps = is_trap or sort in (Sort.REDIRECT, Sort.LOOP)
    spot = Spot(sort, 0 if is_trap else number, step if has_steps else 0)
    assert spot_at(index, path_of(index, spot)) == spot


@given(st.text(max_size=40))
def test_any_target_gets_an_answer(path: str) -> None:
    reply = World(demo_params()).respond(HOST, f"/{path}")
    assert reply.status in (200, 301, 302, 303, 307, 308, 404, 410)


@pytest.mark.parametrize(
    "target",
    [
        "/docs/no-such-5.html",
        "/item.php",
        "/item.php?id=99999999999999999999",
        "/calendar/2026/13/",
        "/go/0/9",
        "/go/7777/0",
        "/loop/0/5",
        "/sitemap-1.xml",
        "/maze/b/",
        "/private/staff-5000.html",
        "//",
    ],
)
def test_what_does_not_exist_is_not_found(target: str) -> None:
    world = World(WorldParams(robots_rules=1.0, traps=1.0, redirects=0.2, redirect_loops=0.1, disallowed=0.1))
    assert world.respond(HOST, target).status == 404


def test_hosts_of_another_web_are_misdirected() -> None:
    world = World(WorldParams(hosts=3))
    for name in ("h00003.sim.test", "h0.sim.test", "h00000.example.org", "localhost", "x00000.sim.test", ""):
        assert world.respond(name, "/").status == 421
    assert world.respond("H00002.Sim.Test.", "/").status == 200
    assert world.respond(f"h{'1' * 5_000}.sim.test", "/").status == 421
    assert world.respond(f"h00000.sim.test:{'1' * 5_000}", "/").status == 200


def test_equal_params_give_equal_pages_and_another_seed_other_ones() -> None:
    one, same = World(demo_params()), World(demo_params())
    other = World(WorldParams(seed=3, hosts=40, pages_per_host=50))
    for number in range(0, 50, 7):
        target = target_of(one, number, host=7)
        assert one.respond("h00007.sim.test", target) == same.respond("h00007.sim.test", target)
        assert one.respond("h00007.sim.test", target).body != other.respond("h00007.sim.test", target).body


def test_a_page_of_the_last_of_a_million_hosts_needs_no_other() -> None:
    world = World(WorldParams(hosts=1_000_000, pages_per_host=50))
    target = target_of(world, 49, host=999_999)
    reply = world.respond("h999999.sim.test", target)
    assert reply.status == 200
    assert f"{target.rpartition('-')[2]}".encode() in reply.body


def test_pages_have_the_mean_size_and_the_number_of_links_that_were_asked_for() -> None:
    world = World(bench_params(500))
    bodies = [world.respond(HOST, target_of(world, n)).body for n in range(250)]
    assert 0.95 * 8_000 < sum(map(len, bodies)) / len(bodies) < 1.05 * 8_000
    assert min(map(len, bodies)) < 5_000
    assert max(map(len, bodies)) > 11_000
    assert {len(links(body, "utf-8", world.origin(0))) for body in bodies} == {40}
    assert len(set(bodies)) == len(bodies)


def test_most_links_repeat_and_some_leave_the_host() -> None:
    world = World(bench_params(2_000))
    found = [
        link
        for n in range(250)
        for link in links(world.respond(HOST, target_of(world, n)).body, "utf-8", world.origin(0))
    ]
    away = [link for link in found if not link.startswith(world.origin(0))]
    assert len(set(found)) < 0.1 * len(found)
    assert 0.01 < len(away) / len(found) < 0.1


def test_absolute_links_repeat_the_port_that_was_asked() -> None:
    world = World(WorldParams(hosts=30))
    on_port = links(world.respond(f"{HOST}:8123", "/").body, "utf-8", f"http://{HOST}:8123/")
    assert "http://h00001.sim.test:8123/" in on_port
    assert world.seeds(port=8123) == [f"http://{HOST}:8123/"]
    assert b"//h00001.sim.test/" in world.respond(f"{HOST}:80", "/").body


def test_a_flaky_page_answers_after_its_failures() -> None:
    world = World(WorldParams(flaky=1.0, flaky_failures=2))
    target = first_with(world, Obstacle.FLAKY)
    replies = [world.respond(HOST, target, attempt=n) for n in (1, 2, 3, 4)]
    assert [reply.status for reply in replies] == [500, 500, 200, 200]
    assert not any(reply.steady for reply in replies)


def test_a_throttled_page_says_when_to_come_back() -> None:
    world = World(WorldParams(throttled=1.0, retry_after_s=7))
    target = first_with(world, Obstacle.THROTTLED)
    first, second = (world.respond(HOST, target, attempt=n) for n in (1, 2))
    assert (first.status, header(first, "Retry-After"), second.status) == (429, "7", 200)


def test_a_slow_page_is_delayed_and_a_cut_one_ends_early_at_first() -> None:
    slow = World(WorldParams(slow=1.0, delay_s=0.25))
    assert slow.respond(HOST, first_with(slow, Obstacle.SLOW)).delay_s == 0.25
    cut = World(WorldParams(cut=1.0, cut_answers=1))
    first, second = (cut.respond(HOST, first_with(cut, Obstacle.CUT), attempt=n) for n in (1, 2))
    assert first.cut_at is not None
    assert 0 < first.cut_at < len(first.body)
    assert second.cut_at is None


def test_what_is_cut_forever_or_broken_never_arrives() -> None:
    world = World(WorldParams(cut_forever=0.2, broken=0.2))
    for attempt in (1, 2, 100):
        assert world.respond(HOST, "/cut/0.html", attempt=attempt).cut_at is not None
        assert world.respond(HOST, "/error/0.html", attempt=attempt).status == 500
        assert world.respond(HOST, "/error/1.html", attempt=attempt).status == 502


def test_duplicates_have_the_very_bytes_of_another_page() -> None:
    world = World(WorldParams(pages_per_host=200, duplicates=0.5, compressed=1.0, legacy_charsets=0.5))
    sources = {n: world.facts(0, n).source for n in range(200) if world.facts(0, n).source != n}
    assert 60 < len(sources) < 120
    for number, source in sources.items():
        copy, original = (world.respond(HOST, target_of(world, n), accept_encoding="gzip") for n in (number, source))
        assert copy.body == original.body


def test_near_duplicates_have_the_body_of_another_page_and_some_words_of_their_own() -> None:
    world = World(WorldParams(pages_per_host=200, duplicates=0.2, near_duplicates=0.5))
    facts = {n: world.facts(0, n) for n in range(200)}
    near = {n: each.source for n, each in facts.items() if each.edition is not None}
    assert 60 < len(near) < 120
    for number, source in near.items():
        copy, original = (world.respond(HOST, target_of(world, n)).body for n in (number, source))
        before, words, after = copy.partition(b"<p>" + copy.rpartition(b"<p>")[2].partition(b"\n</main>")[0] + b"\n")
        assert str(number).encode() in words
        assert before + after == original


def test_odd_links_to_a_web_over_tls_lead_to_its_pages() -> None:
    world = World(WorldParams(hosts=1, pages_per_host=100, odd_links=1.0, https=True))
    body = world.respond(HOST, "/").body.decode()
    assert f'"HTTPS://{HOST.upper()}/' in body
    links = {urljoin(world.origin(0), href.strip()) for href in re.findall('href="([^"]*)"', body)}
    assert {urlsplit(link).hostname for link in links if link.startswith("http")} == {HOST}


def test_session_ids_do_not_lead_to_another_page() -> None:
    world = World(WorldParams(hosts=1, pages_per_host=100, session_ids=1.0))
    for number in range(100):
        target = target_of(world, number)
        plain, with_id = (world.respond(HOST, each) for each in (target, with_session(target, SESSION)))
        assert plain == with_id
    body = world.respond(HOST, "/").body
    assert b";jsessionid=" in body
    assert b"&amp;PHPSESSID=" in body


@pytest.mark.parametrize(
    ("target", "canonical"),
    [
        (f"/a.html;jsessionid={SESSION}", "/a.html"),
        (f"/a.html;jsessionid={SESSION.upper()}?b=1", "/a.html?b=1"),
        (f"/a.php?PHPSESSID={SESSION}", "/a.php"),
        (f"/a.php?PHPSESSID={SESSION}&b=1", "/a.php?b=1"),
        (f"/a.php?b=1&PHPSESSID={SESSION}&c=2", "/a.php?b=1&c=2"),
        ("/sessions/a.html?", "/sessions/a.html?"),
        ("/a.html;jsessionid=short", "/a.html;jsessionid=short"),
    ],
)
def test_session_ids_are_told_from_what_looks_like_them(target: str, canonical: str) -> None:
    assert canonical_target(target) == canonical


@pytest.mark.parametrize(
    ("accept_encoding", "codings"),
    [
        ("", {None}),
        ("identity", {None}),
        ("gzip", {"gzip"}),
        ("br;q=0, deflate", {"deflate"}),
        ("gzip, deflate, br", {"gzip", "deflate", "br"}),
        ("GZIP;q=0.5", {"gzip"}),
    ],
)
def test_bodies_are_compressed_as_the_client_accepts(accept_encoding: str, codings: set[str | None]) -> None:
    world = World(WorldParams(compressed=1.0))
    undo: dict[str | None, Callable[[bytes], bytes]] = {
        None: bytes,
        "gzip": gzip.decompress,
        "deflate": zlib.decompress,
        "br": brotli.decompress,
    }
    seen = set()
    for number in range(20):
        reply = world.respond(HOST, target_of(world, number), accept_encoding=accept_encoding)
        coding = header(reply, "Content-Encoding")
        seen.add(coding)
        assert undo[coding](reply.body) == world.respond(HOST, target_of(world, number)).body
        assert header(reply, "Vary") == "Accept-Encoding"
    assert seen == codings


def test_pages_are_written_in_the_encoding_that_they_declare_or_hide() -> None:
    world = World(WorldParams(pages_per_host=300, legacy_charsets=1.0))
    seen: dict[tuple[str, Declared], PageFacts] = {}
    for number in range(300):
        facts = world.facts(0, number)
        seen[facts.encoding.label, facts.declared] = facts
        reply = world.respond(HOST, target_of(world, number))
        assert facts.title in reply.body.decode(facts.encoding.codec)
        in_header, in_meta = charset_of(reply) == facts.encoding.label, b"<meta charset=" in reply.body
        assert (in_header, in_meta) == (facts.declared is Declared.HEADER, facts.declared is Declared.META)
        assert reply.body.startswith(b"\xef\xbb\xbf") == (facts.declared is Declared.BOM)
    assert len(seen) == 8 * 3 + 1


def test_broken_pages_have_every_fault_and_lose_no_link() -> None:
    sound, broken = (World(WorldParams(pages_per_host=60, broken_html=share)) for share in (0.0, 1.0))
    for number in range(60):
        before, after = (world.respond(HOST, target_of(world, number)).body for world in (sound, broken))
        assert links(before, "utf-8", "http://x/") == links(after, "utf-8", "http://x/")
        assert all(fault in after for fault in (b"\0", b"<table><tr><td><table>", b"<a href=/", b'title="never'))
        assert b"<!DOCTYPE" not in after
        assert b"</li>\n<li>" not in after.partition(b"<main>")[0]


def test_redirects_use_every_status_form_and_length() -> None:
    world = World(WorldParams(hosts=10, pages_per_host=200, redirects=0.5))
    statuses, locations, ends = set(), [], set()
    for number in range(100):
        replies = [world.respond(HOST, f"/go/{number}/{step}") for step in range(5)]
        chain = [reply for reply in replies if reply.status != 404]
        ends.add(len(chain))
        statuses |= {reply.status for reply in chain}
        locations += [header(reply, "Location") for reply in chain]
    assert statuses == {301, 302, 303, 307, 308}
    assert ends == {1, 2, 3, 4}
    for start in ("/", f"http://{HOST}/", "http://h0000"):
        assert any(location and location.startswith(start) for location in locations)


def test_loops_lead_back_to_where_they_began() -> None:
    world = World(WorldParams(redirect_loops=0.3))
    for number, length in ((0, 1), (1, 2), (2, 5), (3, 1)):
        target = f"/loop/{number}/0"
        for _ in range(length):
            location = header(world.respond(HOST, target), "Location") or ""
            target = location.removeprefix(f"http://{HOST}")
        assert target == f"/loop/{number}/0"


def test_traps_never_end() -> None:
    world = World(WorldParams(robots_rules=1.0, traps=1.0))
    entry = next(e.url for e in world.expected() if "/calendar/" in e.url)
    for start in (entry, f"http://{HOST}/maze/a/"):
        way = [start]
        for _ in range(30):
            body = world.respond(HOST, way[-1].removeprefix(f"http://{HOST}")).body
            way.append(links(body, "utf-8", way[-1])[0])
        assert len(set(way)) == 31
        assert all(len(before) <= len(after) for before, after in pairwise(way))


def test_a_robots_file_says_what_the_host_is_like() -> None:
    def robots(**params: Any) -> Reply:
        return World(WorldParams(**params)).respond(f"{HOST}:81", "/robots.txt")

    assert robots().body.decode().splitlines()[1:3] == ["User-agent: *", "Disallow:"]
    assert robots(robots_missing=1.0).status == 404
    rules = robots(robots_rules=1.0, crawl_delays=1.0, crawl_delay_s=0.5).body.decode()
    for line in ("Disallow: /private/", "Allow: /private/open-", "Disallow: /*.cgi", "Crawl-delay: 0.5"):
        assert line in rules.splitlines()
    assert f"Sitemap: http://{HOST}:81/sitemap.xml" in rules
    moved = robots(robots_redirect=1.0)
    assert (moved.status, header(moved, "Location")) == (301, "/about/robots.txt")
    barred = World(WorldParams(hosts=2, robots_broken=0.5))
    assert barred.respond("h00002.sim.test", "/robots.txt").status == 503


def test_a_sitemap_lists_all_pages_and_the_hidden_ones() -> None:
    world = World(WorldParams(pages_per_host=30, sitemap_only=0.2))
    text = world.respond(f"{HOST}:81", "/sitemap.xml").body.decode()
    hidden = {e.url for e in world.expected(sitemaps=True, port=81)} - {e.url for e in world.expected(port=81)}
    on_host = {url for url in hidden if url.startswith(f"http://{HOST}:81/hidden/")}
    assert len(on_host) in (6, 7)
    assert all(f"<loc>{url}</loc>" in text for url in on_host)
    assert text.count("<loc>") == 30 + len(on_host)
    assert world.respond(HOST, on_host.pop().removeprefix(f"http://{HOST}:81")).status == 200


def test_a_large_sitemap_is_split_behind_an_index() -> None:
    world = World(WorldParams(hosts=1, pages_per_host=50_001))
    index = world.respond(HOST, "/sitemap.xml").body.decode()
    assert index.count("<sitemap>") == 2
    counts = [world.respond(HOST, f"/sitemap-{part}.xml").body.count(b"<url>") for part in (1, 2)]
    assert counts == [50_000, 1]
    sitemaps = [e.url for e in world.expected(sitemaps=True) if e.kind is Kind.SITEMAP]
    assert sitemaps == [f"http://{HOST}/sitemap{part}.xml" for part in ("", "-1", "-2")]


@pytest.mark.parametrize(("pages", "branching"), [(1, 8), (2, 8), (9, 8), (10, 8), (17, 1), (50, 7)])
def test_the_trunk_is_the_root_and_the_pages_with_children(pages: int, branching: int) -> None:
    geography = Geography(WorldParams(hosts=1, pages_per_host=pages, branching=branching))
    site = geography.site(0)
    with_children = [n for n in range(pages) if geography.child_pages(site, n)]
    assert list(range(site.trunk_count)) == (with_children or [0])
    children = [child for n in with_children for child in geography.child_pages(site, n)]
    assert children == list(range(1, pages))


def test_giant_hosts_are_some_and_have_more_pages() -> None:
    geography = Geography(WorldParams(hosts=400, pages_per_host=3, giant_hosts=0.1, giant_factor=50))
    sizes = [geography.page_count(index) for index in range(400)]
    assert set(sizes) == {3, 150}
    assert 20 < sizes.count(150) < 60


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"redirects": 1.5}, "redirects must be a share between 0 and 1, not 1.5"),
        ({"slow": -0.1}, "slow must be a share"),
        ({"hosts": 0}, "hosts must be at least 1, not 0"),
        ({"delay_s": -1.0}, "delay_s must not be negative"),
        ({"flaky": 0.7, "slow": 0.7}, "shares of the same leaf pages: their sum is 1.4"),
        ({"robots_rules": 0.7, "robots_missing": 0.7}, "shares of the same hosts"),
        ({"seed": 2**63}, "seed must fit in 64 bits"),
        ({"domain": "Sim.Test"}, "domain must be a lower-case ASCII name"),
    ],
)
def test_wrong_params_are_refused_by_name(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WorldParams(**params)


def test_benchmark_params_give_exactly_that_many_pages() -> None:
    for pages in (7, 250, 1_000):
        assert sum(1 for _ in World(bench_params(pages)).expected()) == pages
    with pytest.raises(ValueError, match="multiple of 250"):
        bench_params(300)


def test_a_web_of_one_page_is_finite() -> None:
    world = World(WorldParams(hosts=1, pages_per_host=1))
    assert [e.url for e in world.expected()] == [f"http://{HOST}/"]
