"""The process that `tests.e2e.forks` starts: it imports the program once, and forks for each command.

Its argument is the number of a listening socket. A connection brings one request; it is answered with the number of the
new process, and with its exit code when it has ended.
"""

import gc
import json
import os
import selectors
import signal
import socket
import sys
from importlib import import_module
from typing import TypedDict

import onceover_crawler

IMPORTED = (
    "chardet.pipeline.orchestrator",
    "crawler.cli.configure",
    "crawler.cli.crawl",
    "crawler.cli.errors",
    "crawler.cli.inspect",
    "crawler.cli.operate.pausing",
    "crawler.cli.run.interrupts",
    "crawler.cli.run.parts",
    "crawler.cli.run.running",
    "crawler.read.feeds.feeds",
    "crawler.write.warc",
    "frontier.states.leveldb",
    "frontier.upkeep.fsck",
    "lxml.etree",
    "tomllib",
    "uvloop",
    "visited.digests.exact",
)
"""What the most frequent commands import when they are called. Other commands import the rest then."""
PID, CODE = b"pid ", b"code "
"""With which the answers begin."""
LONGEST_REQUEST_BYTES = 1 << 18


class Request(TypedDict):
    """A command, where it runs, which signals it ignores, and whether it begins a session of its own."""

    command: list[str]
    folder: str
    environment: dict[str, str]
    ignored: list[int]
    is_session: bool


def serve(listener: socket.socket) -> None:
    """Returns in each fork, which is ready to run its command. The process ends when its standard input ends."""
    running: dict[int, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as selector, listener:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == 0:
                    sys.exit()
                if key.fd in running:
                    selector.unregister(key.fd)
                    _tell_end(key.fd, *running.pop(key.fd))
                    continue
                connection, _ = listener.accept()
                request, streams, _, _ = socket.recv_fds(connection, LONGEST_REQUEST_BYTES, 3)
                if (pid := os.fork()) == 0:
                    for descriptor, (_, other) in running.items():
                        os.close(descriptor)
                        other.close()
                    _prepare(json.loads(request), streams)
                    with connection:
                        connection.send(PID + str(os.getpid()).encode())  # from now on it may get signals
                    return
                for stream in streams:
                    os.close(stream)
                ended = os.pidfd_open(pid)
                running[ended] = (pid, connection)
                selector.register(ended, selectors.EVENT_READ)


def _tell_end(descriptor: int, pid: int, connection: socket.socket) -> None:
    os.close(descriptor)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with connection:
        connection.send(CODE + str(code).encode(), socket.MSG_NOSIGNAL)


def _prepare(request: Request, streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    if request["is_session"]:
        os.setsid()
    for number in request["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    sys.argv = request["command"]
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))


if __name__ == "__main__":
    for name in IMPORTED:
        import_module(name)
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
    onceover_crawler.main()
