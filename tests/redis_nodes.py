"""A cluster of Redis nodes, and servers that Sentinels watch. They listen on ports of loopback."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import redis

from crawler.testing.timeouts import MAX_WAIT_S
from tests.ports import free_port
from tests.redis_server import RedisServer, running_redis

SLOTS: Final = 16384
_MASTERS: Final = 3
_NAME: Final = "links"


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

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port)

    def ask(self, *command: str | int) -> object:
        with self.client() as client:
            return client.execute_command(*command)

    def info(self) -> dict[str, object]:
        with self.client() as client:
            found: dict[str, object] = client.info()
            return found

    def is_up(self) -> bool:
        try:
            self.ask("PING")
        except redis.exceptions.RedisError:
            return False
        return True

    def is_master(self) -> bool:
        return self.info()["role"] == "master"

    def follows(self) -> bool:
        """Whether it is a replica that has all that its master has."""
        found = self.info()
        return found["role"] == "slave" and found["master_link_status"] == "up"

    @property
    def offset(self) -> int:
        """How much it has been told to write."""
        return int(str(self.info()["master_repl_offset"]))

    def kill(self) -> None:
        self.server.kill()

    def restart(self) -> None:
        self.server.start(*self._options, port=self.port)


class Nodes:
    """Masters first, then one replica of each, if there are any."""

    def __init__(self, nodes: list[Node], *, masters: int = _MASTERS) -> None:
        self.all = nodes
        self.masters = nodes[:masters]
        self.replicas = nodes[masters:]

    @property
    def url(self) -> str:
        return "redis://" + ",".join(f"127.0.0.1:{node.port}" for node in self.all)

    def id_of(self, node: Node) -> str:
        found = node.ask("CLUSTER", "MYID")
        assert isinstance(found, bytes)
        return found.decode()

    def owner_of(self, slot: int) -> Node:
        """The master that has a slot, as the others see it."""
        slots = next(node for node in self.all if node.is_up()).ask("CLUSTER", "SLOTS")
        assert isinstance(slots, list)
        port = next(place[1] for first, last, place, *_ in slots if first <= slot <= last)
        return next(each for each in self.all if each.port == port)

    def replica_of(self, master: Node) -> Node:
        for node in self.all:
            found = node.info() if node is not master else {}
            if found.get("role") == "slave" and found["master_port"] == master.port:
                return node
        raise AssertionError(master.port)

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
def running_nodes(*, masters: int = _MASTERS, replicas: bool = False) -> Iterator[Nodes]:
    """A cluster whose nodes agree. Skips the test if there is no Redis."""
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no")
    with ExitStack() as stack:
        nodes = []
        for _ in range(2 * masters if replicas else masters):
            port, bus = free_port(), free_port()
            chosen = (*options, "--cluster-port", str(bus), "--repl-diskless-sync-delay", "0")
            nodes.append(Node(stack.enter_context(running_redis(*chosen, port=port)), port, chosen, bus=bus))
        cluster = Nodes(nodes, masters=masters)
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
            wait_until(replica.follows)
        wait_until(lambda: all(_is_well(node) for node in nodes))
        yield cluster


class Watched:
    """Two servers, and a Sentinel that decides which one takes writes."""

    def __init__(self, nodes: list[Node], sentinel: Node) -> None:
        self._nodes = nodes
        self._sentinel = sentinel
        self.url = f"sentinel://127.0.0.1:{sentinel.port}/{_NAME}"

    def master(self) -> Node:
        with self._sentinel.client() as client:
            found = client.sentinel_get_master_addr_by_name(_NAME)
        return next(node for node in self._nodes if node.port == int(found[1]))

    def may_fail_over(self) -> bool:
        """Whether the Sentinel knows a replica that has all that the master has."""
        master = self.master()  # it may change at any moment, as on a busy machine
        replica = next(node for node in self._nodes if node is not master)
        with self._sentinel.client() as client:
            found = client.sentinel_master(_NAME)
        return bool(replica.follows() and found["num-slaves"] == 1 and found["is_master"] and not found["is_odown"])


@contextmanager
def running_sentinel() -> Iterator[Watched]:
    """A master, its replica, and a Sentinel. Skips the test if there is no Redis."""
    with ExitStack() as stack:
        nodes = []
        for _ in range(2):
            options = ("--repl-diskless-sync-delay", "0")
            port = free_port()
            nodes.append(Node(stack.enter_context(running_redis(*options, port=port)), port, options))
        master, replica = nodes
        replica.ask("REPLICAOF", "127.0.0.1", master.port)
        wait_until(replica.follows)
        port = free_port()
        watches = (
            *("--sentinel", "monitor", _NAME, "127.0.0.1", str(master.port), "1"),
            *("--sentinel", "down-after-milliseconds", _NAME, "500"),
            *("--sentinel", "failover-timeout", _NAME, "3000"),
        )
        sentinel = stack.enter_context(running_redis(*watches, port=port, is_sentinel=True))
        watched = Watched(nodes, Node(sentinel, port, watches))
        wait_until(watched.may_fail_over)
        yield watched


def _knows(node: Node, count: int) -> bool:
    told = _told(node)
    return f"cluster_known_nodes:{count}\r" in told and f"cluster_slots_assigned:{SLOTS}\r" in told


def _is_well(node: Node) -> bool:
    return "cluster_state:ok" in _told(node)


def _told(node: Node) -> str:
    found = node.ask("CLUSTER", "INFO")
    assert isinstance(found, bytes)
    return found.decode()
