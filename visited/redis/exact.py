"""The exact form: 64-bit fingerprints in Redis sets of integers.

Redis keeps a small set of integers as an *intset*, 8 bytes for each, but only up to 512 of them. So the fingerprints
are spread over many small sets, the *leaves*, by their first bits. The leaves grow in number as the set grows (linear
hashing, Litwin 1980): while b is the number of bits in use, the first p leaves of 2^b are already split in two. The
leaf of a fingerprint has the number 1, followed by its first b bits, or b + 1 bits if it is split. With at most `MEAN`
URLs for each leaf on average, a leaf that waits to be split has about 400 at most, and more than 512 with a probability
below 10^-7.

The number of leaves is the layout. The script that adds URLs also splits the next leaves, when they are due; its caller
declares them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from visited.bits.kernel import best_kernel
from visited.descriptor import Cost, Descriptor
from visited.redis.form import Accuracy, Place, nothing_to_ask, nothing_to_do
from visited.redis.making import make_redis_set
from visited.redis.server import ServerOptions, Step

BACKEND: Final = "redis-exact"
MEAN: Final = 200
"""URLs of a leaf, on average. The largest leaves have twice as many, and some chance."""
_FIRST_BITS: Final = 6
"""At least 64 leaves, so that a batch is spread."""
_SPLITS: Final = 6
"""Leaves that a call may split. A batch of 512 new URLs needs 2.6 on average."""
_SAMPLED: Final = 64
"""Leaves whose memory is asked."""
_BYTES_PER_URL: Final = 9.6

_BEGIN: Final = """
local head = redis.call('HMGET', KEYS[1], 'id', 'leaves', 'count')
if head[1] ~= ARGV[1] then return -1 end
if head[2] ~= ARGV[2] then return tonumber(head[2]) end
local found, n = {}, tonumber(ARGV[3])
"""
_ADD: Final = (
    _BEGIN
    + """
local added, count = 0, tonumber(head[3])
for i = 1, n do
  found[i] = redis.call('SADD', KEYS[1 + i], ARGV[4 + i])
  added = added + found[i]
end
if added == 0 then return {table.concat(found), count} end
count = redis.call('HINCRBY', KEYS[1], 'count', added)
local before, mean = tonumber(head[2]), tonumber(ARGV[4])
local leaves, key, argument = before, n + 2, n + 5
while count > leaves * mean and KEYS[key] do
  local from, low, high, cut = KEYS[key], KEYS[key + 1], KEYS[key + 2], ARGV[argument]
  -- The numbers of a leaf have one sign. As text they are exact; as numbers of Lua they would be rounded.
  local lower, upper, digits, is_negative = {}, {}, #cut, string.byte(cut) == 45
  for _, each in ipairs(redis.call('SMEMBERS', from)) do
    local is_upper
    if #each ~= digits then is_upper = (#each > digits) ~= is_negative
    else is_upper = each == cut or (each > cut) ~= is_negative end
    local half = is_upper and upper or lower
    half[#half + 1] = each
  end
  -- Both are new, and so intsets, even if this leaf had too many numbers for one.
  redis.call('DEL', from)
  for _, half in ipairs({{low, lower}, {high, upper}}) do
    for first = 1, #half[2], 1000 do
      redis.call('SADD', half[1], unpack(half[2], first, math.min(first + 999, #half[2])))
    end
  end
  leaves, key, argument = leaves + 1, key + 3, argument + 1
end
if leaves > before then redis.call('HSET', KEYS[1], 'leaves', leaves) end
return {table.concat(found), count}
"""
)
_ASK: Final = (
    _BEGIN
    + """
for i = 1, n do found[i] = redis.call('SISMEMBER', KEYS[1 + i], ARGV[4 + i]) end
return {table.concat(found), tonumber(head[3])}
"""
)
_FORGET: Final = (
    _BEGIN
    + """
local gone, count = 0, tonumber(head[3])
for i = 1, n do
  found[i] = redis.call('SREM', KEYS[1 + i], ARGV[4 + i])
  gone = gone + found[i]
end
if gone > 0 then count = redis.call('HINCRBY', KEYS[1], 'count', -gone) end
return {table.concat(found), count}
"""
)

Words = NDArray[np.uint64]


class ExactForm:
    """The `Form`. It is exact but for equal fingerprints: of n URLs, the next is lost with a probability of n/2^64."""

    name = BACKEND

    def __init__(self, place: Place, *, capacity: int) -> None:
        """It begins with as many leaves as `capacity` URLs need, so that these split none."""
        self._place = place
        self._kernel = best_kernel()
        self._leaves = 1 << max(_FIRST_BITS, (capacity // MEAN).bit_length() - 1)

    probe = staticmethod(nothing_to_ask)

    def first_layout(self) -> Mapping[str, str | int]:
        return {"leaves": self._leaves}

    def adopt(self, head: Mapping[str, str]) -> None:
        self._leaves = int(head["leaves"])

    def change(self, layout: Any) -> None:
        self._leaves = int(layout)

    def add(self, urls: Sequence[str], set_id: str) -> Step:
        step = self._step(_ADD, urls, set_id)
        keys, arguments = list(step.keys), list(step.arguments)
        for leaves in range(self._leaves, self._leaves + _SPLITS):
            bits = leaves.bit_length() - 1
            # Of 2^bits leaves, the first `leaves - 2^bits` are split: this is the next.
            node = (1 << bits) | (leaves - (1 << bits))
            keys += map(self._key, (node, 2 * node, 2 * node + 1))
            first_of_upper = (2 * node + 1) << (63 - bits) & 0xFFFF_FFFF_FFFF_FFFF
            arguments.append(first_of_upper - (1 << 64) if first_of_upper >> 63 else first_of_upper)
        return Step(_ADD, keys, arguments)

    fill = add
    upkeep = staticmethod(nothing_to_do)

    def ask(self, urls: Sequence[str], set_id: str) -> Step:
        return self._step(_ASK, urls, set_id)

    def forget(self, urls: Sequence[str], set_id: str) -> Step:
        return self._step(_FORGET, urls, set_id)

    def sample(self, _urls: Sequence[str], _count: int) -> tuple[Sequence[str], float]:
        bits = self._leaves.bit_length() - 1
        split = 2 * (self._leaves - (1 << bits))
        first, whole = 1 << bits + 1, (1 << bits) + split // 2
        every = max(1, self._leaves // _SAMPLED)
        nodes = [*range(first, first + split, every), *range(whole, 1 << bits + 1, every)]
        return [self._key(node) for node in nodes], self._leaves / len(nodes)

    def accuracy(self, count: int) -> Accuracy:
        rate = count / 2.0**64
        return Accuracy(rate=rate, lost=rate * count / 2)

    def _step(self, script: str, urls: Sequence[str], set_id: str) -> Step:
        digests = np.frombuffer(self._kernel.digest_many(urls), dtype="<u8")
        fingerprints: Words = digests.reshape(-1, 2)[:, 0].astype(np.uint64)
        bits = self._leaves.bit_length() - 1
        prefixes = fingerprints >> np.uint64(64 - bits)
        split = np.uint64(self._leaves - (1 << bits))
        nodes = np.where(
            prefixes < split,
            fingerprints >> np.uint64(63 - bits) | np.uint64(1 << bits + 1),
            prefixes | np.uint64(1 << bits),
        )
        keys = [self._place.head, *map(self._key, nodes.tolist())]
        return Step(script, keys, [set_id, self._leaves, len(urls), MEAN, *fingerprints.view(np.int64).tolist()])

    def _key(self, node: int) -> str:
        return self._place.key(f"{node:x}")


DESCRIPTOR: Final = Descriptor(
    name=BACKEND,
    make=lambda parameters, options: make_redis_set(
        lambda place: ExactForm(place, capacity=parameters.capacity), parameters, options
    ),
    options=ServerOptions,
    needs=frozenset({"server"}),
    folder="redis",
    cost=lambda count, _error_rate, _options: Cost(
        memory_bytes=count * _BYTES_PER_URL, false_positive_rate=count / 2.0**64
    ),
    is_exact=True,
    can_forget=True,
)
