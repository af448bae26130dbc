"""nginx on loopback, serving a folder of files: a server as users have it."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crawler.testing.timeouts import MAX_WAIT_S
from tests.ports import free_port

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")

_CONFIGURATION = """
daemon off;
worker_processes 1;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
{affinity}
events {{ worker_connections 1024; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    sendfile on;
    keepalive_requests 1000000;
    {http}
    server {{
        listen 127.0.0.1:{port};
        root {root};
        index index.html;
        {server}
    }}
}}
"""


@contextmanager
def serving(root: Path, directory: Path, *, server: str = "", http: str = "", cpu: int | None = None) -> Iterator[int]:
    """Serve the files under `root`; yields the port. Its own files go to `directory`.

    `server` and `http` are directives for those blocks, `cpu` ties the worker to one core.
    """
    assert NGINX is not None, "nginx is not installed"
    port = free_port()
    affinity = "" if cpu is None else f"worker_cpu_affinity {1 << cpu:b};"
    user = "user root;" if _is_root() else ""
    text = _CONFIGURATION.format(
        directory=directory,
        affinity=f"{affinity}\n{user}",
        http=http,
        server=server,
        port=port,
        root=root,
    )
    configuration = directory / "nginx.conf"
    configuration.write_text(text)
    with subprocess.Popen(
        [NGINX, "-p", str(directory), "-c", str(configuration)], stderr=subprocess.DEVNULL
    ) as process:
        try:
            _await_port(port, process)
            yield port
        finally:
            process.terminate()
            process.wait(MAX_WAIT_S)


def _is_root() -> bool:
    return Path("/proc/self").stat().st_uid == 0


def _await_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + MAX_WAIT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise OSError(f"nginx ended with exit code {process.returncode}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=MAX_WAIT_S):
                return
        except OSError:
            time.sleep(0.02)
    raise OSError("nginx did not start in time")
