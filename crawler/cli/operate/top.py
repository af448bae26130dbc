"""onceover top"""

import time
from contextlib import suppress
from pathlib import Path

import click
import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from crawler.cli.operate.options import Daemon, as_json, crawl_at, directory, named, of_daemon, part, place
from crawler.cli.operate.pausing import part_rows, what_it_does
from crawler.cli.options import NumberRange
from crawler.cli.run.terminal import table_console
from crawler.control.replies import CrawlStatus, HostList
from crawler.control.requests import MAX_ITEMS, GetStatus, Top
from crawler.operate.reach import CrawlEnded, ReachedCrawl
from crawler.progress import frontier_rows, why
from crawler.status import number_of, rate

_LINES_BESIDE_HOSTS = 8
_LONG = ("host", "why")
_MAX_INTERVAL_S = 240.0
"""A crawl drops who says nothing for 300 s."""


@click.command()
@directory
@click.option("--match", default="", metavar="TEXT", help="Only hosts that contain TEXT.")
@click.option("--limit", type=click.IntRange(1, MAX_ITEMS), metavar="N", help="Hosts; by default, as many as fit.")
@click.option(
    "--interval",
    type=NumberRange(min=0.1, max=_MAX_INTERVAL_S),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to show them anew.",
)
@click.option("--once", is_flag=True, help="Print it once, as when stdout is not a terminal.")
@part
@of_daemon
@as_json
def top(
    directory: Path,
    match: str,
    limit: int | None,
    interval: float,
    once: bool,
    part: int | None,
    daemon: Daemon | None,
    as_json: bool,
) -> None:
    """Show the hosts of the crawl in DIR, and why each waits. This goes on until Ctrl-C or the end of the crawl."""
    directory = place(directory, part, daemon)
    console = table_console()
    with crawl_at(directory, daemon) as crawl:
        if as_json:
            click.echo(msgspec.json.encode(crawl.ask(Top(match=match, limit=limit or 50))))
            return
        if once or not console.is_terminal or not crawl.is_running:
            status = crawl.ask(GetStatus())
            console.print(screen(status, crawl.ask(Top(match=match, limit=limit or 50)), directory))
            return
        with suppress(KeyboardInterrupt):  # Ctrl-C is how people end this
            try:
                _watch(crawl, directory, match, limit, interval, console)
            except CrawlEnded:
                told = f"onceover status {named(directory, daemon)}"
                click.echo(f"The crawl has ended, or dropped the connection. `{told}` tells how far it is.")


def _watch(
    crawl: ReachedCrawl, directory: Path, match: str, limit: int | None, interval_s: float, console: Console
) -> None:
    with Live(console=console, auto_refresh=False, screen=True) as live:
        while True:
            status = crawl.ask(GetStatus())
            if not status.running:  # only a daemon answers for a crawl that has ended
                raise CrawlEnded
            shown = limit or max(1, console.height - _LINES_BESIDE_HOSTS - len(part_rows(status)))
            hosts = crawl.ask(Top(match=match, limit=shown))
            live.update(screen(status, hosts, directory), refresh=True)
            time.sleep(interval_s)


def screen(status: CrawlStatus, hosts: HostList, directory: Path) -> Group:
    lines = [_heading(status, directory)]
    lines += [f"{name:>5}  {value}" for name, value in frontier_rows(status.frontier)]
    lines += [f"{name}  {value}" for name, value in part_rows(status)]
    lines.append("" if status.run is None else " · ".join(why(status.run)))
    table = Table(box=None, pad_edge=False)
    in_parts = any(host.part is not msgspec.UNSET for host in hosts.hosts)
    for name in ("host", *(["part"] if in_parts else []), "state", "URLs", "spent", "until", "why"):
        # Long hosts and reasons are cut off, so that the columns between them have room.
        table.add_column(name, no_wrap=name not in _LONG, justify="right" if name in ("URLs", "spent") else "left")
    for host in hosts.hosts:
        until = "" if host.wake_at is None else host.wake_at[11:19]
        number = [str(host.part)] if in_parts else []
        host_name, reason = (Text(text, no_wrap=True, overflow="ellipsis") for text in (host.host, host.waits))
        table.add_row(host_name, *number, host.state, f"{host.size:,}", f"{host.spent:,}", until, reason)
    left = [Text(f"and {hosts.left:,} more; --limit or --match shows them")] if hosts.left else []
    return Group(*map(Text, lines), table, *left)


def _heading(status: CrawlStatus, directory: Path) -> str:
    run = status.run
    if run is None:
        return f"{directory} does not run"
    return f"{directory} {what_it_does(status)}: {number_of(run.pages, 'page')}, {rate(run.recent_pages_per_s)}"
