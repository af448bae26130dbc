"""Settings of some hosts: unverified certificates, proxies, logins.

A configuration never contains secrets, because it is stored and shown. It names an environment variable or a file that
contains the secret.
"""

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from yarl import URL

from crawler.url.hosts import in_ascii

_Value = TypeVar("_Value")
_HTTP = ("http", "https")
_SCHEMES = (*_HTTP, "socks5", "socks5h")
_SOCKS_PORT = 1080
_MAX_SOCKS_LOGIN = 255
"""Bytes of the user and of the password: RFC 1929."""


class Hosts(Generic[_Value]):
    """Values by host name, or `*.suffix` for every name below a suffix, or `*`; the longest match wins. Names may have
    letters beyond ASCII."""

    def __init__(self, values: Mapping[str, _Value]) -> None:
        self._values = {in_ascii(name).lower().rstrip("."): value for name, value in values.items()}

    def __bool__(self) -> bool:
        return bool(self._values)

    def find(self, host: str, /) -> _Value | None:
        """The value of `host`, which is lower-case."""
        if not self._values:
            return None
        suffix = host.rstrip(".")
        value = self._values.get(suffix)
        while value is None and suffix:
            suffix = suffix.partition(".")[2]
            value = self._values.get(f"*.{suffix}" if suffix else "*")
        return value


class BadRoute(ValueError):
    """A wrong setting, `proxies` or `logins`. The message does not contain the secret."""

    def __init__(self, setting: str, message: str) -> None:
        self.setting = setting
        super().__init__(f"{setting}: {message}")
        self.message = message


class HttpProxy(msgspec.Struct, frozen=True):
    """A proxy to which we send requests instead of the server."""

    url: URL
    headers: dict[str, str] | None
    """Headers for the proxy only: its login."""


class SocksProxy(msgspec.Struct, frozen=True):
    """A proxy that connects to the server for us."""

    host: str
    port: int
    finds_names: bool
    """Whether it gets names instead of addresses (`socks5h`)."""
    user: str | None = None
    password: str | None = None


class Routes:
    """The settings of some hosts. Raises `BadRoute`.

    `unverified`: patterns of hosts whose certificates are not verified. `proxies`: the proxy for a pattern, as
    `http://192.0.2.1:3128`, `socks5://…` or `socks5h://…`. `logins`: where to find the login for a pattern or for a
    proxy's host, as `env:NAME` or `file:PATH`; the login is `user:password`, or `Bearer` and a token.
    """

    def __init__(
        self,
        *,
        unverified: tuple[str, ...] = (),
        proxies: Mapping[str, str] | None = None,
        logins: Mapping[str, str] | None = None,
    ) -> None:
        self._unverified = Hosts(dict.fromkeys(unverified, True))
        secrets = Hosts({name: (place, read_secret(place)) for name, place in (logins or {}).items()})
        self._logins = secrets
        found = {name: _proxy(name, url, secrets) for name, url in (proxies or {}).items()}
        self._proxies = Hosts(found)
        http = [proxy.url for proxy in found.values() if isinstance(proxy, HttpProxy)]
        self.proxy_addresses = frozenset((url.raw_host, url.port) for url in http)
        """Host and port of each HTTP proxy."""

    def verifies(self, host: str) -> bool:
        return self._unverified.find(host) is None

    def proxy(self, host: str) -> HttpProxy | SocksProxy | None:
        return self._proxies.find(host)

    def socks(self, host: str) -> SocksProxy | None:
        proxy = self._proxies.find(host)
        return proxy if isinstance(proxy, SocksProxy) else None

    def authorization(self, host: str) -> str | None:
        """The value for the header Authorization; None without a login."""
        login = self._logins.find(host)
        return None if login is None else authorization(login[1])


def _proxy(name: str, text: str, secrets: "Hosts[tuple[str, str]]") -> HttpProxy | SocksProxy:
    url = URL(text)
    if url.scheme not in _SCHEMES or not url.raw_host or url.raw_user is not None or url.raw_password is not None:
        raise BadRoute(
            "proxies",
            f"{name!r} must map to a URL such as 'http://192.0.2.1:3128' or 'socks5://192.0.2.1:1080', "
            "without a login, which stands in logins under the proxy's host",
        )
    login = secrets.find(url.raw_host)
    if url.scheme in _HTTP:
        return HttpProxy(url, None if login is None else {"Proxy-Authorization": authorization(login[1])})
    user = password = None
    if login is not None:
        place, secret = login
        user, _, password = secret.partition(":")
        fits = user and password and secret.isascii() and max(len(user), len(password)) <= _MAX_SOCKS_LOGIN
        if not fits or secret.startswith("Bearer "):
            raise BadRoute("logins", f"expected user:password in ASCII for a SOCKS proxy, in {place}")
    return SocksProxy(url.raw_host, url.port or _SOCKS_PORT, url.scheme == "socks5h", user, password)


def authorization(secret: str, /) -> str:
    """The value of an Authorization header for a login."""
    if secret.startswith("Bearer "):
        return secret
    return "Basic " + base64.b64encode(secret.encode()).decode("ascii")


def read_secret(place: str, /) -> str:
    """Read a login from an environment variable or a file. Raises `BadRoute`."""
    kind, _, name = place.partition(":")
    match kind:
        case "env":
            secret = os.environ.get(name)
            if not secret:
                raise BadRoute("logins", f"expected a login in the environment variable {name}, which is not set")
        case "file":
            try:
                secret = Path(name).read_text(encoding="utf-8").strip()
            except OSError as error:
                raise BadRoute("logins", f"can't read {name}: {error.strerror}") from None
            except UnicodeDecodeError:
                # Do not quote the text, which may be the secret.
                raise BadRoute("logins", f"expected text in UTF-8 in {name}") from None
        case _:
            raise BadRoute("logins", f"expected env:NAME or file:PATH, found {place!r}")
    if not secret.isprintable():
        raise BadRoute("logins", f"expected one line in {place}")
    if not secret.startswith("Bearer ") and ":" not in secret:
        raise BadRoute("logins", f"expected user:password, or Bearer and a token, in {place}")
    return secret
