"""onceover identity"""

from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from time import time
from typing import Any, Final

import click
import msgspec

from config import toml_value
from crawler.cli.operate.options import show as show_result

_DAY_S: Final = 86_400
_folder = click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path, file_okay=False))
_days = click.option(
    "--days", default=365, show_default=True, type=click.IntRange(1, 3650), help="How long the key is valid."
)


class ShownKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key as `show --json` prints it."""

    id: str
    valid_from: str
    valid_until: str
    signs: bool
    """Whether it is the one that signs now."""


class ShownIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What `show --json` prints."""

    keys: tuple[ShownKey, ...]
    directory: str
    """The file to publish."""
    path: str
    """Where to publish it, on the site that `identity.agent` names."""
    media_type: str


@click.group()
def identity() -> None:
    """Make and renew the keys for signed requests (Web Bot Auth)."""


@identity.command()
@_folder
@_days
def init(folder: Path, days: int) -> None:
    """Make a key in FOLDER, and the directory of public keys to publish.

    A folder that has a key is not changed.
    """
    keys, known = _open(folder)
    made = _doing(lambda: known.make(now=time(), valid_s=days * _DAY_S))
    click.echo(f"made the key {made.kid}, valid until {_day(made.exp)}")
    click.echo(f"its private half is in {known.key_file(made)}: keep it to yourself, and keep a copy")
    click.echo(_publishing(known, keys))
    click.echo("then, in the configuration of the crawl:\n")
    click.echo(f'[identity]\nsign = "always"\nkeys = {toml_value(str(folder))}\nagent = "https://bot.your.site"')


@identity.command()
@_folder
@_days
@click.option(
    "--lead-days",
    default=1,
    show_default=True,
    type=click.IntRange(0, 30),
    help="The key signs after so many days: servers keep a copy of the directory.",
)
def renew(folder: Path, days: int, lead_days: int) -> None:
    """Make the next key in FOLDER, beside the present one. The directory changes too: publish it again.

    The present key signs until the next one begins, and stays in the directory for a week after that. A crawl that runs
    changes to the next key by itself.
    """
    keys, known = _open(folder)
    made, gone = _doing(lambda: known.renew(now=time(), valid_s=days * _DAY_S, lead_s=lead_days * _DAY_S))
    click.echo(f"made the key {made.kid}, which signs from {_day(made.nbf)} until {_day(made.exp)}")
    for key in gone:
        click.echo(f"{key.kid} is no longer valid and has left the directory: you may delete {known.key_file(key)}")
    click.echo(_publishing(known, keys))


@identity.command()
@_folder
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(folder: Path, as_json: bool) -> None:
    """Show the keys in FOLDER, and which of them signs now. Also show where their directory belongs."""
    keys, known = _open(folder)
    found = _doing(lambda: known.directory().keys)
    signs = keys.signing_now(found, time())
    if signs is not None:
        _doing(lambda: known.private_key(signs))
    shown = ShownIdentity(
        keys=tuple(_shown(key, signs) for key in found),
        directory=str(known.directory_file),
        path=keys.WELL_KNOWN,
        media_type=keys.MEDIA_TYPE,
    )
    show_result(shown, [_table(found, signs, time()), _publishing(known, keys)], as_json=as_json)


def _table(found: Iterable[Any], signs: Any, now: float) -> str:
    lines = []
    for key in found:
        state = (
            "signs now" if key == signs else "not yet valid" if key.nbf > now else "valid" if key.exp > now else "over"
        )
        lines.append(f"{key.kid}  {_day(key.nbf)} to {_day(key.exp)}  {state}")
    if signs is None:
        lines.append("no key is valid: `onceover identity renew` makes one")
    return "\n".join(lines)


def _shown(key: Any, signs: Any) -> ShownKey:
    return ShownKey(id=key.kid, valid_from=_moment(key.nbf), valid_until=_moment(key.exp), signs=key == signs)


def _publishing(known: Any, keys: Any) -> str:
    place = f"https://YOUR-SITE{keys.WELL_KNOWN}"
    return f"publish {known.directory_file}\n  at {place}\n  with Content-Type: {keys.MEDIA_TYPE}"


def _open(folder: Path) -> tuple[Any, Any]:
    """The module of keys, and the folder."""
    try:
        return import_module("crawler.identity.keys"), import_module("crawler.identity.folder").KeyFolder(folder)
    except ModuleNotFoundError as error:
        raise click.UsageError("cryptography is not installed: pip install 'onceover-crawler[signatures]'") from error


def _doing(do: Any) -> Any:
    """What `do` returns. Refusals of the folder are wrong usage."""
    try:
        return do()
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _day(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def _moment(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
