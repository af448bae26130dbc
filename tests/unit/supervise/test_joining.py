"""A machine that has joined a crawl on many machines."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from config import ConfigError
from crawler.cluster.machine import begin_machine
from crawler.cluster.register import Register
from crawler.cluster.values import Cluster
from crawler.disk.directory import CrawlDirectory
from crawler.supervise.cluster.joining import Joined, join
from crawler.testing.loops import in_event_loop
from crawler.wiring.configuration import load
from tests.redis_server import running_redis
from tests.unit.cluster.homes import IDENTITY
from tests.unit.cluster.test_machine import cluster_of

GOOD = '[crawl]\nseeds = ["http://a.test/"]\n[exchange]\nbackend = "redis"\nurl = "redis://127.0.0.1:1"\n'


def _configured(configuration: str, version: int) -> Cluster:
    identity = msgspec.structs.replace(IDENTITY, configuration=configuration, configuration_version=version)
    return cluster_of(identity)


def _join(directory: CrawlDirectory, cluster: Cluster) -> Joined:
    options = {"exchange.url": ("a test", "redis://127.0.0.1:1"), "exchange.backend": ("a test", "redis")}
    reached = load(None, options=options, environ={}, require_seeds=False)
    begin_machine(directory, cluster.identity, url="redis://127.0.0.1:1", prefix="onceover")
    register = Register(None, prefix="onceover", generation=IDENTITY.generation)
    return Joined(reached, register, cluster, directory)


@pytest.fixture
def joined(tmp_path: Path) -> Iterator[Joined]:
    with CrawlDirectory(tmp_path / "crawl") as directory:
        yield _join(directory, _configured(GOOD, 1))


def test_a_machine_tells_when_it_replaces_what_somebody_has_written_and_not_when_it_takes_newer_settings(
    tmp_path: Path,
) -> None:
    with CrawlDirectory(tmp_path / "crawl") as directory:
        assert not _join(directory, _configured(GOOD, 1)).has_replaced
        assert not _join(directory, _configured(f"{GOOD}# newer\n", 2)).has_replaced
        directory.configuration.write_text(f"{GOOD}# of mine\n")
        assert _join(directory, _configured(f"{GOOD}# newest\n", 3)).has_replaced
        assert not _join(directory, _configured(f"{GOOD}# newest\n", 3)).has_replaced


def _read(joined: Joined, configuration: str, version: int) -> None:
    """As an agent that has read the register."""
    cluster = _configured(configuration, version)
    joined.home.learn(cluster)
    joined.learn(cluster)


def test_a_machine_keeps_its_settings_while_it_can_t_use_those_that_hold(joined: Joined) -> None:
    before = joined.plan.loaded
    for _ in range(2):
        with pytest.raises(ConfigError, match="politness"):
            _read(joined, f"{GOOD}[politness]\nmin_delay_s = 1\n", 2)
        assert joined.plan.loaded is before
    _read(joined, f"{GOOD}[politeness]\nmin_delay_s = 7\n", 3)
    assert joined.plan.loaded.config.politeness.min_delay_s == 7
    assert joined.version == 3
    _read(joined, GOOD, 2)
    assert joined.plan.loaded.config.politeness.min_delay_s == 7
    assert joined.version == 3


def test_a_part_that_was_adopted_here_runs_in_its_new_directory_at_once(joined: Joined) -> None:
    joined.home.store(0, epoch=3, lineage=1)
    adopted = msgspec.structs.replace(IDENTITY, configuration=GOOD, lineages=(4, 2, 3), next_lineage=5)
    joined.home.learn(cluster_of(adopted))
    joined.home.store(0, epoch=5, lineage=4)
    assert joined.plan.directories[0].name == "part-0.2"


@in_event_loop
async def test_a_machine_that_waits_for_the_parts_of_an_earlier_run_can_be_interrupted(tmp_path: Path) -> None:
    with running_redis() as server:
        options = {"exchange.url": ("a test", server.url), "exchange.backend": ("a test", "redis")}
        reached = load(None, options=options, environ={}, require_seeds=False)
        with CrawlDirectory(tmp_path / "crawl") as directory:
            begin_machine(directory, IDENTITY, url=server.url, prefix="onceover")
        has_told = asyncio.Event()

        async def enter() -> None:
            async with join(reached, tmp_path / "crawl", on_wait=lambda _: has_told.set()):
                raise AssertionError

        with CrawlDirectory(tmp_path / "crawl" / "part-0"):
            joining = asyncio.create_task(enter())
            await has_told.wait()
            joining.cancel()
            with pytest.raises(asyncio.CancelledError):
                await joining
