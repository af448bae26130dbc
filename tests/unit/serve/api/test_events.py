"""Events of the daemon, for programs."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from crawler.serve.api.events import hub
from crawler.serve.api.events.hub import MAX_CLIENTS, MAX_KEPT, MAX_WAITING, Client, Events, TooMany
from crawler.serve.api.forms import CrawlForm, CrawlList
from tests.unit.serve.api.serving import BASE, served

CRAWL = CrawlForm(
    name="a", state="running", reason=None, lines=(), until=None, directory="d", pid=7, pages=0, memory_bytes=0,
    open_files=0, crashes=0,
)  # fmt: skip


class Event(msgspec.Struct, frozen=True):
    kind: str
    number: str | None
    value: Any


def events_in(text: bytes) -> Iterator[Event]:
    for piece in text.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in piece.splitlines() if not line.startswith(":"))
        if fields:
            yield Event(fields["event"], fields.get("id"), msgspec.json.decode(fields["data"]))


async def read(client: Client) -> list[Event]:
    return list(events_in(await client.read()))


def crawl(**values: Any) -> CrawlForm:
    return msgspec.structs.replace(CRAWL, **values)


def begun() -> Events:
    events = Events(lambda: CrawlList(crawls=(CRAWL,)))
    events.notice("a", CRAWL)
    return events


async def test_a_client_hears_how_all_crawls_are_and_then_what_changes() -> None:
    events = begun()
    client = events.join(None)
    (first,) = await read(client)
    assert (first.kind, [each["name"] for each in first.value["crawls"]]) == ("crawls", ["a"])
    events.notice("a", crawl(pages=9, memory_bytes=5, reason="all hosts rest"))  # that is no change of state
    events.notice("a", crawl(state="paused", reason="by night"))
    events.notice("a", crawl(state="paused", reason="for good"))
    events.notice("a", None)
    events.notice("a", None)
    told = await read(client)
    assert [(each.kind, each.value.get("reason")) for each in told] == [
        ("state", "by night"),
        ("state", "for good"),
        ("removed", None),
    ]
    assert len({each.number for each in (first, *told)}) == 4


async def test_a_client_that_comes_again_hears_what_it_has_missed() -> None:
    events = begun()
    client = events.join(None)
    (first,) = await read(client)
    events.leave(client)
    events.notice("a", crawl(state="paused"))
    events.notice("a", crawl(state="stopped"))
    again = events.join(first.number)
    missed = await read(again)
    assert [each.value["state"] for each in missed] == ["paused", "stopped"]
    assert [each.value["state"] for each in await read(events.join(missed[0].number))] == ["stopped"]
    # Who has missed nothing hears nothing yet.
    newest = events.join(missed[1].number)
    events.notice("a", crawl(state="running"))
    assert [each.value["state"] for each in await read(newest)] == ["running"]


@pytest.mark.parametrize(
    "last_id", ["", "x", "00000000-1", "{origin}-99", "{origin}-x", "{origin}-" + "9" * 5000, "-1"]
)
async def test_ids_that_nobody_has_given_begin_anew(last_id: str) -> None:
    events = begun()
    (first,) = await read(events.join(None))
    assert first.number is not None
    origin = first.number.partition("-")[0]
    (told,) = await read(events.join(last_id.replace("{origin}", origin)))
    assert told.kind == "crawls"


async def test_changes_of_long_ago_are_dropped_and_whoever_missed_them_begins_anew() -> None:
    events = begun()
    (first,) = await read(events.join(None))
    for number in range(MAX_KEPT + 1):
        events.notice("a", crawl(pid=number))
    (told,) = await read(events.join(first.number))
    assert told.kind == "crawls"


async def test_a_client_that_does_not_read_is_dropped_and_the_others_are_not() -> None:
    events = begun()
    slow, quick = events.join(None), events.join(None)
    for number in range(MAX_WAITING + 1):
        events.notice("a", crawl(pid=100 + number))
        assert len(await read(quick)) >= 1
    assert slow.is_dropped
    assert await slow.read() == b""
    assert not quick.is_dropped


async def test_the_number_of_clients_is_bounded_and_closing_ends_them() -> None:
    events = begun()
    clients = [events.join(None) for _ in range(MAX_CLIENTS)]
    with pytest.raises(TooMany):
        events.join(None)
    events.leave(clients.pop())
    clients.append(events.join(None))
    reading = [asyncio.create_task(client.read()) for client in clients]
    await asyncio.gather(*reading)
    reading = [asyncio.create_task(client.read()) for client in clients]
    events.close()
    assert set(await asyncio.gather(*reading)) == {b""}
    with pytest.raises(TooMany):
        events.join(None)


async def test_events_come_over_http_until_the_daemon_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "MAX_CLIENTS", 1)
    async with aiohttp.ClientSession() as client:
        async with served(tmp_path / "home") as api:
            headers = {"Authorization": f"Bearer {api.token}"}
            response = await client.get(f"{api.url}{BASE}/events", headers=headers)
            assert response.status == 200
            assert response.headers["Content-Type"] == "text/event-stream"
            assert response.headers["Cache-Control"] == "no-store"
            (first,) = events_in(await response.content.readuntil(b"\n\n"))
            assert first.value == {"crawls": []}
            assert (await api.ask("GET", "/events")).status == 503
        assert await response.content.read() == b""
