"""Visited sets of other libraries, with our protocol. They do not know their error rate. Those in this process do not
know their memory either, so the process is measured."""

import contextlib
import hashlib
import secrets
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, BinaryIO, NoReturn

from crawler.compare.measure.competitor import Competitor
from crawler.compare.measure.making import Full, Unavailable, Unsaved
from visited import CannotForget, LocalSet, VisitedStats

_EXPIRY_S = 24 * 3600
"""After this time a server deletes the filter of a trial that was killed."""


class Foreign:
    """A set of another library: one function that tests and adds a batch, and one that only tests."""

    def __init__(
        self,
        name: str,
        add: Callable[[Sequence[str]], list[bool]],
        has: Callable[[Sequence[str]], list[bool]],
        *,
        close: Callable[[], object] = lambda: None,
        size: Callable[[], int] = lambda: 0,
    ) -> None:
        """`size` returns its bytes if it is not in this process."""
        self._name = name
        self._add = add
        self._close = close
        self._size = size
        self.has_many = has
        self._count = 0

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        answers = self._add(urls)
        self._count += sum(answers)
        return answers

    async def forget_many(self, _urls: Sequence[str], /) -> NoReturn:
        raise CannotForget(f"{self._name} can't forget URLs")

    def describe(self) -> VisitedStats:
        return VisitedStats(backend=self._name, count=self._count, capacity=None, memory_bytes=self._size())

    def dump(self, _file: BinaryIO, /) -> NoReturn:
        raise Unsaved

    def load(self, _file: BinaryIO, /) -> NoReturn:
        raise Unsaved

    def __len__(self) -> int:
        return self._count

    async def aclose(self) -> None:
        self._close()


def make_other(competitor: Competitor, capacity: int) -> LocalSet:
    """The set of another library. Raises `Unavailable` if it is not installed, or if its server can't be reached."""
    return _MAKERS[competitor.backend](competitor, capacity)


def _python_set(_competitor: Competitor, _capacity: int) -> LocalSet:
    met: set[bytes] = set()

    def digests(urls: Sequence[str]) -> list[bytes]:
        return [hashlib.md5(url.encode("utf-8", "surrogatepass")).digest() for url in urls]

    def add(urls: Sequence[str]) -> list[bool]:
        answers = []
        for digest in digests(urls):
            new = digest not in met
            if new:
                met.add(digest)
            answers.append(new)
        return answers

    return Foreign("python-set", add, lambda urls: [digest in met for digest in digests(urls)])


def _rbloom(competitor: Competitor, capacity: int) -> LocalSet:
    met = _library("rbloom").Bloom(capacity, competitor.error_rate)

    def add(urls: Sequence[str]) -> list[bool]:
        answers = []
        for url in urls:
            new = url not in met
            if new:
                met.add(url)
            answers.append(new)
        return answers

    return Foreign("rbloom", add, lambda urls: [url in met for url in urls])


def _fastbloom(competitor: Competitor, capacity: int) -> LocalSet:
    met = _library("fastbloom_rs", package="fastbloom-rs").BloomFilter(capacity, competitor.error_rate)

    def add(urls: Sequence[str]) -> list[bool]:
        known = met.contains_str_batch(list(urls))
        met.add_str_batch(list(urls))
        # A URL that is twice in the batch is new once.
        new = {url for url, old in zip(urls, known, strict=True) if not old}
        answers = []
        for url in urls:
            answers.append(url in new)
            new.discard(url)
        return answers

    return Foreign("fastbloom-rs", add, lambda urls: list(met.contains_str_batch(list(urls))))


def _pybloom(competitor: Competitor, capacity: int) -> LocalSet:
    return _make_pybloom("pybloom-live", "BloomFilter", competitor, capacity)


def _pybloom_scalable(competitor: Competitor, capacity: int) -> LocalSet:
    return _make_pybloom("pybloom-live-scalable", "ScalableBloomFilter", competitor, capacity)


def _make_pybloom(name: str, kind: str, competitor: Competitor, capacity: int) -> LocalSet:
    met = getattr(_library("pybloom_live", package="pybloom-live"), kind)(capacity, competitor.error_rate)

    def add(urls: Sequence[str]) -> list[bool]:
        try:
            return [not met.add(url) for url in urls]
        except IndexError as error:
            raise Full(f"{name} is full at {capacity:,} URLs, and refuses more") from error

    return Foreign(name, add, lambda urls: [url in met for url in urls])


def _redisbloom(competitor: Competitor, capacity: int) -> LocalSet:
    redis = _library("redis")
    server = competitor.server
    if server is None:
        raise Unavailable('redisbloom needs a server: server = "redis://127.0.0.1:6379/0"')
    client = redis.Redis.from_url(server)
    key = f"onceover-compare-{secrets.token_hex(8)}"
    try:
        client.execute_command("BF.RESERVE", key, competitor.error_rate, capacity)
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

    return Foreign(
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


_MAKERS: dict[str, Callable[[Competitor, int], LocalSet]] = {
    "python-set": _python_set,
    "rbloom": _rbloom,
    "fastbloom-rs": _fastbloom,
    "pybloom-live": _pybloom,
    "pybloom-live-scalable": _pybloom_scalable,
    "redisbloom": _redisbloom,
}
