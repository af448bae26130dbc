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

from aiohttp.abc import AbstractResolver, ResolveResult

from crawler.fetch.connect.guard import AddressRefused, Guard
from crawler.fetch.connect.lookup.answers import Answer, Answers, NameCacheLimits, answer_after_failure, make_answer
from crawler.fetch.connect.lookup.dns import TimedResult
from crawler.fetch.connect.lookup.questions import Questions
from crawler.fetch.connect.routes import Hosts
from crawler.url.hosts import same_address

_PLACE = re.compile(
    r"(?P<v4>[0-9.]+)(?::(?P<port4>[0-9]+))?|\[(?P<v6>[^\]]+)\](?::(?P<port6>[0-9]+))?|(?P<bare>[^\[\]]+)"
)

_NO_SUCH_NAME = frozenset({None, socket.EAI_NONAME, socket.EAI_NODATA})
"""Errors of names that do not exist, or have no addresses. After all others the name servers may know better later."""
_AHEAD_S = 5.0
"""An answer that is fresh for less than that is looked up again if its host is soon needed."""
_THREADS = 16


class StaticNames:
    """Names with configured addresses.

    Keys are patterns of `Hosts`. Values are addresses, or `address:port` to connect to that port, whatever the URL
    says. Raises `ValueError` for a value that is neither.
    """

    def __init__(self, hosts: Mapping[str, str]) -> None:
        places = {name: _place(name, value) for name, value in hosts.items()}
        self.addresses = frozenset(address for address, _ in places.values())
        self.find = Hosts(places).find
        """Address and port of a host, which is lower-case; None if it is not a static name."""


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
    """Resolves host names for the connector, with a bounded cache, one question at a time per name, and the guard.

    The guard judges the addresses of each answer whenever it is used, however old it is. Those that it refuses are left
    out. If none is left, it raises `AddressRefused`; it also does so for `localhost`, without asking. Static names are
    always allowed, since the user configured them.

    If name servers fail, or take longer than `stale_after_s`, an answer that is no longer fresh is used (RFC 8767). A
    name server that says that there is no such name is believed. At most `at_once` names are asked about at a time.
    To be made inside the running event loop.
    """

    def __init__(
        self,
        *,
        static: StaticNames,
        guard: Guard,
        system: AbstractResolver,
        cache_limits: NameCacheLimits = NameCacheLimits(),  # noqa: B008 - a value without state
        at_once: int = 1000,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._static = static
        self._guard = guard
        self._system = system
        self._limits = cache_limits
        self._clock = clock
        self._answers = Answers()
        self._questions = Questions(self._ask, at_once=at_once)
        self._asked: OrderedDict[str, str] = OrderedDict()
        """The address to which the last request for a host went, if it has several."""
        self._is_failing = False
        """Whether an old answer was used since the last fresh one."""

    def prefer(self, host: str, address: str) -> None:
        """A request for `host` went to that address, so it comes first from now on. So the first result of `resolve` is
        the address of the next request, even for a host whose first address is dead."""
        if self._asked.get(host) == address:
            return
        known = self._answers.find(_key(host, socket.AF_UNSPEC))
        if known is not None and " " not in known.addresses:
            return
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
        key = _key(host, family)
        answer = self._fresh(key) or await self._answer(key)
        if answer.error is not None:
            raise type(answer.error)(*answer.error.args)
        found = [_result(host, address, port) for address in self._keep_allowed(answer.addresses)]
        if len(found) > 1 and (asked := self._asked.get(host)) is not None:
            found.sort(key=lambda result: same_address(result["host"]) != asked)
        return found

    def look_up(self, host: str, /) -> bool:
        """Ask about a host that is soon needed, unless its answer is fresh, or nothing has to be asked. Returns whether
        it asks."""
        key = _key(host, socket.AF_UNSPEC)
        if self._static.find(host) is not None or self._guard.refusal_of_name(host) is not None:
            return False
        if key in self._questions or self._fresh(key, margin_s=_AHEAD_S) is not None:
            return False
        _ = self._questions.begin(key)
        return True

    @property
    def asking(self) -> int:
        """How many names are being asked about, or wait for that."""
        return len(self._questions)

    def _fresh(self, key: str, *, margin_s: float = 0.0) -> Answer | None:
        answer = self._answers.find(key)
        return answer if answer is not None and answer.fresh_until > self._clock() + margin_s else None

    async def _answer(self, key: str) -> Answer:
        """Ask, and return what is known then."""
        known = self._answers.find(key)
        stale = known if known is not None and known.addresses and known.stale_until > self._clock() else None
        patience_s = self._limits.failing_after_s if self._is_failing else self._limits.stale_after_s
        answer = await self._questions.ask(key, timeout_s=None if stale is None else patience_s)
        if answer is None:
            assert stale is not None, "only who has a stale answer does not wait to the end"
            answer = stale
        if stale is not None and answer.stale_until == stale.stale_until:
            self._is_failing = True
        return answer

    async def _ask(self, key: str) -> Answer:
        """Ask the name servers, and keep what they say."""
        host, _, family = key.rpartition(" ")
        limits = self._limits
        try:
            results = await self._system.resolve(host, 0, socket.AddressFamily(int(family)))
            if not results:
                raise OSError(None, f"no address for {host}")
        except OSError as error:
            is_final = error.errno in _NO_SUCH_NAME
            known = self._answers.find(key)
            answer = answer_after_failure(
                error.with_traceback(None), known, is_final=is_final, now=self._clock(), limits=limits
            )
        else:
            ttls_s = [result["ttl_s"] for result in cast(list[TimedResult], results) if "ttl_s" in result]
            addresses = [result["host"] for result in results]
            self._is_failing = False
            answer = make_answer(addresses, ttl_s=min(ttls_s, default=None), now=self._clock(), limits=limits)
        self._answers.put(key, answer, max_names=limits.max_names)
        return answer

    def _keep_allowed(self, addresses: str) -> list[str]:
        allowed, refusals = [], []
        for address in addresses.split():
            why = self._guard.refusal(address)
            if why is None:
                allowed.append(address)
            else:
                refusals.append(f"{address} ({why})")
        if not allowed:
            raise AddressRefused(f"resolves to {', '.join(refusals)}")
        return allowed

    async def close(self) -> None:
        await self._questions.aclose()
        await self._system.close()


def _key(host: str, family: socket.AddressFamily) -> str:
    return f"{host} {family:d}"


class SystemResolver(AbstractResolver):
    """Asks the system's resolver, in threads of its own: the event loop's default pool may have only a few, and a few
    dead names would occupy all of them."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, "names")

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
