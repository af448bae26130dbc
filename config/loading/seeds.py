"""Seeds and where each of them is written, and files of seeds."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from config.loading.sources import Entry
from config.problems import Problem
from config.schema.crawl import Crawl

_COMMENT = re.compile(r"(?:^|\s)#.*")
_OTHER_FORMS: Final = {
    b"\x1f\x8b": "gzip; unpack the file first",
    b"\x28\xb5\x2f\xfd": "zstd; unpack the file first",
    b"PK\x03\x04": "a ZIP file, as a spreadsheet is one; save the list as text",
}
"""RFC 1952, RFC 8878, APPNOTE.TXT of PKWARE. No list of URLs begins so."""


class Seed(msgspec.Struct, frozen=True, gc=False):
    """A URL to start from, as it was written."""

    url: str
    origin: str
    """Where it is written, for messages: `seeds.txt:12`."""


def given_seeds(crawl: Crawl, listed: Entry | None, *, files_named_at: str) -> tuple[list[Seed], list[Problem]]:
    """The seeds that a configuration lists, then those of its seed files, and the problems with these files. `listed`
    is what `crawl.seeds` was made from."""
    seeds, problems = [] if listed is None else _listed_seeds(crawl.seeds, listed), list[Problem]()
    for name in crawl.seed_files:
        read = _read_seed_file(_relative(Path(name)), named_at=files_named_at)
        if isinstance(read, Problem):
            problems.append(read)
        else:
            seeds += read
    return seeds, problems


def _listed_seeds(urls: Sequence[str], entry: Entry) -> list[Seed]:
    origins = entry.item_origins if len(entry.item_origins) == len(urls) else (entry.origin,) * len(urls)
    return [Seed(url, origin) for url, origin in zip(urls, origins, strict=True)]


def _relative(path: Path) -> Path:
    """The path relative to the current directory, if it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _read_seed_file(path: Path, *, named_at: str) -> list[Seed] | Problem:
    """The seeds of a file. `named_at` is where the file is named."""
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
    for beginning, form in _OTHER_FORMS.items():
        if data.startswith(beginning):
            return Problem(f"expected seeds in UTF-8, found {form}", where=name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        bad = f"0x{data[error.start]:02x}"
        return Problem(f"expected seeds in UTF-8, found the byte {bad}; save the file as UTF-8", where=f"{name}:{line}")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    urls = ((number, _COMMENT.sub("", line).strip()) for number, line in enumerate(lines, start=1))
    return [Seed(url, f"{name}:{number}") for number, url in urls if url]
