"""Reads links from their sources, writes them in the form that trials read, and counts them."""

import gzip
import hashlib
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, cast

from backports import zstd

from crawler.compare.measure.synthetic import Synthetic
from crawler.compare.measure.work import BATCH, Spooled, Survey, Work
from crawler.status import number_of
from crawler.url.urls import host_of
from visited import LocalSet

STDIN = "-"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_MAX_SHOWN = 5
_PAGE_END = ""


class WorkRefused(Exception):
    """A work can't be read, or is empty. The message says what was expected and found."""


class Unreadable:
    """Counts lines that are not URLs, and remembers the places of the first ones."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []

    def add(self, where: str, why: str) -> None:
        self.count += 1
        if len(self.first) < _MAX_SHOWN:
            self.first.append(f"{where}: {why}")


async def spool(
    name: str, links: Iterable[str], unreadable: Unreadable, *, path: Path, exact: LocalSet, batch: int = BATCH
) -> Work:
    """Write canonical URLs to files next to `path`, as a work. An empty text ends a page.

    Raises `WorkRefused` if there are none, and whatever reading them raises.
    """
    survey = _Counts()
    digest = hashlib.sha256()
    links_path, new_path = path.with_suffix(".links"), path.with_suffix(".new")
    with _text_writer(links_path) as all_file, _text_writer(new_path) as new_file:
        for page in _pages(links, batch):
            answers = await exact.add_many([url for url in page if url])
            fresh = [url for url, new in zip((url for url in page if url), answers, strict=True) if new]
            survey.add(len(answers), fresh)
            text = "".join(f"{url}\n" for url in page)
            digest.update(text.encode("utf-8", "surrogatepass"))
            all_file.write(text)
            new_file.writelines(f"{url}\n" for url in fresh)
    if not survey.links:
        found = (
            f"{number_of(unreadable.count, 'line that is no URL', 'lines that are no URLs')} ({unreadable.first[0]})"
            if unreadable.count
            else "nothing"
        )
        raise WorkRefused(f"expected URLs, found {found}")
    stream = Spooled(links=str(links_path.resolve()), new=str(new_path.resolve()), digest=digest.hexdigest())
    return Work(name=name, stream=stream, survey=survey.survey(unreadable), batch=batch)


def synthetic_work(name: str, stream: Synthetic, *, batch: int = BATCH, stands_for: int | None = None) -> Work:
    counts = _Counts()
    for urls in stream.new_batches(batch):
        counts.add(0, urls)
    counts.links = sum(map(len, stream.batches(batch)))
    return Work(name=name, stream=stream, survey=counts.survey(Unreadable()), batch=batch, stands_for=stands_for)


def urls_of_file(path: str, canonical: Callable[[str], str], unreadable: Unreadable) -> Iterator[str]:
    """The canonical URLs of a file with one URL per line, which may be compressed; `-` is standard input. `canonical`
    raises ValueError for text that is not a URL. Raises `WorkRefused` if the file can't be read."""
    shown = "standard input" if path == STDIN else path
    try:
        with _open(path) as file:
            for number, line in enumerate(file, start=1):
                try:
                    text = _text(line, is_first=number == 1)
                    if text:
                        yield canonical(text)
                except ValueError as error:
                    unreadable.add(f"{shown}:{number}", str(error))
    except (OSError, EOFError, zlib.error, zstd.ZstdError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise WorkRefused(f"can't read {shown}: {why}") from error


def urls_of_pages(
    pages: Iterable[tuple[str, list[str]]], canonical: Callable[[str], str], unreadable: Unreadable
) -> Iterator[str]:
    """The canonical links of pages, with an empty text after each page that has links."""
    for page, links in pages:
        found = False
        for link in links:
            try:
                yield canonical(link)
                found = True
            except ValueError as error:
                unreadable.add(page, str(error))
        if found:
            yield _PAGE_END


def _text(line: bytes, *, is_first: bool) -> str:
    """A line as text. Raises ValueError if it is not UTF-8."""
    try:
        return line.decode("utf-8-sig" if is_first else "utf-8").strip()
    except UnicodeDecodeError as error:
        raise ValueError(f"expected UTF-8, found the byte {line[error.start]:#04x}") from error


class _Counts:
    def __init__(self) -> None:
        self.links = 0
        self._hosts: Counter[str] = Counter()
        self._characters = 0

    def add(self, links: int, fresh: list[str]) -> None:
        self.links += links
        self._characters += sum(map(len, fresh))
        self._hosts.update(map(host_of, fresh))

    def survey(self, unreadable: Unreadable) -> Survey:
        distinct = self._hosts.total()
        host, most = max(self._hosts.items(), key=lambda item: item[1], default=("", 0))
        return Survey(
            links=self.links,
            distinct=distinct,
            hosts=len(self._hosts),
            largest_host=host,
            largest_host_urls=most,
            mean_length=self._characters / max(1, distinct),
            unreadable=unreadable.count,
            first_unreadable=tuple(unreadable.first),
        )


def _pages(links: Iterable[str], most: int) -> Iterator[list[str]]:
    """The stream in pieces to write, each with the end of its page if that follows."""
    piece: list[str] = []
    for link in links:
        piece.append(link)
        if link == _PAGE_END or len(piece) == most:
            yield piece
            piece = []
    if piece:
        yield piece


def _text_writer(path: Path) -> IO[str]:
    return path.open("w", encoding="utf-8", errors="surrogatepass", newline="\n")


@contextmanager
def _open(path: str) -> Iterator[IO[bytes]]:
    if path == STDIN:
        yield sys.stdin.buffer
        return
    with Path(path).open("rb") as raw:
        start = raw.peek(4)
        unpack = gzip.open if start.startswith(_GZIP) else zstd.open if start.startswith(_ZSTD) else nullcontext
        with unpack(raw) as file:
            yield cast(IO[bytes], file)
