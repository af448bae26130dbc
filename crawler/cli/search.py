"""onceover search"""

import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from crawler.cli.operate.export_output import remark, remark_damage
from crawler.cli.operate.options import as_json, bytes_progress, directory, named_path
from crawler.cli.options import duration_of
from crawler.cli.run.streams import say_result, while_read
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import record_directories
from crawler.export.aside import ensure_apart
from crawler.operate.missing import notes_of_missing
from crawler.operate.opening import no_crawl, refuse_without_configuration
from crawler.search.forms import Found, Hit, Marks
from crawler.search.index import IndexRefused
from crawler.search.searching import Search
from crawler.search.words import BadQuery
from crawler.status import number_of


@click.command()
@directory
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="Pages to show.")
@click.option(
    "--skip", type=click.IntRange(0, 1_000_000_000), default=0, show_default=True, help="Leave out the best SKIP pages."
)
@click.option(
    "--index", type=named_path, metavar="FILE", help="The file of the index, instead of search.sqlite in DIR."
)
@click.option(
    "--within",
    callback=duration_of,
    metavar="TIME",
    help="After this time, such as 30s, search what was read so far. The next search reads on.",
)
@as_json
def search(
    directory: Path,
    words: tuple[str, ...],
    limit: int,
    skip: int,
    index: Path | None,
    within: float | None,
    as_json: bool,
) -> None:
    """Search the pages of the crawl in DIR by their words. The crawl may run.

    A page must have each WORD, in its title, its text or the path of its URL. Also: "two words" one after the other,
    beginn*, this OR that, -without, title:word, path:word, site:example.org. Write such a query in single quotes. The
    first search reads all records, later ones what is new.
    """
    if not CrawlDirectory(directory).path.is_dir():
        raise no_crawl(directory)
    refuse_without_configuration(directory)
    missing = notes_of_missing(directory)
    if missing and not record_directories(directory):
        raise IndexRefused(f"there are no records to search in {directory}: {'; '.join(missing)}")
    if index is not None:
        ensure_apart(index, directory)
    from crawler.read.content.reading import read_content  # noqa: PLC0415 - takes a while to import

    until = None if within is None else time.monotonic() + within
    with bytes_progress("of records read") as on_progress:
        searching = Search(
            directory,
            index or CrawlDirectory(directory).search,
            read_content=read_content,
            on_progress=on_progress,
            on_damage=remark_damage,
            say=remark,
            goes_on=lambda: until is None or time.monotonic() < until,
        )
        try:
            found = searching.find(" ".join(words), limit=limit, skip=skip)
        except BadQuery as error:
            raise click.UsageError(str(error)) from error
    found = msgspec.structs.replace(found, notes=[*missing, *found.notes])
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    with while_read():
        for number, hit in enumerate(found.hits, skip + 1):
            for line in _lines(number, hit):
                say_result(line)
    remark(_summary(found, skip))
    for note in found.notes:
        remark(f"note: {note}")


def _lines(number: int, hit: Hit) -> Iterator[str]:
    title = _emphasized(hit.title, hit.title_marks) if hit.title else hit.url
    yield f"{number}. {title}"
    if hit.title:
        yield f"   {hit.url}"
    if hit.later_failure is not None:
        yield f"   as of {hit.fetched_at}; the last visit got: {hit.later_failure}"
    if hit.excerpt:
        yield f"   {_emphasized(hit.excerpt, hit.excerpt_marks)}"


def _emphasized(text: str, marks: Marks) -> str:
    """With the words bold, which click leaves out where nobody looks at a screen."""
    pieces, at = [], 0
    for begin, end in marks:
        pieces += [text[at:begin], click.style(text[begin:end], bold=True)]
        at = end
    return "".join([*pieces, text[at:]])


def _summary(found: Found, skip: int) -> str:
    searched = f"{number_of(found.searched, 'page was', 'pages were')} searched"
    if not found.hits:
        return f"no {'further ' if skip and found.pages else ''}page has this; {searched}"
    return f"{skip + 1} to {skip + len(found.hits)} of {number_of(found.pages, 'page')}; {searched}"
