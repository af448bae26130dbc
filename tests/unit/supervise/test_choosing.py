"""Which parts a machine would run, and which ones nobody may."""

from collections.abc import Mapping

import msgspec

from crawler.cluster.values import COORDINATOR, Cluster, Identity, Lease, PartState
from crawler.supervise.cluster.choosing import choose


def register(*holders: str | None, opened: Mapping[int, int] | None = None, is_first_server: bool = True) -> Cluster:
    """A register of as many parts as holders."""
    identity = Identity(
        crawl="c",
        generation="g",
        lineages=tuple(range(1, len(holders) + 1)),
        next_lineage=len(holders) + 1,
        lease_s=2.0,
        configuration="",
        suffixes=b"",
    )
    parts = tuple(
        PartState(
            number=number,
            lineage=number + 1,
            opened=(opened or {}).get(number, 0),
            claimed=0,
            may_be_made=False,
            lease=None
            if holder is None
            else Lease(holder=holder, claim="x", epoch=1, stored=0, stands=True, left_s=1.0),
        )
        for number, holder in enumerate(holders)
    )
    return Cluster(
        identity=identity,
        is_whole=True,
        is_first_server=is_first_server,
        parts=parts,
        coordinator=None,
        agents={},
        now=0.0,
    )


def chosen(cluster: Cluster, here: Mapping[int, int], max_parts: int, name: str = "me") -> dict[int, bool]:
    """By part, whether it would be made."""
    wanted = list(choose(cluster, here, max_parts=max_parts, name=name))
    assert wanted[0].part == COORDINATOR
    return {each.part: each.makes for each in wanted[1:]}


def test_a_machine_takes_the_parts_that_it_has_before_new_ones() -> None:
    found = chosen(register(None, None, None, None, opened={2: 4}), {2: 4}, max_parts=2)
    assert found.pop(2) is False
    assert list(found.values()) == [True]


def test_a_machine_takes_no_more_than_it_may_and_keeps_those_that_it_runs() -> None:
    cluster = register(None, "me", "me", opened={0: 1, 1: 1, 2: 1})
    assert chosen(cluster, {0: 1, 1: 1, 2: 1}, max_parts=2) == {1: False, 2: False}


def test_an_older_copy_of_a_part_takes_the_place_of_no_other() -> None:
    """As one that was left behind when the part was copied to another machine. It is wanted, so that Redis says why it
    can't be run."""
    cluster = register("other", None, None, opened={0: 3, 1: 1})
    assert chosen(cluster, {0: 2, 1: 1}, max_parts=1) == {0: False, 1: False}
    assert chosen(cluster, {0: 2, 1: 1}, max_parts=2) == {0: False, 1: False, 2: True}


def test_nobody_makes_a_part_that_another_one_holds_or_that_may_exist() -> None:
    assert chosen(register("other", None, opened={1: 3}), {}, max_parts=2) == {}
    assert chosen(register(None, None, is_first_server=False), {}, max_parts=2) == {}


def test_a_new_part_is_kept_while_it_is_claimed() -> None:
    cluster = register(None, None, "me", None)
    assert chosen(cluster, {}, max_parts=1) == {2: True}


def test_machines_begin_with_different_parts() -> None:
    cluster = register(*[None] * 64)
    first = {next(iter(chosen(cluster, {}, max_parts=1, name=f"machine {number}"))) for number in range(16)}
    assert len(first) > 8


def test_who_decides_knows_which_parts_nobody_runs_while_the_register_has_its_own_lease() -> None:
    lease = Lease(holder="me", claim="mine", epoch=1, stored=0, stands=True, left_s=1.0)
    cluster = msgspec.structs.replace(register("me", None, "other", None), coordinator=lease)
    assert cluster.unheld("mine") == [1, 3]
    assert cluster.unheld("older") == []
    assert register(None, None).unheld("mine") == []  # flushed, and written again
