"""The forms that the literature gives: one Redis set of MD5 digests, and one key for each URL.

Both keep the 32 letters of the digest, as books and scrapy-redis do. A set takes about 88 bytes for each URL, a key
about 100, and more with a long prefix.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from visited.bits.kernel import best_kernel
from visited.descriptor import Descriptor
from visited.redis.form import Accuracy, Place, nothing_to_ask, nothing_to_do
from visited.redis.making import make_redis_set
from visited.redis.server import ServerOptions, Step

_BEGIN: Final = """
local head = redis.call('HMGET', KEYS[1], 'id', 'count')
if head[1] ~= ARGV[1] then return -1 end
local found, changed, count = {}, 0, tonumber(head[2])
"""
_END: Final = """
if changed ~= 0 then count = redis.call('HINCRBY', KEYS[1], 'count', changed) end
return {table.concat(found), count}
"""


def _script(loop: str, sign: str) -> str:
    """A script that puts the answer of each command into `found`, and counts the changes."""
    return f"{_BEGIN}{loop}\n  changed = changed {sign} found[i]\nend{_END}"


_OVER_DIGESTS: Final = "for i = 1, #ARGV - 1 do\n  found[i] = "
_OVER_KEYS: Final = "for i = 1, #KEYS - 1 do\n  found[i] = "
_SADD: Final = _script(f"{_OVER_DIGESTS}redis.call('SADD', KEYS[2], ARGV[1 + i])", "+")
_SISMEMBER: Final = _script(f"{_OVER_DIGESTS}redis.call('SISMEMBER', KEYS[2], ARGV[1 + i])", "+ 0 *")
_SREM: Final = _script(f"{_OVER_DIGESTS}redis.call('SREM', KEYS[2], ARGV[1 + i])", "-")
_SETNX: Final = _script(f"{_OVER_KEYS}redis.call('SETNX', KEYS[1 + i], '')", "+")
_EXISTS: Final = _script(f"{_OVER_KEYS}redis.call('EXISTS', KEYS[1 + i])", "+ 0 *")
_DEL: Final = _script(f"{_OVER_KEYS}redis.call('DEL', KEYS[1 + i])", "-")


class DigestForm:
    """The `Form` of both, by its scripts, which add, ask and forget."""

    def __init__(self, place: Place, *, name: str, scripts: tuple[str, str, str], in_one_key: bool) -> None:
        self.name = name
        self._place = place
        self._add, self._ask, self._forget = scripts
        self._in_one_key = in_one_key

    probe = staticmethod(nothing_to_ask)

    def first_layout(self) -> Mapping[str, str | int]:
        return {}

    def adopt(self, _head: Mapping[str, str]) -> None:
        """It has no layout."""

    def change(self, layout: Any) -> None:
        raise ValueError(f"expected no layout of {self.name}, found {layout!r}")

    def add(self, urls: Sequence[str], set_id: str) -> Step:
        return self._step(self._add, urls, set_id)

    fill = add
    upkeep = staticmethod(nothing_to_do)

    def ask(self, urls: Sequence[str], set_id: str) -> Step:
        return self._step(self._ask, urls, set_id)

    def forget(self, urls: Sequence[str], set_id: str) -> Step:
        return self._step(self._forget, urls, set_id)

    def sample(self, urls: Sequence[str], count: int) -> tuple[Sequence[str], float]:
        if self._in_one_key:
            return [self._place.key("digests")], 1.0
        return list(map(self._place.key, _digests(urls))), count / len(urls)

    def accuracy(self, count: int) -> Accuracy:
        rate = count / 2.0**128
        return Accuracy(rate=rate, lost=rate * count / 2)

    def _step(self, script: str, urls: Sequence[str], set_id: str) -> Step:
        digests = _digests(urls)
        if self._in_one_key:
            return Step(script, [self._place.head, self._place.key("digests")], [set_id, *digests])
        return Step(script, [self._place.head, *map(self._place.key, digests)], [set_id])


def _digests(urls: Sequence[str]) -> Iterable[str]:
    digests = best_kernel().digest_many(urls)
    return [digests[start : start + 16].hex() for start in range(0, len(digests), 16)]


def _describe(name: str, scripts: tuple[str, str, str], *, in_one_key: bool) -> Descriptor:
    form_of = partial(DigestForm, name=name, scripts=scripts, in_one_key=in_one_key)
    return Descriptor(
        name=name,
        make=lambda parameters, options: make_redis_set(form_of, parameters, options),
        options=ServerOptions,
        needs=frozenset({"server"}),
        folder=name,
        is_exact=True,
        can_forget=True,
    )


SET: Final = _describe("redis-set", (_SADD, _SISMEMBER, _SREM), in_one_key=True)
KEYS: Final = _describe("redis-keys", (_SETNX, _EXISTS, _DEL), in_one_key=False)
