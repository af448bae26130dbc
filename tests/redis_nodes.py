"""A cluster of Redis nodes, and servers that Sentinels watch. They listen on ports of loopback."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import redis

from tests.redis_server import RedisServer, free_port, running_redis
from tests.timeouts import MAX_WAIT_S

SLOTS: Final = 16384


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return once it is so; what can't be asked yet is not so."""
    give_up_at = time.monotonic() + MAX_WAIT_S
    while True:
        try:
            if is_so():
                return
        except redis.exceptions.RedisError:
            pass
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


class Node:
    """One server, by its port."""

    def __init__(self, server: RedisServer, port: int, options: tuple[str, ...], *, bus: int = 0) -> None:
        self.server = server
        self.port = port
        self.bus = bus
        self._options = options

    def client(self) -> "redis.Redis[bytes]":
        return redis.Redis(port=self.port)

    def ask(self, *command: str | int) -> object:
        with self.client() as client:
            return client.execute_command(*command)

    def info(self) -> dict[str, object]:
        with self.client() as client:
            found: dict[str, object] = client.info()
            return found

    def kill(self) -> None:
        self.server.kill()

    def restart(self) -> None:
        self.server.start(*self._options, port=self.port)


class Nodes:
    """Masters first, then one replica of each, if there are any."""

    def __init__(self, nodes: list[Node], masters: int) -> None:
        self.all = nodes
        self.masters = nodes[:masters]
        self.replicas = nodes[masters:]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.all[0].port}"

    def id_of(self, node: Node) -> str:
        found = node.ask("CLUSTER", "MYID")
        assert isinstance(found, bytes)
        return found.decode()

    def owner_of(self, slot: int) -> Node:
        """The master that has a slot, as the others see it."""
        for node in self.masters:
            slots = node.ask("CLUSTER", "SLOTS")
            assert isinstance(slots, list)
            for first, last, (_, port, *_), *_ in slots:
                if first <= slot <= last:
                    return next(each for each in self.all if each.port == port)
        raise AssertionError(slot)

    def move(self, slot: int, source: Node, target: Node) -> None:
        """Move a slot with its keys, as `redis-cli --cluster reshard` does."""
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", self.id_of(source))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", self.id_of(target))
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, 100):
            assert isinstance(keys, list)
            with source.client() as client:
                client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
        for node in (target, source, *self.masters):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", self.id_of(target))


@contextmanager
def running_nodes(*, masters: int = 3, replicas: bool = False) -> Iterator[Nodes]:
    """A cluster whose nodes agree. Skips the test if there is no Redis."""
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no")
    with ExitStack() as stack:
        nodes = []
        for _ in range(2 * masters if replicas else masters):
            port, bus = free_port(), free_port()
            chosen = (*options, "--cluster-port", str(bus), "--repl-diskless-sync-delay", "0")
            nodes.append(Node(stack.enter_context(running_redis(*chosen, port=port)), port, chosen, bus=bus))
        cluster = Nodes(nodes, masters)
        share = SLOTS // masters
        for number, node in enumerate(cluster.masters):
            last = SLOTS - 1 if number == masters - 1 else (number + 1) * share - 1
            node.ask("CLUSTER", "ADDSLOTSRANGE", number * share, last)
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for node in nodes[1:]:
            nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", node.port, node.bus)
        wait_until(lambda: all(_knows(node, len(nodes)) for node in nodes))
        for master, replica in zip(cluster.masters, cluster.replicas, strict=False):
            replica.ask("CLUSTER", "REPLICATE", cluster.id_of(master))
        for replica in cluster.replicas:
            wait_until(lambda replica=replica: replica.info().get("master_link_status") == "up")  # type: ignore[misc]
        wait_until(lambda: all(_is_well(node) for node in nodes))
        yield cluster


def _knows(node: Node, count: int) -> bool:
    told = _told(node)
    return f"cluster_known_nodes:{count}\r" in told and f"cluster_slots_assigned:{SLOTS}\r" in told


def _is_well(node: Node) -> bool:
    return "cluster_state:ok" in _told(node)


def _told(node: Node) -> str:
    found = node.ask("CLUSTER", "INFO")
    assert isinstance(found, bytes)
    return found.decode()
