"""A plug-in that fails while the crawl runs is named, and the rest of the code is not blamed on it."""

import asyncio
import errno
import logging
import signal
import sys

import pytest

from crawler.wiring.configuration import load
from crawler.wiring.plugins.blame import blaming, plugins_of
from crawler.wiring.plugins.checks import PluginFailed
from crawler.wiring.plugins.loading import NamedBackend
from frontier import StoreFailed
from tests.unit.plugins.installing import SETS, Site

FAILING = f"""{SETS}
    import asyncio
    import errno
    import json

    async def first_of_none():
        return next(iter(()))

    def fail(kind):
        if kind == "library":
            json.loads("{{")
        if kind == "ours":
            from visited.descriptor import checked_options
            checked_options(int, {{}})
        if kind == "group":
            raise BaseExceptionGroup("several", [KeyError("one"), OSError(errno.ENOSPC, "full")])
        if kind == "full group":
            raise BaseExceptionGroup("several", [OSError(errno.ENOSPC, "full")])
        if kind == "exit":
            raise SystemExit(0)
        if kind == "cancelled":
            raise asyncio.CancelledError
        if kind == "interrupt":
            raise KeyboardInterrupt
        raise OSError(errno.ENOSPC, "full") if kind == "disk" else KeyError(kind)
"""


@pytest.fixture
def plugins(site: Site) -> list[NamedBackend]:
    site.add("failing-sets", "failing_sets", FAILING, entries={"visited.failing": "failing_sets:DESCRIPTOR"})
    config = load(None, overrides=["visited.backend=failing"], require_seeds=False).config
    [plugin] = plugins_of(config)
    return [plugin]


def fail(kind: str) -> None:
    sys.modules["failing_sets"].fail(kind)


def fail_in_a_group() -> None:
    """As a task group does."""
    try:
        fail("a key")
    except KeyError as error:
        raise BaseExceptionGroup("several", [ValueError(), error]) from None


def fail_before(kind: str) -> None:
    """As the frontier tells everybody what has stopped it."""
    try:
        fail(kind)
    except (KeyError, OSError) as error:
        raise StoreFailed("it stopped before") from error


@pytest.mark.parametrize("group", [False, True])
def test_the_error_of_a_plug_in_names_it_and_the_log_has_the_traceback(
    group: bool, plugins: list[NamedBackend], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with pytest.raises(PluginFailed) as failed, blaming(plugins):
        fail_in_a_group() if group else fail("a key")
    text = str(failed.value)
    assert text.startswith(
        "the visited set \"failing\" of failing-sets 1.0 failed: KeyError: 'a key' (failing_sets.py, "
    )
    assert "in fail" in caplog.text
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("kind", ["a key", "disk"])
def test_the_error_of_a_plug_in_that_has_stopped_the_frontier_names_it(kind: str, plugins: list[NamedBackend]) -> None:
    expected = PluginFailed if kind == "a key" else StoreFailed
    with pytest.raises(expected, match="KeyError: 'a key'" if kind == "a key" else "it"), blaming(plugins):
        fail_before(kind)


def test_a_group_of_errors_that_only_libraries_know_names_the_plug_in_that_has_raised_it(
    plugins: list[NamedBackend],
) -> None:
    """As a task group in a sink does, whose tasks are calls of a library."""
    with pytest.raises(PluginFailed, match=r"failed: KeyError: 'one' \(failing_sets\.py, "), blaming(plugins):
        fail("group")
    with pytest.raises(BaseExceptionGroup, match="several"), blaming(plugins):
        fail("full group")
    with pytest.raises(ExceptionGroup, match="ours"), blaming(plugins):
        raise ExceptionGroup("ours", [ZeroDivisionError()])


def test_a_library_that_a_plug_in_calls_is_its_own_affair(plugins: list[NamedBackend]) -> None:
    with pytest.raises(PluginFailed, match=r"failed: Expecting property name"), blaming(plugins):
        fail("library")


async def test_a_stop_iteration_of_a_coroutine_names_the_plug_in(plugins: list[NamedBackend]) -> None:
    with pytest.raises(PluginFailed, match=r"failed: StopIteration \(failing_sets\.py, "), blaming(plugins):
        await sys.modules["failing_sets"].first_of_none()


def test_a_plug_in_that_calls_exit_has_failed(plugins: list[NamedBackend]) -> None:
    with pytest.raises(PluginFailed, match=r"failed: SystemExit: 0 \(failing_sets\.py, "), blaming(plugins):
        fail("exit")


def test_a_plug_in_that_raises_an_interrupt_has_failed_where_nobody_can_press_keys(
    plugins: list[NamedBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt), blaming(plugins):
        fail("interrupt")
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_IGN)
    with pytest.raises(PluginFailed, match=r"failed: KeyboardInterrupt \(failing_sets\.py, "), blaming(plugins):
        fail("interrupt")


async def test_a_plug_in_that_raises_a_cancellation_has_failed_unless_somebody_cancels(
    plugins: list[NamedBackend],
) -> None:
    async def call_it() -> None:
        with blaming(plugins):
            fail("cancelled")

    with pytest.raises(PluginFailed, match=r"failed: CancelledError \(failing_sets\.py, "):
        await call_it()

    async def call_it_when_cancelled() -> None:
        with blaming(plugins):
            try:
                await asyncio.Event().wait()
            finally:
                fail("cancelled")

    task = asyncio.create_task(call_it_when_cancelled())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_cancellation_where_no_event_loop_runs_is_the_fault_of_a_plug_in(plugins: list[NamedBackend]) -> None:
    with pytest.raises(PluginFailed, match=r"failed: CancelledError \(failing_sets\.py, "), blaming(plugins):
        fail("cancelled")


def test_code_of_ours_that_a_plug_in_calls_is_not_blamed_on_it(plugins: list[NamedBackend]) -> None:
    with pytest.raises(ValueError, match="Expected `int`"), blaming(plugins):
        fail("ours")


def test_a_full_disk_is_nobodys_fault(plugins: list[NamedBackend]) -> None:
    with pytest.raises(OSError, match="full") as failed, blaming(plugins):
        fail("disk")
    assert failed.value.errno == errno.ENOSPC


def test_other_errors_are_not_blamed_on_a_plug_in(plugins: list[NamedBackend]) -> None:
    with pytest.raises(ZeroDivisionError), blaming(plugins):
        _ = 1 / 0


def test_our_own_backends_are_no_plug_ins() -> None:
    config = load(None, overrides=["visited.backend=bloom"], require_seeds=False).config
    assert plugins_of(config) == []
