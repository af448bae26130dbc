"""Digests of bodies."""

import base64
import hashlib


def body_digest(*pieces: bytes) -> str:
    """The digest of a body as records and WARC files write it: `sha1:` and 32 characters of base 32."""
    return digest_text(body_sha1(*pieces))


def digest_text(sha1: bytes, /) -> str:
    """A SHA-1 as `body_digest` writes it."""
    return "sha1:" + base64.b32encode(sha1).decode("ascii")


def body_sha1(*pieces: bytes) -> bytes:
    """The SHA-1 of a body, 20 bytes."""
    digest = hashlib.sha1(usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.digest()
