"""The prefetch hands out every URL once and in order, however few it may keep."""

from bisect import insort

from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.testing.frontier.crawls import page
from frontier.memory.reads import MemoryReads
from frontier.records import PendingUrl
from frontier.transitions.active.prefetch import Prefetch


class Pending(MemoryReads):
    """The stored URLs of some queues."""

    def __init__(self) -> None:
        super().__init__()
        self.orders: dict[str, list[int]] = {}
        self.loaded = 0

    def pending_urls(self, key: str, /, *, after: int, limit: int) -> list[PendingUrl]:
        self.loaded += 1
        return [url_of(key, order) for order in self.orders[key] if order > after][:limit]


def url_of(key: str, order: int) -> PendingUrl:
    return PendingUrl(url=page(key.removeprefix("test,"), str(order)), number=order, order=order, found_at=0)


STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "put", "take", "take", "gone", "back"]), st.integers(0, 1), st.integers(0, 40)),
    max_size=80,
)


@given(steps=STEPS, per_queue=st.integers(1, 3), total=st.integers(0, 5))
@settings(max_examples=400)
def test_the_first_url_that_is_not_leased_is_taken(
    steps: list[tuple[str, int, int]], per_queue: int, total: int
) -> None:
    pending = Pending()
    prefetch = Prefetch(pending, per_queue=per_queue, total=total)
    leased: dict[int, str] = {}
    used: set[int] = set()
    for step, queue, value in steps:
        key = f"test,h{queue}"
        stored = pending.orders.setdefault(key, [])
        mine = [number for number in leased if leased[number] == key]
        if step == "put":
            order = value * 2 + queue  # lower orders come later too, as a lower precedence makes them
            if order in used:
                continue
            used.add(order)
            is_first = not stored
            insort(stored, order)
            if is_first:
                drained_to = order - 1 if value % 2 else -1
                prefetch.begin(key, drained_to, complete=value % 3 == 0)
            if is_first and value % 3 == 1:
                prefetch.preload({key: 1})
            else:
                prefetch.put(key, [url_of(key, order)])
        elif step == "take":
            free = [order for order in stored if order not in leased]
            if free:
                taken = prefetch.take(key, leased)
                assert taken is not None
                assert taken.order == free[0]
                leased[taken.number] = key
        elif mine:
            number = mine[value % len(mine)]
            del leased[number]
            if step == "gone":
                stored.remove(number)
                if not stored:
                    prefetch.drop(key)
            else:
                prefetch.put_back(url_of(key, number))
        assert prefetch._count == sum(len(queue_.urls) for queue_ in prefetch._queues.values())
        assert prefetch._count <= total


def test_a_full_queue_that_is_loaded_again_forgets_no_url() -> None:
    """A URL of better precedence came while the queue was full, so it was loaded again from there."""
    pending = Pending()
    prefetch = Prefetch(pending, per_queue=2)
    pending.orders["test,a"] = []
    prefetch.begin("test,a", -1, complete=True)
    for order in (5, 10, 7):
        insort(pending.orders["test,a"], order)
        prefetch.put("test,a", [url_of("test,a", order)])
    leased: set[int] = set()
    for order in (5, 7, 10):
        taken = prefetch.take("test,a", leased)
        assert taken is not None
        assert taken.order == order
        leased.add(order)
    assert prefetch.take("test,a", leased) is None


def test_many_queues_keep_no_more_urls_than_all_may() -> None:
    pending = Pending()
    prefetch = Prefetch(pending, per_queue=32, total=100)
    leased: set[int] = set()
    for queue in range(200):
        pending.orders[f"test,{queue}"] = [queue * 1000 + number for number in range(64)]
        prefetch.begin(f"test,{queue}", queue * 1000 - 1)
        taken = prefetch.take(f"test,{queue}", leased)
        assert taken is not None
        leased.add(taken.number)
    assert prefetch._count <= 100
    assert pending.loaded == 200
