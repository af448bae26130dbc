"""Resolves host names: static names first, then DNS. The guard checks every answer."""

import asyncio
import re
import socket
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import ip_address
from time import monotonic
from typing import cast

import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult

from crawler.fetch.connect.dns import TimedResult
from crawler.fetch.connect.guard import AddressRefused, Guard
from crawler.fetch.singleflight import SingleFlight
from crawler.url.hosts import same_address

_PLACE = re.compile(
    r"(?P<v4>[0-9.]+)(?::(?P<port4>[0-9]+))?|\[(?P<v6>[^\]]+)\](?::(?P<port6>[0-9]+))?|(?P<bare>[^\[\]]+)"
)

Resolution = list[ResolveResult] | OSError


class StaticNames:
    """Names with configured addresses.

    Keys are host names, or `*.suffix` for every name below a suffix, or `*`; the longest match wins. Values are
    addresses, or `address:port` to connect to that port, whatever the URL says. Raises `ValueError` for a value that is
    neither.
    """

    def __init__(self, hosts: Mapping[str, str]) -> None:
        self._places = {name.lower().rstrip("."): _place(name, value) for name, value in hosts.items()}
        self.addresses = frozenset(address for address, _ in self._places.values())

    def find(self, host: str, /) -> tuple[str, int | None] | None:
        """Address and port of `host`, which is lower-case; None if it is not a static name."""
        if not self._places:
            return None
        host = host.rstrip(".")
        place = self._places.get(host)
        suffix = host
        while place is None and suffix:
            suffix = suffix.partition(".")[2]
            place = self._places.get(f"*.{suffix}" if suffix else "*")
        return place


def _place(name: str, value: str) -> tuple[str, int | None]:
    match = _PLACE.fullmatch(value.strip())
    try:
        if match is None:
            raise ValueError
        address = str(ip_address(match["v4"] or match["v6"] or match["bare"]))
        port = match["port4"] or match["port6"]
        if port is not None and not 0 < int(port) < 65536:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"hosts: {name!r} must map to address or address:port, as '127.0.0.1:8080' or '[::1]:8080', not {value!r}"
        ) from None
    return address, int(port) if port else None


class NameCacheLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many names are cached, and how long their answers."""

    ttl_s: float = 300.0
    """Of answers without a TTL. The TTL of others is limited to `min_ttl_s` and `max_ttl_s`."""
    min_ttl_s: float = 30.0
    max_ttl_s: float = 3600.0
    negative_ttl_s: float = 30.0
    """Of failures."""
    max_names: int = 10_000


class Names(AbstractResolver):
    """Resolves host names for the connector, with a bounded cache, one question at a time per name, and the guard.

    Addresses that the guard refuses are removed. If none is left, it raises
    `AddressRefused`; it also does so for `localhost`, without asking. Static names are always allowed, since the user
    configured them.
    """

    def __init__(
        self,
        *,
        static: StaticNames,
        guard: Guard,
        system: AbstractResolver,
        cache_limits: NameCacheLimits = NameCacheLimits(),  # noqa: B008 - a value without state
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._static = static
        self._guard = guard
        self._system = system
        self._limits = cache_limits
        self._clock = clock
        self._cache: OrderedDict[str, tuple[float, Resolution]] = OrderedDict()
        self._single_flight = SingleFlight()
        self._asked: OrderedDict[str, str] = OrderedDict()
        """The address to which the last request for a host went."""

    def prefer(self, host: str, address: str) -> None:
        """A request for `host` went to that address, so it comes first from now on. So the first result of `resolve` is
        the address of the next request, even for a host whose first address is dead."""
        self._asked[host] = address
        self._asked.move_to_end(host)
        if len(self._asked) > self._limits.max_names:
            self._asked.popitem(last=False)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of `host`, best first. Raises `OSError` if there are none, `AddressRefused` if none is
        allowed."""
        static = self._static.find(host)
        if static is not None:
            address, static_port = static
            return [_result(host, address, port if static_port is None else static_port)]
        if (why := self._guard.refusal_of_name(host)) is not None:
            raise AddressRefused(f"{host} ({why})")
        key = f"{host} {family:d}"
        answer = self._from_cache(key)
        while answer is None:
            if await self._single_flight.wait_for_leader(key):
                answer = self._from_cache(key)
                continue
            async with self._single_flight.lead(key):
                answer = await self._ask(key, host, family)
        if isinstance(answer, OSError):
            raise type(answer)(*answer.args)
        found: list[ResolveResult] = [{**result, "port": port} for result in answer]
        if len(found) > 1 and (asked := self._asked.get(host)) is not None:
            found.sort(key=lambda result: same_address(result["host"]) != asked)
        return found

    def _from_cache(self, key: str) -> Resolution | None:
        entry = self._cache.get(key)
        if entry is None or entry[0] <= self._clock():
            return None
        self._cache.move_to_end(key)
        return entry[1]

    async def _ask(self, key: str, host: str, family: socket.AddressFamily) -> Resolution:
        answer: Resolution
        try:
            answer = self._apply_guard(host, await self._system.resolve(host, 0, family))
        except OSError as error:
            answer = error.with_traceback(None)
        ttl_s = self._limits.negative_ttl_s if isinstance(answer, OSError) else self._life_s(answer)
        self._cache[key] = (self._clock() + ttl_s, answer)
        self._cache.move_to_end(key)
        while len(self._cache) > self._limits.max_names:
            self._cache.popitem(last=False)
        return answer

    def _life_s(self, answer: list[ResolveResult]) -> float:
        """How long to cache an answer: its TTL, within limits."""
        ttls_s = [result["ttl_s"] for result in cast(list[TimedResult], answer) if "ttl_s" in result]
        limits = self._limits
        return min(max(min(ttls_s), limits.min_ttl_s), limits.max_ttl_s) if ttls_s else limits.ttl_s

    def _apply_guard(self, host: str, results: list[ResolveResult]) -> Resolution:
        allowed, refusals = [], []
        for result in results:
            why = self._guard.refusal(result["host"])
            if why is None:
                allowed.append(result)
            else:
                refusals.append(f"{result['host']} ({why})")
        if allowed:
            return allowed
        if refusals:
            return AddressRefused(f"resolves to {', '.join(refusals)}")
        return OSError(None, f"no address for {host}")

    async def close(self) -> None:
        await self._system.close()


class SystemResolver(AbstractResolver):
    """Asks the system's resolver, in threads of its own: the event loop's default pool may have only a few, and a few
    dead names would occupy all of them."""

    def __init__(self, *, threads: int = 16) -> None:
        self._pool = ThreadPoolExecutor(threads, "names")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        ask = partial(
            socket.getaddrinfo, host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
        )
        try:
            infos = await asyncio.get_running_loop().run_in_executor(self._pool, ask)
        except UnicodeError as error:
            # The idna codec refuses empty and long labels before it asks.
            raise socket.gaierror(socket.EAI_NONAME, "not a name that DNS can contain") from error
        return [_result(host, str(info[4][0]), port) for info in infos]

    async def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)
