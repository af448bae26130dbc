"""What becomes of a request to a process that somebody has stopped."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crawler.control.asking import open_channel
from crawler.control.client import NoAnswer, connect
from crawler.control.requests import Pause
from crawler.testing.timeouts import MAX_WAIT_S

LISTENER = """
import os, signal, sys
from pathlib import Path
from crawler.control import address

listening = address.listen(Path(sys.argv[1]))
listening.setblocking(True)
print("listens", flush=True)
if sys.argv[2] == "before":
    os.kill(os.getpid(), signal.SIGSTOP)
connection, _ = listening.accept()
received = connection.recv(1 << 16)
if sys.argv[2] == "after":
    os.kill(os.getpid(), signal.SIGSTOP)
sys.stdout.buffer.write(received)
"""
"""Stops itself before it accepts a client, or after it has read a request; then prints what it has read."""
SILENCE_S = 3.0


def ask_and_block(directory: Path) -> None:
    with connect(directory, silence_s=SILENCE_S) as connection:
        assert connection is not None
        connection.ask(Pause(reason="a"))


def ask_in_a_loop(directory: Path) -> None:
    async def ask() -> None:
        async with open_channel(directory, silence_s=SILENCE_S) as channel:
            assert channel is not None
            await channel.ask(Pause(reason="a"))

    asyncio.run(ask())


asks = pytest.mark.parametrize("ask", [ask_and_block, ask_in_a_loop])


@contextmanager
def listener(directory: Path, stops: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", LISTENER, str(directory), stops], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"listens\n"
            yield process
        finally:
            process.kill()


def goes_on(process: subprocess.Popen[bytes]) -> bytes:
    """What it has read."""
    process.send_signal(signal.SIGCONT)
    return process.communicate(timeout=MAX_WAIT_S)[0]


@asks
def test_a_stopped_process_is_sent_nothing(tmp_path: Path, ask: Callable[[Path], None]) -> None:
    with listener(tmp_path, "before") as process:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        with pytest.raises(NoAnswer, match=f"process {process.pid}, .* is stopped .* then try again"):
            ask(tmp_path)
        assert goes_on(process) == b""


@asks
def test_who_asks_a_process_that_is_stopped_before_it_answers_learns_that_it_has_the_request(
    tmp_path: Path, ask: Callable[[Path], None]
) -> None:
    with listener(tmp_path, "after") as process:
        with pytest.raises(NoAnswer, match=f"process {process.pid}, .* is stopped .* it then carries out the request"):
            ask(tmp_path)
        assert b'"pause"' in goes_on(process)
