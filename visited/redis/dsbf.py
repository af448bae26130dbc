"""The splitting Bloom filter (`visited.splitting`) on a server, for those who share it.

Hash, bits, formulas and rate are those of the local one with leaves of one size. A leaf is a string of bits, made at
full size by the first URL, and a list of fingerprints from which it can be split, 8 bytes each. The splits are a list,
too: it is the tree, and its length the version of the tree. A script that is called for an old tree changes nothing and
returns the splits that its caller lacks.

A leaf that is full takes nothing more: for its URLs the script answers *undecided*. Whoever is told so builds both
halves from the list and commits them by one script, which does nothing if another client was faster. Then it asks
again. So no client that is slow or dies makes the rate worse than promised, and none holds a lock. What a client is
asked to fill in is listed even if its bits are set already: a split would forget it otherwise. Repeats in a list are
dropped when it is read, and a list with too many of them is written anew.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

import numpy as np
from msgspec import Meta

from visited import sizing
from visited.bits.kernel import best_kernel
from visited.bits.memory import zeros
from visited.bits.numpy_kernel import leaf_positions
from visited.descriptor import Cost, Descriptor, Parameters
from visited.protocol import CannotForget
from visited.redis.dsbf_scripts import ADD, ASK, READ, SPLIT, TIDY
from visited.redis.form import Accuracy, Place, Upkeep, nothing_to_ask
from visited.redis.making import make_redis_set
from visited.redis.redis_set import RedisSet
from visited.redis.server import ServerOptions, Step
from visited.redis.tree import LAST_SPLIT, Tree, Words

BACKEND: Final = "redis-dsbf"
LEAF_BITS: Final = (1 << 20) - 512
"""The server's allocator has room for exactly this: a power of two, with what comes before a string, takes a quarter
more."""
_MIN_LEAF_BITS: Final = 1 << 13
_MAX_LEAF_BITS: Final = 1 << 23
_MAX_FIRST_LEAVES: Final = 1 << 20
_REPEATS: Final = 1.5
"""Fingerprints in the list of a leaf, relative to its capacity, from which on repeats are dropped."""
_ELEMENT: Final = 256
"""Fingerprints in one element of a list that is written by a client."""
_READ_TOGETHER: Final = 4096
_SAMPLED: Final = 32
"""Leaves whose memory is asked."""
_SHARE_OF_BLOOM: Final = 1.443
"""Mean memory of leaves that double, relative to a Bloom filter: 1/ln 2."""
_LISTED_BYTES_PER_URL: Final = 9.5


class SplittingServerOptions(ServerOptions, frozen=True, kw_only=True):
    """The options of the splitting filter on a server."""

    leaf_bits: Annotated[
        int,
        Meta(
            ge=_MIN_LEAF_BITS,
            le=_MAX_LEAF_BITS,
            multiple_of=512,
            description="Size of a leaf. Crawls that share a set use that of the first.",
            extra={"unit": "bits"},
        ),
    ] = LEAF_BITS


class DsbfForm:
    """The `Form`."""

    name = BACKEND

    def __init__(
        self,
        place: Place,
        *,
        capacity: int,
        error_rate: float,
        leaf_bits: int,
    ) -> None:
        self._place = place
        self._kernel = best_kernel()
        self._set_shape(error_rate, leaf_bits)
        first = sizing.leaf_shape(capacity, leaf_bits, error_rate).first_leaves
        self._tree = Tree(min(first, _MAX_FIRST_LEAVES))
        self._rate = self._lost = 0.0
        self._ones = 0

    probe = staticmethod(nothing_to_ask)

    def first_layout(self) -> Mapping[str, str | int]:
        return {
            "error_rate": repr(self._error_rate),
            "leaf_bits": self._leaf_bits,
            "first_leaves": self._tree.first_leaves,
            "rate": 0,
            "lost": 0,
            "ones": 0,
        }

    def adopt(self, head: Mapping[str, str]) -> None:
        self._set_shape(float(head["error_rate"]), int(head["leaf_bits"]))
        self._tree = Tree(int(head["first_leaves"]))
        self._rate, self._lost, self._ones = float(head["rate"]), float(head["lost"]), int(head["ones"])

    def change(self, layout: Any) -> None:
        self._tree.split(map(int, layout[0]))

    def add(self, urls: Sequence[str], set_id: str) -> Step:
        return self._step(ADD, urls, set_id)

    def fill(self, urls: Sequence[str], set_id: str) -> Step:
        return self._step(ADD, urls, set_id, is_filling=True)

    def ask(self, urls: Sequence[str], set_id: str) -> Step:
        return self._step(ASK, urls, set_id)

    def forget(self, urls: Sequence[str], set_id: str) -> Step:
        raise CannotForget(f"{BACKEND} can't forget: URLs share the bits of its leaves; use redis-exact")

    def upkeep(self, told: Sequence[Any], set_id: str) -> Upkeep:
        due, rate, lost, ones = told
        self._rate, self._lost, self._ones = max(0.0, float(rate)), float(lost), ones
        for node in due:
            yield from self._tend(node, set_id)

    def sample(self, _urls: Sequence[str], _count: int) -> tuple[Sequence[str], float]:
        leaves = self._tree.leaves()
        nodes = leaves[:: max(1, len(leaves) // _SAMPLED)]
        keys = [key for node in nodes for key in (self._bits_of(node), self._list_of(node))]
        return keys, len(leaves) / len(nodes)

    def accuracy(self, _count: int) -> Accuracy:
        leaves = self._tree.first_leaves + self._tree.splits
        return Accuracy(
            rate=self._rate,
            lost=self._lost,
            fill=self._ones / (leaves * self._leaf_bits),
            details={
                "hashes": self._hashes,
                "leaves": leaves,
                "depth": self._tree.depth,
                "splits": self._tree.splits,
                "bits_set": self._ones,
                "leaf_capacity": self._leaf_capacity,
            },
        )

    def _set_shape(self, error_rate: float, leaf_bits: int) -> None:
        shape = sizing.leaf_shape(1, leaf_bits, error_rate)
        self._error_rate = error_rate
        self._leaf_bits = leaf_bits
        self._hashes = shape.hashes
        self._leaf_capacity = shape.leaf_capacity
        # A URL may set all its bits in a leaf that is about to be full.
        self._full = int(shape.split_fill * leaf_bits) - shape.hashes + 1

    def _step(self, script: str, urls: Sequence[str], set_id: str, *, is_filling: bool = False) -> Step:
        hashed = np.empty((len(urls), 2), dtype="<u8")
        self._kernel.hash_many(urls, 0, hashed)
        fingerprints: Words = hashed[:, 0].astype(np.uint64)
        leaf_of = self._tree.leaves_of(fingerprints)
        # Those of one leaf stay in their order, which decides which of two is new.
        order = np.argsort(leaf_of, kind="stable")
        nodes, counts = np.unique(leaf_of, return_counts=True)
        ordered = fingerprints[order]
        texts = ordered.astype("<u8").tobytes()
        # The server counts the bits of a byte from the highest one on.
        rows = (leaf_positions(ordered, self._leaf_bits, self._hashes) ^ np.uint64(7)).tolist()
        keys = [self._place.head, self._place.key("splits"), self._place.key("leaves")]
        arguments: list[str | bytes | int | float] = [
            set_id,
            self._tree.splits,
            self._hashes,
            self._leaf_bits // 8,
            len(nodes),
            int(is_filling),
            int(self._leaf_capacity * _REPEATS),
            self._full,
            LAST_SPLIT,
        ]
        for node, count in zip(nodes.tolist(), counts.tolist(), strict=True):
            keys += (self._bits_of(node), self._list_of(node))
            arguments += (node, count, repr(self._tree.share(node)))
        for start, (place, row) in enumerate(zip(order.tolist(), rows, strict=True)):
            arguments += (place + 1, texts[8 * start : 8 * start + 8])
            arguments += row
        return Step(script, keys, arguments)

    def _tend(self, node: int, set_id: str) -> Upkeep:
        """Split a leaf, or drop the repeats in its list."""
        listed = bytearray()
        elements = 0
        while True:
            read = [self._place.head, self._place.key("leaves"), self._list_of(node)]
            found = yield Step(READ, read, [set_id, node, elements, _READ_TOGETHER])
            if not isinstance(found, list) or not found:
                return  # another client has split it
            ones, length, some = found
            listed += some
            elements = min(length, elements + _READ_TOGETHER)
            if elements == length:
                break
        fingerprints = np.unique(np.frombuffer(bytes(listed), dtype="<u8").astype(np.uint64))
        if ones < self._full:
            yield self._tidying(node, ones, elements, fingerprints, set_id)
        else:
            splits = yield self._splitting(node, ones, elements, fingerprints, set_id)
            if splits == self._tree.splits + 1:
                self._tree.split([node])

    def _tidying(self, node: int, ones: int, elements: int, fingerprints: Words, set_id: str) -> Step:
        keys = [self._place.head, self._place.key("leaves"), self._list_of(node)]
        return Step(TIDY, keys, [set_id, node, ones, elements, len(fingerprints), *_elements(fingerprints)])

    def _splitting(self, node: int, ones: int, elements: int, fingerprints: Words, set_id: str) -> Step:
        low, middle, last = self._tree.bounds(node)
        cut = int(np.searchsorted(fingerprints, np.uint64(middle)))
        halves = [zeros(self._leaf_bits // 8) for _ in range(2)]
        counts = np.zeros((2, 2), dtype=np.int64)
        lows = np.array([low, middle], dtype=np.uint64)
        self._kernel.leaves_fill([fingerprints], lows, last, halves, counts, self._hashes)
        (lower_ones, lower_urls), (upper_ones, upper_urls) = counts.tolist()
        lower, upper = list(_elements(fingerprints[:cut])), list(_elements(fingerprints[cut:]))
        before, *after = ((each / self._leaf_bits) ** self._hashes for each in (ones, lower_ones, upper_ones))
        keys = [self._place.head, self._place.key("leaves"), self._list_of(node), self._bits_of(node)]
        keys.append(self._place.key("splits"))
        for half in (2 * node, 2 * node + 1):
            keys += (self._bits_of(half), self._list_of(half))
        arguments: list[str | bytes | int | float] = [set_id, node, ones, elements]
        arguments += (lower_ones, lower_urls, upper_ones, upper_urls, len(lower))
        arguments.append(repr(self._tree.share(node) * (sum(after) / 2 - before)))
        arguments.append(lower_ones + upper_ones - ones)
        return Step(SPLIT, keys, [*arguments, *(memoryview(half).tobytes() for half in halves), *lower, *upper])

    def _bits_of(self, node: int) -> str:
        return self._place.key(f"b:{node}")

    def _list_of(self, node: int) -> str:
        return self._place.key(f"l:{node}")


def _elements(fingerprints: Words) -> Iterator[bytes]:
    """The elements of a list that has them."""
    for start in range(0, len(fingerprints), _ELEMENT):
        yield fingerprints[start : start + _ELEMENT].astype("<u8").tobytes()


def _make(parameters: Parameters, options: SplittingServerOptions) -> RedisSet:
    return make_redis_set(
        lambda place: DsbfForm(
            place, capacity=parameters.capacity, error_rate=parameters.error_rate, leaf_bits=options.leaf_bits
        ),
        parameters,
        options,
    )


def _cost(count: int, error_rate: float, options: SplittingServerOptions) -> Cost:
    return Cost(
        memory_bytes=sizing.bits_for(count, error_rate) / 8 * _SHARE_OF_BLOOM + count * _LISTED_BYTES_PER_URL,
        false_positive_rate=error_rate,
        expected_lost=count * sizing.doubling_rate(options.leaf_bits, error_rate),
    )


DESCRIPTOR: Final = Descriptor(
    name=BACKEND,
    make=_make,
    options=SplittingServerOptions,
    needs=frozenset({"server"}),
    folder=BACKEND,
    cost=_cost,
)
