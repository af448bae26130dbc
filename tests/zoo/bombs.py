"""Small bodies that unfold into large ones."""

import gzip
import struct
import zlib
from functools import cache

import brotli
from backports import zstd

MEGABYTE = 1 << 20


@cache
def gzip_bomb(gigabytes: int) -> bytes:
    """Zeros, in one member; made of one block again and again, since compressing them all would take a minute."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packer.compress(bytes(MEGABYTE))
    packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(MEGABYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + block * (gigabytes * 1024)


@cache
def deflate_bomb() -> bytes:
    return zlib.compress(bytes(200 * MEGABYTE), 9)


@cache
def br_bomb() -> bytes:
    return brotli.compress(bytes(100 * MEGABYTE), quality=5)


@cache
def nested_br_bomb() -> bytes:
    """Two codings deep: the outer one unfolds into what unfolds again."""
    return brotli.compress(brotli.compress(bytes(100 * MEGABYTE), quality=5) * 2000, quality=5)


@cache
def zstd_bomb() -> bytes:
    return zstd.compress(bytes(200 * MEGABYTE))


@cache
def zstd_window_bomb() -> bytes:
    """A frame that asks for a window of 2 GiB (RFC 8878, section 3.1.1.1.2), and holds next to nothing."""
    window_descriptor = (31 - 10) << 3
    raw_last_block = struct.pack("<I", (5 << 3) | 1)[:3] + b"hello"
    return b"\x28\xb5\x2f\xfd" + bytes([0b0000_0000, window_descriptor]) + raw_last_block


def empty_members(count: int) -> bytes:
    """A gzip stream of members in which there is nothing."""
    return gzip.compress(b"") * count
