"""Tells people on a terminal how a run goes: a live table, with messages above it."""

import asyncio
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from crawler.progress import ReadStatus, rows_of, why
from crawler.status import Status

LIVE_INTERVAL_S: Final = 0.5


class Drawing:
    """`Diagnostics` for a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def tell(self, text: str, /) -> None:
        self._console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)

    async def show_progress(self, read: ReadStatus, /, *, interval_s: float) -> None:
        live = Live(table(read()), console=self._console, auto_refresh=False, transient=True)
        with live:
            while True:
                await asyncio.sleep(LIVE_INTERVAL_S)
                live.update(table(read()), refresh=True)


def table(status: Status) -> Group:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", justify="right")
    grid.add_column(overflow="fold")
    for name, value in rows_of(status):
        grid.add_row(name, Text(value))
    # The last line is always there, so that the lines above do not jump.
    return Group(grid, Text(" · ".join(why(status)), style="yellow"))
