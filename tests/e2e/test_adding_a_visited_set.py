"""That a visited set of ours touches one file and one line: the rest of the program reads its descriptor."""

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from crawler.testing.timeouts import MAX_WAIT_S
from tests.conftest import REPOSITORY
from tests.e2e.crawling import COMPLETE, Ended, Web, environment, fetched, onceover, setting

PACKAGES = ("config", "crawler", "frontier", "tests", "visited")
THE_LINE = '    "sorted-hashes": "visited.baselines.sorted_hashes:DESCRIPTOR",\n'
THE_FILE = '''
"""Sorted hashes."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Annotated, BinaryIO

import mmh3
import msgspec
import numpy as np

from visited.batch import check_batch
from visited.descriptor import Cost, Descriptor, Parameters
from visited.protocol import SnapshotRefused, VisitedStats
from visited.snapshot import read_snapshot, write_snapshot

BACKEND = "sorted-hashes"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of sorted hashes."""

    salt: Annotated[int, msgspec.Meta(ge=0, le=99, description="Number that is hashed with each URL.")] = 0


class SortedHashes:
    """A sorted list of 64-bit hashes."""

    def __init__(self, salt: int) -> None:
        self._salt = salt
        self._hashes: list[int] = []

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        return [self._add(self._hash(url)) for url in urls]

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        return [self._hash(url) in self._hashes for url in urls]

    async def forget_many(self, urls: Sequence[str], /) -> int:
        check_batch(urls)
        known = set(map(self._hash, urls)).intersection(self._hashes)
        self._hashes = [each for each in self._hashes if each not in known]
        return len(known)

    def describe(self) -> VisitedStats:
        count = len(self._hashes)
        return VisitedStats(
            backend=BACKEND,
            count=count,
            capacity=None,
            memory_bytes=_memory(count),
            false_positive_rate=count / 2**64,
            expected_lost=count**2 / 2**65,
        )

    def dump(self, file: BinaryIO, /) -> None:
        part = np.array(self._hashes, dtype="<u8").tobytes()
        write_snapshot(file, backend=BACKEND, parameters={"salt": self._salt}, state={}, parts=[part])

    def load(self, file: BinaryIO, /) -> None:
        self._hashes = []
        snapshot = read_snapshot(file, backend=BACKEND, parameters={"salt": self._salt})
        if len(snapshot.parts) != 1 or len(snapshot.parts[0]) % 8:
            raise SnapshotRefused("expected hashes of 8 bytes")
        self._hashes = np.frombuffer(snapshot.parts[0], dtype="<u8").tolist()

    def __len__(self) -> int:
        return len(self._hashes)

    async def aclose(self) -> None:
        """Nothing to close."""

    def _hash(self, url: str) -> int:
        return mmh3.hash64(url.encode("utf-8", "surrogatepass"), self._salt, signed=False)[0]

    def _add(self, key: int) -> bool:
        place = bisect_left(self._hashes, key)
        is_new = place == len(self._hashes) or self._hashes[place] != key
        if is_new:
            self._hashes.insert(place, key)
        return is_new


def _memory(count: int) -> int:
    return 56 + 44 * count


def _make(_parameters: Parameters, options: Options) -> SortedHashes:
    return SortedHashes(options.salt)


def _cost(count: int, _error_rate: float, _options: Options) -> Cost:
    return Cost(memory_bytes=_memory(count), expected_lost=count**2 / 2**65)


DESCRIPTOR = Descriptor(name=BACKEND, make=_make, options=Options, cost=_cost, is_advised=True, can_forget=True)
'''
CHOSEN = setting("visited.backend=sorted-hashes", "visited.options.salt=7")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages, with one more file and one more line."""
    root = tmp_path_factory.mktemp("copy")
    # What is compiled is copied, too, which takes less time than to compile it; but not what is just being written.
    for package in PACKAGES:
        shutil.copytree(REPOSITORY / package, root / package, ignore=shutil.ignore_patterns("*.pyc.*"))
    shutil.copy(REPOSITORY / "onceover_crawler.py", root)
    # To draw plots takes longer than to measure for them.
    (root / "matplotlib.py").write_text('raise ModuleNotFoundError("as if not installed", name="matplotlib")\n')
    for name in ("pyproject.toml", "docs", "tools"):
        (root / name).symlink_to(REPOSITORY / name)
    (root / "visited" / "baselines" / "sorted_hashes.py").write_text(THE_FILE.lstrip())
    backends = root / "visited" / "backends.py"
    head, brace, rest = backends.read_text().partition("\n}\n")
    backends.write_text(f"{head}\n{THE_LINE.rstrip()}{brace}{rest}")
    return root


def changed(copy: Path, *arguments: str, cwd: Path) -> Ended:
    """The command with the new set."""
    return onceover(*arguments, cwd=cwd, PYTHONPATH=str(copy))


def test_the_configuration_knows_it_with_its_options(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "crawl.toml").write_text('[crawl]\nseeds = ["http://a.test/"]\n')
    assert changed(copy, "config", "check", "crawl.toml", *CHOSEN, cwd=tmp_path).code == COMPLETE
    wrong = changed(copy, "config", "check", "crawl.toml", *CHOSEN, "--set", "visited.options.slat=8", cwd=tmp_path)
    assert "unknown option of sorted-hashes; did you mean visited.options.salt?" in wrong.err
    assert '"sorted-hashes"' in changed(copy, "config", "schema", cwd=tmp_path).out
    assert "visited.baselines.sorted_hashes" in changed(copy, "plugins", "--json", cwd=tmp_path).out
    page = tmp_path / "configuration.md"
    shutil.copy(REPOSITORY / "docs" / "configuration.md", page)
    run(copy, "tools.tabulate_settings", str(page))
    assert "| sorted-hashes | `salt` | `0` | 0 to 99 | Number that is hashed with each URL. |" in page.read_text()


def test_it_carries_a_crawl_that_is_stopped_and_resumed(copy: Path, tmp_path: Path, web: Web) -> None:
    options = [*web.options, "--dir", "crawl", *CHOSEN]
    changed(copy, "crawl", *options, "--max-pages", "15", cwd=tmp_path)
    ended = changed(copy, "crawl", *options, "--json", cwd=tmp_path)
    assert ended.code == COMPLETE, ended.err
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    shown = changed(copy, "inspect", "crawl", "visited", "--json", cwd=tmp_path)
    assert msgspec.json.decode(shown.out)["backend"] in {"sorted-hashes", "verified"}


def test_it_is_compared_and_advised(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("".join(f"http://a.test/{number}\n" for number in range(2_000)))
    quick = setting("compare.rounds=1", "compare.probes=500")
    arguments = ("--urls", "urls.txt", "--backend", "sorted-hashes", "--json", *quick)
    compared = changed(copy, "compare", *arguments, cwd=tmp_path)
    assert compared.code == COMPLETE, compared.err
    [row] = msgspec.json.decode(compared.out)["rows"]
    assert (row["backend"], row["lost"], row["failed"]) == ("sorted-hashes", 0, None)
    advised = changed(copy, "compare", "--advise", "--urls-expected", "1e6", "--json", cwd=tmp_path)
    assert "sorted-hashes" in [each["backend"] for each in msgspec.json.decode(advised.out)["options"]]


def test_the_contract_is_tried_on_it(copy: Path) -> None:
    suite = ("tests/contracts/test_visited_set.py", "-k", "sorted-hashes", "-p", "no:cacheprovider")
    tried = run(copy, "pytest", "-q", "--basetemp=temporary", *suite)
    assert " passed" in tried
    assert "failed" not in tried


def run(copy: Path, module: str, *arguments: str) -> str:
    """What a module of the copy prints."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=copy,
        env=environment(PYTHONPATH=str(copy)),
        capture_output=True,
        text=True,
        check=False,
        timeout=MAX_WAIT_S,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout
