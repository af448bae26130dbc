"""onceover report"""

from pathlib import Path
from typing import Final

import click
import msgspec

from crawler.cli.operate.options import as_json, directory, part, place
from crawler.cli.run.terminal import results_console
from crawler.operate.report.making import make_report
from crawler.operate.report.text import heading, host_tables, summary_lines

_SECTIONS: Final = ("summary", "hosts")
_MAX_HOSTS: Final = 1_000


@click.command()
@directory
@click.argument("sections", nargs=-1, type=click.Choice(_SECTIONS), metavar="[SECTION]...")
@click.option("--limit", type=click.IntRange(1, _MAX_HOSTS), default=10, show_default=True, help="Hosts in each table.")
@part
@as_json
def report(directory: Path, sections: tuple[str, ...], limit: int, part: int | None, as_json: bool) -> None:
    """Sum up what the crawl in DIR has found, whether it runs or not.

    SECTION is `summary` or `hosts`; without one, all are shown. All records are read, which takes a while if there are
    many.
    """
    found = make_report(place(directory, part), limit=limit)
    wanted = sections or _SECTIONS
    if as_json:
        left_out = set(_SECTIONS) - set(wanted)
        shown = {name: value for name, value in msgspec.to_builtins(found).items() if name not in left_out}
        click.echo(msgspec.json.encode(shown))
        return
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
