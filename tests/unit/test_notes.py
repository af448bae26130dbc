"""Notes that are damaged, or another version's: they cost what they said, and never the crawl."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from crawler.discover.quota import PageLimits, PageQuota
from crawler.fetch.cookies import Cookies, StoredCookie
from crawler.fetch.hsts import StrictTransport
from crawler.fetch.robots.cache import RobotsCache
from crawler.fetch.robots.status import RobotsStatus
from crawler.fetch.signing.challenges import Challenges
from crawler.fetch.signing.values import Wish
from crawler.notes import Notes
from frontier.leveldb.store import LevelDBStore
from frontier.memory.notes import MemoryNotes
from frontier.upkeep.fsck import fsck
from tests.unit.frontier.crawls import leveldb

KEYS = {
    "robots": "robots http://a.test",
    "hsts": "hsts a.test",
    "cookies": "cookies a.test",
    "quota": "pages a.test",
    "signatures": "signatures a.test",
}
"""Under which key each kind of note stands."""


def learn(notes: Notes) -> None:
    """Have each kind of note taken once."""
    RobotsCache(notes, agent="a").note("http://a.test", RobotsStatus(expires_at=2e9, text="User-agent: *\nDisallow: /"))
    StrictTransport(notes).learn("https://a.test/", "max-age=1000000")
    Cookies(notes).learn(URL("http://a.test/"), ["a=1; Max-Age=1000000"])
    PageQuota(notes, lambda _: PageLimits(per_host=1)).spend("http://a.test/")
    Challenges(notes).learn("a.test", Wish("sig1", ("@authority",)))


def known(notes: Notes) -> dict[str, bool]:
    """Which kinds of notes a crawl that is resumed understands. Nothing of this may raise."""
    return {
        "robots": RobotsCache(notes, agent="a").find("http://a.test") is not None,
        "hsts": StrictTransport(notes).upgrade("http://a.test/") is not None,
        "cookies": Cookies(notes).header(URL("http://a.test/")) is not None,
        "quota": PageQuota(notes, lambda _: PageLimits(per_host=1)).refusal("http://a.test/") is not None,
        "signatures": Challenges(notes).find("a.test") is not None,
    }


class Older(msgspec.Struct, array_like=True):
    """What another version may have written in place of each struct."""

    until: str = "tomorrow"


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "it is empty": lambda _: b"",
    "it is cut": lambda note: note[:-1],
    "it is rubbish": lambda note: b"\xc1" + note,
    "another version's": lambda _: msgspec.msgpack.encode(Older()),
    "a field is missing": lambda _: msgspec.msgpack.encode({"text": "", "with_subdomains": True}),
    "a field is of another type": lambda _: msgspec.msgpack.encode(
        {"expires_at": "x", "with_subdomains": 1, "url": 1, "header": b"", "received_at": None}
    ),
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LevelDBStore]:
    opened = leveldb(tmp_path)
    yield opened
    opened.close()


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_note_that_cannot_be_read_is_set_aside_and_counted_and_the_crawl_goes_on(
    kind: str, damage: str, store: LevelDBStore, caplog: pytest.LogCaptureFixture
) -> None:
    learn(store.notes)
    assert set(known(store.notes).values()) == {True}
    noted = store.notes.get(KEYS[kind])
    assert noted is not None
    store.notes.put(KEYS[kind], damaged := DAMAGES[damage](noted))
    for _ in range(2):
        assert known(store.notes) == dict.fromkeys(KEYS, True) | {kind: False}
    assert store.counters.quarantined == 1
    assert store.database.get(b"XN" + KEYS[kind].encode()) == damaged
    assert [KEYS[kind] in record.getMessage() for record in caplog.records if record.levelno == logging.ERROR] == [True]
    learn(store.notes)
    assert set(known(store.notes).values()) == {True}
    assert fsck(store).problems == []


@pytest.mark.parametrize(
    "kept",
    [
        StoredCookie("http://[a.test/", "a=1", 0.0),
        StoredCookie("http://a.test/", "a=1; Max-Age=60", float("nan")),
        StoredCookie("http://a.test/", "a=1; Max-Age=60", float("inf")),
    ],
)
async def test_a_cookie_that_was_never_kept_so_is_set_aside(kept: StoredCookie) -> None:
    notes = MemoryNotes()
    notes.put(KEYS["cookies"], msgspec.msgpack.encode([kept]))
    assert Cookies(notes).header(URL("http://a.test/")) is None
    assert notes.get(KEYS["cookies"]) is None


def test_a_later_version_may_add_fields() -> None:
    notes = MemoryNotes()
    notes.put(
        KEYS["hsts"], msgspec.msgpack.encode({"expires_at": 2e9, "with_subdomains": True, "preloaded": {"since": 1}})
    )
    assert StrictTransport(notes).upgrade("http://a.test/") is not None


@given(st.sampled_from(sorted(KEYS)), st.data())
def test_no_damage_to_a_note_is_worth_the_crawl(kind: str, data: st.DataObject) -> None:
    async def resumed() -> None:
        notes = MemoryNotes()
        learn(notes)
        noted = bytearray(notes.get(KEYS[kind]) or b"")
        for place in data.draw(st.lists(st.integers(0, len(noted) - 1), min_size=1, max_size=3)):
            noted[place] = data.draw(st.integers(0, 255))
        notes.put(KEYS[kind], bytes(noted))
        assert all(is_known for other, is_known in known(notes).items() if other != kind)
        learn(notes)
        known(notes)

    asyncio.run(resumed())
