"""onceover recrawl; what it shares with forget"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from crawler.cli.operate.options import Daemon, as_json, crawl_at, directory, of_daemon, show
from crawler.cli.options import duration_of
from crawler.cli.run.streams import say
from crawler.control.requests import ForgetSelected, Recrawl
from crawler.control.selections import Selected, Selection
from crawler.operate.reach import ReachedCrawl
from crawler.status import number_of

_SHOWN_EACH: Final = 100_000


@click.command()
@directory
@click.option("--host", metavar="HOST", help="Only URLs of HOST.")
@click.option("--matching", metavar="PATTERN", help="Only URLs in which PATTERN is found.")
@click.option(
    "--older-than",
    callback=duration_of,
    metavar="TIME",
    help="Only URLs whose last visit is older, as 7d, 12h or 30min.",
)
@click.option("--failed", is_flag=True, help="Only URLs that were given up.")
@click.option("--excluded", is_flag=True, help="Only URLs that a rule, such as robots.txt, has excluded.")
@click.option("--whole", is_flag=True, help="Have whole pages sent, also those that have not changed.")
@of_daemon
@as_json
def recrawl(  # noqa: PLR0913 - a command takes each of its options
    directory: Path,
    host: str | None,
    matching: str | None,
    older_than: float | None,
    failed: bool,
    excluded: bool,
    whole: bool,
    daemon: Daemon | None,
    as_json: bool,
) -> None:
    """Queue again what the crawl in DIR has fetched or given up. Without options, these are all URLs; with several,
    those to which all of them apply. With --excluded, queue what rules have excluded, because they were changed: what
    they still exclude is not fetched.

    Servers are asked whether the crawl's copies are still current. You can repeat an interrupted command: what waits
    already is not queued twice.
    """
    refuse_empty(host, matching)
    if failed and excluded:
        raise click.UsageError("no URL was both given up and excluded: leave out --failed or --excluded")
    which = Selection(
        host=host or "",
        matching=matching or "",
        # What is fetched again while this command runs, is not fetched once more.
        before=time.time() - (older_than or 0.0),
        failed=failed,
        excluded=excluded,
    )
    with crawl_at(directory, daemon, to_change=True) as crawl:
        select(
            crawl,
            lambda place: Recrawl(which=which, after=place, whole=whole),
            "queued again",
            host=host,
            as_json=as_json,
        )


def refuse_empty(host: str | None, matching: str | None) -> None:
    """A script may have lost what it meant to select by; without it, the command would select everything."""
    if host == "" or matching == "":
        raise click.UsageError("--host and --matching can't be empty: name a host or a pattern, or leave them out")


def select(
    crawl: ReachedCrawl,
    request: Callable[[str], ForgetSelected | Recrawl],
    done: str,
    *,
    host: str | None,
    as_json: bool,
) -> int:
    """Send a request for piece after piece of the ledger, and print what was done. Returns how many URLs wait that
    could not be taken. `host`: the only one whose URLs are selected."""
    looked_at = taken = waiting = 0
    place: str | None = ""
    while place is not None:
        piece = crawl.ask(request(place))
        shown = looked_at // _SHOWN_EACH
        looked_at += piece.looked_at
        taken += piece.taken
        waiting += piece.waiting
        if looked_at // _SHOWN_EACH > shown:
            say(f"{number_of(looked_at, 'URL')} looked at, {taken:,} {done}", to_stderr=True)
        place = piece.after
    if host and not looked_at:
        click.echo(f"the crawl has no URL of {host}", err=True)
    still = f"; {waiting:,} wait already" if waiting else ""
    selected = Selected(looked_at=looked_at, taken=taken, waiting=waiting, after=None)
    show(selected, f"{taken:,} of {number_of(looked_at, 'URL')} {done}{still}", as_json=as_json)
    return waiting
