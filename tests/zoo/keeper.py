"""Serves the zoo: plain HTTP by host on one port, and what happens below HTTP on ports of their own."""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET

import msgspec
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from crawler.page import Failure, Fetched, NotModified, Page, Redirect
from crawler.testing.fetch.raw_server import CUT, RawServer, Script, Seen, head, page, raw_server
from tests.servers import Serve, listening
from tests.zoo import bombs
from tests.zoo.animals import ANIMALS

DOMAIN = "zoo.test"
LIMITS: dict[str, float] = {
    "timeout_s": 20.0,
    "connect_timeout_s": 20.0,
    "head_timeout_s": 20.0,
    "window_s": 0.5,
    "min_window_bytes": 50,
}
"""Settings of a fetcher under which the slow are found out soon."""

_LINKS = b"".join(b"<a href=/%d>" % number for number in range(1, 30))


BELOW_HTTP = {
    "tls-expired": "failed tls-expired",
    "tls-of-another-host": "failed tls-wrong-host",
    "tls-not-yet-valid": "failed tls-expired",
    "tls-self-signed": "failed tls-self-signed",
    "tls-of-an-unknown-authority": "failed tls-unknown-authority",
    "tls-of-an-incomplete-chain": "failed tls-unknown-authority",
    "tls-downgraded": "failed tls-version",
    "tls-of-no-version-in-common": "failed tls-version",
    "tls-closed-in-handshake": "failed tls",
    "tls-reset-in-handshake": "failed connect",
    "tls-garbage-in-handshake": "failed tls",
    "tls-hangs-in-handshake": "failed timeout",
    "tls-never-spoken": "failed tls",
    "tls-good": "page 200",
    "tls-cut-in-a-document": "page 200 cut:disconnect",
    "tls-cut-behind-a-document": "page 200",
    "closed-when-connected": "failed disconnected",
    "accepts-and-says-nothing": "failed timeout",
    "nobody-listens": "failed connect",
}
"""Outcomes of what no HTTP script can show, by name; those that begin with `tls-` are asked by https."""

HEALTHY = ("well", "sound", "fit", "hale")
HEALTHY_PAGES = 30
"""Hosts beside the animals, with so many pages each."""

OUTCOMES = {name: animal.outcome for name, animal in ANIMALS.items()} | BELOW_HTTP
"""The outcome of every behaviour."""


class Zoo(msgspec.Struct, frozen=True):
    """A zoo that is open."""

    hosts: dict[str, str]
    """Static names, for the fetcher."""
    authorities: str
    """Certificate of the authority that vouches for the good ones."""
    plain: RawServer
    """What serves the animals, whatever they are asked by."""
    https: bool = False
    """Whether all animals are behind TLS."""

    def url(self, name: str) -> str:
        """The URL of a behaviour. Those below HTTP speak in the clear or over TLS, as their names say."""
        is_secure = name.startswith("tls-") or (self.https and name not in BELOW_HTTP)
        return f"{'https' if is_secure else 'http'}://{name}.{DOMAIN}/"


def outcome_of(fetched: Fetched) -> str:
    """In the words of the package's text."""
    match fetched:
        case Failure():
            return f"failed {fetched.kind}"
        case Redirect():
            return "redirect"
        case NotModified():
            return "not-modified"
        case Page():
            return f"page {fetched.status}" + (f" cut:{fetched.truncated}" if fetched.truncated else "")


@asynccontextmanager
async def open_zoo(folder: Path, *, robots: bool = False, https: bool = False) -> AsyncIterator[Zoo]:
    """Open for the duration of the block. With `robots`, hosts behave as they do for robots.txt too; without, there is
    none. With `https`, all are behind TLS. `folder` is for the authority's certificate."""

    def script(seen: Seen) -> Script:
        name = (seen.header("Host") or "").partition(".")[0]
        if name in HEALTHY:
            return [page(_LINKS, b"Content-Type: text/html")]
        if name not in ANIMALS or (seen.target == "/robots.txt" and not robots):
            return [page(b"", status=b"404 Not Found")]
        return ANIMALS[name].script(seen)

    for bomb in (bombs.deflate_bomb, bombs.br_bomb, bombs.nested_br_bomb, bombs.zstd_bomb):
        bomb()  # once, and not while others wait to be served
    bombs.gzip_bomb(10)
    authority = trustme.CA()
    authorities = folder / "authorities.pem"
    authority.cert_pem.write_to_path(authorities)
    async with AsyncExitStack() as stack:
        plain = await stack.enter_async_context(raw_server(script, tls=_of_all(authority) if https else None))
        hosts = {f"*.{DOMAIN}": f"127.0.0.1:{plain.port}"}
        for name, tls in _contexts(authority).items():
            server = await stack.enter_async_context(raw_server({"/": _OVER_TLS.get(name, [page(b"secret")])}, tls=tls))
            hosts[f"{name}.{DOMAIN}"] = f"127.0.0.1:{server.port}"
        for name, serve in _RAW.items():
            port = await stack.enter_async_context(listening(serve))
            hosts[f"{name}.{DOMAIN}"] = f"127.0.0.1:{port}"
        hosts[f"nobody-listens.{DOMAIN}"] = "127.0.0.1:1"
        yield Zoo(hosts, str(authorities), plain, https)


def _of_all(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(f"*.{DOMAIN}").configure_cert(context)
    return context


_OVER_TLS: dict[str, Script] = {
    "tls-cut-in-a-document": [head(), b"<html><p>half", CUT],
    "tls-cut-behind-a-document": [head(), b"<html><p>whole</html>", CUT],
}


def _contexts(authority: trustme.CA) -> dict[str, ssl.SSLContext]:
    long_ago = datetime(2001, 1, 1, tzinfo=UTC), datetime(2002, 1, 1, tzinfo=UTC)
    some_day = datetime(2901, 1, 1, tzinfo=UTC), datetime(2902, 1, 1, tzinfo=UTC)
    issued = {
        "tls-good": authority.issue_cert(f"tls-good.{DOMAIN}"),
        **{name: authority.issue_cert(f"{name}.{DOMAIN}") for name in _OVER_TLS},
        "tls-expired": authority.issue_cert(f"tls-expired.{DOMAIN}", not_before=long_ago[0], not_after=long_ago[1]),
        "tls-of-another-host": authority.issue_cert("somebody-else.test"),
        "tls-not-yet-valid": authority.issue_cert(
            f"tls-not-yet-valid.{DOMAIN}", not_before=some_day[0], not_after=some_day[1]
        ),
        "tls-of-an-unknown-authority": trustme.CA().issue_cert(f"tls-of-an-unknown-authority.{DOMAIN}"),
    }
    contexts = {}
    for name, certificate in issued.items():
        contexts[name] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(contexts[name])
    alone, name = authority.create_child_ca(), "tls-of-an-incomplete-chain"
    certificate = alone.issue_cert(f"{name}.{DOMAIN}")
    contexts[name] = _context(certificate.private_key_pem.bytes() + certificate.cert_chain_pems[0].bytes())
    contexts["tls-self-signed"] = _context(_self_signed(f"tls-self-signed.{DOMAIN}"))
    return contexts


def _context(pem: bytes) -> ssl.SSLContext:
    """Of a server with this key and these certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with trustme.Blob(pem).tempfile() as file:
        context.load_cert_chain(file)
    return context


def _self_signed(host: str) -> bytes:
    """A key, and the certificate with which it vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime(2001, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2901, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    return pem + certificate.public_bytes(serialization.Encoding.PEM)


async def _reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    while await reader.read(65536):
        pass


async def _after_hello(reader: asyncio.StreamReader, end: Callable[[], Awaitable[None]]) -> None:
    await reader.read(10)
    await end()


async def _alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Fatal: protocol version (RFC 8446, section 6)."""
    await reader.read(10)
    writer.write(b"\x15\x03\x01\x00\x02\x02\x46")
    await reader.read()


async def _old_hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A ServerHello that chooses TLS 1.0 and AES128-SHA."""
    await reader.read(10)
    hello = b"\x03\x01" + bytes(32) + b"\x00" + b"\x00\x2f" + b"\x00"
    message = b"\x02" + len(hello).to_bytes(3) + hello
    writer.write(b"\x16\x03\x01" + len(message).to_bytes(2) + message)
    await reader.read()


async def _garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)
    writer.write(b"\x16\x03\x03\x40\x00" + bytes(range(256)) * 100)
    await writer.drain()


async def _plain_text(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)
    writer.write(page(b"you must speak in the clear", status=b"400 Bad Request"))
    await writer.drain()


_RAW: dict[str, Serve] = {
    "closed-when-connected": _close,
    "accepts-and-says-nothing": _silent,
    "tls-closed-in-handshake": lambda reader, writer: _after_hello(reader, lambda: _close(reader, writer)),
    "tls-reset-in-handshake": lambda reader, writer: _after_hello(reader, lambda: _reset(reader, writer)),
    "tls-downgraded": _old_hello,
    "tls-of-no-version-in-common": _alert,
    "tls-garbage-in-handshake": _garbage,
    "tls-never-spoken": _plain_text,
    "tls-hangs-in-handshake": _silent,
}
