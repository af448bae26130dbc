"""Which queues share a pace, and what a group may do. Pure."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

_HOST = "host "


class GroupLimit(msgspec.Struct, frozen=True, kw_only=True):
    """What a group of a kind may do."""

    at_once: int | None = None
    """The most leases of all its queues together; None for no limit."""
    rest_s: float = 0.0
    """How long the group rests after each fetch."""
    shares_cooldown: bool = False
    """Whether the group rests at least as long as the queue whose URL was fetched."""

    def rest_after_s(self, cooldown_s: float) -> float:
        return cooldown_s if self.shares_cooldown and cooldown_s > self.rest_s else self.rest_s


class Grouping(msgspec.Struct, frozen=True, kw_only=True):
    """The groups of a queue. A group is named by its kind and its name: `ip 192.0.2.1`, `domain org,example`."""

    limits: Mapping[str, GroupLimit] = {}
    """By kind. A kind without a limit has no groups."""
    groups_of_key: Callable[[str], Sequence[str]] = lambda _: ()
    """The groups that follow from a queue's key, without that of its host."""
    host_of_key: Callable[[str], str | None] = lambda _: None
    """The host whose pace a queue keeps, by the queue's key; None for a queue with its own pace."""
    per_host: Callable[[str], int] | None = None
    """The most leases of all queues of a host, by the host's name; None for no limit."""

    def groups_of(self, queue_key: str, address: str | None) -> tuple[str, ...]:
        """The groups of a queue whose server has that address, if it is known; without the group of its host."""
        if not self.limits:
            return ()
        names = [*self.groups_of_key(queue_key), *(() if address is None else (f"ip {address}",))]
        return tuple(name for name in names if name.partition(" ")[0] in self.limits)

    def limit_of(self, group: str) -> GroupLimit:
        """What a group may do, by its name."""
        host = host_of_group(group)
        if host is None:
            return self.limits[group.partition(" ")[0]]
        at_once = None if self.per_host is None else self.per_host(host)
        return GroupLimit(at_once=at_once, shares_cooldown=True)


def group_of_host(host: str) -> str:
    """The name of a host's group."""
    return f"{_HOST}{host}"


def host_of_group(group: str) -> str | None:
    """The host whose group has this name; None for a group of another kind."""
    return group[len(_HOST) :] if group.startswith(_HOST) else None
