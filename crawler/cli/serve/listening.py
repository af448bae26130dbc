"""The options of `onceover daemon` that say where the API listens."""

import re
from collections.abc import Callable
from functools import wraps
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import click

from crawler.serve.api.gate.tls import Certificate, CertificateRefused
from crawler.serve.api.server import Listen

_MAX_PORT: Final = 65_535
_NAME: Final = re.compile(r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
_file = click.Path(path_type=Path, exists=True, dir_okay=False)


def listen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that a command gets as one value, `listen`."""

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
    @wraps(command)
    def with_listen(
        *arguments: Any,
        listen: str | None,
        tls_certificate: Path | None,
        tls_key: Path | None,
        allow_remote: tuple[str, ...],
        **others: Any,
    ) -> Any:
        certificate = _certificate(tls_certificate, tls_key)
        return command(*arguments, listen=_listen(listen, certificate, allow_remote), **others)

    return with_listen


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
        return Certificate(certificate.resolve(), key.resolve())
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
