"""onceover add, forget, recrawl"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import click
import msgspec

from config import ConfigError, Problem, read_seeds
from crawler.cli.operate.options import Daemon, as_json, crawl_at, directory, of_daemon, show
from crawler.cli.options import age_of
from crawler.cli.run.streams import say, say_result
from crawler.codes.exit_codes import COMPLETE, FAILED
from crawler.control.replies import Judged, JudgedUrl
from crawler.control.requests import MAX_PRECEDENCE, Add, Forget, ForgetSelected, Recrawl, Request
from crawler.control.selections import Selected, Selection
from crawler.control.wire import MAX_REQUEST_BYTES, in_requests
from crawler.operate.reach import ReachedCrawl
from crawler.status import number_of

_PIECE_BYTES: Final = MAX_REQUEST_BYTES // 8
"""A URL as JSON may take six times its characters."""
_MAX_URL: Final = _PIECE_BYTES // 8
_SHOWN_EACH: Final = 20
_FAILURES: Final = frozenset({"refused", "invalid", "waits"})

_urls = click.argument("urls", metavar="[URL]...", nargs=-1)
_from_file = click.option(
    "--from",
    "file",
    type=click.File("rb"),
    metavar="FILE",
    help="Take URLs from FILE too, one on each line, in UTF-8. # at the start of a line or after a space begins a "
    "comment. - is standard input.",
)


_TOLD_EACH: Final = 100_000


@click.command()
@directory
@_urls
@_from_file
@click.option(
    "--precedence",
    type=click.IntRange(0, MAX_PRECEDENCE),
    metavar="N",
    help="When they are fetched: 0 first, 255 last. By default, like seeds.",
)
@click.option("--force", is_flag=True, help="Also fetch what was fetched before, or is out of scope.")
@of_daemon
@as_json
def add(
    directory: Path,
    urls: tuple[str, ...],
    file: BinaryIO | None,
    precedence: int | None,
    force: bool,
    daemon: Daemon | None,
    as_json: bool,
) -> int:
    """Add each URL to the queues of the crawl in DIR.

    URLs that the crawl knows are not added again, so you can repeat the command. Exits with 1 if a URL was refused or
    invalid.
    """
    given = _given(urls, file)
    with crawl_at(directory, daemon, to_change=True) as crawl:
        return _send(
            crawl,
            given,
            lambda piece: Add(urls=piece, precedence=precedence, force=force),
            as_json=as_json,
            failures=_FAILURES - {"waits"},
        )


@click.command()
@directory
@_urls
@_from_file
@click.option("--host", metavar="HOST", help="Forget all URLs of HOST.")
@click.option("--matching", metavar="PATTERN", help="Forget all URLs in which PATTERN is found; with --host, of these.")
@of_daemon
@as_json
def forget(
    directory: Path,
    urls: tuple[str, ...],
    file: BinaryIO | None,
    host: str | None,
    matching: str | None,
    daemon: Daemon | None,
    as_json: bool,
) -> int:
    """Forget each URL, as if the crawl in DIR had never met it. When a page links to it, it is fetched again.

    URLs that are still to be fetched are kept, and invalid ones left out; then the command exits with 1.
    """
    if host is None and matching is None:
        given = _given(urls, file)
        with crawl_at(directory, daemon, to_change=True) as crawl:
            return _send(crawl, given, lambda piece: Forget(urls=piece), as_json=as_json, failures=_FAILURES)
    if urls or file is not None:
        raise click.UsageError("expected URLs, or --host and --matching, found both: give one of them")
    refuse_empty(host, matching)
    which = Selection(host=host or "", matching=matching or "")
    with crawl_at(directory, daemon, to_change=True) as crawl:
        waiting = select(
            crawl, lambda place: ForgetSelected(which=which, after=place), "forgotten", host=host, as_json=as_json
        )
    return FAILED if waiting else COMPLETE


def _given(urls: Sequence[str], file: BinaryIO | None) -> list[str]:
    """All URLs. A file is read whole before anything is sent, so nothing of a file with a mistake is added."""
    if not urls and file is None:
        raise click.UsageError("there is no URL: name some, or a file with --from")
    given = list(urls)
    if file is not None:
        name = "standard input" if file is sys.stdin.buffer else click.format_filename(file.name)
        seeds = read_seeds(file.read(), name=name)
        if isinstance(seeds, Problem):
            raise ConfigError([seeds])
        given += (seed.url for seed in seeds)
    for url in given:
        if len(url) > _MAX_URL:
            raise click.UsageError(f"expected URLs of at most {_MAX_URL:,} characters, found {len(url):,}: {url[:80]}…")
    return given


def _send(
    crawl: ReachedCrawl,
    urls: Sequence[str],
    request: Callable[[list[str]], Request[Judged]],
    *,
    as_json: bool,
    failures: frozenset[str],
) -> int:
    counts: Counter[str] = Counter()
    for piece in in_requests(urls, max_size=_PIECE_BYTES):
        for each in crawl.ask(request(piece)).urls:
            counts[each.outcome] += 1
            if as_json:
                say_result(msgspec.json.encode(each))
            elif each.outcome in failures:
                say(_line(each), to_stderr=True)
            elif counts.total() <= _SHOWN_EACH:
                say_result(_line(each))
    if not as_json and counts.total() > _SHOWN_EACH:
        say_result(", ".join(f"{outcome}: {count:,}" for outcome, count in counts.most_common()))
    return FAILED if any(counts[outcome] for outcome in failures) else COMPLETE


def _line(judged: JudgedUrl) -> str:
    reason = "" if judged.reason is None else f" ({judged.reason})"
    return f"{judged.outcome:>9}  {judged.url}{reason}"


@click.command()
@directory
@click.option("--host", metavar="HOST", help="Only URLs of HOST.")
@click.option("--matching", metavar="PATTERN", help="Only URLs in which PATTERN is found.")
@click.option(
    "--older-than",
    callback=age_of,
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
    those to which all of them apply. With --excluded, queue what rules have excluded, after you have changed them:
    what they still exclude is not fetched.

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
        shown = looked_at // _TOLD_EACH
        looked_at += piece.looked_at
        taken += piece.taken
        waiting += piece.waiting
        if looked_at // _TOLD_EACH > shown:
            say(f"{number_of(looked_at, 'URL')} looked at, {taken:,} {done}", to_stderr=True)
        place = piece.after
    if host and not looked_at:
        click.echo(f"the crawl has no URL of {host}", err=True)
    still = f"; {waiting:,} wait already" if waiting else ""
    selected = Selected(looked_at=looked_at, taken=taken, waiting=waiting, after=None)
    show(selected, f"{taken:,} of {number_of(looked_at, 'URL')} {done}{still}", as_json=as_json)
    return waiting
