"""Programs without an event loop, whole scripts, notebooks; and that a crawl leaves the process as it was."""

import ast
import asyncio
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from crawler import Crawl, CrawledPage, Ending, SyncCrawl, crawl_sync
from tests.e2e.crawling import TIMEOUT_S, Web, assert_sound, environment, fetched
from tests.e2e.programs import canonical, lines, values


def crawl_of(web: Web, directory: Path, **options: Any) -> SyncCrawl:
    return crawl_sync(directory=directory, set=values(web, **options.pop("more", {})), **options)


def test_a_plain_loop_crawls_to_the_end(tmp_path: Path, web: Web) -> None:
    pages = list(crawl_of(web, tmp_path / "crawl"))
    assert canonical(pages) == dict.fromkeys(web.pages, 1) == fetched(tmp_path / "crawl")


def test_a_plain_loop_that_is_left_closes_the_crawl_and_is_taken_up(tmp_path: Path, web: Web) -> None:
    ended: list[CrawledPage] = []
    for page in crawl_of(web, tmp_path / "crawl"):
        if len(ended) == 5:
            break
        ended.append(page)
    assert_sound(tmp_path / "crawl")
    again = list(crawl_of(web, tmp_path / "crawl"))
    assert canonical([*ended, *again]) == dict.fromkeys(web.pages, 1) == fetched(tmp_path / "crawl")


def test_a_plain_loop_within_another_one_of_the_same_thread_is_refused(tmp_path: Path, web: Web) -> None:
    with crawl_of(web, tmp_path / "crawl") as crawl:
        outer = iter(crawl)
        first = next(outer)
        with pytest.raises(RuntimeError, match="within another one of the same task or thread would wait for ever"):
            list(crawl)
        pages = [first, *outer]
    assert canonical(pages) == dict.fromkeys(web.pages, 1) == fetched(tmp_path / "crawl")


def test_an_iterator_that_outlives_its_context_ends(tmp_path: Path, web: Web) -> None:
    """As in a thread that still works on a page when another one leaves the context."""
    with crawl_of(web, tmp_path / "crawl") as crawl:
        pages = iter(crawl)
        next(pages)
    assert list(pages) == []


def test_an_iterator_that_is_freed_in_the_thread_of_its_event_loop_closes_the_crawl(tmp_path: Path, web: Web) -> None:
    """As one in a cycle of references, which the garbage collector frees in the thread that runs most."""

    class Holder:
        def __init__(self, pages: Iterator[CrawledPage]) -> None:
            self.pages, self.itself = pages, self

    crawl = crawl_of(web, tmp_path / "crawl")
    gc.disable()
    try:
        next(Holder(iter(crawl)).pages)
        loop = crawl._running
        loop._loop.call_soon_threadsafe(gc.collect)
        loop._thread.join(TIMEOUT_S)
        assert not loop._thread.is_alive()
    finally:
        gc.enable()
    assert canonical(list(crawl_of(web, tmp_path / "crawl"))) == dict.fromkeys(web.pages, 1)


def test_a_context_steers_the_crawl(tmp_path: Path, web: Web) -> None:
    more = {"scope__within": "host", "scope__max_depth": 0}
    other = "http://h00001.sim.test/"
    with crawl_of(web, tmp_path / "crawl", more=more) as crawl:
        assert crawl.directory == tmp_path / "crawl"
        crawl.pause("not yet")
        assert "not yet" in (crawl.status().waiting or "")
        crawl.resume()
        for page in crawl:
            assert crawl.add(other) == (page.url != other)
        assert crawl.result.ending is Ending.COMPLETE
        with pytest.raises(ValueError, match="URL 'x' has no scheme"):
            crawl.add(["x"])
        crawl.stop()
    assert crawl.status().pages == 2
    assert crawl.config.scope.max_depth == 0


def test_a_crawl_without_a_loop_runs_to_the_end(tmp_path: Path, web: Web) -> None:
    assert crawl_of(web, tmp_path / "a").run().ending is Ending.COMPLETE
    with crawl_of(web, tmp_path / "b") as crawl:
        result = crawl.run()
    assert result.status.pages == len(web.pages)
    assert fetched(tmp_path / "a") == fetched(tmp_path / "b") == dict.fromkeys(web.pages, 1)


def test_pages_come_while_the_program_works(tmp_path: Path, web: Web) -> None:
    """The crawl goes on in its own thread, though this one never waits for it."""
    with crawl_of(web, tmp_path / "crawl", more={"fetch__concurrency": 2}) as crawl:
        pages = iter(crawl)
        next(pages)
        next(pages)
        give_up_at = time.monotonic() + TIMEOUT_S
        while crawl.status().responses.get(200, 0) < 4:
            assert time.monotonic() < give_up_at
            time.sleep(0.01)


def test_several_threads_iterate_at_once(tmp_path: Path, web: Web) -> None:
    seeds = [f"http://h0000{number}.sim.test/" for number in range(5)]
    all_have_one = threading.Barrier(3)
    got: list[list[CrawledPage]] = [[], [], []]

    def consume(crawl: SyncCrawl, pages: list[CrawledPage]) -> None:
        for page in crawl:
            pages.append(page)
            if len(pages) == 1:
                all_have_one.wait(TIMEOUT_S)

    with crawl_of(web, tmp_path / "crawl", seeds=seeds) as crawl:
        threads = [threading.Thread(target=consume, args=(crawl, pages)) for pages in got]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert canonical(page for pages in got for page in pages) == dict.fromkeys(web.pages, 1)


@pytest.mark.parametrize("method", ["begin", "write"])
@pytest.mark.parametrize("error", [LookupError("on the way"), SystemExit("on the way")], ids=["an error", "exit"])
def test_what_is_raised_in_the_crawl_is_raised_here(
    tmp_path: Path, web: Web, method: str, error: BaseException
) -> None:
    """Also what `sys.exit` raises, which ends an event loop."""

    class Broken:
        async def begin(self) -> None:
            if method == "begin":
                raise error

        async def write(self, *_: object) -> None:
            raise error

        async def aclose(self) -> None: ...

    with pytest.raises(type(error), match="on the way"):
        list(crawl_of(web, tmp_path / "crawl", sinks=[Broken()]))
    # The directory is free again.
    assert crawl_of(web, tmp_path / "crawl").run().ending is Ending.COMPLETE


def test_a_crawl_is_used_in_the_event_loop_in_which_it_was_opened(tmp_path: Path, web: Web) -> None:
    crawl = Crawl(directory=tmp_path / "crawl", set=values(web))

    async def iterate() -> None:
        async for _ in crawl:
            pass

    with asyncio.Runner() as runner:
        runner.run(crawl.open())
        for use in (iterate, crawl.run):
            with pytest.raises(RuntimeError, match="this crawl was opened in another event loop"):
                asyncio.run(use())
        assert runner.run(crawl.run()).ending is Ending.COMPLETE
        runner.run(crawl.aclose())


async def test_in_a_running_loop_the_other_form_is_named(tmp_path: Path, web: Web) -> None:
    with pytest.raises(
        RuntimeError, match=r"one runs in this thread, as in a notebook: use `async with Crawl\(\.\.\.\)`"
    ):
        list(crawl_of(web, tmp_path / "crawl"))
    with pytest.raises(RuntimeError, match="is not open: use it within `with`"):
        crawl_of(web, tmp_path / "crawl").stop()


def test_an_interrupt_in_the_body_ends_the_crawl_in_order(tmp_path: Path, web: Web) -> None:
    ended: list[CrawledPage] = []

    def program() -> None:
        for page in crawl_of(web, tmp_path / "crawl"):
            if len(ended) == 5:
                signal.raise_signal(signal.SIGINT)
            ended.append(page)

    with pytest.raises(KeyboardInterrupt):
        program()
    assert_sound(tmp_path / "crawl")
    again = list(crawl_of(web, tmp_path / "crawl"))
    assert canonical([*ended, *again]) == dict.fromkeys(web.pages, 1) == fetched(tmp_path / "crawl")


def test_an_interrupt_while_a_page_is_waited_for_ends_the_crawl_in_order(tmp_path: Path, web: Web) -> None:
    main = threading.main_thread().ident
    assert main is not None

    def program() -> None:
        with crawl_of(web, tmp_path / "crawl") as crawl:
            crawl.pause()
            threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
            list(crawl)

    with pytest.raises(KeyboardInterrupt):
        program()
    assert_sound(tmp_path / "crawl")
    assert canonical(crawl_of(web, tmp_path / "crawl")) == dict.fromkeys(web.pages, 1)


# scripts


@contextmanager
def script(folder: Path, code: str, **env: str) -> Iterator["subprocess.Popen[str]"]:
    """A script that runs in its folder, in the environment of a user."""
    (folder / "script.py").write_text(code)
    with subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=folder,
        env=environment(**env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: "subprocess.Popen[str]", code: int = 0) -> tuple[str, str]:
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == code, err
    return out, err


LOGGING = """
import asyncio
from crawler import Crawl

async def main():
    turns = open("turns", "a", buffering=1)
    async with Crawl(directory="crawl", set={values!r}) as crawl:
        async for page in crawl:
            await asyncio.sleep(0)
            turns.write(page.url + "\\n")
    print(crawl.result.ending)

asyncio.run(main())
"""


@pytest.mark.parametrize("seed", [0, *(pytest.param(each, marks=pytest.mark.long) for each in (1, 2))])
def test_a_script_that_is_killed_again_and_again_gets_exactly_the_pages(
    tmp_path: Path, slow_web: Web, seed: int
) -> None:
    code, turns = LOGGING.format(values=values(slow_web)), tmp_path / "turns"
    chance = random.Random(seed)
    kills = 0
    while kills < 3:
        with script(tmp_path, code) as process:
            enough = len(lines(turns)) + chance.randrange(1, 9)
            while process.poll() is None and len(lines(turns)) < enough:
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.02))
            process.kill()
            process.wait(TIMEOUT_S)
            kills += 1
    with script(tmp_path, code) as process:
        assert ended(process)[0] == "complete\n"
    assert set(canonical(lines(turns))) == slow_web.pages
    assert set(fetched(tmp_path / "crawl")) == slow_web.pages
    # Twice come only pages whose turn was over when a kill came, but which were not yet settled: at most those that
    # were out at once.
    assert sum((canonical(lines(turns)) - Counter(slow_web.pages)).values()) <= 5 * kills
    assert_sound(tmp_path / "crawl")


UNCLOSED = """
from crawler import crawl_sync

pages = iter(crawl_sync(directory="crawl", set={values!r}))
for _ in range(3):
    print(next(pages).url)
"""


def test_a_script_that_ends_without_closing_ends_at_once_and_loses_nothing(tmp_path: Path, web: Web) -> None:
    with script(tmp_path, UNCLOSED.format(values=values(web))) as process:
        out, err = ended(process)
    assert err == ""
    again = list(crawl_of(web, tmp_path / "crawl"))
    assert set(canonical([*out.splitlines()[:2], *again])) == web.pages
    assert_sound(tmp_path / "crawl")


INTERRUPTED = """
import asyncio
from crawler import Crawl

async def main():
    async with Crawl(directory="crawl", set={values!r}) as crawl:
        async for page in crawl:
            print(page.url, flush=True)

asyncio.run(main())
"""


def test_ctrl_c_ends_a_script_in_order(tmp_path: Path, slow_web: Web) -> None:
    # One page after the other takes so long that the script is interrupted on its way.
    slowly = values(slow_web, fetch__concurrency=1, fetch__spare=0)
    with script(tmp_path, INTERRUPTED.format(values=slowly)) as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(5)]
        process.send_signal(signal.SIGINT)
        out, err = ended(process, -signal.SIGINT)
    assert err.startswith("stopping when ")
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert_sound(tmp_path / "crawl")
    again = list(crawl_of(slow_web, tmp_path / "crawl"))
    printed = [*first, *out.splitlines()]
    # The last page that was printed had its turn when Ctrl-C came, unless the loop waited for the next.
    assert set(canonical([*printed, *again])) == slow_web.pages
    assert sum((canonical([*printed, *again]) - Counter(slow_web.pages)).values()) <= 1


UNCHANGED = """
import asyncio, atexit, gc, logging, signal, sys, threading
from crawler import Crawl, crawl_sync

def new_loop():
    loop = asyncio.new_event_loop()
    loop.close()
    return type(loop)

def state():
    return {{
        "signals": [signal.getsignal(number) for number in (2, 13, 15)],
        "handlers": [logging.getLogger(name).handlers for name in ("", "crawler", "frontier", "visited", "config")],
        "levels": [logging.getLogger(name).level for name in ("", "crawler", "frontier", "visited", "config")],
        "loop": new_loop(),
        "gc": (gc.get_threshold(), gc.get_freeze_count(), gc.isenabled()),
        "switch": sys.getswitchinterval(),
        "threads": [thread.name for thread in threading.enumerate() if "_run_safe" not in thread.name],
        "hooks": (sys.excepthook, threading.excepthook, sys.unraisablehook),
        "uvloop": "uvloop" in sys.modules,
    }}

loops = set()

async def main():
    async with Crawl(directory="a", set={values!r}) as crawl:
        async for page in crawl:
            loops.add(type(asyncio.get_running_loop()))

exits = []
atexit.register, atexit.unregister = exits.append, exits.remove
before = state()
asyncio.run(main())
after = state()
assert after == before, (before, after)
pages = list(crawl_sync(directory="b", set={values!r}))
assert state() == before, (before, state())
assert loops == {{new_loop()}}
assert not [each for each in exits if each.__module__.startswith(("crawler", "frontier", "visited"))], exits
print(len(pages))
"""


def test_a_crawl_changes_nothing_of_the_process(tmp_path: Path, web: Web) -> None:
    with script(tmp_path, UNCHANGED.format(values=values(web))) as process:
        assert ended(process) == (f"{len(web.pages)}\n", "")
    assert [each.name for each in (tmp_path / "a" / "logs").iterdir()] == ["course.json"]


# notebooks

CELLS = """
from crawler import Crawl
crawl = await Crawl(directory="crawl", set=settings).open()
#
pages = aiter(crawl)
got = [await anext(pages) for _ in range(3)]
#
async for page in pages:
    got.append(page)
    if len(got) == 10:
        break
#
crawl.status().pages
#
got += [page async for page in pages]
#
await crawl.aclose()
ending = crawl.result.ending
"""


async def test_the_cells_of_a_notebook_share_a_crawl(tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a kernel does: each cell is compiled on its own, and runs in a task of its own in the loop that runs."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"settings": values(web)}
    for cell in CELLS.split("#\n"):
        code = compile(cell, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        running = eval(code, names)
        if running is not None:
            await asyncio.create_task(running)
    assert names["ending"] is Ending.COMPLETE
    assert canonical(names["got"]) == dict.fromkeys(web.pages, 1)
    assert os.listdir(tmp_path) == ["crawl"]  # noqa: PTH208 - names alone
