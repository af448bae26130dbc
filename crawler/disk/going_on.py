"""The command by which a crawl goes on."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import ClusterPlace, read_layout, whole_crawl
from crawler.files.content import read_file

_OF_EACH_MACHINE: Final = ("password_file", "password_env", "tls_ca", "tls_cert", "tls_key")
"""Settings of `exchange` that Redis can't tell a machine, because it needs them to get there."""


def how_to_go_on(path: Path) -> str:
    """The command with which the crawl goes on."""
    try:
        path = whole_crawl(path)
        layout = read_layout(path)
    except DirectoryRefused:
        layout = None  # the command that is named says why
    if layout is not None and layout.cluster is not None:
        return how_to_run_machine(path, layout.cluster)
    return f"onceover {'demo' if is_demo(path) else 'crawl'} --dir {shlex.quote(str(path))}"


def how_to_start_again(path: Path) -> str:
    """The commands with which a crawl that runs begins again with settings that hold from its next start."""
    layout, name = read_layout(path), shlex.quote(str(path))
    if layout is not None and layout.cluster is not None:
        machine = how_to_run_machine(path, layout.cluster)
        return f"onceover cluster stop {name}, then on each machine what runs it there; here {machine}"
    return f"onceover stop {name}, then {how_to_go_on(path)}"


class _Start(msgspec.Struct):
    """What is read of the notes of the last start."""

    is_demo: bool = False


def is_demo(path: Path) -> bool:
    """Whether only `onceover demo` can go on with the crawl, because it serves the web of that crawl."""
    try:
        return msgspec.json.decode(read_file(CrawlDirectory(path).start), type=_Start).is_demo
    except (OSError, *UNREADABLE):
        return False


def how_to_run_machine(path: Path, cluster: ClusterPlace) -> str:
    """The same for a machine that has parts of a crawl on many."""
    server = f"{shlex.quote(cluster.url)}{prefix_option(cluster.prefix)}{exchange_options(stored_exchange(path))}"
    return f"onceover crawl --cluster {server} --dir {shlex.quote(str(path))}"


def stored_exchange(path: Path) -> dict[str, object]:
    """How the last run in a directory reached the server; empty if its configuration can't be read."""
    import tomllib  # noqa: PLC0415 - other crawls have nothing to read

    try:
        exchange = tomllib.loads(read_file(CrawlDirectory(path).configuration).decode()).get("exchange")
    except (OSError, ValueError, RecursionError):  # the command that is named says why
        return {}
    return exchange if isinstance(exchange, dict) else {}


def exchange_options(exchange: Mapping[str, object]) -> str:
    """What a command must repeat to reach the same server of Redis, behind its URL and prefix. `exchange` has the
    settings of that name."""
    values = {name: exchange.get(name) for name in _OF_EACH_MACHINE}
    return "".join(
        f" --set exchange.{name}={shlex.quote(value)}" for name, value in values.items() if isinstance(value, str)
    )


def prefix_option(prefix: str) -> str:
    """What names a crawl on many machines in a command, behind its server; nothing for the default prefix."""
    return "" if prefix == "onceover" else f" --set exchange.prefix={prefix}"
