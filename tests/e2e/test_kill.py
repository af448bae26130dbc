"""That a crawl which is killed again and again loses nothing, repeats nothing that was settled, and leaves order."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import msgspec
import pytest

from crawler.page import PageRecord
from crawler.simweb.expected import Kind
from crawler.simweb.log import LogEntry
from crawler.simweb.params import WorldParams
from crawler.simweb.paths import Sort, Spot, path_of
from crawler.simweb.world import World
from crawler.url.urls import UrlReader, host_of
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE
from tests.e2e.killing import Left, Lines, Moment, Victim, growth, idleness, victim
from tests.unit.write.samples import archived

CONCURRENCY, SPARE = 8, 4
MOVED = 301
ROUGH = WorldParams(
    seed=31,
    hosts=14,
    pages_per_host=36,
    links_per_page=12,
    page_bytes=1_500,
    redirects=0.08,
    redirect_loops=0.02,
    not_found=0.06,
    broken=0.02,
    cut_forever=0.01,
    flaky=0.06,
    throttled=0.03,
    retry_after_s=1,
    slow=0.05,
    delay_s=0.1,
    cut=0.04,
    duplicates=0.03,
    robots_rules=0.3,
    robots_redirect=0.1,
    robots_missing=0.2,
    robots_broken=0.1,
    disallowed=0.06,
    sitemap_only=0.05,
    traps=0.3,
    session_ids=0.1,
    odd_links=0.1,
    legacy_charsets=0.1,
    compressed=0.3,
    chunked=0.1,
)
"""Some of everything that can be in flight when a crawl is killed."""
SETTINGS = (
    f"fetch.concurrency={CONCURRENCY}",
    f"fetch.spare={SPARE}",
    "politeness.min_delay_s=0.02",
    "politeness.max_delay_s=0.2",
    "frontier.snapshot_every=15",
    "output.warc_max_bytes=60_000",
    "output.records_max_bytes=30_000",
)
_STATES = {Kind.ERROR: "failed", Kind.EXCLUDED: "excluded", Kind.BARRED: "excluded"}
_ROBOTS = tuple(path_of(0, Spot(sort)) for sort in (Sort.ROBOTS, Sort.ROBOTS_MOVED))


@pytest.mark.parametrize(("backend", "kills"), [("exact", 10), ("bloom", 10)])
def test_kills_at_any_moment_lose_nothing_and_repeat_only_what_was_in_flight(
    tmp_path: Path, backend: str, kills: int
) -> None:
    assert_survives(tmp_path, ROUGH, backend=backend, kills=kills)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["exact", "bloom"])
def test_two_hundred_kills_of_a_crawl_of_fifty_hosts(tmp_path: Path, backend: str) -> None:
    params = msgspec.structs.replace(ROUGH, seed=32, hosts=50, pages_per_host=80)
    assert_survives(tmp_path, params, backend=backend, kills=200)


@pytest.mark.long
def test_kills_of_a_crawl_in_which_most_robots_txt_redirect(tmp_path: Path) -> None:
    params = msgspec.structs.replace(
        ROUGH, seed=32, hosts=50, pages_per_host=20, robots_redirect=0.6, robots_rules=0.2, robots_missing=0.1
    )
    assert_survives(tmp_path, params, backend="exact", kills=40)


def assert_survives(folder: Path, params: WorldParams, *, backend: str, kills: int) -> None:
    expected = {item.url: item for item in World(params).expected(sitemaps=True)}
    with victim(folder, params, *SETTINGS, f'visited.backend="{backend}"') as crawl:
        random = Random(kills)
        killed: list[Killed] = []
        for moment, after_s in moments(crawl, kills, requests=len(expected)):
            if crawl.run(moment, after_s=after_s) == COMPLETE:
                break  # it was faster than whoever kills it
            if (left := crawl.left()) is not None:
                killed.append(Killed.now(left, crawl.requests()))
            if random.random() < 0.5:
                crawl.tear(random)
        assert any(kill.left.attempts and kill.requests for kill in killed), "no kill has met a crawl that works"
        for after_s in (0.0, 0.01):
            crawl.run(word(crawl.directory.log, "ended: complete"), after_s=after_s)  # if it is not too quick
            crawl.left()
        assert crawl.run() == COMPLETE
        left = crawl.left()
        assert left is not None
        killed.append(Killed.now(left, crawl.requests()))
    records = {canonical(record.url): record for record in records_of(crawl)}
    assert left.settled == expected.keys()
    assert {url: (record.state, record.status) for url, record in records.items()} == {
        url: (_STATES.get(item.kind, "done"), 200 if item.kind is Kind.CUT else item.status)
        for url, item in expected.items()
    }
    assert_archive_has_every_page(crawl, World(params), records)
    barred = {host_of(url) for url, item in expected.items() if item.kind is Kind.BARRED}
    answers = {host: World(params).respond(host, "/robots.txt") for host in map(host_of, expected)}
    moved = {f"http://{host}/robots.txt" for host, reply in answers.items() if reply.status == MOVED}
    assert_only_what_was_in_flight_is_repeated(killed, records, barred=barred, moved=moved)


# when


def moments(crawl: Victim, kills: int, *, requests: int) -> Iterator[tuple[Moment, float]]:
    """When to kill, and how long after: while it starts, adds seeds, writes a snapshot or begins a file, after numbers
    of requests all over the crawl, and when there is nothing to do but wait. Seeded by the number of kills."""
    random = Random(kills)
    directory = crawl.directory
    lines = Lines(crawl.log)
    few = requests // kills  # leaves some for the end, since retries are not counted
    yield change(directory.lock), random.uniform(0.0, 0.1)
    yield change(directory.frontier / "CURRENT"), 0.0
    yield change(directory.frontier / "LOG"), random.uniform(0.0, 0.01)
    yield change(directory.configuration), 0.0
    for turn in range(4, kills):
        enough = growth(lines, by=random.randrange(1, 2 * few))
        soon_s = random.uniform(0.0, 0.01)
        match turn % 8:
            case 0:
                # Wherever its start is then; the faster the machine, the more of the crawl would follow.
                yield either(later(random.uniform(0.0, 0.5)), enough), 0.0
            case 1:
                yield either(change(directory.visited), enough), 0.0
            case 2:
                yield either(change(directory.warc), enough), soon_s
            case 3:
                yield either(idleness(lines), enough), 0.0
            case _:
                yield enough, soon_s


def later(after_s: float) -> Moment:
    """So long after it was first looked at."""
    since: float | None = None

    def is_later() -> bool:
        nonlocal since
        since = time.monotonic() if since is None else since
        return time.monotonic() - since >= after_s

    return is_later


def either(moment: Moment, other: Moment) -> Moment:
    return lambda: moment() or other()


def change(path: Path) -> Moment:
    """The file, or a name in the folder, is another than now."""
    before = _state(path)
    return lambda: _state(path) != before


def _state(path: Path) -> object:
    try:
        return {entry.name for entry in path.iterdir()} if path.is_dir() else path.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def word(file: Path, word: str) -> Moment:
    """The word was written to the file since it was first looked at."""
    start: int | None = None

    def is_written() -> bool:
        nonlocal start
        if start is None:
            start = file.stat().st_size if file.exists() else 0
        return file.exists() and word in file.read_text()[start:]

    return is_written


# what was left


class Killed(msgspec.Struct, frozen=True):
    """A crawl after a kill, and the requests until then, by canonical URL."""

    left: Left
    requests: Counter[str]

    @classmethod
    def now(cls, left: Left, requests: Sequence[LogEntry]) -> "Killed":
        return cls(left, Counter(canonical(f"http://{request.host}{request.target}") for request in requests))


_reader = UrlReader()


def canonical(url: str) -> str:
    return _reader.seed(url).canonical


def records_of(crawl: Victim) -> list[PageRecord]:
    def fail(path: Path, offset: int, why: str) -> None:
        pytest.fail(f"{path} at {offset}: {why}")

    return list(read_records(crawl.directory.records, last_only=True, on_damage=fail))


def assert_archive_has_every_page(crawl: Victim, world: World, records: Mapping[str, PageRecord]) -> None:
    """Each page has its response, with the very body that the web serves, as far as it came, and no file is torn or
    left open."""
    assert not list(crawl.directory.warc.glob("*.open"))
    entries = archived(crawl.directory.warc)
    accepted = next(dict(entry.http_headers)["Accept-Encoding"] for entry in entries if entry.kind == "request")
    responses = {entry.number: entry for entry in entries if entry.kind == "response"}
    for record in records.values():
        if record.state == "done":
            entry = responses[record.number]
            assert entry.fields["WARC-Target-URI"] == record.url
            assert (entry.status_line or "").startswith(str(record.status))
            _, _, host, target = record.url.split("/", 3)
            reply = world.respond(host, f"/{target}", attempt=99, accept_encoding=accepted)
            if record.truncated:
                assert reply.body.startswith(entry.payload), record.url
                assert entry.fields["WARC-Truncated"] == record.truncated
            else:
                assert entry.payload == reply.body, record.url


def assert_only_what_was_in_flight_is_repeated(
    killed: Sequence[Killed], records: Mapping[str, PageRecord], *, barred: set[str], moved: set[str]
) -> None:
    """Each request was accounted for in the store, or lost to a kill: with one URL in flight per host, and no more than
    could be at once.

    A host whose robots.txt has `moved` rests, with nothing in flight, before it is asked for the new place. A crawl
    that is killed meanwhile begins again with the first.
    """
    lost: Counter[str] = Counter()
    for kill in killed:
        unaccounted = {
            url: asked - accounted(url, kill.left, records)
            for url, asked in kill.requests.items()
            if host_of(url) not in barred
        }
        assert min(unaccounted.values(), default=0) >= 0
        now = Counter(unaccounted)
        assert not lost - now, "what was lost is found again"
        in_flight = now - lost
        lost = now
        assert max(in_flight.values(), default=0) <= 1
        by_host = Counter(host_of(url) for url in in_flight if not url.endswith(_ROBOTS))
        assert max(by_host.values(), default=0) <= 1
        assert len({host_of(url) for url in in_flight.keys() - moved}) <= CONCURRENCY + SPARE


def accounted(url: str, left: Left, records: Mapping[str, PageRecord]) -> int:
    """For how many requests of the URL the store accounts."""
    if url.endswith(_ROBOTS):
        return url[: url.index("/", 7)] in left.known_robots
    if url in left.settled:
        record = records[url]
        return 0 if record.state == "excluded" else record.attempts
    return left.attempts[url]
