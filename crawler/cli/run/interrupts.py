"""Handles signals: SIGINT and SIGTERM end a command. So does SIGHUP when its terminal has closed; otherwise it asks a
crawl to read its configuration again, as services are asked."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crawler.codes.exit_codes import STOPPED
from crawler.engine import Ending
from crawler.status import when_done

log = logging.getLogger(__name__)


class _Dropped:
    """Remembers that a signal came whose exception Python dropped, as it does in a finalizer or in a callback of its
    importer. It says nothing of it: the command ends as if it had been raised."""

    def __init__(self) -> None:
        self.was_interrupted = False

    def __call__(self, dropped: "sys.UnraisableHookArgs", /) -> None:
        if isinstance(dropped.exc_value, KeyboardInterrupt):
            self.was_interrupted = True
        else:
            sys.__unraisablehook__(dropped)


def interrupt_on_signals() -> None:
    """Let each of the signals end the command at any point, as Ctrl-C does. Call it before a crawl has an event
    loop."""
    sys.unraisablehook = _Dropped()
    for number in ending_signals():
        signal.signal(number, signal.default_int_handler)


def ending_signals() -> tuple[signal.Signals, ...]:
    """The signals to handle. A command that started with SIGHUP ignored, as under nohup, continues to ignore it."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return tuple(each for each in numbers if each is not signal.SIGHUP or signal.getsignal(each) is not signal.SIG_IGN)


class Interrupts:
    """Calls `act` with the name of each signal that ends a command, and `reload` for one that asks for that.

    It ignores a second SIGHUP of a closed terminal: a shell passes it on to its jobs, which so get it twice.
    """

    def __init__(self, act: Callable[[str], object]) -> None:
        self.act = act
        self.reload: Callable[[], object] = lambda: None
        self._had_terminal = _has_terminal()
        self._hung_up = False

    def __call__(self, number: signal.Signals) -> None:
        if number is signal.SIGHUP:
            if not self._had_terminal or _has_terminal():
                self.reload()
                return
            if self._hung_up:
                return
            self._hung_up = True
        self.act(number.name)

    def ignore_reloads(self) -> None:
        self.reload = lambda: None


class Stopping:
    """Stops a crawl by a signal or a command: the first lets the URLs in flight finish, the second drops them."""

    def __init__(
        self,
        acting: Interrupts,
        tell: Callable[[str], object],
        *,
        in_flight: Callable[[], int],
        drain: Callable[[Ending], object],
        drop: Callable[[Ending], object],
        verb: str = "stopping",
        announcement: str = "Stopping {}.",
    ) -> None:
        """`drain` and `drop` get the `ending`. `verb` is for the log, and the `announcement` for people."""
        self.ending = Ending.SIGNAL
        """Why the run ends: `STOPPED` when it was told so by a command."""
        self._acting = acting
        self._tell = tell
        self._in_flight = in_flight
        self._drain = drain
        self._drop = drop
        self._verb = verb
        self._announcement = announcement
        acting.act = self._finish

    def by_command(self, now: bool) -> None:
        self.ending = Ending.STOPPED
        (self._end if now else self._finish)("onceover stop")

    def _finish(self, name: str) -> None:
        when = when_done(self._in_flight())
        log.info("%s: %s %s", name, self._verb, when)
        self._tell(f"{self._announcement.format(when)} Ctrl-C again stops at once.")
        self._drain(self.ending)
        self._acting.act = self._end

    def _end(self, name: str) -> None:
        log.info("%s: stopping at once", name)
        self._drop(self.ending)


def ask_before_leaving(acting: Interrupts, tell: Callable[[str], object]) -> None:
    """While a crawl drops what is in flight and closes its outputs, which a plug-in may keep from ending: let the first
    signal ask for a second one, and that end the process. What is lost then is what a killed process loses: nothing."""

    def ask(name: str) -> None:
        log.info("%s: still closing", name)
        tell("The crawl ends, and waits for its components. Ctrl-C again does not wait for them, and loses nothing.")
        acting.act = end

    def end(name: str) -> None:
        log.warning("%s: ending without waiting until all is closed", name)
        logging.shutdown()
        os._exit(STOPPED)

    acting.act = ask


def _has_terminal() -> bool:
    """Whether this process has a controlling terminal. The system takes it away before it sends SIGHUP."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Handles the signals while a crawl runs: they cancel this task, unless `act` does something else. After it, they
    are ignored, because the rest only takes a moment. Raises `CancelledError` if one came before."""
    loop, this = asyncio.get_running_loop(), asyncio.current_task()
    assert this is not None
    acting = Interrupts(this.cancel)
    numbers = ending_signals()
    was_interrupted = isinstance(sys.unraisablehook, _Dropped) and sys.unraisablehook.was_interrupted
    for number in numbers:
        loop.add_signal_handler(number, acting, number)
    try:
        if was_interrupted:
            raise asyncio.CancelledError
        yield acting
    finally:
        # When the event loop removes its handler, SIGTERM kills the process. Block it until it is ignored.
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        for number in numbers:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
