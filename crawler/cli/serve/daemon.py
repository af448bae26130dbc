"""onceover daemon"""

import asyncio
import os
import re
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import click

from crawler.cli.options import NumberRange, size_of
from crawler.cli.run.current_directory import working_in
from crawler.cli.run.streams import say
from crawler.codes.exit_codes import REFUSED
from crawler.library.log_form import Form
from crawler.serve.api.gate.tls import Certificate, CertificateRefused
from crawler.serve.api.gate.tokens import TokenRefused
from crawler.serve.api.server import Listen, serving
from crawler.serve.daemon import Daemon, Options
from crawler.serve.life.facts import KeeperOptions, Restarts
from crawler.serve.logs import logging_daemon
from crawler.serve.machine import Limits
from crawler.serve.news.teller import telling_operator
from crawler.serve.notify import Supervisor
from crawler.serve.records import Home, HomeInUse

_SEEN_S: Final = 0.1
"""A crawl stays in state `crashed` for at least so long, so that everybody can see it."""
_MAX_PORT: Final = 65_535
_NAME: Final = re.compile(r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
_file = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--listen", metavar="HOST:PORT", help="Also serve the API there, as 127.0.0.1:8040. The token is in DIR/token."
)
@click.option("--tls-certificate", type=_file, metavar="FILE", help="Serve the port by TLS, with this certificate.")
@click.option("--tls-key", type=_file, metavar="FILE", help="The key of the certificate.")
@click.option(
    "--allow-remote",
    multiple=True,
    metavar="NAME",
    help="Let others ask for the port under this name. With TLS, HOST may be any address then. Repeatable.",
)
@click.option("--leave-crawls", is_flag=True, help="When the daemon ends, leave its crawls running.")
@click.option(
    "--max-memory",
    callback=size_of,
    metavar="SIZE",
    help="Memory of all crawls together. Above it, the crawl that takes most is restarted.",
)
@click.option("--max-open-files", type=click.IntRange(min=16), metavar="N", help="Open files of all crawls.")
@click.option(
    "--min-free-disk",
    callback=size_of,
    default="500MB",
    show_default=True,
    metavar="SIZE",
    help="Run no crawl on a disk with less free space.",
)
@click.option(
    "--restart-delay",
    type=NumberRange(min=0.0, max=3600.0),
    default=Restarts().first_delay_s,
    show_default=True,
    metavar="S",
    help="Seconds after which a crawl is restarted that crashed; three times as long after each further crash.",
)
@click.option(
    "--notify",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, executable=True),
    metavar="PROGRAM",
    help="Start this program when the state of a crawl changes, with JSON on its standard input.",
)
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of messages."
)
def daemon(  # noqa: PLR0913 - a command takes each of its options
    directory: Path,
    listen: str | None,
    tls_certificate: Path | None,
    tls_key: Path | None,
    allow_remote: tuple[str, ...],
    leave_crawls: bool,
    max_memory: int | None,
    max_open_files: int | None,
    min_free_disk: int,
    restart_delay: float,
    notify: Path | None,
    log_format: Form,
) -> int:
    """Run the crawls of the folder DIR. Each file NAME.toml in it is one.

    The daemon restarts crawls that crash, begins those anew that have a schedule, and keeps those that have finished.
    It tells on stderr what it does. SIGHUP makes it read the folder again. SIGTERM ends it, and its crawls in order;
    the next daemon goes on with them.
    """
    listening = _listen(listen, _certificate(tls_certificate, tls_key), allow_remote)
    program = notify and notify.absolute()
    options = Options(
        limits=Limits(max_memory_bytes=max_memory, max_open_files=max_open_files, min_free_bytes=min_free_disk),
        keeper=KeeperOptions(restarts=Restarts(first_delay_s=max(restart_delay, _SEEN_S))),
        leave_crawls=leave_crawls,
    )
    try:
        # Relative paths in configurations start in the folder for crawls, and so for the daemon and its commands.
        with Home(directory.resolve()) as home, working_in(home.path), logging_daemon(home.log, log_format):
            asyncio.run(_serve(home, options, listening, program))
    except (HomeInUse, TokenRefused) as error:
        say(f"onceover: {error}", to_stderr=True)
        return REFUSED
    return 0


async def _serve(home: Home, options: Options, listen: Listen | None, notify: Path | None) -> None:
    daemon = Daemon(home, options, Supervisor(os.environ))
    async with serving(daemon, listen), telling_operator(daemon, home.told, notify):
        await daemon.run()


def _listen(address: str | None, certificate: Certificate | None, allow_remote: tuple[str, ...]) -> Listen | None:
    """Raises `click.UsageError`."""
    names = tuple(name.lower() for name in allow_remote)
    for name in names:
        if not _NAME.fullmatch(name):
            raise click.BadParameter(
                f"expected the name of a host, or NAME:PORT, as clients write it, found {name!r}",
                param_hint="--allow-remote",
            )
    if address is None:
        if certificate is not None or names:
            raise click.UsageError("--tls-certificate, --tls-key and --allow-remote need --listen HOST:PORT")
        return None
    host, port = _address(address, is_remote_allowed=certificate is not None and bool(names))
    return Listen(host, port, certificate=certificate, remote_names=names)


def _certificate(certificate: Path | None, key: Path | None) -> Certificate | None:
    if certificate is None or key is None:
        if certificate is not key:
            raise click.UsageError("--tls-certificate and --tls-key belong together: expected both, found one")
        return None
    try:
        return Certificate(certificate.absolute(), key.absolute())  # a renewal may give a link another target
    except CertificateRefused as error:
        raise click.BadParameter(str(error), param_hint="--tls-certificate") from error


def _address(value: str, *, is_remote_allowed: bool) -> tuple[str, int]:
    host, _, port = value.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        address = ip_address("127.0.0.1" if host == "localhost" else host)
        number = int(port)
    except ValueError:
        address, number = None, -1
    if address is None or not 0 <= number <= _MAX_PORT or not (address.is_loopback or is_remote_allowed):
        raise click.BadParameter(
            f"expected an address of the loopback interface and a port, as 127.0.0.1:8040, found {value!r}. Another "
            "address, as 0.0.0.0:8443, needs --tls-certificate, --tls-key and --allow-remote NAME. Or use a tunnel, or "
            "a proxy with TLS",
            param_hint="--listen",
        )
    return str(address), number
