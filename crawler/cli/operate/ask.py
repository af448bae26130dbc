"""Answers one request to a crawl, for a daemon, whose event loop must not open what is stored."""

import sys
from pathlib import Path

import click
import msgspec

from crawler.cli.operate.options import directory
from crawler.control.replies import Refusal
from crawler.control.requests import Query
from crawler.control.wire import decode_request
from crawler.disk.unlocking import lock_changes
from crawler.operate.reach import reach
from crawler.operate.refused import Refused


@click.command("ask", hidden=True)
@directory
def ask(directory: Path) -> None:
    """Read a request, as running crawls take it, from stdin, and print the reply. A second line tells the state of the
    locks that the reply holds for; it is null if the crawl runs."""
    request = decode_request(sys.stdin.buffer.read())
    if isinstance(request, Refusal):
        raise Refused(request.message, request.exit_code)
    with reach(directory, to_change=not isinstance(request, Query)) as crawl:
        reply = crawl.ask(request)
        # While it has the locks: who takes them next may change what the reply tells.
        changes = None if crawl.is_running else lock_changes(directory)
    click.echo(msgspec.json.encode(reply))
    click.echo(msgspec.json.encode(changes))
