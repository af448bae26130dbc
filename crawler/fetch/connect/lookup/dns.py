"""Asks name servers without threads, with aiodns."""

import socket
from collections.abc import Sequence
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult


class TimedResult(ResolveResult, total=False):
    """An address, and how long it may be cached."""

    ttl_s: int


class DnsResolver(AbstractResolver):
    """Asks the system's hosts file, then its name servers. To be made inside the running event loop.

    Unlike the system's resolver it returns the TTL of an answer, and any number of dead names can wait at the same
    time. It tries each question `tries` times. The first try lasts `timeout_s`, or less if the name servers usually
    answer sooner, and the next ones longer. `name_servers`, such as `192.0.2.1:53`, replace those of the system.
    """

    def __init__(self, *, timeout_s: float = 2.0, tries: int = 3, name_servers: Sequence[str] | None = None) -> None:
        self._name_servers = name_servers
        self._timeout_s = timeout_s
        self._tries = tries
        self._resolver: Any = None
        """An `aiodns.DNSResolver`, made for the first name."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Addresses, IPv4 first. Raises `socket.gaierror`."""
        import aiodns  # noqa: PLC0415 - see `late`

        if self._resolver is None:
            self._resolver = aiodns.DNSResolver(self._name_servers, timeout=self._timeout_s, tries=self._tries)
        try:
            found = await self._resolver.getaddrinfo(host, family=family, type=socket.SOCK_STREAM)
        except aiodns.error.DNSError as error:
            code, message = error.args
            no_such_name = (aiodns.error.ARES_ENODATA, aiodns.error.ARES_ENOTFOUND, aiodns.error.ARES_EBADNAME)
            kind = socket.EAI_NONAME if code in no_such_name else socket.EAI_AGAIN
            raise socket.gaierror(kind, message) from error
        except UnicodeError as error:
            raise socket.gaierror(socket.EAI_NONAME, "not a name that DNS can contain") from error
        results: list[ResolveResult] = [
            TimedResult(
                hostname=host,
                host=node.addr[0].decode("ascii"),
                port=port,
                family=node.family,
                proto=0,
                flags=socket.AI_NUMERICHOST,
                ttl_s=node.ttl,
            )
            for node in found.nodes
        ]
        return sorted(results, key=lambda result: result["family"])

    async def close(self) -> None:
        if self._resolver is not None:
            await self._resolver.close()
