"""What a daemon does while crawls are deleted."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from crawler.serve.daemon import Daemon, Options
from crawler.serve.inspection import Answered, Commands
from crawler.serve.keeper import Keeper, KeeperOptions
from crawler.serve.life.facts import Process
from crawler.serve.machine import Limits
from crawler.serve.notify import Supervisor
from crawler.serve.records import Home
from tests.unit.serve.samples import told

TEXT = '[crawl]\nseeds = ["http://a.test/"]\n'


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """It has two crawls that run."""
    with Home(tmp_path) as home:
        found = Daemon(home, Options(limits=Limits(max_memory_bytes=1)), Supervisor({}))
        for name in ("a", "b"):
            (tmp_path / f"{name}.toml").write_text(TEXT)
            keeper = Keeper(name, home, KeeperOptions(), commands=Commands())
            process = Process(pid=os.getpid(), directory=str(tmp_path / name), began_at=0.0)
            keeper.facts = msgspec.structs.replace(keeper.facts, process=process)
            found.keepers[name] = keeper
        yield found


async def test_a_crawl_may_be_deleted_while_the_daemon_looks_at_it(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(directory: Path) -> Answered:
        daemon.keepers.pop("a", None)
        return Answered(pid=os.getpid(), status=told(10, directory=str(directory)))

    monkeypatch.setattr("crawler.serve.keeper.ask_status", ask)
    await daemon.look()
    assert daemon.keepers["b"].facts.excess is not None
    assert [path.name for path in (daemon.folder / "history").iterdir()] == ["b"]
