"""onceover status, pause, resume, stop"""

import shlex
import textwrap
from pathlib import Path

import click
import msgspec

from crawler.cli.operate.options import as_json, directory
from crawler.control.replies import CrawlStatus, PauseState, Stopping
from crawler.control.requests import MAX_REASON, GetStatus, Pause, Resume, Stop
from crawler.operate.reach import CrawlEnded, reach, wait_until_unlocked
from crawler.progress import frontier_rows, rows_of
from crawler.status import number_of

_WIDTH = 80


@click.command()
@directory
@as_json
def status(directory: Path, as_json: bool) -> None:
    """Show whether the crawl in DIR runs, how far it is, and why it waits."""
    with reach(directory) as crawl:
        found = crawl.ask(GetStatus(), CrawlStatus)
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    for line in status_lines(found, directory):
        click.echo(line)


def status_lines(found: CrawlStatus, directory: Path) -> list[str]:
    """The status for people."""
    lines = [_heading(found, directory)]
    rows = frontier_rows(found.frontier) if found.run is None else rows_of(found.run)
    if found.run is not None and found.run.waiting is not None:
        rows.append(("waits", found.run.waiting))
    for name, value in rows:
        head = f"{name:>10}  "
        lines += textwrap.wrap(value, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    return lines


def _heading(found: CrawlStatus, directory: Path) -> str:
    paused = "" if found.paused is None else f", and is paused: {found.paused}"
    if found.running:
        does = "is stopping" if found.stopping else "runs"
        return f"{directory} {does} in process {found.pid}{paused}"
    if not found.frontier.pending and not found.frontier.retrying:
        return f"{directory} does not run, and has nothing left to fetch{paused}"
    return f"{directory} does not run{paused}. To go on: {_how_to_go_on(directory, is_paused=bool(paused))}"


def _how_to_go_on(directory: Path, *, is_paused: bool) -> str:
    where = shlex.quote(str(directory))
    go_on = f"onceover crawl --dir {where}"
    return f"onceover resume {where}, then {go_on}" if is_paused else go_on


def _check_reason(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not 0 < len(value) <= MAX_REASON:
        raise click.BadParameter(f"expected 1 to {MAX_REASON:,} characters, found {len(value):,}")
    return value


@click.command()
@directory
@click.option(
    "--reason",
    default="paused by the operator",
    show_default=True,
    callback=_check_reason,
    help="Shown while the crawl is paused.",
)
@as_json
def pause(directory: Path, reason: str, as_json: bool) -> None:
    """Pause the crawl in DIR: until you resume it, it fetches nothing, whoever starts it.

    A running crawl finishes the URLs in flight, and then waits.
    """
    with reach(directory, to_change=True) as crawl:
        state = crawl.ask(Pause(reason=reason), PauseState)
    if as_json:
        click.echo(msgspec.json.encode(state))
        return
    first = f"; {_in_flight(state.in_flight)} finished first" if state.in_flight else ""
    click.echo(f"{directory} is paused: {reason}{first}")


@click.command()
@directory
@as_json
def resume(directory: Path, as_json: bool) -> None:
    """End a pause of the crawl in DIR."""
    with reach(directory, to_change=True) as crawl:
        state = crawl.ask(Resume(), PauseState)
    if as_json:
        click.echo(msgspec.json.encode(state))
        return
    start = "" if state.running else f": `{_how_to_go_on(directory, is_paused=False)}` goes on"
    click.echo(f"{directory} is no longer paused{start}")


@click.command()
@directory
@click.option("--now", is_flag=True, help="Drop the URLs in flight; the next run fetches them again.")
@click.option("--no-wait", is_flag=True, help="Do not wait until the crawl has stopped.")
@as_json
def stop(directory: Path, now: bool, no_wait: bool, as_json: bool) -> None:
    """Stop the crawl in DIR, as Ctrl-C does: it finishes the URLs in flight, and exits with 4.

    The command waits for that.
    """
    with reach(directory) as crawl:
        try:
            stopping = crawl.ask(Stop(now=now), Stopping)
        except CrawlEnded:
            stopping = Stopping(was_running=True)
        if stopping.was_running and not no_wait:
            if not as_json:
                how = "at once" if now else f"when {_in_flight(stopping.in_flight)} done"
                click.echo(f"Stopping {how}.", err=True)
            crawl.wait_for_end()
    if not no_wait:
        wait_until_unlocked(directory)
    if as_json:
        click.echo(msgspec.json.encode(stopping))
    elif not stopping.was_running:
        click.echo(f"{directory} does not run")
    else:
        go_on = _how_to_go_on(directory, is_paused=False)
        click.echo(f"{directory} {'is stopping' if no_wait else 'has stopped'}. To go on: {go_on}")


def _in_flight(count: int) -> str:
    return number_of(count, "URL in flight is", "URLs in flight are")
