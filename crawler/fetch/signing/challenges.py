"""Reads Accept-Signature, and remembers which hosts want signatures, and of what."""

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from time import time
from typing import Any, Final

import http_sf
import msgspec

from crawler.fetch.signing.signer import AUTHORITY, TAG
from crawler.fetch.signing.values import NOTES, Wish
from crawler.notes import NoteCache, Notes

_REMEMBERED: Final = 10_000
"""Hosts in memory."""
_VALID_S: Final = 30 * 86_400.0
"""After that, a host is asked without a signature again, and says so if it wants one."""
_RENEWED_S: Final = _VALID_S / 2
_MAX_HEADER: Final = 4096
_MAX_COMPONENTS: Final = 16
_MAX_NONCE: Final = 256
_DERIVED: Final = frozenset({AUTHORITY, "@method", "@scheme", "@target-uri", "@request-target", "@path", "@query"})
_FIELD: Final = re.compile(r"[a-z][a-z0-9-]{0,63}")
_LABEL: Final = re.compile(r"[a-z*][a-z0-9_.*-]{0,31}")
_NONCE: Final = re.compile(r"[\x20-\x7e]+")


class Challenge(msgspec.Struct, frozen=True):
    """What a host wants, as the notes have it."""

    label: str
    components: tuple[str, ...]
    expires_at: float
    """Seconds since 1970."""


_DECODER: Final = msgspec.msgpack.Decoder(Challenge)


class Challenges:
    """The hosts that want signatures. A nonce is kept in memory alone, and used once."""

    def __init__(self, notes: Notes, *, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._known = NoteCache(notes, NOTES, read=_DECODER.decode, write=msgspec.msgpack.encode, capacity=_REMEMBERED)
        self._nonces: OrderedDict[str, str] = OrderedDict()

    def find(self, authority: str, /) -> Wish | None:
        """What the host wants now; None if it has not asked for a signature."""
        challenge = self._known.find(authority)
        if challenge is None or challenge.expires_at <= self._clock():
            return None
        return Wish(challenge.label, challenge.components, self._nonces.get(authority))

    def use_nonce(self, authority: str, /) -> None:
        self._nonces.pop(authority, None)

    def learn(self, authority: str, wish: Wish, /) -> None:
        expires_at = self._clock() + _VALID_S
        if wish.nonce is not None:
            self._nonces[authority] = wish.nonce
            self._nonces.move_to_end(authority)
            if len(self._nonces) > _REMEMBERED:
                self._nonces.popitem(last=False)
        known = self._known.find(authority)
        if (
            known is not None
            and (known.label, known.components) == (wish.label, wish.components)
            and known.expires_at > expires_at - _RENEWED_S
        ):
            return
        self._known.put(authority, Challenge(wish.label, wish.components, expires_at))


def read_wish(values: Sequence[str], /) -> Wish | None:
    """What an Accept-Signature wants (RFC 9421, section 5.1): the first of its signatures that we can make. None if
    there is none, or if the header is invalid."""
    text = ", ".join(values)
    if not text or len(text) > _MAX_HEADER or not text.isascii():
        return None
    try:
        members: Any = http_sf.parse(text.encode("ascii"), tltype="dictionary")
    except (ValueError, RecursionError):
        return None
    found = (_wish(label, wanted, parameters) for label, (wanted, parameters) in members.items())
    return next((wish for wish in found if wish is not None), None)


def _wish(label: str, wanted: Any, parameters: dict[str, Any]) -> Wish | None:
    """One wanted signature; None if we can't make it."""
    nonce = parameters.get("nonce")
    is_ours = (
        isinstance(wanted, list)
        and len(wanted) <= _MAX_COMPONENTS
        and _LABEL.fullmatch(label) is not None
        and parameters.get("tag", TAG) == TAG
        and parameters.get("alg", "ed25519") == "ed25519"
        and "keyid" not in parameters
    )
    if not is_ours or not (nonce is None or _is_nonce(nonce)):
        return None
    components = []
    for name, details in wanted:
        if name == "signature-agent":
            continue  # always signed, by the label of the signature
        if details or not isinstance(name, str) or not (name in _DERIVED or _FIELD.fullmatch(name)):
            return None
        components.append(name)
    if AUTHORITY not in components and "@target-uri" not in components:
        components.insert(0, AUTHORITY)
    return Wish(label, tuple(dict.fromkeys(components)), nonce)


def _is_nonce(nonce: object) -> bool:
    return isinstance(nonce, str) and len(nonce) <= _MAX_NONCE and _NONCE.fullmatch(nonce) is not None
