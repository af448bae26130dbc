"""onceover plugins"""

import click
import msgspec
from rich import box
from rich.table import Table

from crawler.cli.run.streams import say_result, while_read
from crawler.cli.run.terminal import results_console
from crawler.codes.exit_codes import COMPLETE, FAILED
from crawler.compare.report.table import columns_of
from crawler.wiring.plugins.listing import ListedBackend, list_backends


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the options in full.")
def plugins(as_json: bool) -> int:
    """List the installed backends, and why some can't be used.

    Other packages register theirs as entry points: onceover.visited, for example.

    Exit codes: 0 all can be used, 1 some can't.
    """
    found = list(list_backends())
    if as_json:
        say_result(msgspec.json.encode(found))
    else:
        with while_read():
            _show(found)
    return FAILED if any(each.broken for each in found) else COMPLETE


def _show(found: list[ListedBackend]) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1))
    for name in ("kind", "name", "from", "options"):
        table.add_column(name, no_wrap=name != "options")
    for each in found:
        options = "can't be used" if each.broken else ", ".join(option.name for option in each.options)
        table.add_row(each.kind, each.name, f"{each.package} {each.version}", options)
    stdout = results_console()
    # The table is never narrower than its names. Where nobody looks, a backend is a line, so that grep finds it.
    width = max(stdout.width, columns_of(table, minimum=stdout.is_terminal))
    results_console(width=width).print(table, highlight=False)
    for each in found:
        if each.broken:
            click.echo(f"{each.broken} ({each.place})")
