"""What the commands of an operator have in common."""

from pathlib import Path

import click

from crawler.disk.layout import part_directory
from crawler.operate.missing import notes_of_missing

directory = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


part = click.option(
    "--part", type=click.IntRange(min=0), metavar="K", help="Only part K of a crawl in parts; the first one is 0."
)


def place(directory: Path, part: int | None) -> Path:
    """Where to find the crawl, or one part of it. Raises `UsageError`."""
    try:
        return directory if part is None else part_directory(directory, part)
    except ValueError as error:
        raise click.UsageError(f"--part {part}: {error}") from error


def note_elsewhere(directory: Path) -> None:
    """Say which parts of a crawl are missing, or on other machines, so that nobody takes what is here for all."""
    for note in notes_of_missing(directory):
        click.echo(f"note: {note}", err=True)


def alias(command: click.Command, name: str, means: str) -> click.Command:
    """The same command under a name that it had before."""
    return click.Command(
        name, callback=command.callback, params=command.params, hidden=True, help=f"The old name of `onceover {means}`."
    )
