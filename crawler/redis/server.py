"""Where a server of Redis is, and how to get in."""

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec

SCHEMES: Final = ("redis", "rediss", "unix", "sentinel", "sentinels")


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One server, a node of a cluster, or Sentinels with the name of what they watch."""

    url: str
    """`redis://[USER@]HOST:PORT/DATABASE`, `rediss://` with TLS, `unix:///PATH`, or
    `sentinel://HOST:PORT,HOST:PORT/NAME/DATABASE` (`sentinels://` with TLS). `redis://HOST:PORT,HOST:PORT` names
    several nodes of a cluster, of which some may be down."""
    password: str | None = None
    password_file: Path | None = None
    """Has the password instead, and is read at each connection: the password may change while a crawl runs."""
    tls_ca: Path | None = None
    """Certificates of those who may have signed the server's. None for those that this machine trusts."""
    tls_cert: Path | None = None
    """The certificate by which a server knows this program."""
    tls_key: Path | None = None

    def __str__(self) -> str:
        """The URL as it may be shown: without a password."""
        found = urlsplit(self.url)
        if found.password is None:
            return self.url
        user, _, place = found.netloc.rpartition("@")
        return urlunsplit(found._replace(netloc=f"{user.partition(':')[0]}@{place}"))

    @property
    def user(self) -> str | None:
        """The user that the URL names."""
        name = urlsplit(self.url).username
        return None if not name else unquote(name)

    def urls(self) -> list[str]:
        """One for each node that it names."""
        found = urlsplit(self.url)
        if found.scheme not in ("redis", "rediss"):
            return [self.url]
        user, at, nodes = found.netloc.rpartition("@")
        return [urlunsplit(found._replace(netloc=f"{user}{at}{node}")) for node in nodes.split(",")]

    @property
    def has_tls(self) -> bool:
        return urlsplit(self.url).scheme in ("rediss", "sentinels")


def password_in(file: Path) -> str:
    """The password that a file has. Raises `OSError` and `UnicodeDecodeError`."""
    return file.read_text(encoding="utf-8").rstrip("\r\n")
