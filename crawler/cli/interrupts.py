"""SIGTERM, before a crawl has an event loop."""

import signal
from types import FrameType


class Interrupt:
    """Ends a command wherever it is, as Ctrl-C does. Python drops what is raised within a finalizer or a callback of
    its importer, so that it was told is remembered."""

    def __init__(self) -> None:
        self.was_told = False

    def __call__(self, number: int, frame: FrameType | None, /) -> None:
        self.was_told = True
        raise KeyboardInterrupt


def interrupt_on_sigterm() -> None:
    """Let SIGTERM end what runs from now on."""
    signal.signal(signal.SIGTERM, Interrupt())


def was_interrupted() -> bool:
    """Whether SIGTERM came, but was dropped."""
    handler = signal.getsignal(signal.SIGTERM)
    return isinstance(handler, Interrupt) and handler.was_told
