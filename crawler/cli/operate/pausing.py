"""onceover status, pause, resume, stop, checkpoint"""

import shlex
from pathlib import Path

import click
import msgspec

from crawler.cli.operate.options import (
    Daemon,
    as_json,
    crawl_at,
    directory,
    go_on_command,
    named,
    named_path,
    note_elsewhere,
    of_daemon,
    part,
    place,
    show,
)
from crawler.control.replies import CrawlStatus, PartStatus, Stopping
from crawler.control.requests import GetStatus, Pause, Resume, Stop, TakeCheckpoint, checked_reason
from crawler.course.text import course_rows, left_text
from crawler.disk.layout import part_at, whole_crawl
from crawler.disk.unlocking import wait_until_unlocked
from crawler.operate.course import course_of
from crawler.operate.opening import is_of_daemon
from crawler.operate.reach import CrawlEnded
from crawler.progress import frontier_rows, rows_of, visit_rows
from crawler.status import number_of, rate, row_lines, size, when_done


@click.command()
@click.argument("directory", metavar="DIR", type=named_path, required=False)
@part
@of_daemon
@as_json
def status(directory: Path | None, part: int | None, daemon: Daemon | None, as_json: bool) -> None:
    """Show how far the crawl in DIR is, and why it waits. Also show whether it runs.

    If DIR is the folder of a daemon, or with --url alone, list the crawls of the daemon.
    """
    if directory is None and daemon is None:
        raise click.MissingParameter(ctx=click.get_current_context(), param_hint="'DIR'", param_type="argument")
    if directory is None or (daemon is None and part is None and is_of_daemon(directory)):
        # Only this needs the daemon's code, which takes long to import.
        from crawler.cli.serve.crawls import list_crawls  # noqa: PLC0415 - see above

        list_crawls(directory or Path(), daemon, as_json=as_json)
        return
    directory = place(directory, part, daemon)
    with crawl_at(directory, daemon) as crawl:
        found = crawl.ask(GetStatus())
    if daemon is None:
        note_elsewhere(directory)
        found = msgspec.structs.replace(found, course=course_of(directory, found))
    show(found, status_lines(found, directory, daemon), as_json=as_json)


def status_lines(found: CrawlStatus, directory: Path, daemon: Daemon | None = None) -> list[str]:
    rows = rows_of(found.run) if found.run is not None else frontier_rows(found.frontier) + visit_rows(found.frontier)
    if found.run is not None and found.run.waiting is not None:
        rows.append(("waits", found.run.waiting))
    if found.run is not None and found.run.links_wait is not None:
        rows.append(("links wait", found.run.links_wait))
    if found.remaining is not None:
        share = "" if found.share_done is None else f"{found.share_done:.1%} of what is known · "
        rows.append(("done", f"{share}left: {left_text(found.remaining)}"))
    rows += [("next start", each.text) for each in found.next_settings]
    rows += part_rows(found)
    rows += course_rows(found.course or ())
    return [_heading(found, directory, daemon), *row_lines(rows)]


def _heading(found: CrawlStatus, directory: Path, daemon: Daemon | None) -> str:
    paused = "" if found.paused is None else f", and is paused: {found.paused}"
    if found.running:
        return f"{directory} {what_it_does(found)}{paused}"
    can_tell = all(each.status is not None for each in found.parts or ())
    if can_tell and not found.frontier.pending and not found.frontier.retrying:
        return f"{directory} does not run, and has nothing left to fetch{paused}"
    resume = f"onceover resume {named(directory, daemon)}, then " if paused else ""
    return f"{directory} does not run{paused}. To go on: {resume}{go_on_command(directory, daemon)}"


def what_it_does(found: CrawlStatus) -> str:
    """What a running crawl does, and in which process."""
    if found.pid is None and found.parts:
        running = sum(each.status is not None and each.status.running for each in found.parts)
        return f"is ending: {running} of its {len(found.parts)} parts still run, and no process watches over them"
    return f"{'is stopping' if found.stopping else 'runs'} in process {found.pid}"


def part_rows(found: CrawlStatus) -> list[tuple[str, str]]:
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


def _check_reason(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    try:
        return checked_reason(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@directory
@click.option(
    "--reason",
    default="by the operator",
    show_default=True,
    callback=_check_reason,
    help="Shown while the crawl is paused.",
)
@part
@of_daemon
@as_json
def pause(directory: Path, reason: str, part: int | None, daemon: Daemon | None, as_json: bool) -> None:
    """Pause the crawl in DIR. Until you resume it, it fetches nothing, whoever starts it.

    A running crawl finishes the URLs in flight, and then waits.
    """
    directory = place(directory, part, daemon)
    with crawl_at(directory, daemon, to_change=True) as crawl:
        state = crawl.ask(Pause(reason=reason))
    urls = number_of(state.in_flight, "URL in flight is", "URLs in flight are")
    first = f"; {urls} finished first" if state.in_flight else ""
    show(state, f"{directory} is paused: {reason}{first}", as_json=as_json)


@click.command()
@directory
@part
@of_daemon
@as_json
def resume(directory: Path, part: int | None, daemon: Daemon | None, as_json: bool) -> None:
    """End a pause of the crawl in DIR."""
    directory = place(directory, part, daemon)
    with crawl_at(directory, daemon, to_change=True) as crawl:
        state = crawl.ask(Resume())
    # A daemon starts a crawl that may go on.
    is_left = daemon is None and not state.running
    start = f": `{go_on_command(directory, daemon)}` goes on" if is_left else ""
    show(state, f"{directory} is no longer paused{start}", as_json=as_json)


@click.command()
@directory
@click.option("--now", is_flag=True, help="Drop the URLs in flight; the next run fetches them again.")
@click.option("--no-wait", is_flag=True, help="Do not wait until the crawl has stopped.")
@of_daemon
@as_json
def stop(directory: Path, now: bool, no_wait: bool, daemon: Daemon | None, as_json: bool) -> None:
    """Stop the crawl in DIR, as Ctrl-C does. It finishes the URLs in flight, and exits with 4.

    The command waits for that.
    """
    if daemon is None and part_at(directory) is not None:
        whole = shlex.quote(str(whole_crawl(directory)))
        raise click.UsageError(f"a part that is stopped alone is started again: `onceover stop {whole}` stops all")
    with crawl_at(directory, daemon) as crawl:
        try:
            stopping = crawl.ask(Stop(now=now))
        except CrawlEnded:
            stopping = Stopping(was_running=True)
        if stopping.was_running and not no_wait:
            if not as_json:
                # A daemon does not tell how many.
                how = when_done(stopping.in_flight) if daemon is None else "when the URLs in flight are done"
                click.echo(f"Stopping {'at once' if now else how}.", err=True)
            crawl.wait_for_end()
    if not no_wait and daemon is None:
        wait_until_unlocked(directory)
    state = "is stopping" if no_wait else "has stopped"
    ended = f"{directory} {state}. To go on: {go_on_command(directory, daemon)}"
    show(stopping, ended if stopping.was_running else f"{directory} does not run", as_json=as_json)


@click.command()
@directory
@part
@of_daemon
@as_json
def checkpoint(directory: Path, part: int | None, daemon: Daemon | None, as_json: bool) -> None:
    """Bring all that the crawl in DIR has done onto the disk. It then survives a power failure, and so does the output.

    A running crawl goes on meanwhile.
    """
    directory = place(directory, part, daemon)
    with crawl_at(directory, daemon, to_change=True) as crawl:
        taken = crawl.ask(TakeCheckpoint())
    settled = number_of(taken.settled, "settled URL")
    lines = [f"{directory} does not run, and all of it is on the disk: {settled}, {taken.queued:,} queued"]
    if taken.running:
        lines = [f"{directory}: what was done by {taken.at} is on the disk: {settled}, with all output"]
    lines += [f"    {each.file}: {size(each.bytes)} ({number_of(each.bytes, 'byte')})" for each in taken.files]
    show(taken, lines, as_json=as_json)
