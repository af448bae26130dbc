"""Crawls whose files are damaged at a random moment, mended as a person would, and crawled to their end."""

import multiprocessing
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NoReturn

import pytest

from crawler.cli import main
from crawler.disk.directory import CrawlDirectory
from crawler.simweb.params import WorldParams
from crawler.url.urls import UrlReader
from crawler.write.records import read_records
from crawler.write.warc_reader import Capture, captures
from tests.e2e.crawling import COMPLETE, FAILED, REFUSED, TIMEOUT_S, Ended, Web, setting

WORLD = WorldParams(
    seed=11,
    hosts=6,
    pages_per_host=20,
    links_per_page=8,
    page_bytes=1_500,
    redirects=0.1,
    not_found=0.1,
    session_ids=0.1,
    odd_links=0.1,
    flaky=0.05,
)
OUTPUTS = (
    (),
    ("output.links=true",),
    ("output.links=true", "output.warc=false"),
    ("output.warc=false",),
    ("output.records=false",),
)
BACKENDS = (
    ('visited.backend="exact"',),
    ('visited.backend="exact"', 'visited.store="leveldb"'),
    ('visited.backend="bloom"',),
    ('visited.backend="dsbf"',),
)
AREAS = ("frontier", "frontier", "frontier", "visited", "records", "warc")
UNREAD = ("LOCK", "LOG", "LOG.old")
"""Files of LevelDB in which it keeps nothing."""
MOST_ROUNDS = 4


class Forked:
    """A command in a process of its own, which is forked from one that has imported the program and nothing else.

    A fork of the tests' own process, in which threads run, could wait for ever for a lock that one of these held.
    """

    def __init__(self, *arguments: str | Path, cwd: Path) -> None:
        self._cwd = cwd
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["crawler.cli", "crawler.wiring.crawl", __name__])
        self._process = context.Process(target=_run, args=(list(map(str, arguments)), cwd))
        self._process.start()

    def wait(self, moment: Callable[[], bool] = lambda: False) -> Ended:
        """Its end; at the moment it is killed."""
        give_up_at = time.monotonic() + TIMEOUT_S
        while self._process.is_alive():
            if moment() or time.monotonic() > give_up_at:
                self._process.kill()
            self._process.join(0.005)
        code = self._process.exitcode
        assert code is not None
        self._process.close()
        out, err = ((self._cwd / name).read_text() for name in ("stdout", "stderr"))
        return Ended(code, out, err)


def _run(arguments: list[str], cwd: Path) -> NoReturn:
    code = 70
    sys.settrace(None)  # coverage, which would take most of the time, and is lost with a process that is killed
    try:
        os.chdir(cwd)
        for descriptor, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        sys.stdin, sys.stdout, sys.stderr = open(os.devnull), open(1, "w"), open(2, "w")  # noqa: SIM115, PTH123
        sys.argv = ["onceover", *arguments]
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 70
    except BaseException:  # noqa: BLE001 - a process ends here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class Case:
    """One crawl, and what is done to it, by a seed."""

    def __init__(self, seed: int, folder: Path, web: Web) -> None:
        self._random = random = Random(seed)
        self._folder = folder
        self._web = web
        self.directory = CrawlDirectory(folder / "crawl")
        self.settings = (*random.choice(OUTPUTS), *random.choice(BACKENDS))
        self.told: list[str] = [f"seed {seed}: {self.settings}"]
        """What happened, for whoever looks at a case that failed."""

    def run(self) -> None:
        """Raises AssertionError if pages are missing and nothing says so."""
        for _ in range(self._random.choice((1, 2, 3))):
            self._killed()
        self._damage()
        if self._random.random() < 0.5:
            code = self._crawl().code  # by somebody who has noticed nothing
            if code == COMPLETE:
                self._tell("complete, though damaged")
        for _ in range(MOST_ROUNDS):
            self._onceover("inspect", self.directory.path, "fsck", "--repair", "--refetch")
            crawled = self._crawl()
            checked = self._onceover("inspect", self.directory.path, "fsck")
            if crawled.code == COMPLETE and checked.code == COMPLETE:
                break
        else:
            pytest.fail(self._all("neither complete nor sound in the end"))
        self._check()

    def _killed(self) -> None:
        """Crawl until a random share of the pages is there, then kill it; it may be complete before."""
        wanted = self._random.randrange(5, 150)
        before = self._written()
        process = Forked("crawl", *self._options(), "--dir", "crawl", cwd=self._folder)
        process.wait(lambda: self._written() >= before + wanted * 800)
        self._tell(f"killed with {self._written()} bytes of output")

    def _written(self) -> int:
        folders = (self.directory.records, self.directory.warc)
        return sum(_size(path) for folder in folders for path in _files(folder))

    def _options(self) -> list[str]:
        small = ("frontier.snapshot_every=40", "output.warc_max_bytes=100_000", "output.records_max_bytes=40_000")
        return [*self._web.options, *setting(*small, *self.settings)]

    def _damage(self) -> None:
        random = self._random
        folders = [folder for area in AREAS if _files(folder := self.directory.path / area)]
        if not folders:
            return
        folder = random.choice(folders)
        if random.random() < 0.05:
            shutil.rmtree(folder)
            self._tell(f"deleted all of {folder.name}")
            return
        files = [path for path in _files(folder) if path.name not in UNREAD] or _files(folder)
        path = random.choice(files)
        kinds: list[Callable[[bytearray], str]] = [self._flip, self._zero, self._garble, self._cut]
        content = bytearray(path.read_bytes())
        if not content or random.random() < 0.15:
            path.unlink()
            self._tell(f"deleted {path.relative_to(self.directory.path)} of {len(content)} bytes")
            return
        how = random.choice([*kinds, self._flip])(content)
        path.write_bytes(content)
        self._tell(f"{path.relative_to(self.directory.path)}: {how}")

    def _flip(self, content: bytearray) -> str:
        at = self._random.randrange(len(content))
        content[at] ^= 1 << self._random.randrange(8)
        return f"a bit of byte {at} of {len(content)}"

    def _zero(self, content: bytearray) -> str:
        start, stop = self._block(content)
        content[start:stop] = bytes(stop - start)
        return f"zeroed {start} to {stop} of {len(content)}"

    def _garble(self, content: bytearray) -> str:
        start, stop = self._block(content)
        content[start:stop] = self._random.randbytes(stop - start)
        return f"garbled {start} to {stop} of {len(content)}"

    def _cut(self, content: bytearray) -> str:
        length, at = len(content), self._random.randrange(len(content))
        del content[at:]
        return f"cut at {at} of {length}"

    def _block(self, content: bytearray) -> tuple[int, int]:
        size = self._random.choice((16, 512, 4096, 32768))
        start = self._random.randrange(len(content)) // size * size
        return start, min(start + size, len(content))

    def _crawl(self) -> Ended:
        return self._onceover("crawl", "--dir", self.directory.path)

    def _onceover(self, *arguments: str | Path) -> Ended:
        ended = Forked(*arguments, cwd=self._folder).wait()
        self._tell(f"{' '.join(map(str, arguments))}: {ended.code}\n{ended.out}{ended.err}")
        assert "Traceback" not in ended.err, self._all("a traceback")
        assert ended.code in (COMPLETE, FAILED, REFUSED), self._all("another exit code")
        return ended

    def _check(self) -> None:
        """All pages are in each of the outputs."""
        if "output.records=false" not in self.settings:
            records = read_records(self.directory.records, on_damage=lambda *_: None)
            self._compare("records", {record.url for record in records if record.status == 200})
        if "output.warc=false" not in self.settings:
            found = [each for each in captures(self.directory.warc, full_blocks=True) if isinstance(each, Capture)]
            self._compare("archive", {each.url for each in found if each.kind == "response" and each.http()[0] == 200})

    def _compare(self, name: str, urls: set[str]) -> None:
        reader = UrlReader()
        missing = self._web.pages - {reader.seed(url).canonical for url in urls}
        assert not missing, self._all(f"complete without problems, and the {name} lack {sorted(missing)}")

    def _tell(self, what: str) -> None:
        self.told.append(what)

    def _all(self, verdict: str) -> str:
        return "\n".join([verdict, *self.told])


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # renamed meanwhile by the crawl that writes it
        return 0


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
