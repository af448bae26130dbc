"""onceover report"""

import sys
from pathlib import Path
from typing import Final

import click
import msgspec

from crawler.cli.operate.options import as_json, directory, part, place
from crawler.cli.run.terminal import results_console
from crawler.operate.report.forms import Report
from crawler.operate.report.lists.making import SECTIONS as LISTS
from crawler.operate.report.making import make_report
from crawler.operate.report.rows import write_csv
from crawler.operate.report.text import heading, host_tables, list_lines, summary_lines

_SUMMED_UP: Final = ("summary", "hosts")


@click.command()
@directory
@click.argument("sections", nargs=-1, type=click.Choice((*_SUMMED_UP, *LISTS)), metavar="[SECTION]...")
@click.option(
    "--limit",
    type=click.IntRange(1),
    help="Rows in each table or list. Without it 10 hosts, 10 of the slowest and the largest, and all of the others.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print one section as CSV, with the names of its columns.")
@part
@as_json
def report(
    directory: Path, sections: tuple[str, ...], limit: int | None, as_csv: bool, part: int | None, as_json: bool
) -> None:
    """Tell what the crawl in DIR has found, whether it runs or not.

    SECTION is `summary`, `hosts`, `dead-links`, `redirects`, `duplicates`, `refused`, `slowest` or `largest`; without
    one, `summary` and `hosts` are shown. All records are read, which takes a while if there are many.
    """
    wanted = sections or _SUMMED_UP
    if as_csv and (len(wanted) != 1 or wanted[0] == "summary" or as_json):
        raise click.UsageError(
            "--csv prints one section, such as dead-links, and not summary; name it, without --json."
        )
    found = make_report(place(directory, part), wanted, limit=limit)
    if as_csv:
        write_csv(found, wanted[0], sys.stdout)
    elif as_json:
        left_out = {*_SUMMED_UP} - {*wanted}
        shown = {name: value for name, value in msgspec.to_builtins(found).items() if name not in left_out}
        click.echo(msgspec.json.encode(shown))
    else:
        _print(found, wanted)


def _print(found: Report, wanted: tuple[str, ...]) -> None:
    click.echo(heading(found))
    if "summary" in wanted:
        for line in summary_lines(found.summary):
            click.echo(line)
    if "hosts" in wanted:
        for table in host_tables(found.hosts):
            click.echo()
            results_console().print(table)
        if not found.hosts.is_exact:
            click.echo("These are so many hosts that small ones were left out, and counts may be too low.", err=True)
    for line in list_lines(found):
        click.echo(line)
