"""Whether a crawl has begun, or only its first start was refused."""

from pathlib import Path

import pytest

from config import load
from crawler.disk.directory import CrawlDirectory
from crawler.library.opening import changed_settings, lock_crawl
from crawler.operate.begun import is_unbegun
from crawler.wiring.storage import open_state, visited_set
from frontier import CrawlUrl


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
