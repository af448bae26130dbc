"""That names are looked up before their hosts are asked, and how many of them."""

from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.connect.lookup.ahead import AT_ONCE, EVERY_S, LookAhead
from crawler.fetch.connect.routes import Routes
from crawler.page import Page, Request
from crawler.testing.fetch.raw_server import page, raw_server
from crawler.wiring.queue_settings import upcoming_hosts
from frontier.queues.lifecycle import READY, SNOOZED
from frontier.queues.queue import Queue, QueueRecord
from frontier.queues.snoozed import SnoozedQueues
from tests.fetchers import http_fetcher
from tests.unit.fetch.test_names import Clock, FakeDns


class Frontier:
    """A `Foreseeing`."""

    def __init__(self, *keys: str) -> None:
        self.keys = keys

    def upcoming(self, *, within_s: float, limit: int) -> list[str]:
        return list(self.keys[:limit])


def test_the_hosts_of_queues_are_names_without_ports_and_numbers_and_addresses_are_none() -> None:
    frontier = Frontier("org,example,www", "org,example:8080", "org,example#2", "192.0.2.1", "[2001:db8::1]:80")
    assert list(upcoming_hosts(frontier)) == ["www.example.org", "example.org", "example.org"]


def test_names_are_looked_up_now_and_then_and_a_bounded_number_at_once() -> None:
    clock, asked = Clock(), set[str]()
    looks = 0

    def hosts() -> list[str]:
        nonlocal looks
        looks += 1
        return [f"h{number}.test" for number in range(200)]

    def look_up(host: str) -> bool:
        is_new = host not in asked
        asked.add(host)
        return is_new

    ahead = LookAhead(hosts, look_up, lambda: 0, clock=clock)
    for _ in range(100):
        ahead()
    assert (looks, len(asked)) == (1, AT_ONCE)
    clock.now += EVERY_S
    ahead()
    assert len(asked) == 2 * AT_ONCE
    full = LookAhead(hosts, look_up, lambda: AT_ONCE, clock=clock)
    full()
    assert len(asked) == 2 * AT_ONCE


async def test_a_name_is_known_before_its_host_is_asked_and_none_of_a_host_with_a_proxy() -> None:
    dns = FakeDns(a_test=["127.0.0.1"], b_test=["127.0.0.1"], c_test=["127.0.0.1"])
    async with raw_server({"/": [page(b"x")]}) as server:
        fetcher = http_fetcher(
            resolver=dns, allow_private=True, routes=Routes(proxies={"c.test": "socks5h://127.0.0.1:1"})
        )
        fetcher.look_ahead(lambda: ["b.test", "c.test"])
        assert isinstance(await fetcher.fetch(Request(url=server.url(host="a.test"))), Page)
        assert dns.asked == ["a.test", "b.test"]
        assert isinstance(await fetcher.fetch(Request(url=server.url(host="b.test"))), Page)
        assert dns.asked == ["a.test", "b.test"]
        await fetcher.aclose()


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=40), st.integers(0, 20), st.integers(0, 50))
def test_the_queues_that_wake_first_are_those_of_the_heap_in_order(
    rests: list[tuple[int, bool]], until: int, limit: int
) -> None:
    active: dict[str, Queue] = {}
    snoozed = SnoozedQueues(active)
    for number, (wake_at, is_gap) in enumerate(rests):
        queue = active[f"q{number}"] = Queue(QueueRecord(key=f"q{number}", wake_at=float(wake_at)))
        queue.state = SNOOZED
        snoozed.add(queue)
        if is_gap:
            queue.state = READY
    due = sorted((wake_at, number, is_gap) for number, (wake_at, is_gap) in enumerate(rests) if wake_at <= until)
    expected = [f"q{number}" for _, number, is_gap in due[:limit] if not is_gap]
    before = list(snoozed._heap)
    assert snoozed.first_keys(float(until), limit) == expected
    assert snoozed._heap == before
