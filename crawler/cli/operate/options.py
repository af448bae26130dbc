"""What the commands of an operator have in common."""

import os
import shlex
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TextIO, TypeVar

import click
import msgspec

from crawler.cli.run.streams import say_result
from crawler.disk.going_on import how_to_go_on
from crawler.disk.layout import part_directory
from crawler.operate.missing import notes_of_missing
from crawler.operate.reach import ReachedCrawl, reach
from crawler.status import size


class _NamedPath(click.Path):
    """A path. An empty one would be the current directory, which nobody means who writes `--to "$UNSET"`. No crawl is
    in a directory whose name has control characters, and messages have one line."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        if value == "":
            self.fail("expected a path, found an empty text; write . for the current directory", param, ctx)
        if any(unicodedata.category(character) == "Cc" for character in os.fspath(value)):
            self.fail(f"expected a path without control characters, found {value!a}", param, ctx)
        return super().convert(value, param, ctx)


named_path: Final = _NamedPath(path_type=Path)
directory = click.argument("directory", metavar="DIR", type=named_path)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


part = click.option(
    "--part", type=click.IntRange(min=0), metavar="K", help="Only part K of a crawl in parts; the first one is 0."
)

_PROGRESS_EVERY_S: Final = 0.5
_VARIABLE: Final = "ONCEOVER_TOKEN"
_Command = TypeVar("_Command", bound=Callable[..., object])


class Daemon(msgspec.Struct, frozen=True):
    """A daemon that is asked through its API."""

    url: str
    token: str
    token_file: str | None
    """As in the command; None if the environment has the token."""


def _note_token(context: click.Context, _option: click.Parameter, file: TextIO | None) -> None:
    token = os.environ.get(_VARIABLE, "") if file is None else file.read()
    name = None if file is None else file.name
    context.meta[_VARIABLE] = token.strip(), "-" if name == "<stdin>" else name


def _daemon(context: click.Context, _option: click.Parameter, url: str | None) -> Daemon | None:
    if url is None:
        return None
    token, token_file = context.meta[_VARIABLE]
    if not token or not token.isascii() or not token.isprintable():
        raise click.UsageError(f"--url needs a token of the daemon, in the file of --token-file or in {_VARIABLE}")
    return Daemon(url, token, token_file)


def of_daemon(command: _Command) -> _Command:
    """Give a command the options to ask a daemon. With them, DIR is the name of a crawl. It gets `daemon`."""
    url = click.option(
        "--url", "daemon", metavar="URL", callback=_daemon, help="Ask the daemon at URL for its crawl of the name DIR."
    )
    token_file = click.option(
        "--token-file",
        metavar="FILE",
        type=click.File(),
        is_eager=True,
        expose_value=False,
        callback=_note_token,
        help=f"The file of the token for --url; - is standard input. Without it, {_VARIABLE} has the token.",
    )
    return url(token_file(command))


@contextmanager
def crawl_at(directory: Path, daemon: Daemon | None, *, to_change: bool = False) -> Iterator[ReachedCrawl]:
    """The crawl in a directory, as `reach` finds it, or the one of that name of a daemon."""
    if daemon is None:
        with reach(directory, to_change=to_change, on_wait=partial(click.echo, err=True)) as crawl:
            yield crawl
        return
    # It loads HTTP and TLS, which commands on directories do not need.
    from crawler.operate.reach_daemon import DaemonCrawl, daemon_at  # noqa: PLC0415 - see above

    yield DaemonCrawl(daemon_at(daemon.url, daemon.token), str(directory))


def named(directory: Path, daemon: Daemon | None) -> str:
    """What names the crawl in a command for a shell."""
    name = shlex.quote(str(directory))
    if daemon is None:
        return name
    token = "" if daemon.token_file is None else f" --token-file {shlex.quote(daemon.token_file)}"
    return f"{name} --url {shlex.quote(daemon.url)}{token}"


def go_on_command(directory: Path, daemon: Daemon | None) -> str:
    return how_to_go_on(directory) if daemon is None else f"onceover start {named(directory, daemon)}"


def place(directory: Path, part: int | None, daemon: Daemon | None = None) -> Path:
    """Where to find the crawl, or one part of it. Raises `UsageError`."""
    if part is not None and daemon is not None:
        raise click.UsageError("--part and --url can't be together: a daemon answers for a whole crawl")
    try:
        return directory if part is None else part_directory(directory, part)
    except ValueError as error:
        raise click.UsageError(f"--part {part}: {error}") from error


def show(result: object, text: str | Iterable[str], *, as_json: bool) -> None:
    """Print the result of a command: as JSON, or for people. Raises `OSError` like `say_result`."""
    for line in [msgspec.json.encode(result)] if as_json else [text] if isinstance(text, str) else text:
        say_result(line)


def note_elsewhere(directory: Path) -> None:
    """Say which parts of a crawl are missing, or on other machines, so that nobody takes what is here for all."""
    for note in notes_of_missing(directory):
        click.echo(f"note: {note}", err=True)


@contextmanager
def bytes_progress(done: str) -> Iterator[Callable[[int, int], None]]:
    """Shows bytes on a terminal, in one line that goes away at the end."""
    shows, next_at = sys.stderr.isatty(), 0.0

    def show(now: int, total: int) -> None:
        nonlocal next_at
        if shows and (at := time.monotonic()) >= next_at:
            next_at = at + _PROGRESS_EVERY_S
            click.echo(f"\r{size(now)} of {size(total)} {done}\x1b[K", err=True, nl=False)

    try:
        yield show
    finally:
        if shows:
            click.echo("\r\x1b[K", err=True, nl=False)
