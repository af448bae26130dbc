"""Reads the responses that the indexes of archives name. An archive without an index is read itself."""

import gzip
import logging
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from crawler.write.cdxj.lines import MOMENT_DIGITS, REVISIT, parse
from crawler.write.cdxj.making import OPEN, SUFFIX, archives, final_path, index_of, lines_of

_log = logging.getLogger(__name__)
_OF_ONE_ARCHIVE: Final = f".warc.gz{SUFFIX}"
"""How the index of one archive ends. It means nothing without that."""
_COMPRESSED: Final = f"{SUFFIX}.gz"
_WACZ: Final = ".wacz"
_IN_WACZ: Final = (SUFFIX, _COMPRESSED, ".cdx", ".cdx.gz")
_INDEXES: Final = (SUFFIX, _COMPRESSED, _WACZ)
_BROKEN: Final = (gzip.BadGzipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_SHA1: Final = "sha1:"
_SHA1_CHARACTERS: Final = 32
_SHA1_BYTES: Final = 20
_BASE_32: Final = {ord(each): at for at, each in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")}
_DIGITS: Final = bytes(b"0123456789abcdefghijklmnopqrstuv"[_BASE_32[at]] if at in _BASE_32 else 0 for at in range(256))
"""Turns base 32 into digits that `int` reads, in a tenth of the time of `base64.b32decode`."""
_OTHER_DIGEST: Final = re.compile(rb'"digest": *"(?!sha1:)[A-Za-z0-9-]+:')


class Source(msgspec.Struct, frozen=True, array_like=True):
    """An index, or an archive that has none, as it is now."""

    path: str
    size: int
    changed_ns: int
    archive_bytes: int | None
    """The size of the archive whose index this is."""


class Response(msgspec.Struct, frozen=True, gc=False):
    sha1: bytes
    """The digest of the body as received."""
    moment: str
    """14 digits."""
    url: str


def sources_in(places: Sequence[Path]) -> list[Source]:
    """What there is in folders of archives and indexes; an index may also be named itself. Raises `ValueError` for a
    place that has none."""
    found: dict[Path, None] = {}
    for place in places:
        here = _files_in(place)
        if not here:
            raise ValueError(
                f"{place}: expected the directory of a crawl, a folder with *.warc.gz or *{SUFFIX}, such an index, "
                f"or a WACZ file; found {'none of these' if place.exists() else 'nothing there'}"
            )
        found |= dict.fromkeys(here)
    sources = []
    for path in map(_where_now, found):
        with suppress(FileNotFoundError):
            state = path.stat()
            sources.append(Source(str(path), state.st_size, state.st_mtime_ns, _archive_bytes(path)))
    return sources


def _files_in(place: Path) -> list[Path]:
    if place.is_file():
        return [place] if place.name.endswith(_INDEXES) else []
    if not place.is_dir():
        return []
    of_archives = [_index_or_archive(archive) for archive in archives(place)]
    indexes = (path for end in (SUFFIX, _COMPRESSED) for path in place.glob(f"*{end}") if path.is_file())
    alone = sorted(path for path in indexes if not path.name.endswith((_OF_ONE_ARCHIVE, _OF_ONE_ARCHIVE + ".gz")))
    return [*of_archives, *alone]


def _index_or_archive(archive: Path) -> Path:
    index = index_of(archive)
    return index if index.exists() and not archive.name.endswith(OPEN) else archive


def _where_now(path: Path) -> Path:
    """Where a file is that was found a while ago. Its crawl may run, and complete it or delete it meanwhile."""
    return path if path.exists() else _index_or_archive(final_path(path))


def _archive_bytes(index: Path) -> int | None:
    """The size of the archive that an index belongs to; None if it belongs to none, or that is elsewhere."""
    if index.name.endswith(_OF_ONE_ARCHIVE):
        with suppress(FileNotFoundError):
            return index.with_name(index.name.removesuffix(SUFFIX)).stat().st_size
    return None


def responses_in(path: Path) -> Iterator[Response]:
    """The responses that an index or archive names, in its order, without those whose body has no SHA-1, and those of
    an index that lie beyond the end of its archive. There are none if the file was deleted since it was found."""
    path = _where_now(path)
    if not path.exists():
        return
    if path.name.endswith(_INDEXES):
        with _lines_in(path) as lines:
            yield from _read(path, lines, _archive_bytes(path))
    else:
        yield from _read(path, lines_of(path))


def check_beginnings(sources: Iterable[Source]) -> None:
    """Raise `OSError` if an index can't be read at its beginning. This is quick, however long it is."""
    for path in (_where_now(Path(source.path)) for source in sources):
        if path.name.endswith(_INDEXES) and path.exists():
            with _lines_in(path) as lines:
                next(lines, None)


@contextmanager
def _lines_in(path: Path) -> Iterator[Iterator[bytes]]:
    """The lines of an index. What is raised for a damaged one says which it is."""
    from zipfile import BadZipFile  # noqa: PLC0415 - few crawls compare with others

    with ExitStack() as opened:
        try:
            yield (line for lines in _indexes_in(path, opened) for line in lines)
        except (BadZipFile, *_BROKEN) as error:
            raise OSError(
                f"{path} can't be read: {error}; it may be damaged, or incomplete. Make it or copy it again, or take "
                "it out of output.dedupe_against"
            ) from error


def _indexes_in(path: Path, opened: ExitStack) -> Iterator[Iterable[bytes]]:
    """The index, plain or compressed, or those in a WACZ file."""
    if path.name.endswith(SUFFIX):
        yield opened.enter_context(path.open("rb"))
    elif path.name.endswith(_COMPRESSED):
        yield opened.enter_context(gzip.GzipFile(path))
    else:
        from zipfile import ZipFile  # noqa: PLC0415 - as above

        package = opened.enter_context(ZipFile(path))
        for name in package.namelist():
            if name.startswith("indexes/") and name.endswith(_IN_WACZ):
                member = opened.enter_context(package.open(name))
                yield opened.enter_context(gzip.GzipFile(fileobj=member)) if name.endswith(".gz") else member


def _read(path: Path, lines: Iterable[bytes], archive_bytes: int | None = None) -> Iterator[Response]:
    """The responses in these lines of a file. A line that can't be read, or has another digest than SHA-1, is passed
    over: then that body is archived once more."""
    count = unreadable = unlike = 0
    for line in lines:
        count += 1
        try:
            found = response_of(line, archive_bytes)
        except ValueError:
            unreadable += 1
        else:
            if found is not None:
                yield found
            else:
                unlike += _OTHER_DIGEST.search(line) is not None
    if unlike:
        _log.warning(
            "%s: lines with another digest than SHA-1: %d of %d; these bodies are archived again", path, unlike, count
        )
    if count and count == unreadable:
        _log.warning("%s: none of its lines (%d) can be read as a line of a CDXJ index; it may be damaged", path, count)


def response_of(line: bytes, archive_bytes: int | None = None) -> Response | None:
    """None if a line is no response, or has no SHA-1, or is not within an archive of that size. Raises `ValueError` if
    it can't be read."""
    _, moment, entry = parse(line)
    if entry.mime == REVISIT or entry.digest is None or not str(entry.status or "").isdecimal():
        return None
    if archive_bytes is not None and int(entry.offset or 0) + int(entry.length or 0) > archive_bytes:
        return None
    sha1 = sha1_of(entry.digest)
    if sha1 is None or len(moment) != MOMENT_DIGITS or not moment.isdecimal():
        return None
    return Response(sha1, moment, entry.url)


def sha1_of(digest: str) -> bytes | None:
    """The SHA-1 of a payload digest, with or without its name; None for other digests."""
    text = digest.removeprefix(_SHA1)
    if len(text) != _SHA1_CHARACTERS:
        return None
    try:
        return int(text.encode("utf-8", "replace").translate(_DIGITS), 32).to_bytes(_SHA1_BYTES)
    except ValueError:
        return None


def warc_date_of(moment: str) -> str:
    """14 digits as a date of WARC."""
    day = f"{moment[:4]}-{moment[4:6]}-{moment[6:8]}"
    return f"{day}T{moment[8:10]}:{moment[10:12]}:{moment[12:14]}Z"
