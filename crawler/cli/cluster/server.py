"""How the commands name the server of Redis, and the crawl there."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from config import Loaded
from crawler.operate.cluster.reaching import settings_of_machine
from crawler.wiring.configuration import load

server = click.option(
    "--url",
    metavar="URL",
    help="The server of Redis, as in the setting exchange.url. --set exchange.prefix=NAME names another crawl "
    "there, and --set exchange.password_file=FILE a password.",
)


def options_of(url: str | None) -> dict[str, tuple[str, object]]:
    """What `load` takes of the option."""
    options: dict[str, tuple[str, object]] = {"exchange.backend": ("a crawl on many machines", "redis")}
    return options if url is None else {**options, "exchange.url": ("--url", url)}


def settings_of_server(directory: Path | None, url: str | None, settings: Sequence[str]) -> Loaded:
    """The settings of `[exchange]`, by the options of a command, or by the directory of a machine. Raises
    `UsageError`."""
    if url is not None:
        return load(None, overrides=settings, options=options_of(url), environ=os.environ, require_seeds=False)
    if directory is None:
        raise click.UsageError("name the server by --url URL, or the directory of a machine of the crawl")
    return settings_of_machine(directory, settings)
