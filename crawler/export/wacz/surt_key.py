"""The key by which replay looks up a URL. Pure."""

import re
from typing import Final

from crawler.url.hosts import split_port

_WWW: Final = re.compile(r"^www\d*\.")
_NEEDLESS: Final = re.compile(r"%(?:2d|2e|3[0-9]|4[1-9a-f]|5[0-9a]|5f|6[1-9a-f]|7[0-9a]|7e)")
"""Escapes of characters that need none: letters, digits, `-`, `.`, `_` and `~`."""
_SLASHES: Final = re.compile(r"/{2,}")
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


def surt_key(url: str) -> str:
    """The host in SURT order without `www`, path and query in lower case, the parts of the query in order: as web
    archives write it, `org,example)/path?a=1&b=2`."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url.lower()
    rest = rest.partition("#")[0]
    end = min((at for mark in "/?" if (at := rest.find(mark)) >= 0), default=len(rest))
    host, port = split_port(rest[:end].rpartition("@")[2].lower())
    if port == _DEFAULT_PORTS.get(scheme.lower()):
        port = ""
    plain = _NEEDLESS.sub(lambda escape: chr(int(escape[0][1:], 16)), rest[end:].lower()).lower()
    path, _, query = plain.partition("?")
    path = _SLASHES.sub("/", path).rstrip("/") or "/"
    if query:
        path = f"{path}?{'&'.join(sorted(query.split('&')))}"
    name = host if host.startswith("[") else ",".join(reversed(_WWW.sub("", host, count=1).strip(".").split(".")))
    return f"{name}{port}){path}"
