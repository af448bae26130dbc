"""Decides which requests are signed, and whether one must be repeated because its host asks for that."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from yarl import URL

from crawler.fetch.connect.routes import Hosts
from crawler.fetch.signing.challenges import Challenges, read_wish
from crawler.fetch.signing.signer import Signer
from crawler.fetch.signing.values import Signed

_REFUSED = frozenset({401, 403, 429})
"""Statuses with which a server refuses a request that lacks a signature."""


class Signing:
    """Signs requests with `signer`; a `SignsRequests`.

    With `when_asked`, only those to hosts that have asked for it. `hosts` are the patterns of hosts that may get a
    signature; one that only `*` matches must be at a public address, which `is_public` says of a URL.
    """

    def __init__(
        self,
        signer: Signer,
        challenges: Challenges,
        *,
        when_asked: bool,
        hosts: Sequence[str] = ("*",),
        is_public: Callable[[URL], Awaitable[bool]],
    ) -> None:
        self._signer = signer
        self._challenges = challenges
        self._when_asked = when_asked
        self._hosts = Hosts({pattern: pattern for pattern in hosts})
        self._is_public = is_public

    async def sign(self, url: URL, method: str, headers: Mapping[str, str]) -> Signed | None:
        """The headers to add to a request; None if it is not to be signed."""
        authority = url.host_port_subcomponent or ""
        wish = self._challenges.find(authority)
        if (wish is None and self._when_asked) or not await self._allows(url):
            return None
        signed = self._signer.sign(url, method, headers, wish)
        if signed is None and wish is not None:
            return self._signer.sign(url, method, headers)
        if wish is not None and wish.nonce is not None:
            self._challenges.use_nonce(authority)
        return signed

    async def learn(
        self, url: URL, headers: Mapping[str, str], signed: Signed | None, *, status: int, accepted: Sequence[str]
    ) -> bool:
        """Remember what the response to a request asks for in its Accept-Signature. Returns whether the request must be
        repeated: it was refused, it did not have the signature that its host wants, and it can have it. A request that
        answered a nonce is not repeated."""
        wish = read_wish(accepted)
        if wish is None or not await self._allows(url) or self._signer.sign(url, "GET", headers, wish) is None:
            return False
        self._challenges.learn(url.host_port_subcomponent or "", wish)
        if status not in _REFUSED:
            return False
        self._signer.forget(url)
        done = None if signed is None else signed.wish
        if done is None or (done.label, done.components) != (wish.label, wish.components):
            return True
        return wish.nonce is not None and done.nonce is None

    async def _allows(self, url: URL) -> bool:
        pattern = self._hosts.find(url.raw_host or "")
        return pattern is not None and (pattern != "*" or await self._is_public(url))
