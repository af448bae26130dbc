"""That a configuration becomes the parts it names, and that what was opened is closed."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from config import ConfigError, Loaded, load
from crawler.discover.scope import ScopeRefusal
from crawler.disk.directory import CrawlDirectory
from crawler.disk.full_disk_retry import FullDiskRetry
from crawler.disk.layout import Layout, write_layout
from crawler.engine import Ending
from crawler.page import LinkKind
from crawler.read.pdf.processes import PdfProcesses
from crawler.testing.frontier.crawls import now
from crawler.testing.loops import in_virtual_time
from crawler.url.canonical_rules import DEFAULT_RULES
from crawler.wiring.components import discovering
from crawler.wiring.components.content import content_reading
from crawler.wiring.components.fetching import request_limits, robots_lifetimes
from crawler.wiring.components.processing import open_sinks
from crawler.wiring.crawl import check_configuration, open_crawl
from crawler.wiring.live.values import Latest, make_values
from crawler.wiring.queue_settings import grouping, pace_groups, queue_settings
from crawler.wiring.revisiting import Plan, make_planning
from crawler.wiring.storage import visited_set
from frontier import CrawlUrl, LedgerEntry, Outcome, StoreRefused, UrlState
from frontier.leveldb.store import LevelDBStore
from frontier.memory.store import MemoryStore
from frontier.shell import QueueFrontier
from frontier.terms import Terms
from tests.stores import open_leveldb
from tests.unit.write.samples import Archived, archived, page, record_of
from visited.bits.kernel import best_kernel
from visited.digests.exact import ExactSet


def loaded(*settings: str, seeds: str = '["http://a.test/"]') -> Loaded:
    agent = 'fetch.user_agent="tests/1.0 (us@our.site)"'
    return load(None, overrides=[f"crawl.seeds={seeds}", agent, *settings], environ={})


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        (['scope.exclude=["("]'], "scope.exclude", "'('"),
        (['scope.include=["(?=a)"]'], "scope.include", "look-around"),
        (['urls.rules=["none-such"]'], "urls.rules", "none-such"),
        (["politeness.hours=at night"], "politeness.hours", "found 'at night'"),
        (["exchange.url=redis://me:secret@a.test/0"], "exchange.url", "without a password"),
        (["exchange.url=redis://[/0"], "exchange.url", "expected the URL of a server: Invalid IPv6 URL"),
        (["recrawl.max_interval_s=1"], "recrawl.max_interval_s", "expected at least recrawl.min_interval_s = 3600"),
        (
            ["recrawl.max_interval_s=2", "recrawl.min_interval_s=3"],
            "recrawl.min_interval_s",
            "expected at most recrawl.max_interval_s = 2",
        ),
    ],
)
def test_what_a_part_refuses_is_told_with_its_key(settings: list[str], key: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_configuration(loaded(*settings))
    assert [problem.key for problem in refused.value.problems] == [key]
    assert words in str(refused.value)


def test_the_longest_retry_after_is_one_for_pages_and_robots_txt() -> None:
    config = loaded("politeness.max_retry_after_s=7").config
    assert robots_lifetimes(config).max_retry_after_s == 7


def test_what_several_parts_refuse_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        check_configuration(loaded('scope.include=["exclude(["]', "politeness.hours=at night"))
    assert [problem.key for problem in refused.value.problems] == ["scope.include", "politeness.hours"]


@pytest.mark.parametrize(
    ("line", "key", "words"),
    [
        ('match = ["a b"]', "site[2].match", "'a b' is not a place"),
        ('match = ["b.test"]\nscope.exclude = ["("]', "scope.exclude", "'('"),
        ('match = ["b.test"]\npoliteness.hours = "22-06"', "politeness.hours", "found '22-06'"),
    ],
)
def test_what_a_part_refuses_of_a_block_is_told_with_its_place(tmp_path: Path, line: str, key: str, words: str) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text(f'[crawl]\nseeds = ["http://a.test/"]\n[[site]]\nmatch = ["a.test"]\n[[site]]\n{line}\n')
    with pytest.raises(ConfigError) as refused:
        check_configuration(load(file))
    [problem] = refused.value.problems
    assert problem.key == key
    assert words in problem.message
    assert (problem.where or "").startswith(f"{file}:{6 + line.count(chr(10))}")


def test_a_user_agent_without_a_name_is_refused_with_its_key() -> None:
    with pytest.raises(ConfigError, match=r"fetch\.user_agent: user agent '\(\(' does not begin with a name"):
        check_configuration(loaded('fetch.user_agent="(("'))


def test_all_seeds_that_cannot_be_crawled_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        check_configuration(loaded(seeds='["mailto:a@b.test", "http://a.test/", "http://192.168.0.1/"]'))
    assert len(refused.value.problems) == 2


@pytest.mark.parametrize(
    "seed",
    ["http://127.0.0.1/", "http://[::1]/", "http://localhost:8000/", "http://a.localhost./", "http://10.1.2.3/x"],
)
def test_a_seed_on_a_private_address_needs_permission(seed: str) -> None:
    seeds = f'["{seed}"]'
    with pytest.raises(ConfigError, match=r"not a public address .*set fetch\.allow_private = true"):
        check_configuration(loaded(seeds=seeds))
    check_configuration(loaded("fetch.allow_private=true", seeds=seeds))


def test_a_seed_with_a_static_address_may_be_anywhere() -> None:
    check_configuration(loaded('fetch.hosts={"localhost" = "127.0.0.1:8080"}', seeds='["http://localhost/"]'))


async def test_a_crawl_without_anything_to_do_is_complete_and_leaves_nothing_open(tmp_path: Path) -> None:
    settings = ["frontier.max_attempts=1", "politeness.robots=false", 'fetch.hosts={"a.test" = "127.0.0.1:1"}']
    for expected in (1, 0):
        with CrawlDirectory(tmp_path / "crawl") as directory:
            async with open_crawl(loaded(*settings), directory) as crawl:
                assert crawl.new_seeds == expected
                assert await crawl.engine.run() is Ending.COMPLETE
                assert crawl.gauge.status().frontier.failed == 1


async def test_a_store_is_closed_when_the_frontier_over_it_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object, **__: object) -> QueueFrontier:
        raise RuntimeError("on the way")

    config = loaded()
    with CrawlDirectory(tmp_path / "crawl") as directory:
        monkeypatch.setattr(QueueFrontier, "open", fails)
        with pytest.raises(RuntimeError, match="on the way"):
            async with open_crawl(config, directory):
                pass
        monkeypatch.undo()
        # LevelDB refuses a second opener.
        open_leveldb(config.config, directory).close()


KNOWS_NONE = MemoryStore().reads.knows_many


async def test_a_crawl_named_by_rules_of_another_version_is_refused_until_it_is_rebuilt(tmp_path: Path) -> None:
    identity = {"urls.rules": f"2:{','.join(DEFAULT_RULES)}", "frontier.queue_by": "host"}
    with CrawlDirectory(tmp_path / "crawl") as directory:
        LevelDBStore(directory.frontier, Terms(identity=identity)).close()
        with pytest.raises(StoreRefused, match="with --rebuild"):
            async with open_crawl(loaded(), directory):
                pass
        for rebuild in (True, False):
            async with open_crawl(loaded(), directory, rebuild=rebuild):
                pass


async def test_an_open_crawl_reads_urls_by_the_limit_of_their_length_that_holds_now(tmp_path: Path) -> None:
    settings = ('frontier.queue_by="domain"', 'scope.exclude=["/xx"]')
    text = f"http://www.a.test/{'x' * 3000}"
    waiting = CrawlUrl(url=text, canonical=text, queue_key="test,a", kind=LinkKind.LINK)
    with CrawlDirectory(tmp_path / "crawl") as directory:
        async with open_crawl(loaded(*settings), directory) as crawl:
            components = crawl.engine._components
            with pytest.raises(ValueError, match="more than 2083 characters"):
                crawl.read_seeds([text])
            await crawl.live.replace(make_values(loaded(*settings, "scope.max_url_length=4000")))
            assert [seed.url for seed in crawl.read_seeds([text])] == [text]
            assert components.queue_key(text) == "test,a"
            assert components.refusal_while_waiting(waiting) is ScopeRefusal.EXCLUDED
            await crawl.live.replace(make_values(loaded(*settings)))
            with pytest.raises(ValueError, match="more than 2083 characters"):
                crawl.read_seeds([text])


def test_a_later_visit_of_a_page_is_judged_by_the_values_that_hold_now() -> None:
    latest = Latest(make_values(loaded()))
    planning = make_planning(loaded('recrawl.schedule="fixed"'))
    assert planning is not None
    plan, text = Plan(latest, planning), f"http://a.test/{'x' * 3000}"
    entry = LedgerEntry(canonical=text, state=UrlState.DONE, number=1, found_at=0.0, url=text, depth=1)
    assert plan.url(entry) is None
    latest.set(make_values(loaded("scope.max_url_length=4000")))
    again = plan.url(entry)
    assert (again and again.url) == text
    latest.set(make_values(loaded("scope.max_url_length=4000", 'scope.exclude=["/xx"]')))
    assert plan.url(entry) is None


@pytest.mark.parametrize("change", ['urls.rules=["sort-query"]', 'frontier.queue_by="domain"'])
async def test_a_setting_on_which_stored_urls_depend_cannot_be_changed(tmp_path: Path, change: str) -> None:
    with CrawlDirectory(tmp_path / "crawl") as directory:
        async with open_crawl(loaded(), directory):
            pass
        with pytest.raises(StoreRefused, match=r"Restore the setting, .* with --rebuild, or start over"):
            async with open_crawl(loaded(change), directory):
                pass
        async with open_crawl(loaded(), directory) as crawl:
            assert crawl.new_seeds == 0


@pytest.mark.parametrize("change", ['urls.rules=["sort-query"]', 'frontier.queue_by="domain"'])
async def test_it_can_be_changed_where_a_rebuild_is_asked_for(tmp_path: Path, change: str) -> None:
    told: list[str] = []
    with CrawlDirectory(tmp_path / "crawl") as directory:
        async with open_crawl(loaded(), directory):
            pass
        async with open_crawl(loaded(change), directory, rebuild=True, on_rebuild=lambda what, _: told.append(what)):
            pass
        assert "the visited set from the ledger" in told
        async with open_crawl(loaded(change), directory, rebuild=True) as crawl:
            assert crawl.new_seeds == 0
        with pytest.raises(StoreRefused):
            async with open_crawl(loaded(), directory):
                pass


@pytest.mark.parametrize(
    ("setting", "made"),
    [
        ("output.records=false", {"frontier", "warc"}),
        ("output.warc=false", {"frontier", "records"}),
        ('frontier.backend="memory"', {"records", "warc"}),
    ],
)
async def test_what_is_not_asked_for_is_not_made(tmp_path: Path, setting: str, made: set[str]) -> None:
    with CrawlDirectory(tmp_path / "crawl") as directory:
        async with open_crawl(loaded(setting), directory):
            pass
        assert {entry.name for entry in directory.path.iterdir()} - {"lock", "visited"} == made


async def test_a_rebuilt_visited_set_is_told_of(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []

    def telling(what: str, urls: int) -> None:
        told.append((what, urls))

    with CrawlDirectory(tmp_path / "crawl") as directory:
        async with open_crawl(loaded(), directory):
            pass
        async with open_crawl(loaded('visited.backend="bloom"'), directory, on_rebuild=telling) as crawl:
            assert crawl.new_seeds == 0
    assert told
    assert told[-1] == ("the visited set from the ledger", 1)


BY_PREFIX = ('frontier.queue_by="surt-prefix"', 'frontier.queue_prefixes=["http://a.test/docs/"]')


@pytest.mark.parametrize(
    ("settings", "queue", "groups"),
    [
        ([], "test,a", ()),
        (["politeness.per_ip=2"], "test,a", ("ip 192.0.2.1",)),
        (["politeness.domain_delay_s=1"], "test,a,www:8080#3", ("domain test,a",)),
        (['frontier.queue_by="ip"'], "test,a", ("ip 192.0.2.1",)),
    ],
)
def test_hosts_share_the_pace_of_what_is_limited(settings: list[str], queue: str, groups: tuple[str, ...]) -> None:
    assert grouping(loaded(*settings).config).groups_of(queue, "192.0.2.1") == groups


def test_the_delay_that_crawls_keep_together_is_the_one_that_holds_now() -> None:
    began, changed = loaded("politeness.per_host=2").config, loaded("politeness.min_delay_s=9", "politeness.per_host=5")
    holds = [began]
    groups_of = pace_groups(began, lambda: holds[0])
    assert [(each.delay_s, each.at_once) for each in groups_of("test,a", "http://a.test/", None)] == [(1.0, 2)]
    holds[0] = changed.config
    assert [(each.delay_s, each.at_once) for each in groups_of("test,a", "http://a.test/", None)] == [(9.0, 2)]


def test_a_crawl_delay_holds_for_all_parallel_queues_of_a_host_together() -> None:
    config = loaded('frontier.parallel_queues=["a.test:4", "a.test:81:2"]').config
    groups = [
        group
        for key in ("test,a#3", "test,a:81#1", "test,b")
        for group in pace_groups(config, lambda: config)(key, f"http://{key}.test/", None)
    ]
    assert [(each.name, each.whole_host) for each in groups] == [
        ("host test,a#3", "host test,a"),
        ("host test,a:81#1", "host test,a"),
        ("host test,b", None),
    ]


@pytest.mark.parametrize(
    ("settings", "groups"),
    [
        ([], ["host test,a,b"]),
        (['frontier.queue_by="ip"'], ["host test,a,b"]),
        (['frontier.queue_by="domain"'], ["host test,a,b", "host test,a"]),
        (
            ['frontier.queue_by="domain"', 'frontier.parallel_queues=["a.test:2"]'],
            ["host test,a,b#0", "host test,a,b", "host test,a#0", "host test,a"],
        ),
        (
            ['frontier.queue_by="surt-prefix"', 'frontier.queue_prefixes=["*.a.test", "http://b.a.test/docs/"]'],
            ["host test,a,b", "host test,a"],
        ),
        (['frontier.queue_by="surt-prefix"', 'frontier.queue_prefixes=["http://b.a.test/docs/"]'], ["host test,a,b"]),
    ],
)
def test_crawls_keep_the_pace_of_a_host_together_whatever_shares_its_queue(
    settings: list[str], groups: list[str]
) -> None:
    there, url = loaded(*settings), "http://b.a.test/docs/1"
    queue_key = discovering.queue_key(discovering.url_reader(there), url)
    found = pace_groups(there.config, lambda: there.config)(queue_key, url, None)
    assert [name for each in found for name in (each.name, each.whole_host) if name is not None] == groups
    assert all(each.shares_cooldown for each in found)


@pytest.mark.parametrize(
    ("queue", "host"),
    [
        ("test,a", "test,a"),
        ("test,a:8080", "test,a"),
        ("test,a#/docs/", "test,a"),
        ("test,a:8080#/docs/", "test,a"),
        ("test,a#3", "test,a"),
        ("192.0.2.1:81", "192.0.2.1"),
        ("[2001:db8::1]:8443", "[2001:db8::1]"),
        ("[::ffff:c000:201]:81", "192.0.2.1"),
    ],
)
def test_ports_and_directories_of_a_host_share_its_pace_and_so_do_queues_of_an_earlier_run(
    queue: str, host: str
) -> None:
    assert grouping(loaded().config).host_of_key(queue) == host


@pytest.mark.parametrize(("queues", "paces"), [(4, "0123"), (2, "0101"), (3, "0120")])
def test_parallel_queues_have_a_pace_of_their_own_and_those_of_an_earlier_run_share_it(queues: int, paces: str) -> None:
    host_of_key = grouping(loaded(f'frontier.parallel_queues=["a.test:{queues}", "a.test:81:2"]').config).host_of_key
    assert [host_of_key(f"test,a#{number}") for number in range(4)] == [f"test,a#{pace}" for pace in paces]
    assert [host_of_key(key) for key in ("test,a", "test,a:81")] == ["test,a#0", "test,a:81#0"]
    assert [host_of_key(key) for key in ("test,a:82", "test,a#/docs/", "test,b#3")] == ["test,a", "test,a", "test,b"]
    assert [host_of_key(f"test,a:81#{number}") for number in range(3)] == ["test,a:81#0", "test,a:81#1", "test,a:81#0"]


@pytest.mark.parametrize("queues", [["#0", "#1", "#2", "#3"], ["", "#0", "#1"]], ids=["lowered", "raised"])
@in_virtual_time
async def test_queues_of_an_earlier_run_let_a_host_see_no_more_requests_than_the_new_ones(queues: list[str]) -> None:
    names = [f"http://a.test/{number}" for number in range(20)]
    keys = [f"test,a{queue}" for queue in queues] * 20
    urls = [CrawlUrl(url=name, canonical=name, queue_key=key) for name, key in zip(names, keys, strict=False)]
    settings = queue_settings(loaded('frontier.parallel_queues=["a.test:2"]').config)
    frontier = await QueueFrontier.open(MemoryStore(), ExactSet(), settings=settings, now=now)
    await frontier.add(urls)
    began: list[float] = []
    async for lease in frontier:
        if frontier.begin_fetch(lease, address=None):
            began.append(now())
            await frontier.done(lease, cooldown_s=1.0, outcome=Outcome(state=UrlState.DONE))
    await frontier.aclose()
    # Two queues, one request a second each.
    assert all(later - first >= 1.0 - 1e-6 for first, later in zip(began, began[2:], strict=False))
    assert len(began) == 20


@pytest.mark.parametrize(
    ("settings", "url", "count"),
    [
        (['frontier.parallel_queues=["a.test:4"]'], "http://a.test:80/", 4),
        (['frontier.parallel_queues=["a.test:4"]'], "https://a.test:443/", 4),
        (['frontier.parallel_queues=["münchen.test:4"]'], "http://xn--mnchen-3ya.test:80/", 4),
        (['frontier.parallel_queues=["a.test:4"]'], "http://www.a.test:80/", 1),
        (['frontier.parallel_queues=["a.test:4"]'], "http://a.test:8080/", 1),
        (['frontier.parallel_queues=["a.test:8080:4"]'], "http://a.test:8080/", 4),
        (['frontier.parallel_queues=["a.test:4"]', "frontier.queue_by=domain"], "http://www.a.test:80/", 4),
        (['frontier.parallel_queues=["a.test:4"]'], "http://a.test:80x/", 1),
    ],
)
def test_it_is_known_how_many_queues_a_host_has(settings: list[str], url: str, count: int) -> None:
    queues_of = discovering.queues_of(loaded(*settings))
    assert queues_of is not None
    assert queues_of(url) == count


@pytest.mark.parametrize("host", ["a..test", "xn--ü.test", "\u3000"])
def test_what_is_no_host_has_not_several_queues(host: str) -> None:
    with pytest.raises(
        ConfigError, match=r"frontier\.parallel_queues: site .* (is not a URL|has a host name that DNS)"
    ):
        check_configuration(loaded(f'frontier.parallel_queues=["{host}:4"]'))


def test_where_no_host_has_several_queues_nobody_is_asked_how_many() -> None:
    assert discovering.queues_of(loaded()) is None


def test_a_rest_of_a_group_means_one_fetch_at_once_unless_told_otherwise() -> None:
    limits = grouping(loaded("politeness.ip_delay_s=3", "politeness.per_domain=4").config).limits
    assert (limits["ip"].at_once, limits["ip"].rest_s) == (1, 3.0)
    assert (limits["domain"].at_once, limits["domain"].rest_s) == (4, 0.0)


async def test_queues_by_host_and_by_address_are_the_same_queues(tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path / "crawl") as directory:
        for setting in ('frontier.queue_by="host"', 'frontier.queue_by="ip"', 'frontier.queue_by="host"'):
            async with open_crawl(loaded(setting), directory):
                pass
        with pytest.raises(StoreRefused):
            async with open_crawl(loaded(*BY_PREFIX), directory):
                pass


@pytest.mark.parametrize(
    ("settings", "has_cache"),
    [
        ([], best_kernel().name != "c"),
        (['visited.backend="bloom"'], True),
        (['visited.store="leveldb"'], True),
        (['visited.backend="bloom"', "visited.recent=0"], False),
    ],
)
async def test_recent_urls_are_remembered_where_that_is_quicker_than_to_ask_the_set(
    tmp_path: Path, settings: list[str], has_cache: bool
) -> None:
    visited = visited_set(loaded(*settings).config, CrawlDirectory(tmp_path), KNOWS_NONE)
    assert ("recent_urls" in visited.describe().details) == has_cache
    await visited.aclose()


def test_options_that_do_not_fit_the_capacity_are_an_error_of_the_configuration(tmp_path: Path) -> None:
    config = loaded("visited.backend=mitz-32", "visited.capacity=10_000_000_000").config
    with pytest.raises(ConfigError, match="visited: 32-bit hashes reach 2,147,483,648 bits; 10,000,000,000 URLs need"):
        visited_set(config, CrawlDirectory(tmp_path), KNOWS_NONE)


@pytest.mark.parametrize(("backend", "is_verified"), [("raw", False), ("exact-leveldb", False), ("six-seeds", True)])
async def test_only_sets_that_can_lose_urls_are_verified(backend: str, is_verified: bool, tmp_path: Path) -> None:
    visited = visited_set(loaded(f"visited.backend={backend}").config, CrawlDirectory(tmp_path), KNOWS_NONE)
    assert ("false_positives_caught" in visited.describe().details) == is_verified
    await visited.aclose()


async def archive_of(directory: Path, *settings: str, bodies: Sequence[bytes]) -> tuple[list[Archived], int]:
    """The records of an archive that a configured sink writes, and its bytes."""
    full_disk = FullDiskRetry(pause=lambda _: None, resume=lambda: None)
    written = (await open_sinks(loaded(*settings), CrawlDirectory(directory), full_disk)).sink
    for number, body in enumerate(bodies, 1):
        await written.write(page(number, body), record_of(page(number, body), number))
    await written.aclose()
    return archived(directory / "warc"), sum(file.stat().st_size for file in (directory / "warc").iterdir())


async def test_a_configuration_names_prefix_level_and_revisits_of_the_archive(tmp_path: Path) -> None:
    words = [b"word%d" % number for number in range(500)]
    large = b" ".join(Random(1).choices(words, k=50_000))
    bodies = [large, b"again", b"again", b"again"]
    fast, fast_bytes = await archive_of(tmp_path / "fast", "output.warc_level=1", bodies=bodies)
    assert [entry.kind for entry in fast].count("response") == 4
    settings = ["output.warc_level=9", "output.warc_prefix=docs", "output.warc_revisits=10"]
    small, small_bytes = await archive_of(tmp_path / "small", *settings, bodies=bodies)
    assert [entry.kind for entry in small if entry.kind in ("response", "revisit")] == ["response"] * 2 + [
        "revisit"
    ] * 2
    assert small_bytes < 0.9 * fast_bytes
    assert all(file.name.startswith("docs-") for file in (tmp_path / "small" / "warc").iterdir())


def test_records_leave_out_configured_headers_that_may_be_secret() -> None:
    limits = request_limits(loaded('fetch.headers={"X-Api-Key"="secret","DNT"="1"}').config)
    assert limits.headers["X-Api-Key"] == "secret"
    assert limits.unrecorded == {"authorization", "proxy-authorization", "cookie", "x-api-key"}


async def test_each_part_of_a_crawl_has_names_of_its_own_for_its_archives(tmp_path: Path) -> None:
    write_layout(tmp_path, Layout.begin(2))
    for number in (0, 1):
        await archive_of(tmp_path / f"part-{number}", bodies=[b"x"])
        [archive] = (tmp_path / f"part-{number}" / "warc").glob("*.warc.gz")
        assert re.fullmatch(rf"onceover-part-{number}-\d{{17}}-00000\.warc\.gz", archive.name)


async def test_no_more_bodies_are_remembered_than_configured(tmp_path: Path) -> None:
    found, _ = await archive_of(tmp_path, "output.warc_revisits=1", bodies=[b"one", b"two", b"one", b"one"])
    kinds = [entry.kind for entry in found if entry.kind in ("response", "revisit")]
    assert kinds == ["response", "response", "response", "revisit"]


async def test_bodies_below_the_size_for_revisits_are_archived_each_time_and_take_no_place(tmp_path: Path) -> None:
    settings = ["output.warc_revisits=1", "output.dedupe_min_bytes=4"]
    found, _ = await archive_of(tmp_path, *settings, bodies=[b"four", b"two", b"two", b"four"])
    kinds = [entry.kind for entry in found if entry.kind in ("response", "revisit")]
    assert kinds == ["response", "response", "response", "revisit"]


@pytest.mark.parametrize(
    "setting",
    ["output.warc_prefix=a/b", "output.warc_level=0", "output.warc_revisits=-1", "output.dedupe_min_bytes=-1"],
)
def test_a_setting_of_the_archive_that_can_not_be_is_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match=setting.partition("=")[0]):
        loaded(setting)


@pytest.mark.parametrize(("setting", "is_loaded"), [("output.text=true", True), ("output.links=true", False)])
def test_what_reads_texts_is_imported_before_the_first_page_and_only_if_texts_are_wanted(
    setting: str, is_loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "crawler.read.content.reading"
    monkeypatch.setitem(sys.modules, name, sys)  # so that it comes back
    monkeypatch.delitem(sys.modules, name)
    config = load(None, overrides=['crawl.seeds=["http://a.test/"]', setting], environ={}).config
    content_reading(config, PdfProcesses().read)
    assert (name in sys.modules) == is_loaded
