"""What a daemon says of its crawls, for `onceover status`."""

import shlex
import socket
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

import click
import msgspec
from rich.table import Table

from crawler.cli.run.terminal import results_console
from crawler.codes.exit_codes import FAILED, REFUSED
from crawler.control.address import address
from crawler.operate.refused import Refused
from crawler.serve.api.forms import CrawlList
from crawler.serve.api.server import SOCKET
from crawler.serve.records import FOLDER
from crawler.status import number_of, size

_TIMEOUT_S: Final = 10.0
_WIDE: Final = 1000
"""Columns where nobody looks at a screen."""


class _Local(HTTPConnection):
    """A connection to the socket of a daemon."""

    def __init__(self, home: Path) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._home = home

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_TIMEOUT_S)
        with address(self._home / FOLDER, SOCKET) as short:
            self.sock.connect(short)


def ask_for_crawls(home: Path) -> bytes:
    """The crawls of the daemon that serves a folder, as JSON. Raises `Refused` if it does not tell them."""
    connection, name = _Local(home), shlex.quote(str(home))
    try:
        connection.request("GET", "/api/v1/crawls")
        response = connection.getresponse()
        body = response.read()
    except (FileNotFoundError, ConnectionRefusedError) as error:
        what = f"`onceover daemon {name}` starts one, and `onceover status {name}/crawls/NAME` tells of a crawl"
        raise Refused(f"no daemon serves {home}: {what}", REFUSED) from error
    except PermissionError as error:
        raise Refused(f"the daemon of {home} belongs to another user: run the command as that user", REFUSED) from error
    except (TimeoutError, HTTPException, ConnectionError) as error:
        what = f"try again; its log is {home / FOLDER / 'daemon.log'}"
        raise Refused(f"the daemon of {home} does not answer: {what}", FAILED) from error
    finally:
        connection.close()
    if response.status != HTTPStatus.OK:
        raise Refused(f"the daemon of {home} answers {response.status}: {body[:300].decode(errors='replace')}", FAILED)
    return body


def show_crawls(home: Path, body: bytes) -> None:
    """Print them for people."""
    crawls = msgspec.json.decode(body, type=CrawlList).crawls
    running = sum(each.pid is not None for each in crawls)
    table = Table("name", "state", "pages", "memory", "why", box=None, pad_edge=False)
    for each in crawls:
        memory = "" if each.pid is None else size(each.memory_bytes)
        until = "" if each.until is None else f"; until {each.until}"
        table.add_row(each.name, each.state, f"{each.pages:,}", memory, f"{each.reason or ''}{until}")
    console = results_console()
    console = console if console.is_terminal else results_console(width=_WIDE)
    verb = "runs" if running == 1 else "run"
    console.print(f"the daemon of {home} has {number_of(len(crawls), 'crawl')}, of which {running:,} {verb}")
    console.print(table)
    for each in crawls:
        if each.lines:
            click.echo("".join([f"{each.name}:", *(f"\n    {line}" for line in each.lines)]))
