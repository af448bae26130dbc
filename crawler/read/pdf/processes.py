"""Processes that read PDF documents, and their limits."""

import os
import select
import selectors
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from typing import Final

import msgspec

from crawler.read.options import PdfContent, PdfFailed
from crawler.read.pdf.frames import LENGTH_BYTES, Answer, Order, encode

TIME_S: Final = 20.0
"""Limit per document, the start of a process included."""
MEMORY_BYTES: Final = 1_500_000_000
"""Address space of a process."""
_SHARE_TO_BEGIN_PAGES: Final = 0.5
"""Of the time. The rest is for the page that is being read then."""
_PIECE_BYTES: Final = 1 << 16
_ROOM_BYTES: Final = select.PIPE_BUF
_COMMAND: Final = (sys.executable, "-P", "-m", "crawler.read.pdf.worker")


class PdfProcesses:
    """Reads documents, each in a process that is used again if the document did it no harm. Safe in threads: there are
    as many processes as threads have read at once, none before the first document. They end with this object, or before
    by `close`. If a crawl is killed, they end by themselves."""

    def __init__(self, *, time_s: float = TIME_S, memory_bytes: int = MEMORY_BYTES) -> None:
        self._time_s = time_s
        self._memory_bytes = memory_bytes
        self._idle: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._is_closed = False
        weakref.finalize(self, _end_all, self._idle)

    def read(self, body: bytes, /, *, with_links: bool = True, text_bytes: int = 0) -> PdfContent:
        """Read a document, and about so much of its text. Raises `PdfFailed`."""
        order = Order(body, with_links, text_bytes, self._time_s * _SHARE_TO_BEGIN_PAGES, self._memory_bytes)
        process = self._take()
        is_sound = False
        try:
            answer = msgspec.msgpack.decode(
                _ask(process, encode(order), until=time.monotonic() + self._time_s), type=Answer
            )
            is_sound = not answer.is_harmed
        except TimeoutError:
            raise PdfFailed(f"reading it takes longer than {self._time_s:g} s") from None
        except (EOFError, OSError) as error:
            raise PdfFailed("reading it has crashed its process, or needs more memory than it may have") from error
        finally:
            if not (is_sound and self._keep(process)):
                _end(process)
        if answer.content is None:
            raise PdfFailed(answer.error or "nothing was read")
        return answer.content

    def close(self) -> None:
        """End the processes; those that read now end after that."""
        with self._lock:
            self._is_closed = True
            _end_all(self._idle)

    def _keep(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether it is kept for the next document."""
        with self._lock:
            if not self._is_closed:
                self._idle.append(process)
            return not self._is_closed

    def _take(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _ask(process: subprocess.Popen[bytes], order: bytes, *, until: float) -> bytes:
    """Send an order and wait for its answer. Raises TimeoutError, and EOFError or OSError if the process ends."""
    assert process.stdin is not None
    assert process.stdout is not None
    receiver, sender = process.stdout.fileno(), process.stdin.fileno()
    received = bytearray()
    rest = memoryview(order)
    with selectors.DefaultSelector() as selector:
        selector.register(receiver, selectors.EVENT_READ)
        selector.register(sender, selectors.EVENT_WRITE)
        while True:
            events = selector.select(max(0.0, until - time.monotonic()))
            if not events:
                raise TimeoutError
            for key, _ in events:
                if key.fd == sender:
                    # No more than a pipe has room for, which is at least this much when it can be written to.
                    rest = rest[os.write(sender, rest[:_ROOM_BYTES]) :]
                    if not rest:
                        selector.unregister(sender)
                else:
                    piece = os.read(receiver, _PIECE_BYTES)
                    if not piece:
                        raise EOFError
                    received += piece
            if len(received) >= LENGTH_BYTES:
                length = int.from_bytes(received[:LENGTH_BYTES])
                if len(received) >= LENGTH_BYTES + length:
                    return bytes(received[LENGTH_BYTES:])


def _end_all(idle: list[subprocess.Popen[bytes]]) -> None:
    while idle:
        _end(idle.pop())


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()
