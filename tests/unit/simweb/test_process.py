"""The simulated web in a process of its own."""

import http.client
import signal
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from crawler.simweb.log import read_json_lines
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.simweb.world import World
from crawler.testing.timeouts import MAX_WAIT_S

PARAMS = WorldParams(hosts=2, pages_per_host=3)
HOST = "h00001.sim.test"
MODULE = [sys.executable, "-m", "crawler.simweb"]


def get(port: int) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=MAX_WAIT_S)
    try:
        connection.request("GET", "/", headers={"Host": HOST})
        return connection.getresponse().read()
    finally:
        connection.close()


def is_served(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_server_runs_beside_us_for_as_long_as_the_block_lasts(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    with running(PARAMS, log_path=log, cpu=0) as port:
        assert get(port) == World(PARAMS).respond(HOST, "/").body
        assert [entry.host for entry in read_json_lines(log)] == [HOST]
    assert not is_served(port)


def test_a_server_that_cannot_start_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        running(PARAMS) as port,
        pytest.raises(OSError, match="did not start: exit code 1"),
        running(PARAMS, port=port),
    ):
        pass
    assert f"can't serve the simulated web on port {port}" in capfd.readouterr().err


def test_sigterm_ends_the_server_cleanly_and_the_port_is_in_its_file(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    params = msgspec.json.encode(PARAMS).decode()
    command = [*MODULE, "--params", params, "--port-file", str(port_file)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        assert int(port_file.read_text()) == port
        assert get(port) == World(PARAMS).respond(HOST, "/").body
        process.send_signal(signal.SIGTERM)
        assert process.wait(MAX_WAIT_S) == 0
    assert not is_served(port)


def test_the_server_ends_when_its_parent_is_killed() -> None:
    parent = (
        "import os, signal\n"
        "from crawler.simweb.params import WorldParams\n"
        "from crawler.simweb.process import running\n"
        "with running(WorldParams()) as port:\n"
        "    print(port, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    # The server holds the parent's stderr, so the end of that pipe is the end of both.
    done = subprocess.run([sys.executable, "-c", parent], capture_output=True, timeout=MAX_WAIT_S, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not is_served(int(done.stdout))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--params", '{"hosts": 0}'], "hosts must be at least 1, not 0"),
        (["--params", '{"host": 3}'], "unknown field `host`"),
        (["--bench", "7001"], "multiple of 250"),
    ],
)
def test_wrong_arguments_are_refused_with_the_reason(arguments: list[str], message: str) -> None:
    done = subprocess.run([*MODULE, *arguments], capture_output=True, text=True, timeout=MAX_WAIT_S, check=False)
    assert done.returncode == 2
    assert message in done.stderr
