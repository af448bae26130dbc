"""The server's own Bloom filter: the commands BF.* of Redis 8, of the module RedisBloom, and of valkey-bloom.

The server chooses hash, size and number of the filter's bits, and adds larger filters when it is full. It promises the
error rate for all of them together, and does not tell how full they are. So the set tells the promised rate as its own.

The filter is made by the script that adds the first URL, for the capacity and the rate in the head of the set: crawls
that share it may ask for others. If it is gone and URLs had been added, the script deletes the head too, so that
everybody notices.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from visited.bits.kernel import best_kernel
from visited.descriptor import Descriptor
from visited.protocol import CannotForget, Unavailable
from visited.redis.form import Accuracy, Place, Probe, nothing_to_do
from visited.redis.making import make_redis_set
from visited.redis.server import ServerOptions, Step

BACKEND: Final = "redis-bloom"
_COMMANDS: Final = "BF.EXISTS, BF.INSERT and BF.MEXISTS"
_PROBE: Final = """
local found = redis.pcall('BF.EXISTS', KEYS[1], '')
if type(found) == 'table' and found['err'] then return found['err'] end
return ''
"""
_BEGIN: Final = """
local head = redis.call('HMGET', KEYS[1], 'id', 'count', 'capacity', 'error_rate')
if head[1] ~= ARGV[1] then return -1 end
local count = tonumber(head[2])
if count > 0 and redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('DEL', KEYS[1])
  return -1
end
"""
_ADD: Final = (
    _BEGIN
    + """
local found = redis.call(
  'BF.INSERT', KEYS[2], 'CAPACITY', head[3], 'ERROR', head[4], 'ITEMS', unpack(ARGV, 2))
local added = 0
for i = 1, #ARGV - 1 do
  -- A filter that takes no more ends the list with an error, or leaves out what follows.
  if type(found[i]) ~= 'number' then
    local why = type(found[i]) == 'table' and found[i]['err'] or 'it has answered for a part of the URLs'
    return redis.error_reply('the filter takes no more URLs: ' .. why)
  end
  added = added + found[i]
end
if added > 0 then count = redis.call('HINCRBY', KEYS[1], 'count', added) end
return {table.concat(found), count}
"""
)
_ASK: Final = _BEGIN + "return {table.concat(redis.call('BF.MEXISTS', KEYS[2], unpack(ARGV, 2))), count}"


class BloomForm:
    """The `Form`."""

    name = BACKEND

    def __init__(self, place: Place, *, capacity: int, error_rate: float) -> None:
        self._place = place
        self._capacity = capacity
        self._error_rate = error_rate

    def probe(self) -> Probe:
        return Step(_PROBE, [self._filter], []), _check_commands

    def first_layout(self) -> Mapping[str, str | int]:
        return {"capacity": self._capacity, "error_rate": repr(self._error_rate)}

    def adopt(self, head: Mapping[str, str]) -> None:
        self._error_rate = float(head["error_rate"])

    def change(self, layout: Any) -> None:
        raise ValueError(f"expected no layout of {self.name}, found {layout!r}")

    def add(self, urls: Sequence[str], set_id: str) -> Step:
        return self._step(_ADD, urls, set_id)

    fill = add
    upkeep = staticmethod(nothing_to_do)

    def ask(self, urls: Sequence[str], set_id: str) -> Step:
        return self._step(_ASK, urls, set_id)

    def forget(self, urls: Sequence[str], set_id: str) -> Step:
        raise CannotForget(f"{BACKEND} can't forget: URLs share the bits of its filter; use redis-exact")

    def sample(self, _urls: Sequence[str], _count: int) -> tuple[Sequence[str], float]:
        return [self._place.head, self._filter], 1.0

    def accuracy(self, count: int) -> Accuracy:
        rate = self._error_rate if count else 0.0
        return Accuracy(rate=rate, lost=rate * count / 2)

    @property
    def _filter(self) -> str:
        return self._place.key("bloom")

    def _step(self, script: str, urls: Sequence[str], set_id: str) -> Step:
        digests = best_kernel().digest_many(urls)
        each = [digests[start : start + 16] for start in range(0, len(digests), 16)]
        return Step(script, [self._place.head, self._filter], [set_id, *each])


def _check_commands(answer: Any) -> None:
    """Raise `Unavailable` if the answer to the probe is an error."""
    if not answer:
        return
    said = answer.decode("utf-8", "replace")
    if "nknown" in said:
        raise Unavailable(
            f"{BACKEND} needs {_COMMANDS}, which the server does not have ({said}); use Redis 8, Redis with the "
            "module RedisBloom or Valkey with valkey-bloom, or choose redis-exact, which needs none of them"
        )
    if "ermission" in said or said.startswith(("NOPERM", "ACL")):
        raise Unavailable(
            f"{BACKEND} needs {_COMMANDS}, which the user of Redis may not use ({said}); give it these: "
            "ACL SETUSER NAME +bf.exists +bf.insert +bf.mexists"
        )
    raise Unavailable(f"{BACKEND} needs {_COMMANDS}, which the server refuses: {said}")


DESCRIPTOR: Final = Descriptor(
    name=BACKEND,
    make=lambda parameters, options: make_redis_set(
        lambda place: BloomForm(place, capacity=parameters.capacity, error_rate=parameters.error_rate),
        parameters,
        options,
    ),
    options=ServerOptions,
    needs=frozenset({"server"}),
    folder=BACKEND,
    has_estimates=False,
)
