"""A server that speaks as much of Redis as RedisBloom is asked with: exact sets under Bloom filters' names."""

import math
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class _Conversation(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Server)
        self.server.connections.append(self.connection)
        while count := self.rfile.readline():
            self.wfile.write(self._answer([self._argument() for _ in range(int(count[1:]))]))

    def _argument(self) -> bytes:
        length = int(self.rfile.readline()[1:])
        return self.rfile.read(length + 2)[:length]

    def _answer(self, words: list[bytes]) -> bytes:
        assert isinstance(self.server, _Server)
        sets = self.server.sets
        match words:
            case [b"HELLO", *_]:
                return b"%1\r\n+proto\r\n:3\r\n"
            case [b"BF.RESERVE", key, *_]:
                sets[key] = set()
            case [b"DEL", key]:
                return b":%d\r\n" % (sets.pop(key, None) is not None)
            case [b"BF.MADD", key, *urls]:
                if len(sets[key]) + len(urls) > self.server.most:
                    return b"*1\r\n-ERR non scaling filter is full\r\n"
                return _numbers([self._is_new(sets[key], url) for url in urls])
            case [b"BF.MEXISTS", key, *urls]:
                return _numbers([url in sets[key] for url in urls])
            case [b"MEMORY", b"USAGE", key, *_]:
                return b":%d\r\n" % (1000 + len(sets[key]))
        return b"+OK\r\n"

    @staticmethod
    def _is_new(known: set[bytes], url: bytes) -> bool:
        before = len(known)
        known.add(url)
        return len(known) > before


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    sets: dict[bytes, set[bytes]]
    most: float
    connections: list[socket.socket]


@contextmanager
def serving(*, most: float = math.inf) -> Iterator[tuple[str, dict[bytes, set[bytes]]]]:
    """The URL of a server, and what it holds: `most` URLs in a set."""
    with _Server(("127.0.0.1", 0), _Conversation) as server:
        server.sets, server.most, server.connections = {}, most, []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"redis://127.0.0.1:{server.server_address[1]}/0", server.sets
        finally:
            server.shutdown()
            thread.join()
            for connection in server.connections:
                with suppress(OSError):  # closed by the client
                    connection.shutdown(socket.SHUT_RDWR)


def _numbers(values: list[bool]) -> bytes:
    return b"*%d\r\n" % len(values) + b"".join(b":%d\r\n" % value for value in values)
