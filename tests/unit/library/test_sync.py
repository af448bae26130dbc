"""A crawl for programs without an event loop, where there is no loop to be had."""

import asyncio
import errno
import threading
from pathlib import Path

import pytest

from crawler import crawl_sync


def test_a_program_that_can_open_no_more_files_hears_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def new_event_loop() -> asyncio.AbstractEventLoop:
        raise OSError(errno.EMFILE, "Too many open files")

    for module in (asyncio, asyncio.events):
        monkeypatch.setattr(module, "new_event_loop", new_event_loop)
    crawl = crawl_sync(seeds=["http://one.test/"], directory=tmp_path / "crawl")
    with pytest.raises(OSError, match="Too many open files"), crawl:
        raise AssertionError


def test_a_program_that_can_start_no_thread_hears_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    crawl = crawl_sync(seeds=["http://one.test/"], directory=tmp_path / "crawl")
    with pytest.raises(RuntimeError, match="can't start new thread"), crawl:
        raise AssertionError
