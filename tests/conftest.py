"""What holds for every test: a fixed seed, nothing left behind, and where the corpora are."""

import asyncio
import contextlib
import gc
import importlib
import inspect
import os
import signal
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Generator, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aioresponses.core
import pytest
from aiohttp import ClientResponse
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).parents[1]
TESTS = REPOSITORY / "tests"
END_TO_END = TESTS / "e2e"
MEMORY = "/dev/shm"
CORPORA = REPOSITORY.parent / "shared" / "corpora"

# The machine's speed must not decide whether a test passes, so nothing is timed.
settings.register_profile(
    "default", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "long", settings.get_profile("default"), derandomize=False, max_examples=5_000, print_blob=True
)
settings.load_profile("default")

_HANDLERS: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
"""How each test, and what it starts, first handles signals. In the background of a shell, SIGINT would be ignored."""

GRACE_S = 120.0
"""How long what was told to end may take to do so; waited only when something is still there."""


def pytest_configure() -> None:
    """Mends aioresponses 0.7.9, which does not pass an argument that aiohttp asks for since 3.14 (its issue 289)."""
    writer: Any = SimpleNamespace(output_size=0)
    pytest.MonkeyPatch().setattr(aioresponses.core, "ClientResponse", partial(ClientResponse, stream_writer=writer))
    for number, handler in _HANDLERS.items():
        signal.signal(number, handler)
    gc.disable()  # until all tests are collected: nothing that this makes is garbage


def pytest_collection(session: pytest.Session) -> None:
    """Has each worker of xdist import all tests, beginning at another place.

    In a new checkout, each compiles a share of them then, and finds the others compiled.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or [Path(each).resolve() for each in session.config.args] != [TESTS]:
        return
    names = [".".join(each.relative_to(REPOSITORY).with_suffix("").parts) for each in sorted(TESTS.rglob("test_*.py"))]
    first = len(names) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for name in names[first:] + names[:first]:
        # What is wrong with a file is told when it is collected.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)


def pytest_collection_finish() -> None:
    """What was imported and collected stays. So the garbage collector, which many tests call, need not look at it."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts a share of the tests of whole processes first in the share of each worker of xdist.

    These take longest. If one began last, all other workers would wait for it.
    """
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    files = {path for path in {item.path for item in items} if END_TO_END in path.parents}
    slow = [item for item in items if item.path in files]
    fast = [item for item in items if item.path not in files]
    shares = (_share(each, number, workers) for number in range(workers) for each in (slow, fast))
    items[:] = [item for share in shares for item in share]


def _share(items: list[pytest.Item], number: int, of: int) -> list[pytest.Item]:
    return items[len(items) * number // of : len(items) * (number + 1) // of]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def corpora() -> Path:
    """Files of others to test against, which are not ours to hand on."""
    if not CORPORA.is_dir():
        pytest.skip(f"no corpora at {CORPORA}: they are not part of the repository")
    return CORPORA


@pytest.fixture
def memory_path() -> Iterator[Path]:
    """A directory in memory where there is such a place, for tests that sync often and are not about the disk."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as directory:
        yield Path(directory)


def _children() -> set[int]:
    """Processes started by this one that were not waited for, dead ones included; none where there is no /proc."""
    found: set[int] = set()
    for task in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        # A thread may end between being listed and being read.
        with contextlib.suppress(OSError):
            found.update(int(pid) for pid in task.read_text(encoding="ascii").split() if not _is_service(pid))
    return found


def _is_service(pid: str) -> bool:
    """True for the processes that `multiprocessing` starts once and keeps to its end."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"multiprocessing.resource_tracker" in command or b"multiprocessing.forkserver" in command


def _threads() -> set[threading.Thread]:
    # pycares keeps one for the life of the process, in which resolvers are closed.
    return {each for each in threading.enumerate() if each.is_alive() and "_run_safe_shutdown_loop" not in each.name}


_BEFORE = pytest.StashKey[tuple[set[int], set[threading.Thread]]]()


@pytest.fixture(autouse=True)
def nothing_is_left_behind(request: pytest.FixtureRequest) -> None:
    """Fails a test after which a task, a thread or a child process of its own is alive.

    Requested first among the fixtures of a test, hence what fixtures of a wider scope started is not counted.
    """
    request.node.stash[_BEFORE] = (_children(), _threads())
    if inspect.iscoroutinefunction(getattr(request.node, "obj", None)):
        request.getfixturevalue("_no_task_is_left_behind")


@pytest.fixture
async def _no_task_is_left_behind() -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    # What was cancelled or closed may need a few turns of the loop to be gone.
    for _ in range(10):
        if not asyncio.all_tasks() - before - {asyncio.current_task()}:
            return
        await asyncio.sleep(0)
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    assert not left, f"tasks left behind: {sorted(str(task.get_coro()) for task in left)}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Looks after all fixtures of the test are torn down, its event loop among them."""
    yield
    # A command leaves its handlers of signals in place to the end of its process. Here the process goes on.
    for number, handler in _HANDLERS.items():
        signal.signal(number, handler)
    before = item.stash.get(_BEFORE, None)
    if before is None:
        return
    children, threads = before
    give_up_at = time.monotonic() + GRACE_S
    while (_children() - children or _threads() - threads) and time.monotonic() < give_up_at:
        time.sleep(0.01)
    assert not (left := _threads() - threads), f"threads left behind: {sorted(thread.name for thread in left)}"
    assert not (pids := _children() - children), f"child processes left behind: {sorted(pids)}"
