"""onceover set, reload"""

import asyncio
from pathlib import Path

import click

from crawler.cli.operate.options import Daemon, as_json, crawl_at, directory, go_on_command, named, of_daemon, show
from crawler.cli.options import complete_setting
from crawler.control.client import connect
from crawler.control.requests import MAX_SETTINGS, Reload, Set
from crawler.disk.going_on import how_to_start_again
from crawler.disk.layout import read_layout
from crawler.operate.settings.lines import change_lines

_dry_run = click.option("--dry-run", is_flag=True, help="Only check it, and say what would change.")


@click.command
@directory
@click.argument("settings", metavar="KEY=VALUE...", nargs=-1, required=True, shell_complete=complete_setting)
@_dry_run
@of_daemon
@as_json
def set(  # noqa: A001 - the name of the command
    directory: Path, settings: tuple[str, ...], dry_run: bool, daemon: Daemon | None, as_json: bool
) -> None:
    """Change settings of the crawl in DIR. All of them change, or none if one is wrong.

    Limits, delays, scope and many others hold at once; the command says which hold from the next start, and why. They
    last until the crawl is started with a configuration file again. With --url they are written into that file.
    """
    if len(settings) > MAX_SETTINGS:
        raise click.UsageError(f"expected at most {MAX_SETTINGS:,} settings, found {len(settings):,}")
    _ask(directory, Set(settings=list(settings), dry_run=dry_run), daemon, as_json=as_json)


@click.command()
@directory
@_dry_run
@of_daemon
@as_json
def reload(directory: Path, dry_run: bool, daemon: Daemon | None, as_json: bool) -> None:
    """Read the configuration of the crawl in DIR again. What is different changes: all of it, or nothing if anything is
    wrong.

    It is the file with which the crawl was started last; after a start with --dir alone, DIR/crawl.toml. With --url the
    daemon reads its folder again, too.
    """
    _ask(directory, Reload(dry_run=dry_run), daemon, as_json=as_json)


def _ask(directory: Path, request: Set | Reload, daemon: Daemon | None, *, as_json: bool) -> None:
    if daemon is None and _is_stopped_machine(directory):
        # A crawl on many machines needs redis, which most crawls do without.
        from crawler.operate.cluster.settings import change_stopped  # noqa: PLC0415 - see above

        changed = asyncio.run(change_stopped(directory, request))
    else:
        with crawl_at(directory, daemon, to_change=True) as crawl:
            changed = crawl.ask(request)
    lines = list(change_lines(changed))
    if changed.dry_run:
        lines.append("Nothing was changed: this was --dry-run.")
    elif changed.running and any(each.holds == "restart" for each in changed.changes):
        at_daemon = f"onceover stop {named(directory, daemon)}, then {go_on_command(directory, daemon)}"
        lines.append(f"To start again: {how_to_start_again(directory) if daemon is None else at_daemon}")
    show(changed, lines, as_json=as_json)


def _is_stopped_machine(directory: Path) -> bool:
    """Whether a directory is that of a machine of a crawl on many, and the machine does not run."""
    layout = read_layout(directory)
    if layout is None or layout.cluster is None:
        return False
    with connect(directory) as connection:
        return connection is None
