"""A connection that fails in every way: a TCP proxy on loopback, in a thread of its own."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

_BYTES: Final = 1 << 16


class Proxy:
    """Passes on what connections bring, to the server that `dial` reaches at their beginning."""

    def __init__(self, dial: Callable[[], socket.socket]) -> None:
        self.dial = dial
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._passes = threading.Event()
        self._passes.set()
        self._answers = threading.Event()
        """Whether what servers say is passed on."""
        self._answers.set()
        self._held = threading.Event()
        """Whether something has come since it holds what comes."""
        self._accepts = True
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def cut(self) -> None:
        """End all connections, and refuse new ones, until `heal`."""
        self._accepts = False
        self._end_all()

    def cut_once(self) -> None:
        """End all connections."""
        self._end_all()

    def hold(self) -> None:
        """Pass nothing on until `heal`: what comes meanwhile is late, but not lost."""
        self._held.clear()
        self._passes.clear()

    def holds_something(self) -> bool:
        """Whether something has come since `hold`."""
        return self._held.is_set()

    def deafen(self) -> None:
        """Pass on what clients say, but no answer, until `heal`."""
        self._answers.clear()

    def end_half(self) -> None:
        """End what clients say; servers may go on to answer."""
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RD)

    def heal(self) -> None:
        self._accepts = True
        self._answers.set()
        self._passes.set()

    def close(self) -> None:
        self._accepts = False
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.heal()
        self._end_all()

    def _end_all(self) -> None:
        with self._lock:
            ended, self._open = self._open, []
        for each in ended:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            if not self._accepts:
                return
            try:
                server = self.dial()
            except OSError:
                return
            with server:
                with self._lock:
                    self._open += [client, server]
                there = threading.Thread(target=self._pass_on, args=(client, server, False), daemon=True)
                there.start()
                self._pass_on(server, client, True)
                there.join()
            with self._lock:
                self._open = [each for each in self._open if each not in (client, server)]

    def _pass_on(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with suppress(OSError):
            while content := source.recv(_BYTES):
                if not self._passes.is_set():
                    self._held.set()
                self._passes.wait()
                if is_answer:
                    self._answers.wait()
                target.sendall(content)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def to_port(port: int) -> Callable[[], socket.socket]:
    return lambda: socket.create_connection(("127.0.0.1", port))


def to_path(path: str) -> Callable[[], socket.socket]:
    def dial() -> socket.socket:
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connected.connect(path)
        except OSError:
            connected.close()
            raise
        return connected

    return dial


@contextmanager
def proxied(dial: Callable[[], socket.socket]) -> Iterator[Proxy]:
    proxy = Proxy(dial)
    try:
        yield proxy
    finally:
        proxy.close()
