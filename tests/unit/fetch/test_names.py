import asyncio
import socket

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from crawler.fetch.connect.guard import AddressRefused, Guard
from crawler.fetch.connect.lookup.answers import NameCacheLimits
from crawler.fetch.connect.names import Names, StaticNames, SystemResolver
from crawler.page import Failure, FailureKind, Page, Request
from crawler.testing.fetch.raw_server import page, raw_server
from tests.fetchers import http_fetcher


class FakeDns(AbstractResolver):
    """Answers from a table, which may change; notes what it is asked; waits while `gate` is closed."""

    def __init__(self, **answers: list[str]) -> None:
        self.answers = {name.replace("_", "."): addresses for name, addresses in answers.items()}
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.closed = False

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        await self.gate.wait()
        if host not in self.answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in self.answers[host]
        ]

    async def close(self) -> None:
        self.closed = True


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def names(dns: FakeDns, clock: Clock | None = None, *, hosts: dict[str, str] | None = None) -> Names:
    return Names(
        static=StaticNames(hosts or {}),
        guard=Guard(),
        system=dns,
        cache_limits=NameCacheLimits(ttl_s=300, negative_ttl_s=30, max_names=3),
        clock=clock or Clock(),
    )


async def places(resolver: Names, host: str, port: int = 80) -> list[tuple[str, int]]:
    return [(each["host"], each["port"]) for each in await resolver.resolve(host, port)]


LOCAL = ["localhost", "localhost.", "a.localhost", "a.b.localhost."]


@pytest.mark.parametrize("host", LOCAL)
async def test_localhost_is_refused_without_a_question_whatever_it_resolves_to(host: str) -> None:
    dns = FakeDns()
    dns.answers[host] = ["93.184.215.14"]
    with pytest.raises(AddressRefused, match="loopback"):
        await names(dns).resolve(host, 80)
    assert dns.asked == []
    assert await places(names(dns, hosts={host: "127.0.0.1:8080"}), host) == [("127.0.0.1", 8080)]
    dns.answers = {"notlocalhost": ["93.184.215.14"], "localhost.test": ["93.184.215.14"]}
    for other in dns.answers:
        assert await places(names(dns), other) == [("93.184.215.14", 80)]


async def test_the_address_that_was_asked_last_is_the_first_while_the_name_has_it() -> None:
    dns, clock = FakeDns(a_test=["192.0.3.1", "192.0.3.2", "192.0.3.3"]), Clock()
    resolver = names(dns, clock)
    resolver.prefer("a.test", "192.0.3.3")
    assert [host for host, _ in await places(resolver, "a.test")] == ["192.0.3.3", "192.0.3.1", "192.0.3.2"]
    dns.answers["a.test"] = ["192.0.3.1", "192.0.3.2"]
    clock.now += 301
    assert [host for host, _ in await places(resolver, "a.test")] == ["192.0.3.1", "192.0.3.2"]
    for number in range(3):
        resolver.prefer(f"h{number}.test", "192.0.3.2")
    dns.answers["a.test"] = ["192.0.3.1", "192.0.3.3"]
    clock.now += 301
    assert [host for host, _ in await places(resolver, "a.test")] == ["192.0.3.1", "192.0.3.3"]


# static names


@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("www.test", ("10.0.0.1", None)),
        ("www.test.", ("10.0.0.1", None)),
        ("a.sim.test", ("127.0.0.1", 8080)),
        ("b.a.sim.test", ("127.0.0.1", 8080)),
        ("x.own.sim.test", ("::1", 81)),
        ("one.sim.test", ("::1", None)),
        ("sim.test", None),
        ("asim.test", None),
        ("example.org", None),
    ],
)
def test_the_longest_static_name_wins(host: str, place: tuple[str, int | None] | None) -> None:
    static = StaticNames(
        {
            "WWW.test": "10.0.0.1",
            "*.sim.test": "127.0.0.1:8080",
            "*.own.sim.test": "[::1]:81",
            "one.sim.test": "::1",
        }
    )
    assert static.find(host) == place


def test_a_star_is_every_name() -> None:
    assert StaticNames({"*": "127.0.0.1:1"}).find("www.example.org") == ("127.0.0.1", 1)


@pytest.mark.parametrize(
    "value", ["", "localhost", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000", "[::1", "1.2.3", "::1:80:"]
)
def test_a_static_name_that_leads_nowhere_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"hosts: 'a\.test' must map to address or address:port"):
        StaticNames({"a.test": value})


async def test_static_names_ask_nobody_and_pass_the_guard() -> None:
    dns = FakeDns()
    resolver = names(dns, hosts={"*.sim.test": "127.0.0.1:8080", "b.test": "10.0.0.1"})
    assert await places(resolver, "a.sim.test", 443) == [("127.0.0.1", 8080)]
    assert await places(resolver, "b.test", 443) == [("10.0.0.1", 443)]
    assert not dns.asked


# DNS


async def test_answers_are_kept_for_their_time() -> None:
    dns, clock = FakeDns(a_test=["1.1.1.1", "2.2.2.2"]), Clock()
    resolver = names(dns, clock)
    assert await places(resolver, "a.test", 80) == [("1.1.1.1", 80), ("2.2.2.2", 80)]
    assert await places(resolver, "a.test", 443) == [("1.1.1.1", 443), ("2.2.2.2", 443)]
    clock.now += 299
    await places(resolver, "a.test")
    assert dns.asked == ["a.test"]
    clock.now += 2
    dns.answers["a.test"] = ["3.3.3.3"]
    assert await places(resolver, "a.test") == [("3.3.3.3", 80)]


async def test_failures_are_kept_for_a_shorter_time() -> None:
    dns, clock = FakeDns(), Clock()
    resolver = names(dns, clock)
    for _ in range(2):
        with pytest.raises(socket.gaierror, match="not known"):
            await places(resolver, "a.test")
    assert dns.asked == ["a.test"]
    clock.now += 31
    dns.answers["a.test"] = ["1.1.1.1"]
    assert await places(resolver, "a.test") == [("1.1.1.1", 80)]


async def test_many_who_ask_for_one_name_ask_once() -> None:
    dns = FakeDns(a_test=["1.1.1.1"])
    dns.gate.clear()
    resolver = names(dns)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(places(resolver, "a.test")) for _ in range(10)]
        await asyncio.sleep(0)
        dns.gate.set()
    assert {task.result()[0] for task in tasks} == {("1.1.1.1", 80)}
    assert dns.asked == ["a.test"]


async def test_if_the_first_to_ask_is_cancelled_another_goes_on() -> None:
    dns = FakeDns(a_test=["1.1.1.1"])
    dns.gate.clear()
    resolver = names(dns)
    first, second, third = (asyncio.create_task(places(resolver, "a.test")) for _ in range(3))
    await asyncio.sleep(0)
    first.cancel()
    second.cancel()
    await asyncio.sleep(0)
    dns.gate.set()
    assert await third == [("1.1.1.1", 80)]
    for task in (first, second):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_the_cache_forgets_what_was_not_used_for_longest() -> None:
    dns = FakeDns(a_test=["1.1.1.1"], b_test=["1.1.1.2"], c_test=["1.1.1.3"], d_test=["1.1.1.4"])
    resolver = names(dns)
    for host in ("a.test", "b.test", "c.test", "a.test", "d.test", "a.test", "b.test"):
        await places(resolver, host)
    assert dns.asked == ["a.test", "b.test", "c.test", "d.test", "b.test"]


async def test_addresses_that_are_refused_are_left_out() -> None:
    dns = FakeDns(mixed_test=["10.0.0.1", "1.1.1.1", "::1"], inside_test=["10.0.0.1", "127.0.0.1"], none_test=[])
    resolver = names(dns)
    assert await places(resolver, "mixed.test") == [("1.1.1.1", 80)]
    for _ in range(2):
        with pytest.raises(AddressRefused, match=r"resolves to 10\.0\.0\.1 \(private\), 127\.0\.0\.1 \(loopback\)"):
            await places(resolver, "inside.test")
    with pytest.raises(OSError, match="no address"):
        await places(resolver, "none.test")


async def test_the_system_knows_this_machine_and_no_invalid_names() -> None:
    resolver = SystemResolver()
    try:
        assert "127.0.0.1" in {each["host"] for each in await resolver.resolve("localhost", 80)}
        for host in ("nowhere.invalid", "a" * 64 + ".test", "a..test"):
            with pytest.raises(socket.gaierror):
                await resolver.resolve(host, 80)
    finally:
        await resolver.close()


# together with the fetcher


async def test_a_name_that_turns_to_this_machine_is_not_fetched() -> None:
    """DNS rebinding: what counts is the address that is connected to, not an earlier answer."""
    dns = FakeDns(rebound_test=["127.0.0.1"])
    async with raw_server({"/": [page(b"secret")]}) as server:
        fetcher = http_fetcher(resolver=dns)
        failure = await fetcher.fetch(Request(url=server.url(host="rebound.test")))
        await fetcher.aclose()
        assert isinstance(failure, Failure)
        assert failure.kind is FailureKind.PRIVATE_ADDRESS
        assert failure.message == "resolves to 127.0.0.1 (loopback)"
        assert not failure.reached
        assert server.connections == 0
    assert dns.closed


async def test_the_guard_holds_even_if_names_let_an_address_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    fetcher = http_fetcher(resolver=FakeDns(rebound_test=["127.0.0.1"]))
    monkeypatch.setattr(fetcher._network._names, "_guard", Guard(allow_private=True))
    async with raw_server({"/": [page(b"secret")]}) as server:
        failure = await fetcher.fetch(Request(url=server.url(host="rebound.test")))
        await fetcher.aclose()
        assert isinstance(failure, Failure)
        assert failure.kind is FailureKind.PRIVATE_ADDRESS
        assert server.connections == 0


async def test_every_address_of_a_name_is_tried() -> None:
    """127.0.0.2 is this machine too, and nobody listens there."""
    async with raw_server({"/": [page(b"x")]}) as server:
        dns = FakeDns(two_test=["127.0.0.2", "127.0.0.1"])
        fetcher = http_fetcher(resolver=dns, allow_private=True)
        answered = await fetcher.fetch(Request(url=server.url(host="two.test")))
        await fetcher.aclose()
        assert isinstance(answered, Page)
        assert answered.ip == "127.0.0.1"
