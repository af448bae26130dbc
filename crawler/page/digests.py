"""Digests of bodies, and hashes of texts."""

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
    # Written out, and in two halves because it shifts shorter numbers: 1.2 us instead of 6 for a loop over the whole. A
    # page that is archived needs four.
    of, one, two = _BASE32, int.from_bytes(sha1[:10]), int.from_bytes(sha1[10:])
    return (
        f"sha1:{of[one >> 70]}{of[one >> 60 & 0x3FF]}{of[one >> 50 & 0x3FF]}{of[one >> 40 & 0x3FF]}"
        f"{of[one >> 30 & 0x3FF]}{of[one >> 20 & 0x3FF]}{of[one >> 10 & 0x3FF]}{of[one & 0x3FF]}"
        f"{of[two >> 70]}{of[two >> 60 & 0x3FF]}{of[two >> 50 & 0x3FF]}{of[two >> 40 & 0x3FF]}"
        f"{of[two >> 30 & 0x3FF]}{of[two >> 20 & 0x3FF]}{of[two >> 10 & 0x3FF]}{of[two & 0x3FF]}"
    )


def key_of(text: str, /) -> int:
    """A hash of a text as SQLite takes keys: a signed number of 64 bits."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def body_sha1(*pieces: bytes) -> bytes:
    """The SHA-1 of a body, 20 bytes."""
    digest = hashlib.sha1(usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.digest()
