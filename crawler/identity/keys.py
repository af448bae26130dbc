"""Ed25519 keys as JSON Web Keys, and the directory of public ones that is published."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MEDIA_TYPE: Final = "application/http-message-signatures-directory+json"
WELL_KNOWN: Final = "/.well-known/http-message-signatures-directory"
_END_OF_9999: Final = 253_402_300_799
Moment = Annotated[int, msgspec.Meta(ge=0, le=_END_OF_9999)]
"""Seconds since 1970. No calendar shows later ones, and milliseconds by mistake are later."""


class PublicKey(msgspec.Struct, frozen=True, kw_only=True):
    """A public key as the directory publishes it: a JSON Web Key (RFC 7517, RFC 8037)."""

    kty: Literal["OKP"] = "OKP"
    crv: Literal["Ed25519"] = "Ed25519"
    kid: str
    """Its thumbprint."""
    x: str
    use: Literal["sig"] = "sig"
    nbf: Moment
    """It signs from then on."""
    exp: Moment
    """It signs until then."""


class KeyDirectory(msgspec.Struct, frozen=True):
    """The directory that is published: a JSON Web Key Set."""

    keys: tuple[PublicKey, ...]

    def encode(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def public_key(private: Ed25519PrivateKey, /, *, nbf: int, exp: int) -> PublicKey:
    x = base64url(private.public_key().public_bytes_raw())
    return PublicKey(kid=thumbprint(x), x=x, nbf=nbf, exp=exp)


def thumbprint(x: str, /) -> str:
    """The SHA-256 thumbprint of a key (RFC 7638; RFC 8037, appendix A.3), by its public part in base64url."""
    return base64url(hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest())


def base64url(content: bytes, /) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def signing_now(keys: Sequence[PublicKey], now: float, /) -> PublicKey | None:
    """The key that signs now: of those that are valid, the one that became so last."""
    valid = [key for key in keys if key.nbf <= now < key.exp]
    return max(valid, key=lambda key: (key.nbf, key.exp), default=None)


def signed_until(keys: Sequence[PublicKey], now: int, /) -> int:
    """When there is no key to sign with for the first time, in seconds since 1970: `now` if there is none already."""
    until = now
    while (key := signing_now(keys, until)) is not None:
        until = key.exp
    return until
