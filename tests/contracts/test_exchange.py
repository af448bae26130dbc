"""What every exchange between parts promises."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from crawler.parts.exchange.local import LocalExchange
from crawler.parts.exchange.protocol import Connection, Exchange, ExchangeBroken, Message, Unreachable
from crawler.parts.exchange.redis import RedisExchange
from crawler.parts.exchange.wire import LINKS
from crawler.parts.messages import Confirm, Hello, Parcels, Refused, Skip, Welcome
from crawler.redis.server import Server
from crawler.testing.loops import in_event_loop
from frontier import Place
from tests.exchanges import MemoryExchange
from tests.redis_nodes import running_nodes
from tests.redis_server import running_redis

Make = Callable[[int], Awaitable[Exchange]]


LONG = pytest.mark.long


@pytest.fixture(
    scope="module",
    params=["memory", "local", "redis", pytest.param("nodes", marks=LONG), pytest.param("named", marks=LONG)],
)
def medium(request: pytest.FixtureRequest) -> Iterator[str]:
    """What carries messages: memory, local sockets, or the URL of a server of Redis, which may be a node of a cluster,
    or of Valkey."""
    if request.param == "redis":
        with running_redis() as server:
            yield server.url
    elif request.param == "nodes":
        with running_nodes() as nodes:
            yield nodes.url
    elif request.param == "named":
        url = os.environ.get("ONCEOVER_REDIS_URL")
        if url is None:
            pytest.skip("the variable ONCEOVER_REDIS_URL names no server, such as redis://HOST:PORT of Valkey")
        yield url
    else:
        yield request.param


@pytest.fixture
def make(medium: str, tmp_path: Path) -> Make:
    """Makes the exchange of a part."""
    parts: dict[int, MemoryExchange] = {}
    prefix = f"tests:{secrets.token_hex(8)}"

    async def make_in_memory(number: int) -> Exchange:
        return MemoryExchange(number, parts)

    async def make_local(number: int) -> Exchange:
        directory = tmp_path / f"{number}"
        directory.mkdir(exist_ok=True)
        return LocalExchange(directory, lambda part: tmp_path / f"{part}")

    async def make_in_redis(number: int) -> Exchange:
        return await RedisExchange.begin(Server(url=medium), number, prefix=prefix, wire=LINKS)

    return {"memory": make_in_memory, "local": make_local}.get(medium, make_in_redis)


@asynccontextmanager
async def connected(make: Make) -> AsyncIterator[tuple[Connection, Connection]]:
    """Both ends of a connection from part 0 to part 1."""
    first, second = await make(0), await make(1)
    try:
        mine = await first.connect(1)
        theirs = await second.accept()
        assert theirs is not None
        yield mine, theirs
    finally:
        await first.aclose()
        await second.aclose()


MESSAGES: list[Message] = [
    Hello(sender=0, receiver=1, incarnation=(1 << 64) - 1, trimmed=Place(7, 3), agreement={"rules": "2:ä"}),
    Welcome(receiver=1, incarnation=5, position=8, trimmed_position=3, generation=2),
    Skip(upto=Place(7, 3)),
    Parcels(incarnation=5, first=9, parcels=[b"", b"\0\xff", b"x" * 100_000]),
    Confirm(incarnation=5, sender_incarnation=6, committed=9, safe=8, generation=2, again=True),
    Refused(message="no"),
]


@in_event_loop
async def test_messages_of_all_kinds_arrive_whole_and_in_order_in_both_directions(make: Make) -> None:
    async with connected(make) as (mine, theirs):
        for sender, receiver in ((mine, theirs), (theirs, mine)):
            for message in MESSAGES:
                await sender.send(message)
                assert await receiver.receive() == message


@in_event_loop
async def test_a_message_may_be_larger_than_every_buffer(make: Make) -> None:
    async with connected(make) as (mine, theirs):
        message = Parcels(incarnation=5, first=1, parcels=[bytes([number]) * 1_000_000 for number in range(5)])
        sending = asyncio.create_task(mine.send(message))
        assert await theirs.receive() == message
        await sending


def numbered(number: int) -> Parcels:
    return Parcels(incarnation=5, first=number, parcels=[b"x" * 200_000])


@in_event_loop
async def test_a_sender_waits_for_a_receiver_that_does_not_read(make: Make) -> None:
    async with connected(make) as (mine, theirs):
        sent = 0

        async def send() -> None:
            nonlocal sent
            for number in range(1, 101):
                await mine.send(numbered(number))
                sent = number

        sending = asyncio.create_task(send())
        stood_at = -1
        while stood_at != sent:  # until it gets no further
            stood_at = sent
            for _ in range(100):
                await asyncio.sleep(0)
        assert sent < 50
        for number in range(1, 101):
            assert await theirs.receive() == numbered(number)
        await sending


@in_event_loop
async def test_several_tasks_may_send(make: Make) -> None:
    async with connected(make) as (mine, theirs):
        numbers = list(range(1, 31))
        sending = [asyncio.create_task(mine.send(numbered(number))) for number in numbers]
        found = [await theirs.receive() for _ in numbers]
        await asyncio.gather(*sending)
        assert {message.first for message in found if isinstance(message, Parcels)} == set(numbers)


@in_event_loop
async def test_the_end_of_a_connection_reaches_the_other_side(make: Make) -> None:
    async with connected(make) as (mine, theirs):
        mine.close()
        mine.close()
        assert await theirs.receive() is None
        with pytest.raises(ExchangeBroken):
            await mine.send(MESSAGES[0])
        with pytest.raises(ExchangeBroken):
            await send_for_ever(theirs)


async def send_for_ever(connection: Connection) -> None:
    while True:
        await connection.send(numbered(1))


@in_event_loop
async def test_a_sender_that_waits_learns_that_its_receiver_is_gone(make: Make) -> None:
    async with connected(make) as (mine, theirs):
        sending = asyncio.create_task(send_for_ever(mine))
        for _ in range(200):
            await asyncio.sleep(0)
        theirs.close()
        with pytest.raises(ExchangeBroken):
            await sending


@in_event_loop
async def test_a_cancelled_receive_takes_no_message(make: Make) -> None:
    async with connected(make) as (mine, theirs):
        for message in (numbered(1), MESSAGES[0]):
            receiving = asyncio.create_task(theirs.receive())
            await asyncio.sleep(0)
            receiving.cancel()
            await asyncio.wait({receiving})
            sending = asyncio.create_task(mine.send(message))
            await asyncio.sleep(0)
            receiving = asyncio.create_task(theirs.receive())
            await asyncio.sleep(0)
            receiving.cancel()
            await asyncio.wait({receiving})
            found = await theirs.receive() if receiving.cancelled() else receiving.result()
            assert found == message
            await sending


@in_event_loop
async def test_nobody_can_be_reached_before_its_exchange_is_made_and_after_it_is_closed(make: Make) -> None:
    first = await make(0)
    with pytest.raises(Unreachable):
        await first.connect(1)
    second = await make(1)
    connection = await first.connect(1)
    await second.aclose()
    await second.aclose()
    assert await second.accept() is None
    with pytest.raises(Unreachable):
        await first.connect(1)
    assert await ends(connection)
    again = await make(1)
    await first.connect(1)
    assert await again.accept() is not None
    await first.aclose()
    await again.aclose()


async def ends(connection: Connection) -> bool:
    """Whether the connection has ended, in one way or the other."""
    try:
        return await connection.receive() is None
    except ExchangeBroken:
        return True


@in_event_loop
async def test_closing_ends_a_wait_for_connections(make: Make) -> None:
    only = await make(0)
    accepting = asyncio.create_task(only.accept())
    await asyncio.sleep(0)
    await only.aclose()
    assert await accepting is None


@in_event_loop
async def test_connections_are_accepted_in_order_and_know_nothing_of_each_other(make: Make) -> None:
    first, second = await make(0), await make(1)
    mine = [await first.connect(1) for _ in range(5)]
    for number, connection in enumerate(mine):
        await connection.send(Skip(upto=Place(1, number)))
    theirs = [await second.accept() for _ in mine]
    for number, accepted in reversed(list(enumerate(theirs))):
        assert accepted is not None
        assert await accepted.receive() == Skip(upto=Place(1, number))
    mine[2].close()
    for number, (connection, accepted) in enumerate(zip(mine, theirs, strict=True)):
        assert accepted is not None
        if number != 2:
            await accepted.send(MESSAGES[1])
            assert await connection.receive() == MESSAGES[1]
    await first.aclose()
    await second.aclose()


@in_event_loop
async def test_a_cancelled_wait_for_connections_loses_none(make: Make) -> None:
    first, second = await make(0), await make(1)
    for _ in range(3):
        accepting = asyncio.create_task(second.accept())
        await asyncio.sleep(0)
        await first.connect(1)
        accepting.cancel()
        await asyncio.wait({accepting})
        accepted = await second.accept() if accepting.cancelled() else accepting.result()
        assert accepted is not None
    await first.aclose()
    await second.aclose()
