"""Digests of bodies."""

import hashlib
from itertools import product
from typing import Final

_BASE32: Final = tuple(map("".join, product("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", repeat=2)))
"""Pairs of characters by their ten bits. With them a digest takes half the time of `base64.b32encode`."""


def body_digest(*pieces: bytes) -> str:
    """The digest of a body as records and WARC files write it: `sha1:` and 32 characters of base 32."""
    return digest_text(body_sha1(*pieces))


def digest_text(sha1: bytes, /) -> str:
    """A SHA-1 as `body_digest` writes it."""
    bits = int.from_bytes(sha1)
    return "sha1:" + "".join([_BASE32[bits >> at & 0x3FF] for at in range(150, -1, -10)])


def body_sha1(*pieces: bytes) -> bytes:
    """The SHA-1 of a body, 20 bytes."""
    digest = hashlib.sha1(usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.digest()
