"""That `visited.backend = "auto"` is decided once, by the formulas."""

from pathlib import Path

import msgspec
import pytest

from config import Config
from crawler.disk.directory import CrawlDirectory
from crawler.wiring import auto_backend
from crawler.wiring.auto_backend import advised_sets, best_option, choose_backend
from visited.backends import descriptor

MB = 1_000_000


def asked(**visited: object) -> Config:
    config = Config()
    return msgspec.structs.replace(config, visited=msgspec.structs.replace(config.visited, backend="auto", **visited))


@pytest.mark.parametrize(
    ("memory_bytes", "backend", "store"),
    [
        (2000 * MB, "exact", "memory"),
        (150 * MB, "dsbf", "memory"),
        (125 * MB, "bloom", "memory"),
        (60 * MB, "exact", "leveldb"),
    ],
)
def test_the_set_that_loses_least_in_the_memory_is_taken(
    memory_bytes: int, backend: str, store: str, tmp_path: Path
) -> None:
    config, choice = choose_backend(asked(capacity=50 * MB, memory_bytes=memory_bytes), CrawlDirectory(tmp_path))
    assert (config.visited.backend, config.visited.store) == (backend, store)
    assert choice is not None
    assert backend in choice.text


def test_a_set_of_a_fixed_size_is_not_advised_for_more_urls_than_it_holds() -> None:
    among = [descriptor("six-seeds")]
    found = [best_option(count, 1e-4, memory_bytes=1000 * MB, among=among) for count in (1 * MB, 100 * MB)]
    assert [each is not None for each in found] == [True, False]


def test_another_backend_is_left_as_it_is(tmp_path: Path) -> None:
    config = Config()
    assert choose_backend(config, CrawlDirectory(tmp_path)) == (config, None)
    assert list(tmp_path.iterdir()) == []


def test_a_crawl_keeps_its_choice_on_another_machine_until_something_else_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = CrawlDirectory(tmp_path)
    monkeypatch.setattr(auto_backend, "default_memory_bytes", lambda: 1000 * MB)
    first, _ = choose_backend(asked(capacity=10 * MB), directory)
    monkeypatch.setattr(auto_backend, "default_memory_bytes", lambda: 50 * MB)
    assert choose_backend(asked(capacity=10 * MB), directory)[0] == first
    assert first.visited.backend == "exact"
    assert choose_backend(asked(capacity=11 * MB), directory)[0].visited.backend == "dsbf"


@pytest.mark.parametrize("damage", [b"", b"{", b"{}", b'{"text":"\xff"}'])
def test_a_choice_that_cannot_be_read_is_made_again(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    directory, config = CrawlDirectory(tmp_path), asked(capacity=50 * MB, memory_bytes=150 * MB)
    chosen = choose_backend(config, directory)
    file = directory.visited / "choice.json"
    content = file.read_bytes()
    file.write_bytes(damage)
    assert choose_backend(config, directory) == chosen
    assert file.read_bytes() == content
    assert "choice.json can't be read" in caplog.text


def test_a_frontier_in_memory_has_nothing_on_disk(tmp_path: Path) -> None:
    config = asked(capacity=50 * MB, memory_bytes=60 * MB)
    config = msgspec.structs.replace(config, frontier=msgspec.structs.replace(config.frontier, backend="memory"))
    found, _ = choose_backend(config, CrawlDirectory(tmp_path))
    assert found.visited.backend == "dsbf"
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_fits_what_comes_nearest_is_taken_and_it_says_so(tmp_path: Path) -> None:
    config, choice = choose_backend(asked(capacity=100 * MB, memory_bytes=8 * MB), CrawlDirectory(tmp_path))
    assert (config.visited.backend, config.visited.store) == ("exact", "leveldb")
    assert choice is not None
    assert choice.text.endswith("8.0 MB of memory may be used. No set fits in that; this one needs the least")
    _, fitting = choose_backend(asked(capacity=100 * MB, memory_bytes=80 * MB), CrawlDirectory(tmp_path))
    assert fitting is not None
    assert fitting.text.endswith("80.0 MB of memory may be used")


def test_where_nothing_fits_nothing_is_advised() -> None:
    assert best_option(50 * MB, 1e-4, memory_bytes=1000, among=advised_sets()) is None
    assert best_option(50 * MB, 1e-4, memory_bytes=60 * MB, on_disk=False, among=advised_sets()) is None
