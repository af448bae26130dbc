"""onceover export"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal, get_args

import click
import msgspec

from crawler.cli.operate.export_output import conclude, is_stream, remark, remark_by_place, remark_damage, target
from crawler.cli.operate.options import directory, named_path, note_elsewhere, part, place
from crawler.disk.directory import CrawlDirectory
from crawler.export.archived_text import ArchivedText
from crawler.export.archives import Archive, archives_of, export_index
from crawler.export.aside import ensure_apart
from crawler.export.captures import Captures, Location
from crawler.export.links import links_table
from crawler.export.pages import pages_table
from crawler.export.settings import compared_with, setting
from crawler.export.tables import Exported, TableExport, export_table, is_file
from crawler.export.wacz.packing import WaczExport, earlier_archives, export_wacz
from crawler.export.wacz.unpacking import unpacked
from crawler.export.writers import Format
from crawler.files.content import read_file
from crawler.operate.opening import no_crawl, refuse_without_configuration
from crawler.page import rfc3339
from crawler.protocols import ContentReading
from crawler.status import number_of
from crawler.url.hosts import use_suffixes

_WACZ: Final = "wacz"
_CDXJ: Final = "cdxj"
_FORMATS: Final = (*get_args(Format), _WACZ, _CDXJ)
_STREAMS: Final = ("csv", "jsonl", _CDXJ)
"""Formats that may be read as they are written."""
_TABLES: Final = ("pages", "links")
_READERS: Final = ("turbohtml", "trafilatura")
_PARTITIONS: Final = frozenset({"crawl", "subset"})
_ROWS: Final = 1_000_000


def _columns(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    columns = () if value is None else tuple(value.split(","))
    if len({*columns}) < len(columns) or not _PARTITIONS.issuperset(columns):
        raise click.BadParameter(f"expected crawl, subset, or crawl,subset, found {value!r}")
    return columns


@click.command()
@directory
@click.option("--format", "form", type=click.Choice(_FORMATS), required=True, help="What to write.")
@click.option(
    "--to",
    type=named_path,
    required=True,
    metavar="PATH",
    help="A file, if it has the ending of the format, such as pages.csv; otherwise a folder for files; - for stdout.",
)
@click.option("--table", type=click.Choice(_TABLES), default="pages", show_default=True, help="Which table.")
@click.option(
    "--rows-per-file",
    type=click.IntRange(1, 10**9),
    default=_ROWS,
    show_default=True,
    help="When a new file begins in a folder.",
)
@click.option(
    "--partition-by",
    callback=_columns,
    metavar="COLUMNS",
    help="For the table of pages: divide it among folders by crawl, subset or both, as crawl=NAME/subset=warc/.",
)
@click.option(
    "--locations/--no-locations",
    default=True,
    show_default=True,
    help="For the table of pages: tell where the archive has each page.",
)
@click.option(
    "--earlier",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    metavar="DIR",
    help="For wacz and --text-by: an earlier crawl, a folder of WARC files or a WACZ file that revisit records refer "
    "to. By default, those of output.dedupe_against.",
)
@click.option(
    "--incomplete",
    is_flag=True,
    help="For wacz: pack the archive although bodies are missing that revisit records refer to.",
)
@click.option(
    "--text-by",
    type=click.Choice(_READERS),
    help="For the table of pages and for wacz: read the text of each page anew from the archive, by this library.",
)
@click.option("--overwrite", is_flag=True, help="Replace what an earlier export has written there.")
@part
def export(directory: Path, form: Literal[Format, "wacz", "cdxj"], to: Path, **options: Any) -> None:
    """Copy output of the crawl in DIR into tables or one archive. Other tools read these. The crawl may run meanwhile.

    A page that was written twice is there once; of a URL that was fetched again, each visit is there. To continue an
    interrupted export to a folder, repeat the command.
    """
    chosen = _Options(**options)
    _check(directory, chosen.part)
    ensure_apart(target(to), directory)
    note_elsewhere(directory)
    _check_options(form, to, chosen)
    if form == "wacz":
        places = chosen.earlier or compared_with(CrawlDirectory(directory))
        with unpacked(places, to) as folders:
            _pack(directory, to, chosen, folders, remark_by_place(places, folders))
    elif form == "cdxj":
        lines = export_index(directory, chosen.part, target(to), overwrite=chosen.overwrite)
        conclude(number_of(lines, "capture"), to)
    else:
        _export_table(directory, form, to, chosen)


class _Options(msgspec.Struct, frozen=True, kw_only=True):
    table: str
    rows_per_file: int
    locations: bool
    earlier: tuple[Path, ...]
    incomplete: bool
    partition_by: tuple[str, ...]
    text_by: str | None
    overwrite: bool
    part: int | None


def _check_options(form: str, to: Path, chosen: _Options) -> None:
    """Raise `UsageError` for options that don't go together."""
    ending = to.suffix.removeprefix(".")
    if is_stream(to) and form not in _STREAMS:
        raise click.UsageError(f"--to - is for {', '.join(_STREAMS)}: readers of {form} need a file")
    if ending in _FORMATS and ending != form and not to.is_dir():
        raise click.UsageError(
            f"--to has the ending .{ending}, and --format is {form}: give it the ending .{form}, or name a folder"
        )
    if chosen.text_by is not None and (chosen.table != "pages" or form == _CDXJ):
        raise click.UsageError("--text-by is for the table of pages, and for wacz")
    if chosen.partition_by and (form in (_WACZ, _CDXJ) or chosen.table != "pages"):
        raise click.UsageError("--partition-by is for the table of pages")
    if chosen.partition_by and is_stream(to):
        raise click.UsageError("--partition-by makes many files: expected a folder for --to, found standard output")
    if form in (_WACZ, _CDXJ) and chosen.table != "pages":
        raise click.UsageError(f"--table {chosen.table} is for tables; --format {form} is about the archive")


def _export_table(directory: Path, form: Format, to: Path, options: _Options) -> None:
    crawl = CrawlDirectory(directory)
    if crawl.suffixes.exists():
        use_suffixes(read_file(crawl.suffixes))
    read_content = None if options.text_by is None else _reader(options.text_by)
    is_located = options.locations and options.table == "pages" and form != "jsonl"
    tell: Callable[[str], None] = remark
    with ExitStack() as stack:
        archives = archives_of(directory, options.part) if is_located else []
        if read_content is not None:
            places = options.earlier or compared_with(crawl)
            folders = stack.enter_context(unpacked(places, target(to)))
            archives, tell = _archives_with_text(directory, options, folders), remark_by_place(places, folders)
        captures = stack.enter_context(Captures(directory, archives, tell))
        find = captures.find if is_located else _nowhere
        table = pages_table(find, crawl=_name(crawl)) if options.table == "pages" else links_table()
        texts = None
        if read_content is not None:
            texts = ArchivedText(directory, captures, read_content)
            table = msgspec.structs.replace(table, rewrite=texts.rewrite)
        made = export_table(
            TableExport(
                directory=directory,
                part=options.part,
                table=table,
                format=form,
                rows_per_file=options.rows_per_file,
                partition_by=options.partition_by,
                text_reader=options.text_by,
                overwrite=options.overwrite,
                now=rfc3339(time.time()),
            ),
            target(to),
            remark,
            remark_damage,
        )
    _tell_missing(texts)
    if options.table == "links" and not made.rows and not setting(crawl, "output", "link_details"):
        remark("no record has links: crawl with output.link_details = true")
    _report(made, to, in_folder=not is_stream(to) and not is_file(to, form))


def _archives_with_text(directory: Path, options: _Options, places: Sequence[Path]) -> list[Archive]:
    """Of several with one page, the last one counts, so the archives of the crawl come last."""
    earlier = [each for place in places for each in earlier_archives(place)]
    return [*earlier, *archives_of(directory, options.part)]


def _tell_missing(texts: ArchivedText | None) -> None:
    if texts is not None and texts.missing:
        lacking = number_of(texts.missing, "page")
        remark(f"the archive lacks {lacking}: text and Markdown are as in the records")


def _nowhere(_: str, __: str | None, /) -> Location | None:
    return None


def _reader(name: str) -> ContentReading:
    if name == "turbohtml":
        from crawler.read.content.reading import read_content  # noqa: PLC0415 - takes a while to import

        return read_content
    try:
        from crawler.read.content.trafilatura_text import read_by_trafilatura  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise click.UsageError("trafilatura is not installed: pip install 'onceover-crawler[text]'") from error
    return read_by_trafilatura


def _pack(directory: Path, to: Path, options: _Options, places: Sequence[Path], tell: Callable[[str], None]) -> None:
    read_content = None if options.text_by is None else _reader(options.text_by)
    archives, texts = [] if read_content is None else _archives_with_text(directory, options, places), None
    with Captures(directory, archives, tell) as captures:
        if read_content is not None:
            texts = ArchivedText(directory, captures, read_content)
        export = WaczExport(
            directory=directory,
            part=options.part,
            crawl=_name(CrawlDirectory(directory)),
            earlier=places,
            may_lack=options.incomplete,
            overwrite=options.overwrite,
            rewrite=None if texts is None else texts.rewrite,
            now=time.time(),
            software=f"onceover {version('onceover-crawler')}",
        )
        packed = export_wacz(export, to, tell, remark_damage)
    _tell_missing(texts)
    files, captured = number_of(packed.archives, "WARC file"), number_of(packed.captures, "capture")
    conclude(f"{files}, {captured}, {number_of(packed.pages, 'page')}", to)


def _check(directory: Path, part: int | None) -> None:
    crawl = CrawlDirectory(directory)
    if crawl.earlier_configuration != crawl.configuration:
        refuse_without_configuration(directory)
        raise no_crawl(directory)
    place(directory, part)


def _name(crawl: CrawlDirectory) -> str:
    return str(setting(crawl, "crawl", "name") or crawl.path.resolve().name)


def _report(made: Exported, to: Path, *, in_folder: bool) -> None:
    if made.complete_since is not None:
        older = ", and the crawl has other records by now" if made.is_old else ""
        remark(f"this export, begun {made.complete_since}, is complete{older}; --overwrite begins anew")
    files = f" in {number_of(made.files, 'file')}" if in_folder else ""
    conclude(f"{number_of(made.rows, 'row')}{files}", to)
