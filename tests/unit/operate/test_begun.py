"""Whether a crawl has begun, or only its first start was refused."""

import errno
import os
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

from config import load
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.library.opening import changed_settings, lock_crawl, open_run
from crawler.operate.begun import is_unbegun
from crawler.supervise.preparing import lock_parts
from crawler.wiring.storage import open_state, visited_set
from frontier import CrawlUrl, StoreFailed
from frontier.states.store_state import StoreState
from tests.unit.operate.stored_crawls import EACH, HOSTS
from tests.unit.operate.stored_crawls import make as make_stored
from visited.digests.exact import ExactSet


def configured(path: Path, *overrides: str) -> list[str]:
    return [f'crawl.directory="{path}"', 'crawl.seeds=["http://a.test/"]', *overrides]


async def make(path: Path, *, with_seeds: bool) -> None:
    """The state of a crawl whose configuration is not stored."""
    loaded = load(None, overrides=configured(path, 'urls.rules=["lower-case"]'), environ={})
    with CrawlDirectory(path) as directory:
        state = open_state(loaded.config, directory)
        visited = visited_set(loaded.config, directory, state.knows_many)
        frontier = await state.open_frontier(visited)
        if with_seeds:
            assert (
                await frontier.add([CrawlUrl(url="http://a.test/", canonical="http://a.test/", queue_key="test,a")])
                == 1
            )
        await frontier.aclose()
        await visited.aclose()
        state.close()


async def test_an_empty_frontier_is_no_crawl_under_whatever_rules(tmp_path: Path) -> None:
    await make(tmp_path, with_seeds=False)
    loaded = load(None, overrides=configured(tmp_path), environ={})
    assert changed_settings(loaded) == []
    with lock_crawl(loaded) as directory:
        assert not directory.has_state()


async def test_urls_that_were_never_fetched_are_a_crawl(tmp_path: Path) -> None:
    await make(tmp_path, with_seeds=True)
    loaded = load(None, overrides=configured(tmp_path), environ={})
    assert "are lost" in changed_settings(loaded)[0]
    with lock_crawl(loaded) as directory:
        assert directory.has_state()


@pytest.mark.parametrize("parts", [1, 2])
async def test_a_first_start_that_was_killed_while_it_asked_a_server_about_its_seeds_is_a_crawl(
    tmp_path: Path, parts: int
) -> None:
    """The crawls that share the set on the server take the URLs for known. So nobody else fetches them."""
    seed = CrawlUrl(url="http://a.test/", canonical="http://a.test/", queue_key="test,a")
    loaded = load(None, overrides=configured(tmp_path, f"crawl.parts={parts}"), environ={})
    place = tmp_path
    if parts > 1:
        with lock_parts(loaded, on_wait=print) as plan:
            place = plan.directories[-1]
    with CrawlDirectory(place) as directory:
        state = open_state(loaded.config, directory)
        assert isinstance(state, StoreState)
        state.store.claims.put([seed])
        state.close()
    if parts > 1:
        other = load(None, overrides=configured(tmp_path, f"crawl.parts={parts + 1}"), environ={})
        with pytest.raises(DirectoryRefused, match="2 parts"), lock_parts(other, on_wait=print):
            pass
    else:
        with lock_crawl(loaded) as directory:
            async with open_run(loaded, directory) as run:
                assert run.resumed
                assert run.crawl.frontier.describe().admitted == 1


@pytest.mark.parametrize("shares", [False, True], ids=["alone", "shared"])
async def test_a_first_start_in_parts_that_was_killed_after_its_seeds_is_a_crawl_if_it_shares_a_visited_set(
    tmp_path: Path, *, shares: bool
) -> None:
    """The shared set keeps the seeds. So a crawl with other parts would fetch none of them."""
    redis = 'visited.backend="redis-exact"', 'visited.options={url="redis://127.0.0.1:1/0", share="all"}'
    settings = configured(tmp_path, *(redis if shares else ()))
    loaded = load(None, overrides=[*settings, "crawl.parts=2"], environ={})
    with lock_parts(loaded, on_wait=print) as plan, CrawlDirectory(plan.directories[-1]) as directory:
        state = open_state(loaded.config, directory)
        visited = ExactSet()  # instead of that in Redis
        frontier = await state.open_frontier(visited)
        assert await frontier.add([CrawlUrl(url="http://a.test/", canonical="http://a.test/", queue_key="test,a")]) == 1
        await frontier.aclose()
        await visited.aclose()
        state.close()
    other = load(None, overrides=[*settings, "crawl.parts=3"], environ={})
    refused = pytest.raises(DirectoryRefused, match="has 2 parts") if shares else nullcontext()
    with refused, lock_parts(other, on_wait=print) as plan:
        assert len(plan.directories) == 3
    assert directory.has_state() == shares


async def test_a_damaged_frontier_without_the_settings_of_a_run_is_not_to_be_repaired(tmp_path: Path) -> None:
    """A repair needs them, and would say that they come from a start."""
    await make(tmp_path, with_seeds=False)
    (tmp_path / "frontier" / "CURRENT").unlink()
    loaded = load(None, overrides=configured(tmp_path), environ={})
    for file, advice in ((None, "start over with --fresh"), ("records/a.jsonl", "first restore .*/crawl.toml")):
        if file is not None:
            (tmp_path / file).parent.mkdir()
            (tmp_path / file).write_text("{}")
        with lock_crawl(loaded) as directory, pytest.raises(StoreFailed, match=advice):
            async with open_run(loaded, directory):
                pass
    (tmp_path / "crawl.toml").write_text("")
    with lock_crawl(loaded) as directory, pytest.raises(StoreFailed, match="repair it with `onceover inspect DIR fsck"):
        async with open_run(loaded, directory):
            pass


@pytest.mark.parametrize("name", ["crawl.toml", "frontier.before-20260101T000000", "pruned.json", "records/a.jsonl"])
async def test_what_a_crawl_leaves_beside_an_empty_frontier_tells_that_it_has_begun(tmp_path: Path, name: str) -> None:
    await make(tmp_path, with_seeds=False)
    loaded = load(None, overrides=configured(tmp_path), environ={})
    with CrawlDirectory(tmp_path) as directory:
        assert is_unbegun(directory, loaded.config)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
        assert not is_unbegun(directory, loaded.config)


async def test_a_frontier_in_memory_tells_nothing_of_one_on_disk(tmp_path: Path) -> None:
    await make(tmp_path, with_seeds=True)
    loaded = load(None, overrides=configured(tmp_path, "frontier.backend=memory"), environ={})
    with CrawlDirectory(tmp_path) as directory:
        assert not is_unbegun(directory, loaded.config)


class InterruptedAt:
    """Ctrl-C right before the system has changed names of files for a number of times."""

    def __init__(self, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self._left = number
        for name in ("unlink", "rmdir", "rename", "replace"):
            monkeypatch.setattr(os, name, partial(self._call, getattr(os, name)))

    def _call(self, call: Callable[..., None], *arguments: object, **options: object) -> None:
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1
        call(*arguments, **options)


@pytest.mark.parametrize("is_linked", [False, True], ids=["folder", "link"])
async def test_the_next_start_finishes_what_an_interrupted_one_has_deleted_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_linked: bool
) -> None:
    """A frontier that lacks some of its files must not be left, because it would look damaged."""
    interrupted, number = True, 0
    while interrupted:
        path, disk = tmp_path / f"crawl-{number}", tmp_path / f"disk-{number}"
        if is_linked:
            path.mkdir()
            for name in ("frontier", "visited"):
                (disk / name).mkdir(parents=True)
                (path / name).symlink_to(disk / name)
            (path / "lock").touch()
        await make(path, with_seeds=False)
        loaded = load(None, overrides=configured(path), environ={})
        with monkeypatch.context() as patch:
            InterruptedAt(number, patch)
            try:
                with lock_crawl(loaded):
                    interrupted = False
            except KeyboardInterrupt:
                pass
        with lock_crawl(loaded) as directory:
            async with open_run(loaded, directory) as run:
                assert run.crawl.new_seeds == 1
        assert not list(path.glob("*.rebuilding"))
        assert [each.is_symlink() for each in (directory.frontier, directory.visited)] == [is_linked] * 2
        number += 1
    assert number > 10


async def test_a_crawl_that_has_not_begun_gets_another_number_of_parts_also_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted, number = True, 0
    while interrupted:
        path = tmp_path / f"crawl-{number}"
        two, three = (load(None, overrides=configured(path, f"crawl.parts={each}"), environ={}) for each in (2, 3))
        with lock_parts(two, on_wait=print) as plan:
            for part in plan.directories:
                await make(part, with_seeds=False)
        with monkeypatch.context() as patch:
            InterruptedAt(number, patch)
            try:
                with lock_parts(three, on_wait=print):
                    interrupted = False
            except KeyboardInterrupt:
                pass
        with lock_parts(three, on_wait=print) as plan:
            assert not any(CrawlDirectory(part).has_state() for part in plan.directories)
            assert [part.name for part in plan.directories] == ["part-0", "part-1", "part-2"]
        number += 1
    assert number > 10


@pytest.mark.parametrize("is_linked", [False, True], ids=["file", "link to a missing disk"])
async def test_what_can_be_no_folder_of_a_rebuild_is_named(tmp_path: Path, is_linked: bool) -> None:
    await make(tmp_path, with_seeds=True)
    aside = tmp_path / "frontier.rebuilding"
    if is_linked:
        (tmp_path / "frontier").rename(tmp_path / "disk")
        aside.symlink_to(tmp_path / "missing")
    else:
        aside.touch()
    loaded = load(None, overrides=configured(tmp_path), environ={})
    expected = "is a link to .*/missing, which is missing" if is_linked else "expected a folder, found a file"
    with pytest.raises(DirectoryRefused, match=expected), lock_crawl(loaded):
        pass


async def test_what_another_user_has_left_of_a_rebuild_keeps_no_crawl_from_going_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make(tmp_path, with_seeds=True)
    (tmp_path / "frontier.rebuilding").mkdir()

    def refuse(_path: Path) -> None:
        raise PermissionError

    monkeypatch.setattr("crawler.files.folders.shutil.rmtree", refuse)
    loaded = load(None, overrides=configured(tmp_path, 'urls.rules=["lower-case"]'), environ={})
    with lock_crawl(loaded) as directory:
        async with open_run(loaded, directory) as run:
            assert run.has_urls


def test_an_interrupted_deletion_of_a_crawl_leaves_no_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted, number = True, 0
    while interrupted:
        path = tmp_path / f"crawl-{number}"
        crawl = make_stored(path)
        loaded = load(path / "crawl.toml", overrides=[f'crawl.directory="{path}"'], environ={}, require_seeds=False)
        with monkeypatch.context() as patch:
            InterruptedAt(number, patch)
            try:
                with lock_crawl(loaded, fresh=True):
                    interrupted = False
            except KeyboardInterrupt:
                pass
        if CrawlDirectory(path).has_state():
            assert crawl.look("fsck").out.startswith(f"{EACH * len(HOSTS)} URLs, ")
        elif CrawlDirectory(path).has_output():
            with pytest.raises(DirectoryRefused, match="its state is missing"), lock_crawl(loaded):
                pass
        with lock_crawl(loaded, fresh=True) as directory:
            assert not directory.has_state()
        assert not list(path.glob("*.rebuilding"))
        number += 1
    assert number > 10


def test_a_crawl_in_the_image_of_a_container_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "crawl"
    make_stored(path)

    def refuse(_old: Path, _new: Path) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    loaded = load(path / "crawl.toml", overrides=[f'crawl.directory="{path}"'], environ={}, require_seeds=False)
    monkeypatch.setattr(os, "rename", refuse)
    with lock_crawl(loaded, fresh=True) as directory:
        assert not directory.has_state()
        assert not directory.has_output()
