"""onceover export"""

import time
import tomllib
from pathlib import Path
from typing import Final, get_args

import click

from crawler.cli.operate.options import directory, part
from crawler.cli.run.streams import say
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import output_directories, part_directory
from crawler.export.captures import Captures
from crawler.export.links import links_table
from crawler.export.pages import pages_table
from crawler.export.tables import Exported, TableExport, export_table, is_file
from crawler.export.writers import Format
from crawler.record import rfc3339
from crawler.status import number_of
from crawler.url.hosts import use_suffixes

_FORMATS: Final = get_args(Format)
_TABLES: Final = ("pages", "links")
_ROWS: Final = 1_000_000


@click.command()
@directory
@click.option("--format", "form", type=click.Choice(_FORMATS), required=True, help="What to write.")
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PATH",
    help="A file, if it has the ending of the format, such as pages.csv; otherwise a folder for files.",
)
@click.option("--table", type=click.Choice(_TABLES), default="pages", show_default=True, help="Which table.")
@click.option(
    "--rows-per-file",
    type=click.IntRange(1, 10**9),
    default=_ROWS,
    show_default=True,
    help="When a new file begins in a folder.",
)
@click.option("--overwrite", is_flag=True, help="Replace what an earlier export has written there.")
@part
def export(
    directory: Path, form: Format, to: Path, table: str, rows_per_file: int, overwrite: bool, part: int | None
) -> None:
    """Copy what the crawl in DIR has written into a form that other tools read, whether it runs or not.

    The last record of each URL counts. To continue an interrupted export to a folder, repeat the command.
    """
    _check(directory, part)
    crawl = CrawlDirectory(directory)
    if crawl.suffixes.exists():
        use_suffixes(crawl.suffixes.read_bytes())
    archives = [CrawlDirectory(each).warc for each in output_directories(directory)]
    with Captures(directory, archives if table == "pages" and form != "jsonl" else []) as captures:
        made = export_table(
            TableExport(
                directory=directory,
                part=part,
                table=pages_table(captures.find, crawl=_name(crawl)) if table == "pages" else links_table(),
                format=form,
                rows_per_file=rows_per_file,
                overwrite=overwrite,
                now=rfc3339(time.time()),
            ),
            to,
            _tell,
            _tell_damage,
        )
    _report(made, to, table, in_folder=not is_file(to, form))


def _check(directory: Path, part: int | None) -> None:
    if CrawlDirectory(directory).earlier_configuration is None:
        raise DirectoryRefused(f"{directory} is not the directory of a crawl: it has no crawl.toml")
    if part is not None:
        try:
            part_directory(directory, part)
        except ValueError as error:
            raise click.UsageError(f"--part {part}: {error}") from error


def _name(crawl: CrawlDirectory) -> str:
    try:
        name = tomllib.loads(crawl.configuration.read_text("utf-8")).get("crawl", {}).get("name")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError):
        name = None
    return str(name or crawl.path.resolve().name)


def _report(made: Exported, to: Path, table: str, *, in_folder: bool) -> None:
    if made.complete_since is not None:
        _tell(f"this export, begun {made.complete_since}, is complete; --overwrite begins anew")
    if table == "links" and not made.rows:
        _tell("no record has links: crawl with output.link_details = true")
    files = f" in {number_of(made.files, 'file')}" if in_folder else ""
    say(f"{number_of(made.rows, 'row')}{files}: {to}")


def _tell(text: str) -> None:
    click.echo(text, err=True)


def _tell_damage(file: str, offset: int, why: str) -> None:
    _tell(f"{file}: the line at byte {offset} is not a record and was skipped: {why}")
