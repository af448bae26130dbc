"""Shows how far a long copy is."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import click

from crawler.status import size

_EVERY_S: Final = 0.5


@contextmanager
def bytes_progress(done: str) -> Iterator[Callable[[int, int], None]]:
    """Shows bytes on a terminal, in one line that goes away at the end."""
    shows, next_at = sys.stderr.isatty(), 0.0

    def show(now: int, total: int) -> None:
        nonlocal next_at
        if shows and (at := time.monotonic()) >= next_at:
            next_at = at + _EVERY_S
            click.echo(f"\r{size(now)} of {size(total)} {done}\x1b[K", err=True, nl=False)

    try:
        yield show
    finally:
        if shows:
            click.echo("\r\x1b[K", err=True, nl=False)
