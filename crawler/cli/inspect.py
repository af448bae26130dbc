"""onceover inspect"""

import asyncio
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from rich.table import Table

from crawler.cli.fsck import fsck, verify
from crawler.cli.operate.options import as_json, named_path, part, place, show
from crawler.cli.run.streams import while_read
from crawler.cli.run.terminal import results_console
from crawler.cli.run.without_page import with_record
from crawler.codes.exit_codes import COMPLETE, FAILED
from crawler.control.known_urls import UrlForm, UrlVisits
from crawler.control.replies import HealthForm, QueueForm
from crawler.control.requests import (
    MAX_ITEMS,
    InspectNext,
    InspectQueues,
    InspectRefused,
    InspectUrl,
    InspectVisited,
    QueueOrder,
)
from crawler.discover.marks import name_of_page
from crawler.disk.layout import part_directories
from crawler.operate.reach import reach
from crawler.operate.stored import open_stored_crawl
from crawler.page import rfc3339
from crawler.status import duration, figure, size
from visited import CannotList, list_urls

_as_json_lines = click.option("--json", "as_json", is_flag=True, help="Print JSON Lines.")


class _Inspect(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command. Many write it in place of the directory, or the part behind that, as for other commands."""
        first: Path = ctx.params["directory"]
        if args[0].partition("=")[0] == "--part" and not ctx.resilient_parsing:
            raise click.UsageError(
                f"--part comes before the directory: `onceover inspect --part K {shlex.quote(str(first))} …`"
            )
        is_command = str(first) in self.commands and not first.exists()
        if is_command and args[0] not in self.commands and not ctx.resilient_parsing:
            raise click.UsageError(f"the directory comes first: `onceover inspect {shlex.quote(args[0])} {first}`")
        return super().resolve_command(ctx, args)


@click.group(cls=_Inspect)
@click.argument("directory", type=named_path)
@part
@click.pass_context
def inspect(context: click.Context, directory: Path, part: int | None) -> None:
    """Inspect the crawl in DIRECTORY, whether it runs or not."""
    context.obj = place(directory, part)


inspect.add_command(fsck)
inspect.add_command(verify)


@inspect.command()
@click.option(
    "--sort",
    type=click.Choice(["size", "wake", "errors", "key"]),
    default="size",
    show_default=True,
    help="By URLs, by the time at which it may be asked again, by errors in a row, or by key.",
)
@click.option("--match", default="", metavar="TEXT", help="Only hosts that contain TEXT.")
@click.option("--retired", is_flag=True, help="Only retired queues.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Leave out this many at the top.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Show so many queues.")
@_as_json_lines
@click.pass_obj
def queues(path: Path, sort: QueueOrder, match: str, retired: bool, offset: int, limit: int, as_json: bool) -> None:
    """List the queues that have URLs."""
    shown, left = _list_queues(path, InspectQueues(sort=sort, match=match, retired=retired, offset=offset), limit=limit)
    if as_json:
        for queue in shown:
            click.echo(msgspec.json.encode(queue))
        return
    in_parts = any(queue.part is not msgspec.UNSET for queue in shown)
    part_column = ["part"] if in_parts else []
    names = ["host", *part_column, "URLs", "spent", "rests until", "errors in a row", ""]
    table = Table(*names, box=None, pad_edge=False)
    for queue in shown:
        note = _trouble(queue.health) if queue.served else "retired"
        number = [str(queue.part)] if in_parts else []
        figures = [f"{queue.size:,}", f"{queue.spent:,}", queue.wake_at or "", str(queue.health.error_streak)]
        table.add_row(queue.host, *number, *figures, note)
    with while_read():
        results_console().print(table)
    if left > 0:
        click.echo(f"and {left:,} more; --limit or --offset {offset + limit} shows them", err=True)


def _list_queues(path: Path, request: InspectQueues, *, limit: int) -> tuple[list[QueueForm], int]:
    """Queues, and how many are left. A reply has a limited number."""
    shown: list[QueueForm] = []
    with reach(path) as crawl:
        while True:
            piece = msgspec.structs.replace(request, limit=min(MAX_ITEMS, limit - len(shown)))
            found = crawl.ask(piece)
            shown += found.queues
            if not found.left or not found.queues or len(shown) >= limit:
                return shown, found.left
            request = msgspec.structs.replace(request, offset=0, after=(found.ranks[-1], found.queues[-1].key))


def _trouble(health: HealthForm) -> str:
    if health.trouble is None:
        return ""
    # Moments in this form sort as text.
    is_dead = health.probe_at is not None and health.probe_at > rfc3339(time.time())
    return health.trouble + (f", given up until {health.probe_at}" if is_dead else "")


@inspect.command("next")
@click.argument("host")
@click.option("--limit", type=click.IntRange(1, MAX_ITEMS), default=20, show_default=True, help="Show so many URLs.")
@_as_json_lines
@click.pass_obj
def next_urls(path: Path, host: str, limit: int, as_json: bool) -> None:
    """List the URLs of HOST that come next."""
    with reach(path) as crawl:
        found = crawl.ask(InspectNext(host=host, limit=limit))
    with while_read():
        for each in found.urls:
            click.echo(msgspec.json.encode(each) if as_json else each.url)
    if found.left:
        click.echo(f"and {found.left:,} more; --limit shows them", err=True)


@inspect.command()
@click.argument("url")
@as_json
@click.pass_obj
def url(path: Path, url: str, as_json: bool) -> int:
    """Show what the crawl knows about URL."""
    with reach(path) as crawl:
        answer = crawl.ask(InspectUrl(url=url))
    known = None if answer.found is None else with_record(answer.found, path)
    if known is not None:
        rows = (f"{name:>13}  {value}" for name, value in _lines(known) if value is not None)
        show(known, rows, as_json=as_json)
        return COMPLETE
    why = "no page in scope linked to it"
    if answer.refused is not None:
        why = f"links to it are not followed, for the reason {answer.refused}"
    show(known, f"{answer.canonical} was never admitted: {why}", as_json=as_json)
    return FAILED


def _lines(known: UrlForm) -> list[tuple[str, object]]:
    return [
        ("URL", name_of_page(known.canonical)),
        ("part", None if known.part is msgspec.UNSET else known.part),
        ("state", known.state),
        ("found", f"{known.found_at} {known.found}"),
        ("fetched", known.fetched_at),
        ("status", known.status),
        ("reason", known.reason),
        ("truncated", known.truncated),
        ("message", known.message),
        ("links to it", f"{known.hit_count:,}"),
        ("waits", known.waits),
        ("record number", known.number),
        *_visit_lines(known.visits),
    ]


def _visit_lines(visits: UrlVisits) -> Iterator[tuple[str, object]]:
    if visits.count > 1:
        yield "visits", f"{visits.count:,}"
    for each in visits.last:
        change = "it had changed within" if each.changed else "it had not changed for"
        yield "visited", f"{each.at} {change} {duration(each.after_s)}"
    if visits.next_at is not None:
        yield "next visit", f"{visits.next_at} {visits.next_why}"


@inspect.command()
@click.option("--match", default="", metavar="TEXT", help="Only hosts that contain TEXT.")
@click.option(
    "--limit", type=click.IntRange(1, MAX_ITEMS), default=50, show_default=True, help="Show so many rules and hosts."
)
@_as_json_lines
@click.pass_obj
def refused(path: Path, match: str, limit: int, as_json: bool) -> None:
    """List what traps and quotas have refused. It is listed by rule and host, with examples."""
    with reach(path) as crawl:
        found = crawl.ask(InspectRefused(match=match, limit=limit))
    if as_json:
        for each in found.refused:
            click.echo(msgspec.json.encode(each))
        return
    if not found.refused:
        click.echo("No trap and no quota has refused anything" + (f" on a host with {match!r}." if match else "."))
    with while_read():
        for each in found.refused:
            click.echo(f"{each.count:>9,}  {each.rule}  {each.host or 'on other hosts'}")
            for example in each.examples:
                click.echo(f"{'':>9}    {example}")
    if found.left:
        click.echo(f"and {found.left:,} more; --limit shows them", err=True)


@inspect.command()
@as_json
@click.pass_obj
def visited(path: Path, as_json: bool) -> None:
    """Show the size, fill and losses of the visited set."""
    with reach(path) as crawl:
        stats = crawl.ask(InspectVisited())
    rows: list[tuple[str, str]] = [
        ("backend", stats.backend),
        ("URLs", f"{stats.count:,}" + ("" if stats.capacity is None else f" of {stats.capacity:,}")),
        ("memory", size(stats.memory_bytes)),
        ("disk", size(stats.disk_bytes)),
        ("fill", "" if stats.fill is None else f"{stats.fill:.2%}"),
        ("errs now", f"{stats.false_positive_rate:.3g}"),
        ("URLs lost", f"{figure(stats.expected_lost, 3)} ± {figure(stats.lost_sigma)} expected"),
        *(
            (name, figure(value, 3) if isinstance(value, float) else str(value))
            for name, value in stats.details.items()
        ),
    ]
    show(stats, (f"{name:>13}  {value}" for name, value in rows), as_json=as_json)


@inspect.command("visited-urls")
@click.pass_obj
def visited_urls(path: Path) -> None:
    """Print the URLs in the visited set, if it keeps them. The crawl must not run."""
    try:
        asyncio.run(_print_visited_urls(path))
    except CannotList as error:
        raise click.UsageError(f"{error}. `onceover frontier export {path}` lists all URLs of the ledger") from error


async def _print_visited_urls(path: Path) -> None:
    for directory in part_directories(path):
        async with open_stored_crawl(directory, to_change=False) as crawl:
            for url in list_urls(await crawl.visited_set()):
                sys.stdout.buffer.write(url.encode("utf-8", "surrogatepass") + b"\n")
