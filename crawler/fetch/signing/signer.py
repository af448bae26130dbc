"""Makes the headers of a signed request, and keeps them per host until they are renewed."""

import base64
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import time
from typing import Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from http_message_signatures import (
    HTTPMessageSignaturesException,
    HTTPMessageSigner,
    algorithms,
)
from yarl import URL

from crawler.fetch.signing.values import Signed, Wish

TAG: Final = "web-bot-auth"
LABEL: Final = "sig1"
AUTHORITY: Final = "@authority"
SCHEME: Final = "@scheme"
_REQUEST: Final = ("@method", AUTHORITY, "@path")
_OF_HOST: Final = frozenset({AUTHORITY, SCHEME})
"""A signature that covers nothing else is good for each request to a host."""
_MAX_KEPT: Final = 10_000
"""Hosts whose signature is kept: about 1.2 KB each."""
_RENEWED_AFTER: Final = 2 / 3
"""The share of its life after which a signature is renewed. The rest is for slow requests, and for clocks that
differ."""

_SIGNER: Final = HTTPMessageSigner(signature_algorithm=algorithms.ED25519)


class SigningKey(msgspec.Struct, frozen=True):
    """A key that signs now."""

    id: str
    """Its thumbprint."""
    private: Ed25519PrivateKey
    valid_until: float
    """Seconds since 1970."""


class _Kept(msgspec.Struct, frozen=True):
    renew_at: float
    headers: Mapping[str, str]


class _Message(msgspec.Struct):
    """A request, as the library reads it."""

    method: str
    url: str
    headers: dict[str, str]


class Signer:
    """Signs as `agent`, the site where the public keys are published.

    `key` returns the key that signs at a time, or None. A signature is valid for `lifetime_s`. With `each_request`, it
    covers method and path of one request and has a nonce; otherwise it is kept for a host, and renewed before it
    expires. Signatures of `max_kept` hosts are kept.
    """

    def __init__(
        self,
        *,
        agent: str,
        key: Callable[[float], SigningKey | None],
        lifetime_s: float,
        each_request: bool = False,
        max_kept: int = _MAX_KEPT,
        clock: Callable[[], float] = time,
    ) -> None:
        self._agent = agent
        self._key = key
        self._lifetime_s = lifetime_s
        self._usual = Wish(LABEL, _REQUEST if each_request else (AUTHORITY,))
        """What is signed unless a server wants something else."""
        self._max_kept = max_kept
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str, Wish | None], _Kept] = OrderedDict()
        self.made = 0
        """Signatures made so far."""

    def sign(self, url: URL, method: str, headers: Mapping[str, str], wish: Wish | None = None) -> Signed | None:
        """The headers that sign a request with these headers; None without a key, or if that can't be signed."""
        now = self._clock()
        key = self._key(now)
        if key is None:
            return None
        wanted = wish or self._usual
        components = wanted.components
        if url.scheme != "https" and SCHEME not in components:
            components = (*components, SCHEME)
        serves_host = wanted.nonce is None and _OF_HOST.issuperset(components)
        place = (f"{url.scheme}://{url.host_port_subcomponent}/", key.id, wish)
        if serves_host and (kept := self._kept.get(place)) is not None and kept.renew_at > now:
            self._kept.move_to_end(place)
            return Signed(kept.headers, wish)
        message = _Message(method, place[0] if serves_host else str(url), dict(headers))
        nonce = wanted.nonce
        if nonce is None and not serves_host:
            nonce = base64.b64encode(os.urandom(64)).decode("ascii")
        components = (*components, f'"signature-agent";key="{wanted.label}"')
        made = self._make(message, key, components, wanted.label, nonce, now)
        if made is None:
            return None
        if serves_host:
            life_s = min(self._lifetime_s, key.valid_until - now)
            self._kept[place] = _Kept(now + life_s * _RENEWED_AFTER, made)
            self._kept.move_to_end(place)
            if len(self._kept) > self._max_kept:
                self._kept.popitem(last=False)
        return Signed(made, wish)

    def forget(self, url: URL) -> None:
        """Make a new signature for the next request to a host, because the host did not take the last one."""
        place = f"{url.scheme}://{url.host_port_subcomponent}/"
        for known in [known for known in self._kept if known[0] == place]:
            del self._kept[known]

    def _make(
        self, message: _Message, key: SigningKey, components: tuple[str, ...], label: str, nonce: str | None, now: float
    ) -> dict[str, str] | None:
        agent = f'{label}="{self._agent}"'
        message.headers["Signature-Agent"] = agent
        created = int(now)
        try:
            prepared = _SIGNER.prepare(
                message,
                key_id=key.id,
                created=datetime.fromtimestamp(created, UTC),
                expires=datetime.fromtimestamp(min(created + int(self._lifetime_s), int(key.valid_until)), UTC),
                nonce=nonce,
                label=label,
                tag=TAG,
                covered_component_ids=components,
            )
        except HTTPMessageSignaturesException:
            return None  # a header that we do not send, or a URL that RFC 9421 can't express
        self.made += 1
        # `HTTPMessageSigner.sign` builds all of that a second time, in case the message has changed meanwhile, and
        # takes 275 µs instead of 145.
        signature = base64.b64encode(key.private.sign(prepared.signature_base)).decode("ascii")
        return {
            "Signature-Agent": agent,
            "Signature-Input": f"{label}={prepared.signature_params}",
            "Signature": f"{label}=:{signature}:",
        }
