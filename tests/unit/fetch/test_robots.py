import asyncio
import threading
import tracemalloc
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.robots.cache import RobotsCache
from crawler.fetch.robots.crawl_delays import CrawlDelays
from crawler.fetch.robots.robots_txt import LONG_CHARACTERS, MAX_REDIRECTS, RobotsAtOnce, RobotsTxt
from crawler.fetch.robots.rules import (
    MAX_ROBOTS_BYTES,
    RobotsRules,
    product_token,
    read_robots,
)
from crawler.fetch.robots.status import UNREACHABLE_LIMIT_S, RobotsLifetimes, RobotsStatus
from crawler.page import (
    REFUSALS,
    Failure,
    FailureKind,
    Fetched,
    Link,
    LinkKind,
    NotModified,
    Page,
    Redirect,
    Request,
    Verdict,
)
from crawler.politeness.pace import parse_retry_after
from crawler.url.urls import MAX_URL_LENGTH
from frontier.memory.notes import MemoryNotes
from tests.fetchers import http_fetcher

DAY_S = 86400.0
START = 1_700_000_000.0


def page(body: bytes = b"", status: int = 200, *, truncated: str | None = None, **headers: str) -> Page:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Page(
        url="",
        status=status,
        headers=pairs,
        fetched_at=START,
        duration_s=0.5,
        body=body,
        raw_body=body,
        truncated=truncated,
    )


def redirect(location: str, status: int = 301) -> Redirect:
    return Redirect(url="", status=status, headers=[], fetched_at=START, duration_s=0.5, location=location)


def failure(kind: FailureKind = FailureKind.TIMEOUT, *, reached: bool = True) -> Failure:
    return Failure(url="", kind=kind, message="it broke", fetched_at=START, duration_s=0.5, reached=reached)


class FakeWeb:
    """A fetcher with a fixed answer for each URL, which may be changed; waits while `gate` is closed."""

    def __init__(self, answers: Mapping[str, Fetched]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def fetch(self, request: Request, /) -> Fetched:
        self.asked.append(request.url)
        await self.gate.wait()
        return self.answers.get(request.url, page(status=404))


class World:
    """A RobotsTxt in a world of one site, with a clock that moves when it sleeps or is told to."""

    def __init__(
        self,
        answer: Fetched,
        *,
        notes: MemoryNotes | None = None,
        max_origins: int = 100,
        lifetimes: RobotsLifetimes = RobotsLifetimes(min_delay_s=2.0),  # noqa: B008 - a value
        sitemap_paths: tuple[str, ...] = (),
        archive: Callable[[Fetched], Awaitable[None]] | None = None,
    ) -> None:
        self.web = FakeWeb({"http://a.test/robots.txt": answer})
        self.notes = notes if notes is not None else MemoryNotes()
        self.now = START
        self.slept: list[float] = []
        self.robots = RobotsTxt(
            self.web,
            RobotsCache(self.notes, agent="onceover", max_origins=max_origins),
            lifetimes=lifetimes,
            read_retry_after=parse_retry_after,
            sitemap_paths=sitemap_paths,
            archive=archive,
            clock=lambda: self.now,
        )
        self._at_once = RobotsAtOnce(self.robots, rest_s=2.0, sleep=self.sleep)

    async def sleep(self, delay_s: float) -> None:
        self.slept.append(delay_s)
        self.now += delay_s

    async def allows(self, path: str = "/", *, host: str = "a.test") -> Verdict:
        """What is known in the end, with a rest after each redirect."""
        return await self._at_once.allows(f"http://{host}{path}")


NAMED = Link("https://a.test/sitemap.xml", LinkKind.SITEMAP, "Sitemap")
RULES = b"""User-agent: other
Disallow: /

User-agent: onceover
Disallow: /private
Allow: /private/open
Crawl-delay: 7.5

User-agent: *
Disallow: /for-nobody
Sitemap: https://a.test/sitemap.xml
"""


# what a file says


async def test_the_rules_for_our_name_decide() -> None:
    world = World(page(RULES))
    assert (await world.allows("/public")).allowed
    assert not (await world.allows("/private/x?y")).allowed
    assert (await world.allows("/private/open")).allowed
    assert (await world.allows("/for-nobody")).allowed
    assert (await world.allows("/robots.txt")).allowed
    assert (await world.allows("/private")).reason == "robots"


async def test_each_answer_is_archived_before_it_counts() -> None:
    archived: list[Fetched] = []

    async def archive(fetched: Fetched) -> None:
        assert world.robots.crawl_delay("http://a.test/") is None
        archived.append(fetched)

    world = World(redirect("/there"), archive=archive)
    world.web.answers["http://a.test/there"] = page(RULES)
    assert not (await world.allows("/private")).allowed
    assert (await world.allows("/public")).allowed
    assert archived == [redirect("/there"), page(RULES)]
    assert world.robots.crawl_delay("http://a.test/") == 7.5

    async def full(_: Fetched) -> None:
        raise OSError(28, "no space")

    world = World(page(RULES), archive=full)
    with pytest.raises(OSError, match="no space"):
        await world.allows("/")
    assert world.robots.crawl_delay("http://a.test/") is None


async def test_crawl_delay_and_sitemaps_are_told_once_they_are_known() -> None:
    world = World(page(RULES))
    assert world.robots.crawl_delay("http://a.test/") is None
    assert world.robots.new_sitemaps("http://a.test/") == ()
    await world.allows()
    assert world.robots.crawl_delay("http://a.test/x") == 7.5
    assert list(world.robots.new_sitemaps("http://a.test/x")) == [NAMED]


async def test_the_longest_crawl_delay_of_a_host_holds_for_all_its_ports_also_after_a_restart() -> None:
    world = World(page(b"User-agent: *\nCrawl-delay: 3"))
    world.web.answers |= {
        "http://a.test:8080/robots.txt": page(b"User-agent: *\nCrawl-delay: 9"),
        "https://a.test/robots.txt": page(b""),
        "http://www.a.test/robots.txt": page(b"User-agent: *\nCrawl-delay: 20"),
    }
    for host in ("a.test", "a.test:8080", "www.a.test"):
        await world.allows(host=host)
    await world.robots.allows("https://a.test/")
    for each in (world, World(page(status=500), notes=world.notes)):
        for origin in ("http://a.test", "https://a.test", "http://a.test:8080", "http://a.test:8443"):
            assert each.robots.crawl_delay(f"{origin}/") == 9
    world.now += DAY_S
    world.web.answers["http://a.test:8080/robots.txt"] = page(b"")
    await world.allows(host="a.test:8080")
    for each in (world, World(page(status=500), notes=world.notes)):
        assert each.robots.crawl_delay("http://a.test:8443/") == 3


async def test_no_host_makes_us_remember_the_crawl_delays_of_all_its_ports() -> None:
    delays = CrawlDelays(MemoryNotes(), max_hosts=2)
    for port in range(1, 1000):
        delays.learn(f"http://a.test:{port}", float(port))
    assert delays.of("http://a.test/") == 999.0
    assert len(delays._known.find("test,a") or ()) < 100


async def test_sitemaps_are_told_once_for_each_reading_and_again_after_a_restart() -> None:
    world = World(page(RULES))
    await world.allows()
    assert len(world.robots.new_sitemaps("http://a.test/x")) == 1
    assert world.robots.new_sitemaps("http://a.test/y") == ()
    again = World(page(RULES), notes=world.notes)
    assert len(again.robots.new_sitemaps("http://a.test/x")) == 1
    assert again.web.asked == []
    world.now += DAY_S + 1
    await world.allows()
    assert len(world.robots.new_sitemaps("http://a.test/x")) == 1


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            page(b"User-agent: *\nDisallow: /x"),
            [Link("/sitemap.xml", LinkKind.SITEMAP), Link("/map", LinkKind.SITEMAP)],
        ),
        (page(b"gone", status=404), [Link("/sitemap.xml", LinkKind.SITEMAP), Link("/map", LinkKind.SITEMAP)]),
        (page(RULES), [NAMED]),
        (page(status=500), []),
        (Failure(url="", kind=FailureKind.PRIVATE_ADDRESS, message="", fetched_at=0.0, duration_s=0.0), []),
    ],
)
async def test_where_robots_txt_names_no_sitemap_one_is_looked_for(answer: Fetched, told: list[Link]) -> None:
    world = World(answer, sitemap_paths=("/sitemap.xml", "/map"))
    assert world.robots.new_sitemaps("http://a.test/x") == ()
    await world.allows()
    assert list(world.robots.new_sitemaps("http://a.test/x")) == told
    assert world.robots.new_sitemaps("http://a.test/y") == ()


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-8"])
@pytest.mark.parametrize("mark", ["\ufeff", ""])
def test_a_file_in_utf16_is_read_up_to_a_whole_line(codec: str, mark: str) -> None:
    text = "User-agent: *\nDisallow: /ä\nSitemap: https://a.test/s.xml\n"
    for repeats in (1, 20_000):
        whole = read_robots((mark * (codec != "utf-16") + text * repeats).encode(codec))
        rules = RobotsRules(whole, agent="onceover")
        assert not rules.allows("/%C3%A4")
        assert rules.sitemaps == ("https://a.test/s.xml",)
        assert whole.endswith(("/ä\n", "User-agent: *\n", "s.xml\n"))


async def test_escapes_are_compared_whatever_their_case() -> None:
    world = World(page(b"User-agent: *\nDisallow: /%c3%a9\nDisallow: /%C3%A0"))
    for path in ("%c3%a9", "%C3%A9", "%c3%a0", "%C3%a0"):
        assert not (await world.robots.allows(f"http://a.test/{path}")).allowed
    assert (await world.robots.allows("http://a.test/c3%a9")).allowed


def note_parsing(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each file from now on is parsed in the main thread."""
    noted: list[bool] = []
    parse = RobotsCache.parse

    def note(self: RobotsCache, standing: RobotsStatus, /) -> RobotsRules | None:
        noted.append(threading.current_thread() is threading.main_thread())
        return parse(self, standing)

    monkeypatch.setattr(RobotsCache, "parse", note)
    return noted


@pytest.mark.parametrize("is_long", [False, True])
async def test_a_long_file_is_read_in_a_thread(monkeypatch: pytest.MonkeyPatch, is_long: bool) -> None:
    in_main_thread = note_parsing(monkeypatch)
    world = World(page(RULES + b"# \n" * (LONG_CHARACTERS // 3 if is_long else 1)))
    assert not (await world.allows("/private/x")).allowed
    assert in_main_thread == [not is_long]


@pytest.mark.parametrize("is_long", [False, True])
async def test_a_long_file_of_the_notes_is_read_in_a_thread(monkeypatch: pytest.MonkeyPatch, is_long: bool) -> None:
    notes = MemoryNotes()
    answer = page(RULES + b"# \n" * (LONG_CHARACTERS // 3 if is_long else 1))
    before = World(answer, notes=notes)
    assert not (await before.allows("/private/x")).allowed
    in_main_thread = note_parsing(monkeypatch)
    after = World(answer, notes=notes)
    verdicts = await asyncio.gather(*(after.allows("/private/x") for _ in range(3)))
    assert not any(verdict.allowed or verdict.asked for verdict in verdicts)
    assert not after.web.asked
    assert in_main_thread == [not is_long]


async def test_a_long_file_is_parsed_once_for_all_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = RobotsCache.parse
    parsed: list[str | None] = []
    most = running = 0

    def counted(self: RobotsCache, status: RobotsStatus, /) -> RobotsRules | None:
        nonlocal most, running
        parsed.append(status.text)
        running += 1
        most = max(most, running)
        try:
            return parse(self, status)
        finally:
            running -= 1

    monkeypatch.setattr(RobotsCache, "parse", counted)
    hosts = ("a.test", "b.test", "c.test")
    world = World(failure())
    for host in hosts:
        body = f"User-agent: *\nDisallow: /{host}\n".encode() + b"# \n" * LONG_CHARACTERS
        world.web.answers[f"http://{host}/robots.txt"] = page(body)
    asked = [world.robots.allows(f"http://{host}/{host}") for host in hosts]
    leading = [asyncio.create_task(each) for each in asked]
    while not parsed:  # noqa: ASYNC110 - a thread appends
        await asyncio.sleep(0)
    late = [world.robots.allows(f"http://{host}/{host}") for host in hosts * 5]
    verdicts = await asyncio.gather(*leading, *late)
    assert not any(verdict.allowed for verdict in verdicts)
    assert len(parsed) == len(set(parsed)) == len(hosts)
    assert most == 1


def test_hosts_with_the_same_file_share_its_rules() -> None:
    cache = RobotsCache(MemoryNotes(), agent="onceover", max_origins=2)

    def rules_of(host: str, body: bytes) -> RobotsRules | None:
        return cache.put(f"http://{host}.test", RobotsStatus(expires_at=2e9, text=read_robots(body))).rules

    first = rules_of("a", RULES)
    assert first is not None
    other = rules_of("b", b"User-agent: *\nAllow: /private")
    assert other is not first
    for host in ("c", "d", "e"):
        assert rules_of(host, RULES) is first, "the file of another host was parsed again"


async def test_each_origin_has_its_own_file() -> None:
    world = World(page(RULES))
    for url in ("http://a.test/x", "http://a.test:8080/x", "https://a.test/x", "http://b.test/x", "http://u:p@a.test/"):
        await world.robots.allows(url)
    assert world.web.asked == [
        "http://a.test/robots.txt",
        "http://a.test:8080/robots.txt",
        "https://a.test/robots.txt",
        "http://b.test/robots.txt",
    ]


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("onceover/1.0 (+https://example.org/)", "onceover"),
        ("OnceOver", "onceover"),
        ("My_Crawler-X/2", "my_crawler-x"),
        ("Mozilla/5.0 (compatible; onceover/1.0; +https://example.org/)", "onceover"),
        ("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; onceover/1.0) Safari/537.36", "onceover"),
    ],
)
def test_the_product_token_is_the_name_without_version_and_comment(user_agent: str, token: str) -> None:
    assert product_token(user_agent) == token


@pytest.mark.parametrize("user_agent", ["", "1.0", "(comment)"])
def test_a_user_agent_without_a_name_is_refused(user_agent: str) -> None:
    with pytest.raises(ValueError, match="does not begin with a name"):
        product_token(user_agent)


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /private",
        b"\xff\xfe" + "User-agent: *\nDisallow: /private".encode("utf-16-le"),
        b"user-AGENT : *\r\rdisallow :/private",
        b"<html>\n\0\xff\xfe what?\nUser-agent: *\nDisallow: /private # all of it",
        b"User-agent: *\nDisallow: /private\n" + b"#" * 1_000_000,
    ],
)
async def test_a_file_is_read_leniently(body: bytes) -> None:
    world = World(page(body))
    assert not (await world.allows("/private")).allowed
    assert (await world.allows("/public")).allowed


async def test_a_file_is_read_up_to_its_limit_and_a_whole_line() -> None:
    lines = b"User-agent: *\n" + b"Disallow: /private/and/longer\n" * 20_000
    assert len(lines) > MAX_ROBOTS_BYTES
    text = read_robots(lines)
    assert MAX_ROBOTS_BYTES - 40 < len(text) <= MAX_ROBOTS_BYTES
    assert text.endswith("/private/and/longer\n")
    assert (await World(page(lines)).allows("/private/and")).allowed


@given(body=st.binary(max_size=500), path=st.text("/abc?%[]:@é\\", max_size=20))
async def test_no_file_and_no_url_raises(body: bytes, path: str) -> None:
    world = World(page(body))
    verdict = await world.allows(f"/{path}")
    assert verdict.allowed or verdict.reason == "robots"


# whether there is a file


@pytest.mark.parametrize(
    "answer",
    [
        *[page(b"User-agent: *\nDisallow: /", status) for status in (400, 401, 403, 404, 410, 451)],
        page(b"User-agent: *\nDisallow: /", 302),
        redirect("mailto:webmaster@a.test"),
        redirect("http://"),
        NotModified(url="", status=304, headers=[], fetched_at=START, duration_s=0),
    ],
)
async def test_without_a_file_everything_is_allowed_for_a_day(answer: Fetched) -> None:
    world = World(answer)
    verdict = await world.allows("/x")
    assert (verdict.allowed, verdict.reason) == (True, "none")
    world.now += DAY_S - 1
    await world.allows("/x")
    assert len(world.web.asked) == 1
    world.now += 2
    await world.allows("/x")
    assert len(world.web.asked) == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (page(status=500), "status 500"),
        (page(status=503), "status 503"),
        (page(status=429), "status 429"),
        (page(status=430), "status 430"),
        (page(b"User-agent: *\nAllo", truncated="disconnect"), "cut: disconnect"),
        (page(b"User-agent: *\nAllo", truncated="time"), "cut: time"),
        (failure(FailureKind.TIMEOUT), "timeout: it broke"),
        (failure(FailureKind.DISCONNECTED), "disconnected: it broke"),
        (failure(FailureKind.ENCODING), "encoding: it broke"),
    ],
)
async def test_while_nobody_knows_everything_is_disallowed_for_a_while(answer: Fetched, message: str) -> None:
    world = World(answer)
    verdict = await world.allows("/x")
    assert (verdict.allowed, verdict.reason, verdict.message) == (False, "unreachable", message)
    assert verdict.retry_after_s == 60
    world.now += 59
    later = await world.allows("/x")
    assert (later.allowed, later.asked, later.retry_after_s) == (False, False, 1)
    world.now += 1
    world.web.answers["http://a.test/robots.txt"] = page(b"")
    assert (await world.allows("/x")).allowed


@pytest.mark.parametrize("kind", [FailureKind.DNS, FailureKind.CONNECT, FailureKind.TLS])
async def test_a_host_that_cannot_be_reached_at_all_is_told_by_that_reason(kind: FailureKind) -> None:
    world = World(failure(kind))
    verdict = await world.allows("/x")
    assert (verdict.allowed, verdict.reason, verdict.message) == (False, kind.value, "it broke")
    assert verdict.retry_after_s == 60
    world.now += 60
    world.web.answers["http://a.test/robots.txt"] = page(status=503)
    assert (await world.allows("/x")).reason == "unreachable"


async def test_a_host_that_makes_no_connection_in_time_is_told_by_that_reason() -> None:
    world = World(msgspec.structs.replace(failure(FailureKind.TIMEOUT), no_connection=True))
    verdict = await world.allows("/x")
    assert (verdict.allowed, verdict.reason, verdict.message) == (False, "timeout", "it broke")


async def test_a_redirect_to_a_host_that_cannot_be_reached_says_nothing_of_this_one() -> None:
    world = World(redirect("http://b.test/robots.txt"))
    world.web.answers["http://b.test/robots.txt"] = failure(FailureKind.DNS)
    assert (await world.allows("/x")).reason == "unreachable"


async def test_failures_in_a_row_double_the_wait_up_to_an_hour_and_a_success_ends_that() -> None:
    world = World(failure())
    lifetimes = []
    for _ in range(8):
        verdict = await world.allows("/x")
        assert verdict.retry_after_s is not None
        lifetimes.append(verdict.retry_after_s)
        world.now += verdict.retry_after_s
    assert lifetimes == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    world.web.answers["http://a.test/robots.txt"] = page(b"")
    await world.allows("/x")
    world.now += DAY_S
    world.web.answers["http://a.test/robots.txt"] = failure()
    assert (await world.allows("/x")).retry_after_s == 60


@pytest.mark.parametrize(("answer", "wait_s"), [(page(RULES), None), (failure(), 120)])
async def test_what_was_learned_before_the_clock_was_set_back_is_asked_again(
    answer: Fetched, wait_s: float | None
) -> None:
    world = World(answer)
    world.now += 400 * DAY_S
    await world.allows("/x")
    world.now -= 30  # as a time server does
    assert not (await world.allows("/x")).asked
    world.now = START
    verdict = await world.allows("/x")
    assert (verdict.asked, verdict.retry_after_s) == (True, wait_s)
    world.now += UNREACHABLE_LIMIT_S
    assert (await world.allows("/x")).allowed


async def test_a_host_is_never_asked_again_before_its_rest() -> None:
    world = World(failure(), lifetimes=RobotsLifetimes(min_delay_s=2, retry_s=0))
    assert (await world.allows()).retry_after_s == 2


@pytest.mark.parametrize(
    ("header", "wait_s"), [("10", 60), ("600", 600), ("Tue, 14 Nov 2023 22:23:20 GMT", 600), ("99999999", 3600)]
)
async def test_retry_after_is_obeyed_up_to_the_limit_of_the_crawl(header: str, wait_s: float) -> None:
    world = World(page(status=503, Retry_After=header))
    assert (await world.allows("/x")).retry_after_s == wait_s


async def test_a_host_rests_as_it_asks_also_if_its_answer_then_breaks_off() -> None:
    head = page(Retry_After="90")
    world = World(msgspec.structs.replace(failure(FailureKind.DISCONNECTED), answered=True, response=head))
    verdict = await world.robots.allows("http://a.test/x")
    assert (verdict.asked, verdict.pause_s, verdict.retry_after_s) == (True, 90.0, 90.0)


async def test_retry_after_is_obeyed_up_to_a_day_whatever_the_limit_of_the_crawl() -> None:
    world = World(page(status=503, Retry_After="99999999"), lifetimes=RobotsLifetimes(max_retry_after_s=9 * DAY_S))
    assert (await world.allows("/x")).retry_after_s == DAY_S


async def test_who_has_not_known_for_30_days_has_no_file() -> None:
    world = World(failure())
    await world.allows("/x")
    world.now += UNREACHABLE_LIMIT_S
    verdict = await world.allows("/x")
    assert (verdict.allowed, verdict.asked) == (True, True)
    assert not (await world.allows("/x")).asked
    world.now += DAY_S
    world.web.answers["http://a.test/robots.txt"] = page(RULES)
    assert not (await world.allows("/private")).allowed


# redirects


async def test_five_redirects_are_followed_also_to_other_hosts() -> None:
    world = World(redirect("/1"))
    world.web.answers |= {
        "http://a.test/1": redirect("2", 302),
        "http://a.test/2": redirect("https://b.test/3", 307),
        "https://b.test/3": redirect("/4", 308),
        "https://b.test/4": redirect("http://c.test/robots.txt", 303),
        "http://c.test/robots.txt": page(RULES),
    }
    verdict = await world.allows("/private")
    assert (verdict.allowed, verdict.reason) == (False, "robots")
    assert (verdict.asked, verdict.duration_s) == (True, 0.5)  # of the last request, after which a host must rest
    assert len(world.web.asked) == 6
    assert world.slept == [2.0] * 5


async def test_each_redirect_is_a_turn_of_the_host_that_it_leads_to() -> None:
    world = World(redirect("https://a.test/1"))
    world.web.answers |= {
        "https://a.test/1": redirect("http://a.test:8080/2"),
        "http://a.test:8080/2": redirect("http://b.test/3"),
        "http://b.test/3": redirect("https://b.test/4"),
        "https://b.test/4": page(RULES, Retry_After="60"),
    }
    robots, url = world.robots, "http://a.test/private"
    for number in range(1, 4):
        assert robots.prerequisite(url) is None  # its own host, by whatever scheme and port
        verdict = await robots.allows(url)
        assert (verdict.known, verdict.asked, verdict.duration_s, len(world.web.asked)) == (False, True, 0.5, number)
    for number, prerequisite in enumerate(("http://b.test/3", "https://b.test/4"), start=4):
        assert robots.prerequisite(url) == robots.prerequisite("http://a.test/x") == prerequisite
        for other in (None, "http://c.test/"):
            verdict = await robots.allows(url, prerequisite=other)
            assert (verdict.known, verdict.asked, len(world.web.asked)) == (False, False, number - 1)
        verdict = await robots.allows(url, prerequisite=prerequisite)
        assert (verdict.known, verdict.asked, len(world.web.asked)) == (number == 5, True, number)
        assert verdict.pause_s == (60.0 if number == 5 else None)
    last = await robots.allows(url)
    assert (last.allowed, last.asked) == (False, False)
    assert robots.prerequisite(url) is None
    assert robots.prerequisite("https://a.test/") is None  # another origin, of which nothing is known yet


async def test_who_waited_for_a_redirect_lets_the_host_rest_too() -> None:
    world = World(redirect("/1"))
    world.web.gate.clear()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(world.robots.allows(f"http://a.test/{number}")) for number in range(5)]
        await asyncio.sleep(0)
        world.web.gate.set()
    assert {(task.result().known, task.result().asked) for task in tasks} == {(False, True)}
    assert len(world.web.asked) == 1


async def test_a_redirect_that_we_make_ourselves_is_no_request() -> None:
    known = Redirect(
        url="", status=307, headers=[], fetched_at=START, duration_s=0.0, location="https://a.test/1", asked=False
    )
    world = World(known)
    verdict = await world.robots.allows("http://a.test/")
    assert (verdict.known, verdict.asked) == (False, False)


@pytest.mark.parametrize("answers_then", [True, False])
async def test_a_request_over_a_kept_connection_that_was_closed_is_sent_again_after_a_rest(answers_then: bool) -> None:
    closed = msgspec.structs.replace(failure(FailureKind.DISCONNECTED), kept_closed=True)
    world = World(redirect("/there"))
    world.web.answers["http://a.test/there"] = closed

    async def rest(delay_s: float) -> None:
        world.slept.append(delay_s)
        if len(world.slept) == 2 and answers_then:
            world.web.answers["http://a.test/there"] = page(RULES)

    verdict = await RobotsAtOnce(world.robots, rest_s=2.0, sleep=rest).allows("http://a.test/private")
    assert verdict.reason == ("robots" if answers_then else "unreachable")
    assert world.web.asked[1:] == ["http://a.test/there"] * (2 if answers_then else MAX_REDIRECTS)
    assert world.slept == [2.0] * (len(world.web.asked) - 1)


@pytest.mark.parametrize("kind", [FailureKind.CONNECT, FailureKind.PRIVATE_ADDRESS])
async def test_what_a_host_answers_to_the_same_request_sent_again_is_its_own_answer(kind: FailureKind) -> None:
    world = World(msgspec.structs.replace(failure(FailureKind.DISCONNECTED), kept_closed=True))
    assert not (await world.robots.allows("http://a.test/")).known
    world.web.answers["http://a.test/robots.txt"] = failure(kind, reached=False)
    assert (await world.allows()).reason == kind.value

    world.now += 1e7
    hops = [f"/{number}" for number in range(MAX_REDIRECTS)]
    for path, target in zip(("/robots.txt", *hops), hops, strict=False):
        world.web.answers[f"http://a.test{path}"] = redirect(target)
    world.web.answers[f"http://a.test{hops[-1]}"] = page(RULES)
    assert (await world.allows("/private")).reason == "robots"  # no request of before counts


async def test_a_restart_follows_the_redirects_from_the_first_again() -> None:
    before = World(redirect("/1"))
    await before.robots.allows("http://a.test/")
    after = World(redirect("/1"), notes=before.notes)
    await after.robots.allows("http://a.test/")
    assert after.web.asked == ["http://a.test/robots.txt"]


async def test_after_five_redirects_there_is_no_file() -> None:
    world = World(redirect("/robots.txt"))
    verdict = await world.allows("/x")
    assert (verdict.allowed, verdict.reason) == (True, "none")
    assert len(world.web.asked) == 6


async def test_a_login_in_a_redirect_is_not_sent() -> None:
    world = World(redirect("http://a%3Ab:secret@b.test/robots.txt"))
    await world.allows()
    assert world.web.asked == ["http://a.test/robots.txt", "http://b.test/robots.txt"]


@pytest.mark.parametrize(
    "target", [f"http://b.test/{'x' * MAX_URL_LENGTH}", f"http://{'x' * 64}.test/", "http://b..test/", "http://[b/"]
)
async def test_a_redirect_to_what_is_no_url_to_crawl_leads_nowhere(target: str) -> None:
    world = World(redirect(target))
    assert (await world.allows()).reason == "none"
    assert world.web.asked == ["http://a.test/robots.txt"]


async def test_what_a_redirect_leads_to_decides() -> None:
    world = World(redirect("http://b.test/"))
    world.web.answers["http://b.test/"] = failure()
    assert not (await world.allows("/x")).allowed


# who asks, and how often


async def test_many_who_ask_at_once_ask_once_and_all_are_told() -> None:
    world = World(page(RULES))
    world.web.gate.clear()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(world.allows("/public")) for _ in range(10)]
        await asyncio.sleep(0)
        world.web.gate.set()
    assert all(task.result().asked for task in tasks)
    assert all(task.result().duration_s == 0.5 for task in tasks)
    assert len(world.web.asked) == 1
    later = await world.allows("/public")
    assert (later.asked, later.duration_s) == (False, 0.0)


async def test_who_reached_no_server_has_not_asked() -> None:
    world = World(failure(FailureKind.DNS, reached=False))
    assert not (await world.allows("/x")).asked


async def test_if_the_first_to_ask_is_cancelled_another_asks() -> None:
    world = World(page(RULES))
    world.web.gate.clear()
    first, second = (asyncio.create_task(world.allows("/private")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    world.web.gate.set()
    verdict = await second
    assert (verdict.allowed, verdict.asked) == (False, True)
    assert len(world.web.asked) == 2
    with pytest.raises(asyncio.CancelledError):
        await first


# what is kept


@pytest.mark.parametrize(
    ("answer", "path"),
    [(page(RULES), "/private"), (page(RULES), "/public"), (page(status=404), "/x"), (failure(), "/x")],
)
async def test_a_restart_asks_nobody_again(answer: Fetched, path: str) -> None:
    before = World(answer)
    verdict = await before.allows(path)
    after = World(page(status=500), notes=before.notes)
    again = await after.allows(path)
    assert again == msgspec.structs.replace(verdict, asked=False, duration_s=0.0)
    assert after.robots.crawl_delay("http://a.test/") == before.robots.crawl_delay("http://a.test/")
    assert not after.web.asked


async def test_a_restart_does_not_begin_the_failures_anew() -> None:
    before = World(failure())
    await before.allows("/x")
    after = World(failure(), notes=before.notes)
    after.now += 60
    assert (await after.allows("/x")).retry_after_s == 120


async def test_a_file_is_known_until_it_expires_also_after_a_restart() -> None:
    first, url = World(redirect("/1")), "http://a.test/private"
    first.web.answers["http://a.test/1"] = page(RULES)
    assert not first.robots.is_known(url)
    assert not (await first.robots.allows(url)).known
    assert not first.robots.is_known(url)
    assert (await first.robots.allows(url)).known
    again = World(page(), notes=first.notes)
    for world in (first, again):
        assert world.robots.is_known(url)
        assert not world.robots.is_known("https://a.test/private")
    again.now += DAY_S
    assert not again.robots.is_known(url)
    assert again.web.asked == []


async def test_a_note_that_cannot_be_read_costs_a_request() -> None:
    notes = MemoryNotes()
    notes.put("robots http://a.test", b"\xc1 rubbish")
    world = World(page(RULES), notes=notes)
    assert not (await world.allows("/private")).allowed
    assert world.web.asked == ["http://a.test/robots.txt"]


async def test_what_memory_does_not_hold_the_notes_know() -> None:
    world = World(page(RULES), max_origins=2)
    for host in ("a.test", "b.test", "c.test"):
        await world.allows("/private", host=host)
    assert not (await world.allows("/private")).allowed
    assert len(world.web.asked) == 3


@pytest.mark.parametrize(("max_origins", "max_bytes"), [(2, 10_000), (100, 4_000)])
def test_memory_is_bounded_by_origins_and_by_bytes_and_what_was_used_last_stays(
    max_origins: int, max_bytes: int
) -> None:
    shelf = RobotsCache(MemoryNotes(), agent="a", max_origins=max_origins, max_bytes=max_bytes)
    standing = RobotsStatus(expires_at=0.0, text="x" * 10)
    for origin in ("http://a", "http://b"):
        shelf.put(origin, standing)
        shelf.put(origin, standing)
    assert shelf.find("http://a") is not None
    shelf.put("http://c", standing)
    assert [host for host in "abc" if shelf.find(f"http://{host}")] == ["a", "c"]
    shelf.put("http://large", RobotsStatus(expires_at=0.0, text="x" * 10_000))
    assert shelf.find("http://large") is not None  # one is always kept, however large


@pytest.mark.parametrize(
    "text",
    [
        "",
        "User-agent: *\n" + "".join(f"Disallow: /private/{number}/\n" for number in range(20)),
        "User-agent: *\n" + "".join(f"Disallow: /*private{number}*/\n" for number in range(2_000)),
        "User-agent: *\nDisallow: /" + "*".join(map(str, range(2_000))),
        "User-agent: *\n" + "".join(f"Content-Usage: /p{number} train-ai=n\n" for number in range(2_000)),
        "".join(f"Sitemap: https://e.org/{number}\n" for number in range(2_000)),
        "# nothing but comments\n" * 2_000,
    ],
)
def test_what_the_rules_take_counts_towards_the_bound(text: str) -> None:
    statuses = [RobotsStatus(expires_at=float(number), text=text + f"\n# {number}") for number in range(10)]
    shelf = RobotsCache(MemoryNotes(), agent="a")
    tracemalloc.start()
    try:
        told = sum(shelf.put(f"http://{number}", status).size_bytes for number, status in enumerate(statuses))
        taken = tracemalloc.get_traced_memory()[0] + sum(len(each.text or "") for each in statuses)
    finally:
        tracemalloc.stop()
    assert 0.5 < taken / told < 1.4


@pytest.mark.parametrize("kind", sorted(REFUSALS))
async def test_where_we_refuse_to_ask_everything_is_disallowed_for_that_reason(kind: FailureKind) -> None:
    refusal = Failure(
        url="http://a.test/robots.txt", kind=kind, message="why", fetched_at=START, duration_s=0.0, reached=False
    )
    world = World(refusal)
    for _ in range(2):
        verdict = await world.allows()
        assert (verdict.allowed, verdict.reason, verdict.message) == (False, kind, "why")
        assert verdict.retry_after_s is None
        assert not verdict.asked
    assert len(world.web.asked) == 1
    assert world.notes.get("robots http://a.test") is None  # another configuration may allow it


async def test_no_more_of_a_robots_txt_is_downloaded_than_is_read() -> None:
    """Whatever pages may have: the site's limit is neither taken where it is more nor where it is less."""
    line = b"Disallow: /private/and/longer\n"
    size = 50_000_000
    sent = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nUser-agent: *\n" % size)
            while sent < size:
                writer.write(line * 1000)
                await writer.drain()
                sent += len(line) * 1000
        writer.close()

    for max_body_bytes in (20_000_000, 100_000):
        sent = 0
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            fetcher = http_fetcher(allow_private=True, max_body_bytes=max_body_bytes)
            shelf = RobotsCache(MemoryNotes(), agent="onceover")
            robots = RobotsTxt(fetcher, shelf, read_retry_after=parse_retry_after)
            assert not (await robots.allows(f"{origin}/private/and/longer/x")).allowed
            await fetcher.aclose()
        known = shelf.find(origin)
        assert known is not None
        assert known.status.text is not None
        assert MAX_ROBOTS_BYTES - len(line) < len(known.status.text) <= MAX_ROBOTS_BYTES
        assert known.status.text.endswith("/longer\n")
        # What systems keep in their buffers comes to it.
        assert sent < size / 4
