"""The signals that end a command: SIGINT, SIGTERM, and SIGHUP, which a terminal sends when it is closed."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """Ends a command wherever it is, as Ctrl-C does. Python drops what is raised within a finalizer or a callback of
    its importer, so that it was told is remembered."""

    def __init__(self) -> None:
        self.was_told = False

    def __call__(self, number: int, frame: FrameType | None, /) -> None:
        self.was_told = True
        raise KeyboardInterrupt


def interrupt_on_signals() -> None:
    """Let each of the signals end what runs from now on, before a crawl has an event loop."""
    interrupt = Interrupt()
    for number in ending_signals():
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else interrupt)


def was_interrupted() -> bool:
    """Whether SIGTERM or SIGHUP came, but was dropped."""
    handler = signal.getsignal(signal.SIGTERM)
    return isinstance(handler, Interrupt) and handler.was_told


def ending_signals() -> tuple[signal.Signals, ...]:
    """A command that ignored SIGHUP when it began, as under nohup, goes on doing so."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return tuple(each for each in numbers if each is not signal.SIGHUP or signal.getsignal(each) is not signal.SIG_IGN)


class Interrupts:
    """What the next signal does; it is called with the signal's name.

    A shell hands the SIGHUP of its terminal on to its jobs, which so get it twice: the second is no further wish.
    """

    def __init__(self) -> None:
        self.act: Callable[[str], object] = lambda _: None
        self._hung_up = False

    def __call__(self, number: signal.Signals) -> None:
        if number is signal.SIGHUP:
            if self._hung_up:
                return
            self._hung_up = True
        self.act(number.name)


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """The signals act while a crawl runs; when it has ended, what is left takes a moment, undisturbed."""
    loop = asyncio.get_running_loop()
    acting = Interrupts()
    numbers = ending_signals()
    for number in numbers:
        loop.add_signal_handler(number, acting, number)
    try:
        yield acting
    finally:
        # The event loop leaves SIGTERM deadly behind it: not for a moment, either.
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        for number in numbers:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
