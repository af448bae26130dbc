"""onceover status, pause, resume, stop"""

import shlex
import textwrap
from pathlib import Path

import click
import msgspec

from crawler.cli.operate.options import as_json, directory, note_elsewhere, part, place
from crawler.control.replies import CrawlStatus, PartStatus, PauseState, Stopping
from crawler.control.requests import GetStatus, Pause, Resume, Stop, checked_reason
from crawler.course.text import course_rows, left_text
from crawler.disk.going_on import how_to_go_on
from crawler.disk.unlocking import wait_until_unlocked
from crawler.operate.course import course_of
from crawler.operate.opening import is_of_daemon
from crawler.operate.reach import CrawlEnded, reach
from crawler.progress import frontier_rows, rows_of, visit_rows
from crawler.status import number_of, rate

_WIDTH = 80


@click.command()
@directory
@part
@as_json
def status(directory: Path, part: int | None, as_json: bool) -> None:
    """Show how far the crawl in DIR is, and why it waits. Also show whether it runs.

    If DIR is the folder of a daemon, list its crawls.
    """
    if part is None and is_of_daemon(directory):
        # Only this needs the daemon's code, which takes long to import.
        from crawler.cli.serve.crawls import ask_for_crawls, show_crawls  # noqa: PLC0415 - see above

        crawls = ask_for_crawls(directory)
        if as_json:
            click.echo(crawls)
        else:
            show_crawls(directory, crawls)
        return
    directory = place(directory, part)
    note_elsewhere(directory)
    with reach(directory) as crawl:
        found = crawl.ask(GetStatus(), CrawlStatus)
    found = msgspec.structs.replace(found, course=course_of(directory, found))
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    for line in status_lines(found, directory):
        click.echo(line)


def status_lines(found: CrawlStatus, directory: Path) -> list[str]:
    """The status for people."""
    lines = [_heading(found, directory)]
    rows = rows_of(found.run) if found.run is not None else frontier_rows(found.frontier) + visit_rows(found.frontier)
    if found.run is not None and found.run.waiting is not None:
        rows.append(("waits", found.run.waiting))
    if found.run is not None and found.run.links_wait is not None:
        rows.append(("links wait", found.run.links_wait))
    if found.remaining is not None:
        share = "" if found.share_done is None else f"{found.share_done:.1%} of what is known · "
        rows.append(("done", f"{share}left: {left_text(found.remaining)}"))
    rows += part_rows(found)
    rows += course_rows(found.course or ())
    for name, value in rows:
        head = f"{name:>10}  "
        lines += textwrap.wrap(value, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    return lines


def _heading(found: CrawlStatus, directory: Path) -> str:
    paused = "" if found.paused is None else f", and is paused: {found.paused}"
    if found.running:
        return f"{directory} {what_it_does(found)}{paused}"
    can_tell = all(each.status is not None for each in found.parts or ())
    if can_tell and not found.frontier.pending and not found.frontier.retrying:
        return f"{directory} does not run, and has nothing left to fetch{paused}"
    return f"{directory} does not run{paused}. To go on: {_how_to_go_on(directory, is_paused=bool(paused))}"


def what_it_does(found: CrawlStatus) -> str:
    """What a running crawl does, and in which process."""
    if found.pid is None and found.parts:
        running = sum(each.status is not None and each.status.running for each in found.parts)
        return f"is ending: {running} of its {len(found.parts)} parts still run, and no process watches over them"
    return f"{'is stopping' if found.stopping else 'runs'} in process {found.pid}"


def part_rows(found: CrawlStatus) -> list[tuple[str, str]]:
    """One row for each part of a crawl in parts."""
    return [(f"part {each.part}", _part(each)) for each in found.parts or ()]


def _part(part: PartStatus) -> str:
    if part.status is None:
        return part.error or "does not answer"
    status, frontier = part.status, part.status.frontier
    texts = [f"{frontier.queued:,} queued"]
    if status.run is not None:
        run = status.run
        texts = [number_of(run.pages, "page"), rate(run.recent_pages_per_s), *texts, f"process {status.pid}"]
    else:
        texts += [f"{frontier.settled:,} of {frontier.admitted:,} settled", "does not run"]
    paused = status.paused or frontier.paused  # by an operator, or for want of disk space, for example
    if paused is not None:
        texts.append(f"paused: {paused}")
    return " · ".join(texts)


def _how_to_go_on(directory: Path, *, is_paused: bool) -> str:
    go_on = how_to_go_on(directory)
    return f"onceover resume {shlex.quote(str(directory))}, then {go_on}" if is_paused else go_on


def _check_reason(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    try:
        return checked_reason(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@directory
@click.option(
    "--reason",
    default="paused by the operator",
    show_default=True,
    callback=_check_reason,
    help="Shown while the crawl is paused.",
)
@part
@as_json
def pause(directory: Path, reason: str, part: int | None, as_json: bool) -> None:
    """Pause the crawl in DIR. Until you resume it, it fetches nothing, whoever starts it.

    A running crawl finishes the URLs in flight, and then waits.
    """
    directory = place(directory, part)
    with reach(directory, to_change=True) as crawl:
        state = crawl.ask(Pause(reason=reason), PauseState)
    if as_json:
        click.echo(msgspec.json.encode(state))
        return
    first = f"; {_in_flight(state.in_flight)} finished first" if state.in_flight else ""
    click.echo(f"{directory} is paused: {reason}{first}")


@click.command()
@directory
@part
@as_json
def resume(directory: Path, part: int | None, as_json: bool) -> None:
    """End a pause of the crawl in DIR."""
    directory = place(directory, part)
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
    """Stop the crawl in DIR, as Ctrl-C does. It finishes the URLs in flight, and exits with 4.

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
