"""Where `onceover export` writes to, and what it says."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from crawler.cli.run.streams import say_result
from crawler.export.aside import Target


def is_stream(to: Path) -> bool:
    """Whether `--to` means standard output."""
    return str(to) == "-"


def target(to: Path) -> Target:
    return sys.stdout.buffer if is_stream(to) else to


def conclude(written: str, to: Path) -> None:
    """Say what was written, on stderr if stdout has it."""
    remark(written) if is_stream(to) else say_result(f"{written}: {to}")


def remark(text: str) -> None:
    click.echo(text, err=True)


def remark_by_place(places: Sequence[Path], folders: Sequence[Path]) -> Callable[[str], None]:
    """Tells by the names of the WACZ files what is told of the temporary folders with their files."""

    def tell(text: str) -> None:
        for source, folder in zip(places, folders, strict=True):
            text = text.replace(f"{folder}/", f"{source}/archive/") if source != folder else text
        remark(text)

    return tell


def remark_damage(file: str, offset: int, why: str) -> None:
    remark(f"{file}: the line at byte {offset} is not a record and was skipped: {why}")
