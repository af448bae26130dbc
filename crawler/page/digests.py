"""Digests of bodies, and hashes of texts.

`_digests`, compiled C, writes digests as texts in a fraction of the time of Python: a page that is archived needs four.
"""

import hashlib
from base64 import b32decode, b32encode

try:
    from crawler.page import _digests as compiled
except ImportError:
    IS_COMPILED = False  # the extension is optional
else:
    IS_COMPILED = getattr(compiled, "VERSION", 0) == 1  # False if it was compiled from older code


def body_digest(*pieces: bytes) -> str:
    """The digest of a body as records and WARC files write it: `sha1:` and 32 characters of base 32."""
    return digest_text(body_sha1(*pieces))


def digest_text(sha1: bytes, /) -> str:
    """A SHA-1 as `body_digest` writes it. A damaged ledger may hold one of another length."""
    return compiled.digest_text(sha1) if IS_COMPILED and len(sha1) == 20 else digest_text_in_python(sha1)


def digest_text_in_python(sha1: bytes, /) -> str:
    return f"sha1:{b32encode(sha1).decode()}"


def digest_bytes(text: str | None, /) -> bytes | None:
    """The SHA-1 of a digest as `body_digest` writes it; None for None. Raises `ValueError`."""
    return None if text is None else b32decode(text.removeprefix("sha1:"))


def key_of(text: str, /) -> int:
    """A hash of a text as SQLite takes keys: a signed number of 64 bits."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def body_sha1(*pieces: bytes) -> bytes:
    """The SHA-1 of a body, 20 bytes."""
    digest = hashlib.sha1(pieces[0] if pieces else b"", usedforsecurity=False)
    for piece in pieces[1:]:
        digest.update(piece)
    return digest.digest()
