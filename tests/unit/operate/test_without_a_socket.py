import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from crawler.control import address
from crawler.library.opening import Run
from crawler.operate import running
from crawler.testing.timeouts import MAX_WAIT_S


async def test_what_answers_is_loaded_where_the_directory_takes_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_place: Path) -> None:
        raise address.SocketRefused("the path is too long")

    loaded = asyncio.Event()
    monkeypatch.setattr(address, "listen", refuse)
    monkeypatch.setattr(running, "_LOAD_ANSWERS_S", 0.0)
    monkeypatch.setattr(running, "_load_answers", loaded.set)
    crawl: Any = SimpleNamespace(directory=SimpleNamespace(path=Path("crawl")), answer=None)
    await running.answer_operator(crawl)
    await asyncio.wait_for(loaded.wait(), MAX_WAIT_S)


async def test_a_reload_that_fails_is_logged_and_does_not_end_the_crawl(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def answer(_request: object) -> None:
        raise ImportError("another version is installed by now")

    nothing: Any = None
    monkeypatch.setattr(Run, "_running", lambda _run, _stop: SimpleNamespace(answer=answer))
    await Run(
        crawl=nothing,
        loaded=nothing,
        settings=nothing,
        place=nothing,
        course=nothing,
        resumed=False,
        choice=None,
    ).reload()
    assert "the crawl goes on with the settings that it has" in caplog.text
