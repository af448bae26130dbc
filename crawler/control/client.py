"""Asks a running crawl, and blocks until it has answered."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from crawler.control import address
from crawler.control.process import pid_of, why_silent, why_stopped
from crawler.control.replies import Refusal
from crawler.control.requests import Request, reply_type
from crawler.control.wire import END, MAX_REPLY_BYTES, BadReply, decode_reply, encode_request

SILENCE_S: Final = 10.0
"""A crawl that says nothing for this long does not answer."""
_READ_BYTES: Final = 1 << 18

_Reply = TypeVar("_Reply", bound=msgspec.Struct)


class NoAnswer(Exception):
    """A crawl did not answer. The message says why, and what to do."""


class ConnectionLost(Exception):
    """The crawl has closed the connection, as it does when it ends."""


def failed_to_answer(
    error: Exception, pid: int | None, silence_s: float, *, is_sent: bool
) -> NoAnswer | ConnectionLost:
    """What to raise for an error of a connection over which a request was sent, at least in part."""
    if isinstance(error, TimeoutError | BlockingIOError):
        return NoAnswer(why_silent(pid, silence_s, is_sent=is_sent))
    if isinstance(error, OSError | EOFError):
        return ConnectionLost("the crawl has closed the connection")
    return NoAnswer(f"process {pid or 'unknown'} sent something else than a reply: {error}")


def failed_to_connect(error: OSError, directory: Path, silence_s: float) -> NoAnswer | address.SocketRefused:
    """What to raise if a crawl listens, and can't be reached."""
    if isinstance(error, TimeoutError | BlockingIOError):
        return NoAnswer(why_silent(None, silence_s))
    return address.SocketRefused(
        f"the crawl in {directory} can't be reached: {error.strerror or error}; run the command as the user of the "
        "crawl"
    )


class Connection:
    """A connection to a running crawl; `connect` makes it."""

    def __init__(self, connection: socket.socket, silence_s: float) -> None:
        self._connection = connection
        self._silence_s = silence_s
        self._buffer = bytearray()
        self.pid = pid_of(connection)

    def ask(self, request: Request[_Reply], *, on_working: Callable[[], object] = lambda: None) -> _Reply | Refusal:
        """The reply to a request. Calls `on_working` each time that the crawl says that it still works on it. Raises
        `NoAnswer` and `ConnectionLost`, after which the connection is useless, and `ValueError` if the request is too
        long. A process that is stopped is sent nothing, so that it does not carry out later what was refused."""
        line = encode_request(request)
        stopped = why_stopped(self.pid)
        if stopped is not None:
            raise NoAnswer(stopped)
        is_sent = False
        try:
            self._connection.sendall(line)
            is_sent = True
            while True:
                reply = decode_reply(self._read_line(), reply_type(request))
                if reply is not None:
                    return reply
                on_working()
        except (OSError, BadReply) as error:
            raise failed_to_answer(error, self.pid, self._silence_s, is_sent=is_sent) from error

    def wait_for_end(self) -> None:
        """Wait until the crawl closes the connection."""
        self._connection.settimeout(None)
        try:
            while self._connection.recv(_READ_BYTES):
                pass
        except OSError:
            return

    def _read_line(self) -> bytes:
        buffer, searched = self._buffer, 0
        while (end := buffer.find(END, searched)) < 0:
            searched = len(buffer)
            if searched > MAX_REPLY_BYTES:
                raise BadReply(f"a line of more than {MAX_REPLY_BYTES:,} bytes")
            received = self._connection.recv(_READ_BYTES)
            if not received:
                raise ConnectionLost("the crawl has closed the connection")
            buffer += received
        line = bytes(buffer[: end + 1])
        del buffer[: end + 1]
        return line


@contextmanager
def connect(directory: Path, *, silence_s: float = SILENCE_S) -> Iterator[Connection | None]:
    """A connection to the crawl in a directory; None if none listens there. Raises `SocketRefused` and `NoAnswer`."""
    if address.check(directory):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            if _has_connected(connection, directory, silence_s):
                yield Connection(connection, silence_s)
                return
    yield None


def _has_connected(connection: socket.socket, directory: Path, silence_s: float) -> bool:
    try:
        connection.settimeout(silence_s)
        with address.address(directory) as short:
            connection.connect(short)
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    except OSError as error:
        raise failed_to_connect(error, directory, silence_s) from error
    return True
