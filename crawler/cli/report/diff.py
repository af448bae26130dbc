"""onceover diff"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import msgspec

from config.units import parse_duration
from crawler.cli.operate.options import as_json
from crawler.cli.run.streams import stdout_for_programs, while_read
from crawler.operate.diff.forms import FIELDS, KINDS
from crawler.operate.diff.making import make_diff
from crawler.operate.diff.sides import Renaming
from crawler.operate.diff.text import diff_lines, write_csv
from crawler.url.urls import join


def _moment_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    """Seconds since 1970."""
    if value is None:
        return None
    try:
        return _moment(value).timestamp()
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(
            f"expected a duration such as 7d, or a moment such as 2026-11-01 or 2026-11-01T12:00Z; found {value!r}"
        ) from error


def _moment(text: str) -> datetime:
    """Raises `ValueError`, and `OverflowError` for one before the year 1 or after 9999."""
    with suppress(ValueError):  # first, because 20261101 is a day
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    return datetime.now(UTC) - timedelta(seconds=parse_duration(text))


def _renaming_of(_context: click.Context, _parameter: click.Parameter, pairs: Sequence[tuple[str, str]]) -> Renaming:
    return Renaming([(_beginning(old), _beginning(new)) for old, new in pairs])


def _beginning(url: str) -> str:
    """With the path of a host that was given without, because it might be the beginning of other hosts."""
    found = join(url, url)
    if found is None:
        raise click.BadParameter(f"expected URLs such as https://new.example.org/; found {url!r}")
    return found


@click.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", required=False, type=click.Path(path_type=Path))
@click.option(
    "--since",
    callback=_moment_of,
    metavar="TIME",
    help="Compare the crawl in BEFORE with itself as it was then: 7d ago, or at 2026-11-01.",
)
@click.option(
    "--map",
    "renaming",
    nargs=2,
    multiple=True,
    callback=_renaming_of,
    metavar="OLD NEW",
    help="Take URLs of BEFORE that begin with OLD as if they began with NEW.",
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice((*KINDS, *FIELDS)),
    metavar="WHAT",
    help="List only URLs of this kind, or pages in which this has changed.",
)
@click.option("--limit", type=click.IntRange(1), help="URLs of each kind; without it all.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with the names of its columns.")
@as_json
def diff(
    before: Path,
    after: Path | None,
    since: float | None,
    renaming: Renaming,
    only: tuple[str, ...],
    limit: int | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show what has changed from one crawl to another.

    With --since, it compares one crawl with itself. Pages are `new`, `gone` or `changed`; an `answer` is another error
    or redirect of a URL that is no page. What may have changed of a page are its status, reason, redirect, type,
    title, description, canonical, language, noindex, body and text. The crawls may run. All records are read, which
    takes a while if there are many.
    """
    if (after is None) == (since is None):
        raise click.UsageError("expected the directories of two crawls, or of one and --since")
    if as_csv and as_json:
        raise click.UsageError("expected --csv or --json, found both")
    found = make_diff(before, after or before, since=since, renaming=renaming, only=only, limit=limit)
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    with while_read():
        if as_csv:
            write_csv(found, stdout_for_programs())
        else:
            for line in diff_lines(found):
                click.echo(line)
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
