"""onceover report"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from crawler.cli.operate.options import as_json, directory, part, place
from crawler.cli.run.streams import stdout_for_programs, while_read
from crawler.cli.run.terminal import results_console
from crawler.codes.exit_codes import COMPLETE, FAILED
from crawler.export.aside import ensure_apart, written_aside
from crawler.operate.report.forms import Report
from crawler.operate.report.html.page import html_page
from crawler.operate.report.lists.making import SECTIONS as LISTS
from crawler.operate.report.making import make_report
from crawler.operate.report.rows import may_have_rows, write_csv
from crawler.operate.report.text import heading, host_lines, host_tables, list_lines, summary_lines, unknown
from crawler.status import size

_SUMMED_UP: Final = ("summary", "hosts")
_FINDINGS: Final = frozenset(LISTS) - {"slowest", "largest"}
"""Lists that are empty if the site is as it should be."""
PAGE_ROWS: Final = 100
"""Rows of each table of the page, if nobody says."""


@click.command()
@directory
@click.argument("sections", nargs=-1, type=click.Choice((*_SUMMED_UP, *LISTS)), metavar="[SECTION]...")
@click.option(
    "--limit",
    type=click.IntRange(1),
    help="Rows in each table or list. Without it 10 hosts, 10 of the slowest and the largest, and all of the others.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print one section as CSV, with the names of its columns.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Write all sections with plots into one HTML file; - for stdout. Up to 100 rows each, or as --limit says.",
)
@click.option(
    "--exit-code",
    is_flag=True,
    help="End with 1 if a named list has a row, or if nobody knows; with 0 if all are empty.",
)
@part
@as_json
def report(
    directory: Path,
    sections: tuple[str, ...],
    limit: int | None,
    as_csv: bool,
    html: Path | None,
    exit_code: bool,
    part: int | None,
    as_json: bool,
) -> int:
    """Tell what the crawl in DIR has found, whether it runs or not.

    SECTION is `summary`, `hosts`, `dead-links`, `broken-anchors`, `orphans`, `unlisted`, `mislisted`, `redirects`,
    `duplicates`, `refused`, `slowest` or `largest`; without one, `summary` and `hosts` are
    shown. All records are read, which takes a while if there are many.
    """
    if html is not None:
        if sections or as_csv or as_json or exit_code:
            raise click.UsageError(
                "--html writes all sections; give it without SECTION, --csv, --json and --exit-code."
            )
        return _report_as_page(directory, part, html, limit=limit)
    wanted = sections or _SUMMED_UP
    findings = _FINDINGS.intersection(sections)
    if as_csv and as_json:
        raise click.UsageError("expected --csv or --json, found both")
    named = ", ".join(sections) or "none"
    if as_csv and (len(wanted) != 1 or wanted[0] == "summary"):
        raise click.UsageError(
            f"--csv prints one section, which is not summary: expected its name, such as dead-links; found {named}"
        )
    if exit_code and not findings:
        raise click.UsageError(f"--exit-code needs a list that may be empty, such as dead-links; found {named}")
    found = make_report(place(directory, part), wanted, limit=limit)
    _print_notes(found)
    with while_read():
        if as_csv:
            _print_csv(found, wanted[0])
        elif as_json:
            _print_json(found, wanted)
        else:
            _print(found, wanted)
    return FAILED if exit_code and any(may_have_rows(found, name) for name in findings) else COMPLETE


def _report_as_page(directory: Path, part: int | None, html: Path, *, limit: int | None) -> int:
    if str(html) != "-":
        ensure_apart(html, directory)
    found = make_report(place(directory, part), LISTS, limit=limit or PAGE_ROWS, needs_lists=False)
    _print_notes(found)
    _write_page(found, html)
    return COMPLETE


def _print_csv(found: Report, section: str) -> None:
    write_csv(found, section, stdout_for_programs())
    for line in unknown(found, section):
        click.echo(line, err=True)


def _print_json(found: Report, wanted: Sequence[str]) -> None:
    left_out = {*_SUMMED_UP} - {*wanted}
    shown = {name: value for name, value in msgspec.to_builtins(found).items() if name not in left_out}
    click.echo(msgspec.json.encode(shown))


def _print_notes(found: Report) -> None:
    for note in found.notes:
        click.echo(f"note: {note}", err=True)


def _write_page(found: Report, file: Path) -> None:
    content = html_page(found).encode()
    if str(file) == "-":
        sys.stdout.buffer.write(content)
        return
    try:
        if file.exists() and not file.is_file():  # a device or a pipe
            file.write_bytes(content)
        else:
            with written_aside(file) as page:
                page.write(content)
    except OSError as error:
        raise click.ClickException(f"{file} can't be written: {error.strerror}; choose another with --html") from error
    click.echo(f"{file} has the report: {size(len(content))}", err=True)


def _print(found: Report, wanted: tuple[str, ...]) -> None:
    click.echo(heading(found))
    if "summary" in wanted:
        for line in summary_lines(found.summary):
            click.echo(line)
    if "hosts" in wanted:
        for table in host_tables(found.hosts):
            click.echo()
            results_console().print(table)
        if lines := list(host_lines(found)):
            click.echo()
        for line in lines:
            click.echo(line)
        if not found.hosts.is_exact:
            click.echo("These are so many hosts that small ones were left out, and counts may be too low.", err=True)
    for line in list_lines(found):
        click.echo(line)
