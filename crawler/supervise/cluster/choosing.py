"""Which parts a machine would run. Pure."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from crawler.cluster.values import COORDINATOR, Cluster, Wanted


def choose(cluster: Cluster, here: Mapping[int, int], *, max_parts: int, name: str) -> Iterable[Wanted]:
    """The parts that a machine has directories for, as many as it may run, then new ones that nobody has. `here` has
    the epochs of its directories. Machines begin with different ones, by their `name`."""
    yield Wanted(part=COORDINATOR)
    # Older copies get no lease, but people hear why. So they take no place of others.
    old = {part for part, epoch in here.items() if epoch < cluster.parts[part].opened}
    own = sorted(here.keys() - old, key=lambda part: (not _is_held_by(cluster, part, name), part))[:max_parts]
    yield from (Wanted(part=part, stored=here[part]) for part in [*own, *sorted(old)])
    free = [
        state.number
        for state in cluster.parts
        if state.number not in here
        and cluster.may_make(state.number)
        and (state.lease is None or state.lease.holder == name)
    ]
    free.sort(key=lambda part: (not _is_held_by(cluster, part, name), _rank(name, part)))
    yield from (Wanted(part=part, makes=True) for part in free[: max_parts - len(own)])


def _is_held_by(cluster: Cluster, part: int, name: str) -> bool:
    lease = cluster.parts[part].lease
    return lease is not None and lease.holder == name


def _rank(name: str, part: int) -> bytes:
    return blake2b(f"{name} {part}".encode(), digest_size=8).digest()
