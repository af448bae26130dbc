"""The sets of other libraries, for comparison. Each needs its own package, except Python's own set.

They keep our protocol as far as they can: they know neither their rate nor their memory, and have no snapshots. A crawl
can't use them.
"""

import contextlib
import hashlib
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Annotated, Any, BinaryIO, NoReturn, Protocol

import msgspec
from msgspec import Meta

from visited.descriptor import Descriptor, NoOptions, Parameters
from visited.protocol import CannotForget, Full, LocalSet, Unavailable, Unsaved, VisitedStats

_EXPIRY_S = 24 * 3600
"""After this time a server deletes the filter of a comparison that was killed."""

Answer = Callable[[Sequence[str]], list[bool]]


class ForeignSet:
    """A set of another library: one function that tests and adds a batch, and one that only tests."""

    def __init__(
        self,
        name: str,
        add: Answer,
        has: Answer,
        *,
        close: Callable[[], object] = lambda: None,
        size: Callable[[], int] = lambda: 0,
    ) -> None:
        """`size` returns its bytes if it is not in this process."""
        self._name = name
        self.add = add
        self.has_many = has
        self._close = close
        self._size = size
        self._count = 0

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        answers = self.add(urls)
        self._count += sum(answers)
        return answers

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget(f"{self._name} can't forget URLs")

    def describe(self) -> VisitedStats:
        return VisitedStats(backend=self._name, count=self._count, capacity=None, memory_bytes=self._size())

    def dump(self, _file: BinaryIO, /) -> NoReturn:
        raise Unsaved(f"{self._name} has no snapshots")

    def load(self, _file: BinaryIO, /) -> NoReturn:
        raise Unsaved(f"{self._name} has no snapshots")

    def __len__(self) -> int:
        return self._count

    async def aclose(self) -> None:
        self._close()


class _Addable(Protocol):
    def add(self, key: Any, /) -> object: ...

    def __contains__(self, key: Any, /) -> bool: ...


class ServerOption(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a set on a server."""

    server: Annotated[str | None, Meta(description="URL of the server.")] = None


def _python_set(_parameters: Parameters, _options: NoOptions) -> LocalSet:
    met: set[bytes] = set()

    def digests(urls: Sequence[str]) -> list[bytes]:
        return [hashlib.md5(url.encode("utf-8", "surrogatepass")).digest() for url in urls]

    return ForeignSet(
        "python-set", lambda urls: _add(met, digests(urls)), lambda urls: [digest in met for digest in digests(urls)]
    )


def _rbloom(parameters: Parameters, _options: NoOptions) -> LocalSet:
    met = _library("rbloom").Bloom(parameters.capacity, parameters.error_rate)
    return ForeignSet("rbloom", partial(_add, met), lambda urls: [url in met for url in urls])


def _add(met: _Addable, keys: Sequence[str | bytes]) -> list[bool]:
    answers = []
    for key in keys:
        new = key not in met
        if new:
            met.add(key)
        answers.append(new)
    return answers


def _fastbloom(parameters: Parameters, _options: NoOptions) -> LocalSet:
    met = _library("fastbloom_rs", package="fastbloom-rs").BloomFilter(parameters.capacity, parameters.error_rate)
    # Its batch calls do not tell that a URL is twice in the batch. To find that out takes longer than single calls.
    return ForeignSet(
        "fastbloom-rs",
        lambda urls: [not met.add_if_not_contains(url) for url in urls],
        lambda urls: list(met.contains_str_batch(list(urls))),
    )


def _pybloom(parameters: Parameters, _options: NoOptions, *, name: str, kind: str) -> LocalSet:
    met = getattr(_library("pybloom_live", package="pybloom-live"), kind)(parameters.capacity, parameters.error_rate)

    def add(urls: Sequence[str]) -> list[bool]:
        try:
            return [not met.add(url) for url in urls]
        except IndexError as error:
            raise Full(f"{name} is full at {parameters.capacity:,} URLs, and refuses more") from error

    return ForeignSet(name, add, lambda urls: [url in met for url in urls])


def _redisbloom(parameters: Parameters, options: ServerOption) -> LocalSet:
    redis = _library("redis")
    server = options.server
    if server is None:
        raise Unavailable('redisbloom needs a server: server = "redis://127.0.0.1:6379/0"')
    client = redis.Redis.from_url(server)
    key = f"onceover-compare-{secrets.token_hex(8)}"
    try:
        client.execute_command("BF.RESERVE", key, parameters.error_rate, parameters.capacity)
        client.expire(key, _EXPIRY_S)
    except redis.RedisError as error:
        client.close()
        raise Unavailable(f"no RedisBloom at {server}: {error}") from error

    def ask(*words: str) -> Any:
        try:
            return client.execute_command(*words)
        except redis.RedisError as error:
            raise Unavailable(f"RedisBloom at {server} failed: {error}") from error

    def answers(command: str, urls: Sequence[str]) -> list[bool]:
        found = ask(command, key, *urls) if urls else []
        # For a URL that it can't add, the answer is an error.
        refusal = next((each for each in found if isinstance(each, redis.RedisError)), None)
        if refusal is not None:
            raise Full(f"RedisBloom at {server} is full: {refusal}")
        return [bool(each) for each in found]

    def close() -> None:
        with contextlib.suppress(redis.RedisError):
            client.delete(key)
        client.close()

    return ForeignSet(
        "redisbloom",
        lambda urls: answers("BF.MADD", urls),
        lambda urls: answers("BF.MEXISTS", urls),
        close=close,
        size=lambda: int(ask("MEMORY", "USAGE", key, "SAMPLES", "0") or 0),
    )


def _library(module: str, *, package: str | None = None) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        name = package or module
        raise Unavailable(f"{name} is not installed ({error}); pip install {name}") from error


def _describe(
    name: str, make: Callable[[Parameters, Any], LocalSet], options: type[msgspec.Struct] = NoOptions
) -> Descriptor:
    return Descriptor(name=name, make=make, options=options, has_estimates=False)


PYTHON_SET = _describe("python-set", _python_set)
RBLOOM = _describe("rbloom", _rbloom)
FASTBLOOM = _describe("fastbloom-rs", _fastbloom)
PYBLOOM = _describe("pybloom-live", partial(_pybloom, name="pybloom-live", kind="BloomFilter"))
PYBLOOM_SCALABLE = _describe(
    "pybloom-live-scalable", partial(_pybloom, name="pybloom-live-scalable", kind="ScalableBloomFilter")
)
REDISBLOOM = _describe("redisbloom", _redisbloom, ServerOption)
