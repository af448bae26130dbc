"""onceover token"""

from pathlib import Path

import click
import msgspec

from crawler.cli.operate.options import show
from crawler.serve.api.gate.tokens import Rights, Token, Tokens
from crawler.serve.life.summary import moment_text

_directory = click.argument(
    "directory", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True)
)


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A token as `list --json` prints it."""

    name: str
    rights: Rights
    created_at: str | None


@click.group()
def token() -> None:
    """Add, list and revoke tokens for the API of the daemon in DIR.

    A change holds at once, also while the daemon runs.
    """


@token.command()
@_directory
@click.argument("name")
@click.option("--read-only", is_flag=True, help="The token may ask for everything, and change nothing.")
def add(directory: Path, name: str, read_only: bool) -> None:
    """Add a token called NAME, and print it. It can't be printed again: only a digest is kept."""
    click.echo(Tokens(directory).add(name, Rights.READ if read_only else Rights.FULL))


@token.command("list")
@_directory
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(directory: Path, as_json: bool) -> None:
    """List the tokens with their rights. The first is that of the owner, which is in DIR/token."""
    listed = [_listed(each) for each in Tokens(directory).known()]
    width = max((len(each.name) for each in listed), default=0)
    lines = (f"{each.name:<{width}}  {each.rights:<4}  {each.created_at or 'in the file token'}" for each in listed)
    show(listed, lines, as_json=as_json)


@token.command()
@_directory
@click.argument("name")
def revoke(directory: Path, name: str) -> None:
    """Revoke the token called NAME."""
    Tokens(directory).revoke(name)
    click.echo(f"{name} is revoked")


def _listed(each: Token) -> Listed:
    created_at = None if each.created_at is None else moment_text(each.created_at)
    return Listed(name=each.name, rights=each.rights, created_at=created_at)
