"""Asks origins for tdmrep.json, and what it says."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.robots.cache import RobotsCache
from crawler.fetch.robots.robots_txt import MAX_REDIRECTS, RobotsTxt
from crawler.fetch.robots.rules import RobotsRules
from crawler.fetch.robots.tdm_file import KEEP_S, RETRY_S, WELL_KNOWN, TdmFiles
from crawler.fetch.robots.tdm_rules import MAX_TDM_BYTES, TdmRules, read_tdm_rules
from crawler.page import Failure, FailureKind, Fetched, Page, Preference, Redirect, Request, Verdict
from crawler.politeness.pace import parse_retry_after
from frontier.memory.notes import MemoryNotes

START = 1_700_000_000.0
FILE = f"http://a.test{WELL_KNOWN}"
RESERVED = Preference("tdm-reservation", "tdmrep.json", "1", ("text-mining", "ai-use", "train-ai"))
FREE = Preference("tdm-reservation", "tdmrep.json", "0")
POLICY = Preference("tdm-policy", "tdmrep.json", "https://provider.test/policy.json")
RULES = [
    {"location": "/directory-b/images/*.jpg", "tdm-reservation": 0},
    {"location": "/directory-b/", "tdm-reservation": 1, "tdm-policy": "https://provider.test/policy.json"},
    {"location": "/exact$", "tdm-reservation": 1},
]


def page(body: bytes, *, url: str = FILE, status: int = 200, truncated: str | None = None) -> Page:
    return Page(
        url=url,
        status=status,
        headers=[],
        fetched_at=START,
        duration_s=0.25,
        body=body,
        raw_body=body,
        truncated=truncated,
    )


def redirect(to: str) -> Redirect:
    return Redirect(url=FILE, status=301, headers=[], fetched_at=START, duration_s=0.25, location=to)


class World:
    """TDM files of some origins, over robots.txt files that have been fetched."""

    def __init__(
        self,
        answers: dict[str, Fetched],
        *,
        robots: bytes = b"",
        notes: MemoryNotes | None = None,
        archive: Callable[[Fetched], Awaitable[None]] | None = None,
        is_obeyed: Callable[[str], bool] | None = None,
    ) -> None:
        self.answers = answers
        self.robots = robots
        self.asked: list[str] = []
        self.requests = 0
        self.now = START
        self.notes = notes if notes is not None else MemoryNotes()
        below = RobotsTxt(
            self,
            RobotsCache(MemoryNotes(), agent="onceover"),
            read_retry_after=parse_retry_after,
            is_obeyed=is_obeyed,
            clock=lambda: self.now,
        )
        self.files = TdmFiles(
            below, self, self.notes, read_retry_after=parse_retry_after, archive=archive, clock=lambda: self.now
        )

    async def fetch(self, request: Request, /) -> Fetched:
        await asyncio.sleep(0)
        self.requests += 1
        if request.url.endswith("/robots.txt"):
            return self.answers.get(request.url, page(self.robots, url=request.url))
        assert request.max_body_bytes == MAX_TDM_BYTES
        self.asked.append(request.url)
        return self.answers.get(request.url, page(b"", status=404))

    async def allows(self, url: str) -> Verdict:
        """What is known in the end. After each request, the host rests."""
        for _ in range(20):
            verdict = await self.files.allows(url, prerequisite=self.files.prerequisite(url))
            if verdict.known and not verdict.asked:
                return verdict
            self.now += 1
        raise AssertionError("nothing is ever known")

    async def said(self, path: str) -> list[Preference]:
        verdict = await self.allows(f"http://a.test{path}")
        assert verdict.allowed
        return list(verdict.preferences)


async def test_the_first_rule_that_matches_decides() -> None:
    world = World({FILE: page(json.dumps(RULES).encode())})
    assert await world.said("/directory-b/images/a.jpg") == [FREE]
    assert await world.said("/directory-b/page") == [RESERVED, POLICY]
    assert await world.said("/exact") == [RESERVED]
    assert await world.said("/exactly") == []
    assert world.asked == [FILE]


async def test_each_request_lets_the_host_rest_before_anything_is_known() -> None:
    world = World({FILE: page(b"[]")})
    known, verdicts = [], []
    for _ in range(3):
        known.append(world.files.is_known("http://a.test/"))
        verdicts.append(await world.files.allows("http://a.test/"))
    assert known == [False, False, True]
    assert [(each.known, each.asked) for each in verdicts] == [(True, True), (False, True), (True, False)]
    assert verdicts[1].duration_s == 0.25


async def test_a_file_is_fetched_once_however_many_ask() -> None:
    world = World({FILE: page(json.dumps(RULES).encode())})
    await world.files.allows("http://a.test/")
    found = await asyncio.gather(*(world.files.allows(f"http://a.test/{number}") for number in range(10)))
    assert {(each.known, each.asked) for each in found} == {(False, True)}
    assert world.asked == [FILE]


async def test_redirects_are_followed_on_the_same_host_alone_and_not_for_ever() -> None:
    secure = f"https://a.test{WELL_KNOWN}"
    world = World({FILE: redirect(secure), secure: page(json.dumps(RULES).encode())})
    assert await world.said("/directory-b/") == [RESERVED, POLICY]
    assert world.asked == [FILE, secure]

    elsewhere = World({FILE: redirect("http://b.test/tdmrep.json")})
    assert await elsewhere.said("/directory-b/") == []
    assert elsewhere.asked == [FILE]

    circle = World({FILE: redirect(FILE)})
    assert await circle.said("/") == []
    assert len(circle.asked) == MAX_REDIRECTS + 1


async def test_a_request_over_a_kept_connection_that_was_closed_is_sent_again() -> None:
    closed = Failure(
        url=FILE, kind=FailureKind.DISCONNECTED, message="-", fetched_at=START, duration_s=0, kept_closed=True
    )
    world = World({FILE: closed})
    for _ in range(2):  # the one for robots.txt, and this one
        assert (await world.files.allows("http://a.test/exact")).asked
    assert world.asked == [FILE]
    world.answers[FILE] = page(json.dumps(RULES).encode())
    assert await world.said("/exact") == [RESERVED]
    assert world.asked == [FILE] * 2


@pytest.mark.parametrize(
    ("answer", "keep_s"),
    [
        (page(b"", status=404), KEEP_S),
        (page(b"", status=503), RETRY_S),
        (page(b"", status=430), RETRY_S),
        (page(b"not JSON"), KEEP_S),
        (page(json.dumps(RULES).encode(), truncated="disconnect"), RETRY_S),
        (page(json.dumps(RULES).encode(), truncated="length"), KEEP_S),
        (Failure(url=FILE, kind=FailureKind.TIMEOUT, message="-", fetched_at=START, duration_s=9), RETRY_S),
    ],
)
async def test_what_can_not_be_had_says_nothing_for_a_while(answer: Fetched, keep_s: float) -> None:
    world = World({FILE: answer})
    assert await world.said("/directory-b/") == []
    world.now = START + keep_s - 1
    assert await world.said("/directory-b/") == []
    assert world.asked == [FILE]
    world.now = START + keep_s + 10
    world.answers[FILE] = page(json.dumps(RULES).encode())
    assert await world.said("/directory-b/") == [RESERVED, POLICY]


async def test_a_host_rests_as_it_asks_also_if_its_answer_then_breaks_off() -> None:
    head = msgspec.structs.replace(page(b""), headers=[(b"Retry-After", b"90")])
    broken = Failure(
        url=FILE,
        kind=FailureKind.DISCONNECTED,
        message="it broke off",
        fetched_at=START,
        duration_s=0.25,
        answered=True,
        response=head,
    )
    world = World({FILE: broken})
    await world.files.allows("http://a.test/")
    verdict = await world.files.allows("http://a.test/")
    assert (verdict.asked, verdict.pause_s) == (True, 90.0)


async def test_a_restart_asks_no_host_again() -> None:
    world = World({FILE: page(json.dumps(RULES).encode())})
    assert await world.said("/exact") == [RESERVED]
    again = World({}, notes=world.notes)
    assert await again.said("/exact") == [RESERVED]
    assert again.asked == []


async def test_a_file_is_asked_for_again_that_was_asked_for_before_the_clock_was_set_back() -> None:
    world = World({FILE: page(json.dumps(RULES).encode())})
    await world.said("/exact")
    world.now -= 30.0
    await world.said("/exact")
    assert len(world.asked) == 1
    world.now -= 3600.0
    await world.said("/exact")
    assert len(world.asked) == 2


async def test_what_robots_txt_disallows_is_not_asked_for() -> None:
    closed = World({FILE: page(json.dumps(RULES).encode())}, robots=b"User-agent: *\nDisallow: /.well-known/\n")
    assert await closed.said("/exact") == []
    assert closed.asked == []
    refused = World({}, robots=b"User-agent: *\nDisallow: /\n")
    assert not (await refused.allows("http://a.test/exact")).allowed
    assert refused.asked == []


async def test_where_robots_txt_is_not_obeyed_each_request_is_a_turn_too() -> None:
    world = World({FILE: page(json.dumps(RULES).encode())}, is_obeyed=lambda url: "/directory-b/" not in url)
    asked = []
    for _ in range(3):
        verdict = await world.files.allows("http://a.test/directory-b/page")
        asked.append((verdict.known, verdict.asked, world.requests))
    assert asked == [(False, True, 1), (False, True, 2), (True, False, 2)]
    assert await world.said("/directory-b/page") == [RESERVED, POLICY]


@pytest.mark.parametrize("answer", [redirect("http://b.test/robots.txt"), page(b"", status=503)])
async def test_while_robots_txt_can_not_be_had_nothing_is_asked_for(answer: Fetched) -> None:
    robots = "http://a.test/robots.txt"
    world = World(
        {FILE: page(json.dumps(RULES).encode()), robots: answer}, is_obeyed=lambda url: "/directory-b/" not in url
    )
    assert await world.said("/directory-b/page") == []
    assert world.asked == []
    if isinstance(answer, Page):
        world.answers[robots] = page(b"")
        world.now += RETRY_S
        assert await world.said("/directory-b/page") == [RESERVED, POLICY]


async def test_a_redirect_to_what_robots_txt_disallows_is_not_followed() -> None:
    rules = page(json.dumps(RULES).encode())
    for target in ("http://a.test/private/tdm.json", "https://a.test/private/tdm.json"):
        world = World({FILE: redirect(target), target: rules}, robots=b"User-agent: *\nDisallow: /private/")
        assert await world.said("/directory-b/page") == []
        assert world.asked == [FILE]


async def test_a_redirect_that_we_make_ourselves_is_no_request() -> None:
    secure = Redirect.internal(FILE, f"https://a.test{WELL_KNOWN}", why=b"HSTS", now=START)
    world = World({FILE: secure})
    verdicts = [await world.files.allows("http://a.test/") for _ in range(2)]
    assert [(each.known, each.asked) for each in verdicts] == [(True, True), (False, False)]


async def test_both_files_count_and_each_answer_is_archived() -> None:
    archived: list[str] = []

    async def archive(fetched: Fetched) -> None:
        archived.append(fetched.url)

    robots = b"User-agent: *\nContent-Usage: train-ai=n\n"
    world = World({FILE: page(json.dumps(RULES).encode())}, robots=robots, archive=archive)
    assert [each.signal for each in await world.said("/exact")] == ["content-usage", "tdm-reservation"]
    assert archived == [FILE]


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'[{"location": "/", "tdm-reservation": ' + b"[" * 50_000,
        b'[{"location": "/", "tdm-reservation": 1, "more": ' + b"[" * 90_000 + b"]" * 90_000 + b"}]",
        b"\xff\xfe[]",
        b'[{"location": "\xff", "tdm-reservation": 1}]',
        b'{"location": "/", "tdm-reservation": 1}',
        b'[1, null, {"location": 1, "tdm-reservation": 1}, {"location": "/"}, {"tdm-reservation": 1}]',
        b'[{"location": "", "tdm-reservation": 1}]',
        b'[{"location": "/", "tdm-reservation": 1e400}]',
        b"",
    ],
)
def test_hostile_files_say_nothing(body: bytes) -> None:
    assert TdmRules(read_tdm_rules(body)).of("/") == []


@pytest.mark.parametrize(("location", "path"), [("/admin", "/%61dmin"), ("/%61dmin", "/admin"), ("/%61d", "/a%64min")])
def test_an_escaped_letter_means_the_same_as_without_for_what_a_site_says_of_use(location: str, path: str) -> None:
    body = json.dumps([{"location": location, "tdm-reservation": 1}]).encode()
    assert TdmRules(read_tdm_rules(body)).of(path) == [RESERVED]
    robots = RobotsRules(f"User-agent: *\nContent-Usage: {location} train-ai=n", agent="onceover")
    assert [each.value for each in robots.preferences(path)] == ["train-ai=n"]


def test_one_bad_rule_does_not_void_the_others() -> None:
    body = b'\xef\xbb\xbf[{"location": 7}, {"location": "/", "tdm-reservation": 1, "note": {"a": [1]}}]'
    assert TdmRules(read_tdm_rules(body)).of("/x") == [RESERVED]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["location", "tdm-reservation", "tdm-policy"]), inner)
    ),
    max_leaves=12,
)


@given(body=st.binary() | _JSON.map(lambda value: json.dumps(value).encode()), path=st.text("ab/%*$", max_size=9))
def test_no_file_makes_its_reader_raise(body: bytes, path: str) -> None:
    for each in TdmRules(read_tdm_rules(body)).of(f"/{path}"):
        each.value.encode()
