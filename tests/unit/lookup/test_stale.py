"""Answers of name servers that are used although they are old: RFC 8767."""

import asyncio
import socket

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from crawler.fetch.connect.guard import AddressRefused, Guard
from crawler.fetch.connect.lookup.answers import Answers, NameCacheLimits, answer_after_failure, make_answer
from crawler.fetch.connect.lookup.dns import TimedResult
from crawler.fetch.connect.names import Names, StaticNames
from tests.unit.fetch.test_names import Clock

AGAIN = socket.gaierror(socket.EAI_AGAIN, "Timeout while contacting DNS servers")
NO_NAME = socket.gaierror(socket.EAI_NONAME, "Domain name not found")
LIMITS = NameCacheLimits(stale_after_s=0.001)


class Server(AbstractResolver):
    """Answers what it is told to; waits while `gate` is closed."""

    def __init__(self, answer: str | OSError) -> None:
        self.answer = answer
        self.asked = 0
        self.asking = 0
        self.most_at_once = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.three_wait = asyncio.Event()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked += 1
        self.asking += 1
        self.most_at_once = max(self.most_at_once, self.asking)
        if self.asking == 3:
            self.three_wait.set()
        try:
            await self.gate.wait()
        finally:
            self.asking -= 1
        if isinstance(self.answer, OSError):
            raise self.answer
        return [
            TimedResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0, ttl_s=60)
            for address in self.answer.split()
        ]

    async def close(self) -> None:
        pass


def names(server: Server, clock: Clock, *, at_once: int = 100) -> Names:
    return Names(
        static=StaticNames({}), guard=Guard(), system=server, cache_limits=LIMITS, clock=clock, at_once=at_once
    )


async def addresses(resolver: Names, host: str = "a.test") -> list[str]:
    return [each["host"] for each in await resolver.resolve(host)]


async def test_if_name_servers_fail_the_last_answer_is_used_and_they_are_asked_again_after_a_while() -> None:
    server, clock = Server("1.1.1.1"), Clock()
    resolver = names(server, clock)
    assert await addresses(resolver) == ["1.1.1.1"]
    clock.now += 61
    server.answer = AGAIN
    for _ in range(3):
        assert await addresses(resolver) == ["1.1.1.1"]
    assert server.asked == 2
    clock.now += 31
    server.answer = "2.2.2.2"
    assert await addresses(resolver) == ["2.2.2.2"]
    assert server.asked == 3


async def test_a_name_that_is_gone_is_gone() -> None:
    server, clock = Server("1.1.1.1"), Clock()
    resolver = names(server, clock)
    await addresses(resolver)
    clock.now += 61
    server.answer = NO_NAME
    for told in ("not found", "Timeout"):
        with pytest.raises(socket.gaierror, match=told):
            await addresses(resolver)
        clock.now += 31
        server.answer = AGAIN


async def test_an_answer_is_used_for_a_day_after_its_time_to_live_and_not_longer() -> None:
    server, clock = Server("1.1.1.1"), Clock()
    resolver = names(server, clock)
    await addresses(resolver)
    server.answer = AGAIN
    clock.now += 60 + 86_399
    assert await addresses(resolver) == ["1.1.1.1"]
    clock.now += 1
    with pytest.raises(socket.gaierror, match="Timeout"):
        await addresses(resolver)


async def test_a_slow_name_server_is_not_waited_for_if_there_is_an_old_answer_and_its_answer_counts_later() -> None:
    server, clock = Server("1.1.1.1"), Clock()
    resolver = names(server, clock)
    await addresses(resolver)
    clock.now += 61
    server.answer = "2.2.2.2"
    server.gate.clear()
    assert await addresses(resolver) == ["1.1.1.1"]
    assert resolver.asking == 1
    server.gate.set()
    assert await addresses(resolver) == ["2.2.2.2"]
    assert server.asked == 2


async def test_an_old_answer_never_passes_the_guard() -> None:
    """The guard judges addresses when they are used, not when they came."""
    server, clock = Server("1.1.1.1"), Clock()
    resolver = names(server, clock)
    assert await addresses(resolver) == ["1.1.1.1"]
    clock.now += 61
    server.answer = "10.0.0.1"
    with pytest.raises(AddressRefused, match="private"):
        await addresses(resolver)
    clock.now += 61
    server.answer = AGAIN
    with pytest.raises(AddressRefused, match="private"):
        await addresses(resolver)


async def test_name_servers_that_are_gone_are_waited_for_once_and_not_by_each_host() -> None:
    server, clock = Server("1.1.1.1"), Clock()
    limits = NameCacheLimits(stale_after_s=1.0, failing_after_s=0.0)
    resolver = Names(static=StaticNames({}), guard=Guard(), system=server, cache_limits=limits, clock=clock)
    hosts = [f"h{number}.test" for number in range(1000)]
    for host in hosts:
        await addresses(resolver, host)
    clock.now += 61
    server.gate.clear()
    async with asyncio.timeout(300):  # a thousand seconds, if each of them waited
        for host in hosts:
            assert await addresses(resolver, host) == ["1.1.1.1"]
    await resolver.close()


async def test_a_question_goes_on_when_nobody_waits_for_it_any_more() -> None:
    server, clock = Server("1.1.1.1"), Clock()
    resolver = names(server, clock)
    server.gate.clear()
    waiting = asyncio.create_task(addresses(resolver))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    server.gate.set()
    assert await addresses(resolver) == ["1.1.1.1"]
    assert server.asked == 1


async def test_names_are_asked_about_a_few_at_a_time_and_closing_ends_all_questions() -> None:
    server = Server("1.1.1.1")
    resolver = names(server, Clock(), at_once=3)
    server.gate.clear()
    assert all(resolver.look_up(f"h{number}.test") for number in range(10))
    assert not resolver.look_up("h0.test"), "it is being asked about"
    await server.three_wait.wait()
    server.gate.set()
    assert await addresses(resolver, "h9.test") == ["1.1.1.1"]
    assert server.most_at_once == 3
    assert not resolver.look_up("h9.test"), "it is known"
    server.gate.clear()
    assert resolver.look_up("other.test")
    await resolver.close()
    assert (server.asking, resolver.asking) == (0, 0)


async def test_localhost_and_static_names_are_never_looked_up_ahead() -> None:
    server = Server("1.1.1.1")
    resolver = Names(static=StaticNames({"*.test": "127.0.0.1"}), guard=Guard(), system=server)
    assert not resolver.look_up("a.test")
    assert not resolver.look_up("www.localhost")
    assert resolver.asking == 0


def test_a_name_with_thousands_of_addresses_takes_no_more_room_than_one_with_sixteen() -> None:
    many = [f"1.1.{number // 250}.{number % 250}" for number in range(5000)]
    assert len(make_answer(many, ttl_s=1, now=0, limits=LIMITS).addresses.split()) == 16


def test_the_cache_never_holds_more_than_its_limit() -> None:
    answers = Answers()
    for number in range(2500):
        answers.put(f"h{number}.test", make_answer(["1.1.1.1"], ttl_s=1, now=0, limits=LIMITS), max_names=1000)
        assert len(answers) <= 1000
        answers.find("h0.test")
    assert answers.find("h0.test") is not None, "it is used all the time"
    assert answers.find("h2499.test") is not None
    assert answers.find("h1.test") is None


def test_failures_do_not_make_an_old_answer_last_longer() -> None:
    first = make_answer(["1.1.1.1"], ttl_s=60, now=0, limits=LIMITS)
    later = first
    for now in range(61, 80_000, 1000):
        later = answer_after_failure(AGAIN, later, is_final=False, now=now, limits=LIMITS)
        assert later.stale_until == first.stale_until
        assert later.fresh_until <= later.stale_until
