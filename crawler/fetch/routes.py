"""What is different for some hosts: whose certificates go unverified, who is asked through a proxy, who wants a login.

Secrets are never part of a configuration, which is kept and shown: it names the variable of the environment or the file
where one stands.
"""

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from yarl import URL

_Value = TypeVar("_Value")
_SCHEMES = ("http", "https")


class Hosts(Generic[_Value]):
    """Values by host name, or `*.suffix` for every name below a suffix, or `*`; the longest match wins."""

    def __init__(self, values: Mapping[str, _Value]) -> None:
        self._values = {name.lower().rstrip("."): value for name, value in values.items()}

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


class Proxy(msgspec.Struct, frozen=True):
    """Who is asked in place of the server."""

    url: URL
    headers: dict[str, str] | None
    """For the proxy alone: its login."""


class Routes:
    """What is different for some hosts.

    `unverified` are patterns of hosts whose certificates need not be right. `proxies` gives the proxy for a pattern, as
    `http://192.0.2.1:3128`. `logins` says where the login for a pattern, or for a proxy's host, stands: `env:NAME` or
    `file:PATH`; it is `user:password`, or `Bearer` and a token. Raises `ValueError`, without the secret.
    """

    def __init__(
        self,
        *,
        unverified: tuple[str, ...] = (),
        proxies: Mapping[str, str] | None = None,
        logins: Mapping[str, str] | None = None,
    ) -> None:
        self._unverified = Hosts(dict.fromkeys(unverified, True))
        self._logins = Hosts({name: authorization(place) for name, place in (logins or {}).items()})
        found = {name: self._proxy(name, url) for name, url in (proxies or {}).items()}
        self._proxies = Hosts(found)
        self.places = frozenset((proxy.url.raw_host, proxy.url.port) for proxy in found.values())
        """Host and port of each proxy, where the host is an address."""

    def _proxy(self, name: str, text: str) -> Proxy:
        url = URL(text)
        if url.scheme not in _SCHEMES or not url.raw_host or url.raw_user is not None or url.raw_password is not None:
            raise ValueError(
                f"proxies: {name!r} must map to a URL such as 'http://192.0.2.1:3128', without a login, which "
                "stands in logins under the proxy's host"
            )
        login = self._logins.find(url.raw_host)
        return Proxy(url, None if login is None else {"Proxy-Authorization": login})

    def verifies(self, host: str) -> bool:
        return self._unverified.find(host) is None

    def proxy(self, host: str) -> Proxy | None:
        return self._proxies.find(host)

    def authorization(self, host: str) -> str | None:
        """For Authorization."""
        return self._logins.find(host)


def authorization(place: str, /) -> str:
    """The value of an Authorization header from where its login stands. Raises `ValueError`, without the secret."""
    kind, _, name = place.partition(":")
    match kind:
        case "env":
            secret = os.environ.get(name)
            if not secret:
                raise ValueError(f"logins: expected a login in the environment variable {name}, which is not set")
        case "file":
            try:
                secret = Path(name).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise ValueError(f"logins: can't read {name}: {type(error).__name__}") from None
        case _:
            raise ValueError(f"logins: expected env:NAME or file:PATH, found {place!r}")
    if not secret.isprintable():
        raise ValueError(f"logins: expected one line in {place}")
    if secret.startswith("Bearer "):
        return secret
    if ":" not in secret:
        raise ValueError(f"logins: expected user:password, or Bearer and a token, in {place}")
    return "Basic " + base64.b64encode(secret.encode()).decode("ascii")
