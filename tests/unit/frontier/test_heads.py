"""Heads hand out every URL once and in order, however little they may keep."""

from bisect import insort

from hypothesis import given, settings
from hypothesis import strategies as st

from frontier.store import Waiting
from frontier.transitions.prefetch import Prefetch
from tests.unit.frontier.crawls import page


class Pending:
    """The stored URLs of some queues."""

    def __init__(self) -> None:
        self.queues: dict[str, list[int]] = {}
        self.loaded = 0

    def load(self, key: str, after: int, limit: int) -> list[Waiting]:
        self.loaded += 1
        return [waiting(key, order) for order in self.queues[key] if order > after][:limit]

    def load_each(self, places: list[tuple[str, int]], limit: int) -> list[list[Waiting]]:
        return [self.load(key, after, limit) for key, after in places]


def waiting(key: str, order: int) -> Waiting:
    return Waiting(url=page(key.removeprefix("test,"), str(order)), number=order, order=order, found_at=0)


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
    heads = Prefetch(pending.load, pending.load_each, per_queue=per_queue, total=total)
    leased: dict[int, str] = {}
    used: set[int] = set()
    for step, queue, value in steps:
        key = f"test,h{queue}"
        stored = pending.queues.setdefault(key, [])
        mine = [number for number in leased if leased[number] == key]
        if step == "put":
            order = value * 2 + queue  # lower orders come later too, as a lower precedence makes them
            if order in used:
                continue
            used.add(order)
            is_first = not stored
            insort(stored, order)
            if is_first:
                heads.begin(key, -1, complete=value % 3 == 0)
            if is_first and value % 3 == 1:
                heads.look_ahead([key])
            else:
                heads.put(key, [waiting(key, order)])
        elif step == "take":
            free = [order for order in stored if order not in leased]
            if free:
                taken = heads.take(key, leased)
                assert taken is not None
                assert taken.order == free[0]
                leased[taken.number] = key
        elif mine:
            number = mine[value % len(mine)]
            del leased[number]
            if step == "gone":
                stored.remove(number)
                if not stored:
                    heads.drop(key)
            else:
                heads.put_back(waiting(key, number))
        assert heads._held == sum(len(head.loaded) for head in heads._heads.values())
        assert heads._held <= total


def test_a_full_head_that_begins_anew_forgets_no_url_that_stood_before() -> None:
    """A URL of better precedence came while the head was full, and the head was read anew from there."""
    pending = Pending()
    heads = Prefetch(pending.load, pending.load_each, per_queue=2)
    pending.queues["test,a"] = []
    heads.begin("test,a", -1, complete=True)
    for order in (5, 10, 7):
        insort(pending.queues["test,a"], order)
        heads.put("test,a", [waiting("test,a", order)])
    leased: set[int] = set()
    for order in (5, 7, 10):
        taken = heads.take("test,a", leased)
        assert taken is not None
        assert taken.order == order
        leased.add(order)
    assert heads.take("test,a", leased) is None


def test_many_queues_keep_no_more_urls_than_all_may() -> None:
    pending = Pending()
    heads = Prefetch(pending.load, pending.load_each, per_queue=32, total=100)
    leased: set[int] = set()
    for queue in range(200):
        pending.queues[f"test,{queue}"] = [queue * 1000 + number for number in range(64)]
        heads.begin(f"test,{queue}", queue * 1000 - 1)
        taken = heads.take(f"test,{queue}", leased)
        assert taken is not None
        leased.add(taken.number)
    assert heads._held <= 100
    assert pending.loaded == 200
