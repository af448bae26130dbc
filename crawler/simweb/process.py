"""Runs a simulated web in a process of its own, so that a test can kill the crawler, or measure it on another core."""

import asyncio
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from crawler.simweb.log import json_lines
from crawler.simweb.params import WorldParams
from crawler.simweb.server import serve
from crawler.simweb.world import World

_EXIT_TIMEOUT_S = 10.0


class Connections(msgspec.Struct, frozen=True, kw_only=True):
    """What connections to a simulated web are like."""

    certificate: Path | None = None
    """A file in PEM with the private key and the chain of certificates, to speak TLS; None to speak plain HTTP."""
    keep_alive: bool = True
    """Whether a connection stays open after a response."""

    def tls(self) -> ssl.SSLContext | None:
        if self.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        return context


PLAIN: Final = Connections()


async def serve_until_stopped(
    params: WorldParams,
    *,
    port: int = 0,
    log_path: Path | None = None,
    port_file: Path | None = None,
    cache_bytes: int = 64_000_000,
    connections: Connections = PLAIN,
    stop_at_end_of_stdin: bool = False,
    began: Callable[[], object] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT. With `stop_at_end_of_stdin` also until stdin ends, such as when the parent dies.

    Once it accepts connections, it writes the port to stdout, as one line, and to `port_file`, atomically; then it
    calls `began`.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    stdin = sys.stdin.fileno() if stop_at_end_of_stdin else None
    if stdin is not None:
        loop.add_reader(stdin, _drain, stdin, stopped)
    try:
        with ExitStack() as stack:
            log = stack.enter_context(json_lines(log_path)) if log_path else None
            async with serve(
                World(params),
                port=port,
                log=log,
                cache_bytes=cache_bytes,
                tls=connections.tls(),
                keep_alive=connections.keep_alive,
            ) as server:
                _announce(server.port, port_file)
                began()
                await stopped.wait()
    finally:
        if stdin is not None:
            loop.remove_reader(stdin)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


@contextmanager
def running(
    params: WorldParams,
    *,
    port: int = 0,
    log_path: Path | None = None,
    cache_bytes: int = 64_000_000,
    cpu: int | None = None,
    connections: Connections = PLAIN,
) -> Iterator[int]:
    """Run a server in a process of its own until the block ends; yields its port.

    It ends with the parent, however the parent ends. `cpu` binds it to one core. Raises `OSError` if it can't start,
    for example because the port is in use. It shares the parent's stderr.
    """
    command = [sys.executable, "-m", "crawler.simweb", "--stop-with-stdin", "--port", str(port)]
    command += ["--params", msgspec.json.encode(params).decode(), "--cache-bytes", str(cache_bytes)]
    if log_path is not None:
        command += ["--log", str(log_path)]
    if cpu is not None:
        command += ["--cpu", str(cpu)]
    if connections.certificate is not None:
        command += ["--certificate", str(connections.certificate)]
    if not connections.keep_alive:
        command += ["--close"]
    # In a group of its own: Ctrl-C in the parent's terminal must not stop the server while pages are in flight.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise OSError(f"the simulated web did not start: exit code {process.wait(_EXIT_TIMEOUT_S)}")
            yield int(line)
        finally:
            process.stdin.close()
            try:
                process.wait(_EXIT_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _drain(stdin: int, ended: asyncio.Event) -> None:
    if not os.read(stdin, 4096):
        ended.set()


def _announce(port: int, port_file: Path | None) -> None:
    if port_file is not None:
        partial = port_file.with_name(f"{port_file.name}.partial")
        partial.write_text(f"{port}\n")
        partial.replace(port_file)
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
