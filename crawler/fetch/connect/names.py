"""Where a host is: static names first, then DNS, with every answer passed by the guard."""

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

from aiohttp.abc import AbstractResolver, ResolveResult

from crawler.fetch.connect.dns import TimedResult
from crawler.fetch.connect.guard import AddressRefused, Guard
from crawler.fetch.singleflight import SingleFlight
from crawler.url.hosts import same_address

_PLACE = re.compile(
    r"(?P<v4>[0-9.]+)(?::(?P<port4>[0-9]+))?|\[(?P<v6>[^\]]+)\](?::(?P<port6>[0-9]+))?|(?P<bare>[^\[\]]+)"
)

Answer = list[ResolveResult] | OSError


class StaticNames:
    """Names that are answered without asking anybody.

    Keys are host names, or `*.suffix` for every name below a suffix, or `*`; the longest match wins. Values are
    addresses, or `address:port` to connect to that port whatever the URL says. Raises `ValueError` for a value that is
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


class Names(AbstractResolver):
    """Resolves host names for the connector: a bounded cache, one question at a time for each name, and the guard.

    Answers live as long as they say, from `least_ttl_s` to `most_ttl_s`; those that don't say live `ttl_s`, failures
    `negative_ttl_s`. Addresses that the guard refuses are left out; if none is left,
    `AddressRefused` is raised, as it is for `localhost`, without a question. Static names are allowed: whoever
    configured them meant them.
    """

    def __init__(
        self,
        *,
        static: StaticNames,
        guard: Guard,
        system: AbstractResolver,
        ttl_s: float = 300.0,
        least_ttl_s: float = 30.0,
        most_ttl_s: float = 3600.0,
        negative_ttl_s: float = 30.0,
        max_names: int = 10_000,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._static = static
        self._guard = guard
        self._system = system
        self._ttl_s = ttl_s
        self._least_ttl_s = least_ttl_s
        self._most_ttl_s = most_ttl_s
        self._negative_ttl_s = negative_ttl_s
        self._max_names = max_names
        self._clock = clock
        self._cache: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._flights = SingleFlight()
        self._asked: OrderedDict[str, str] = OrderedDict()
        """The address to which the last request of a host went."""

    def prefer(self, host: str, address: str) -> None:
        """A request for `host` went to that address: of its addresses it is the best from now on. So `resolve` tells
        where the next request goes, also for a host whose first address is dead."""
        self._asked[host] = address
        self._asked.move_to_end(host)
        if len(self._asked) > self._max_names:
            self._asked.popitem(last=False)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of `host`, best first. Raises `OSError` if there is none, `AddressRefused` if none may be."""
        static = self._static.find(host)
        if static is not None:
            address, static_port = static
            return [_result(host, address, port if static_port is None else static_port)]
        if (why := self._guard.refusal_of_name(host)) is not None:
            raise AddressRefused(f"{host} ({why})")
        key = f"{host} {family:d}"
        answer = self._cached(key)
        while answer is None:
            if await self._flights.waited(key):
                answer = self._cached(key)
                continue
            async with self._flights.lead(key):
                answer = await self._ask(key, host, family)
        if isinstance(answer, OSError):
            raise type(answer)(*answer.args)
        found: list[ResolveResult] = [{**result, "port": port} for result in answer]
        if len(found) > 1 and (asked := self._asked.get(host)) is not None:
            found.sort(key=lambda result: same_address(result["host"]) != asked)
        return found

    def _cached(self, key: str) -> Answer | None:
        entry = self._cache.get(key)
        if entry is None or entry[0] <= self._clock():
            return None
        self._cache.move_to_end(key)
        return entry[1]

    async def _ask(self, key: str, host: str, family: socket.AddressFamily) -> Answer:
        answer: Answer
        try:
            answer = self._guarded(host, await self._system.resolve(host, 0, family))
        except OSError as error:
            answer = error.with_traceback(None)
        ttl_s = self._negative_ttl_s if isinstance(answer, OSError) else self._life_s(answer)
        self._cache[key] = (self._clock() + ttl_s, answer)
        self._cache.move_to_end(key)
        while len(self._cache) > self._max_names:
            self._cache.popitem(last=False)
        return answer

    def _life_s(self, answer: list[ResolveResult]) -> float:
        """How long an answer is kept: what its name server says, within limits."""
        told_s = [result["ttl_s"] for result in cast(list[TimedResult], answer) if "ttl_s" in result]
        return min(max(min(told_s), self._least_ttl_s), self._most_ttl_s) if told_s else self._ttl_s

    def _guarded(self, host: str, results: list[ResolveResult]) -> Answer:
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
    """Asks the system's resolver, in threads of its own: the event loop has four at most for this, and a few dead names
    would keep them all busy."""

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
            # The idna codec refuses labels that are empty or too long before anybody is asked.
            raise socket.gaierror(socket.EAI_NONAME, "no name that DNS can hold") from error
        return [_result(host, str(info[4][0]), port) for info in infos]

    async def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)
