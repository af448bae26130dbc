"""Seeds and where each of them is written, and files of seeds."""

import re
from pathlib import Path
from typing import Final

import msgspec

from config.problems import Problem

_COMMENT = re.compile(r"(?:^|\s)#.*")
_PACKED: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""RFC 1952, RFC 8878. Neither beginning is UTF-8."""


class Seed(msgspec.Struct, frozen=True, gc=False):
    """A URL to start from, as it was written."""

    url: str
    origin: str
    """Where it is written, for messages: `seeds.txt:12`."""


def read_seed_file(path: Path, *, named_at: str) -> list[Seed] | Problem:
    """The seeds of a file. `named_at` is where the file is named. A message that the file can't be read names it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return Problem(f"can't read {path}: {error.strerror or error}", where=named_at, key="crawl.seed_files")
    return read_seeds(data, name=str(path))


def read_seeds(data: bytes, *, name: str) -> list[Seed] | Problem:
    """The seeds in the bytes of a file in UTF-8, one URL per line. # at the start of a line or after a space begins a
    comment. `name` is the file, for messages."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Problem("expected seeds in UTF-8, found UTF-16; save the file as UTF-8", where=name)
    for beginning, form in _PACKED.items():
        if data.startswith(beginning):
            return Problem(f"expected seeds in UTF-8, found {form}; unpack the file first", where=name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        bad = f"0x{data[error.start]:02x}"
        return Problem(f"expected seeds in UTF-8, found the byte {bad}; save the file as UTF-8", where=f"{name}:{line}")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    urls = ((number, _COMMENT.sub("", line).strip()) for number, line in enumerate(lines, start=1))
    return [Seed(url, f"{name}:{number}") for number, url in urls if url]
