"""onceover start; what a daemon says of its crawls, for `onceover status`"""

from pathlib import Path

import click
import msgspec
from rich.table import Table

from crawler.cli.operate.options import Daemon, of_daemon
from crawler.cli.run.terminal import table_console
from crawler.control.daemon_client import DaemonClient
from crawler.disk.going_on import how_to_go_on
from crawler.operate.reach_daemon import DaemonCrawl, daemon_at
from crawler.operate.refused import reply_or_raise
from crawler.serve.api.forms import CrawlList
from crawler.serve.records import FOLDER
from crawler.status import number_of, size


@click.command()
@click.argument("directory", metavar="NAME", type=click.Path(path_type=Path))
@of_daemon
def start(directory: Path, daemon: Daemon | None) -> None:
    """Let the crawl NAME of a daemon run.

    It may be one that was stopped or is held, or that waits for its schedule. `onceover crawl` starts a crawl without a
    daemon.
    """
    if daemon is None:
        raise click.UsageError(
            f"expected --url of a daemon. Without one, this starts a crawl: {how_to_go_on(directory)}"
        )
    state = DaemonCrawl(daemon_at(daemon.url, daemon.token), str(directory)).start()
    click.echo(f"{directory} is {state}")


def list_crawls(home: Path, daemon: Daemon | None, *, as_json: bool) -> None:
    """Print the crawls of the daemon of a folder, or of the one at a URL. Raises `Refused` if it does not tell them."""
    client = DaemonClient.of_folder(home, home / FOLDER) if daemon is None else daemon_at(daemon.url, daemon.token)
    answer = reply_or_raise(client.ask(CrawlList, "GET", "crawls"))
    if as_json:
        click.echo(msgspec.json.encode(answer))
    else:
        show_crawls(f"the daemon {f'of {home}' if daemon is None else f'at {daemon.url}'}", answer)


def show_crawls(daemon: str, answer: CrawlList) -> None:
    crawls = answer.crawls
    running = sum(each.pid is not None for each in crawls)
    table = Table("name", "state", "pages", "memory", "why", box=None, pad_edge=False)
    for each in crawls:
        memory = "" if each.pid is None else size(each.memory_bytes)
        until = "" if each.until is None else f"; until {each.until}"
        table.add_row(each.name, each.state, f"{each.pages:,}", memory, f"{each.reason or ''}{until}")
    console = table_console()
    verb = "runs" if running == 1 else "run"
    console.print(f"{daemon} has {number_of(len(crawls), 'crawl')}, of which {running:,} {verb}")
    console.print(table)
    for each in crawls:
        if each.lines:
            click.echo("".join([f"{each.name}:", *(f"\n    {line}" for line in each.lines)]))
