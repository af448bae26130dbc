"""onceover daemon"""

import asyncio
import os
from pathlib import Path
from typing import Final

import click

from crawler.cli.options import NumberRange, size_of
from crawler.cli.run.streams import say
from crawler.cli.serve.listening import listen_options
from crawler.codes.exit_codes import REFUSED
from crawler.library.log_form import Form
from crawler.serve.api.gate.tokens import TokenRefused
from crawler.serve.api.server import Listen, serving
from crawler.serve.daemon import Daemon, Options
from crawler.serve.life.facts import KeeperOptions, Restarts
from crawler.serve.logs import logging_daemon
from crawler.serve.machine import Limits
from crawler.serve.news.teller import telling_operator
from crawler.serve.notify import Supervisor
from crawler.serve.records import Home, HomeInUse

_SEEN_S: Final = 0.1
"""A crawl stays in state `crashed` for at least so long, so that everybody can see it."""


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@listen_options
@click.option("--leave-crawls", is_flag=True, help="When the daemon ends, leave its crawls running.")
@click.option(
    "--max-memory",
    callback=size_of,
    metavar="SIZE",
    help="Memory of all crawls together. Above it, the crawl that takes most is restarted.",
)
@click.option("--max-open-files", type=click.IntRange(min=16), metavar="N", help="Open files of all crawls.")
@click.option(
    "--min-free-disk",
    callback=size_of,
    default="500MB",
    show_default=True,
    metavar="SIZE",
    help="Run no crawl on a disk with less free space.",
)
@click.option(
    "--restart-delay",
    type=NumberRange(min=0.0, max=3600.0),
    default=Restarts().first_delay_s,
    show_default=True,
    metavar="S",
    help="Seconds after which a crawl is restarted that crashed; three times as long after each further crash.",
)
@click.option(
    "--notify",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, executable=True),
    metavar="PROGRAM",
    help="Start this program when the state of a crawl changes, with JSON on its standard input.",
)
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of messages."
)
def daemon(  # noqa: PLR0913 - a command takes each of its options
    directory: Path,
    listen: Listen | None,
    leave_crawls: bool,
    max_memory: int | None,
    max_open_files: int | None,
    min_free_disk: int,
    restart_delay: float,
    notify: Path | None,
    log_format: Form,
) -> int:
    """Run the crawls of the folder DIR. Each file NAME.toml in it is one.

    The daemon restarts crawls that crash, begins those anew that have a schedule, and keeps those that have finished.
    It tells on stderr what it does. SIGHUP makes it read the folder again. SIGTERM ends it, and its crawls in order;
    the next daemon goes on with them.
    """
    options = Options(
        limits=Limits(max_memory_bytes=max_memory, max_open_files=max_open_files, min_free_bytes=min_free_disk),
        keeper=KeeperOptions(restarts=Restarts(first_delay_s=max(restart_delay, _SEEN_S))),
        leave_crawls=leave_crawls,
    )
    try:
        with Home(directory.resolve()) as home, logging_daemon(home.log, log_format):
            asyncio.run(_serve(home, options, listen, notify and notify.absolute()))
    except (HomeInUse, TokenRefused) as error:
        say(f"onceover: {error}", to_stderr=True)
        return REFUSED
    return 0


async def _serve(home: Home, options: Options, listen: Listen | None, notify: Path | None) -> None:
    daemon = Daemon(home, options, Supervisor(os.environ))
    async with serving(daemon, listen), telling_operator(daemon, home.told, notify):
        await daemon.run()
