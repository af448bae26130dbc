"""The key of a URL in an index. Pure.

The rules are those of the Internet Archive's URL canonicalizer (https://github.com/internetarchive/surt), with which
pywb and others look URLs up: `http://www.Example.org/A/?b=2&a=1` and `https://example.org/a?a=1&b=2` have the same key,
`org,example)/a?a=1&b=2`.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

_SAFE: Final = "!\"$&'()+*,-./:;<=>?@[\\]^_`{|}~"
_TO_ESCAPE: Final = re.compile(r"[^A-Za-z0-9!\"$&'()+*,\-./:;<=>?@\[\\\]^_`{|}~]")
_WWW: Final = re.compile(r"^www\d*\.")
_MAX_PASSES: Final = 64
"""How often a URL may be escaped; nobody does so oftener in earnest."""
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}


def surt_key(url: str, /) -> str:
    """The key of an absolute URL, in the form that the WHATWG parser gives it, which is ASCII. A `urn:` is its own key:
    so ReplayWeb.page looks screenshots up."""
    is_name = url.startswith("urn:")
    if is_name or not url.isascii():
        url = quote_from_bytes(url.encode("utf-8", "replace"), safe=_SAFE + "%#")
    if is_name:
        return url
    scheme, _, rest = url.partition("#")[0].partition("://")
    rest, mark, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    key = f"{_host(scheme, authority)}){_path(slash + path)}"
    if mark and query:
        query = _query(query)
        if query:
            return f"{key}?{query}"
    return key


@lru_cache(maxsize=1000)
def _host(scheme: str, authority: str) -> str:
    host = authority.rpartition("@")[2].lower()
    port = ""
    if not host.endswith("]"):
        name, colon, number = host.rpartition(":")
        if colon:
            host, port = name, number
    host = _WWW.sub("", host.strip("[]").replace("..", ".").strip("."), count=1)
    key = ",".join(reversed(host.split(".")))
    return key if not port or port == _DEFAULT_PORTS.get(scheme) else f"{key}:{port}"


def _path(path: str) -> str:
    path = _unescaped(path)
    if "//" in path or "/." in path:
        path = _normalized(path)
    path = _escaped(path).lower()
    if path.endswith("/") and len(path) > 1 and ".aspx" not in path:
        return path[:-1]
    if ".aspx" in path:
        for session in _aspx_sessions():
            path = session.sub(r"\1\2", path)
        if path.endswith("/") and len(path) > 1:
            path = path[:-1]
    return path or "/"


@cache
def _aspx_sessions() -> Sequence[re.Pattern[str]]:
    return (
        re.compile(r"^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$"),
        re.compile(r"^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$"),
    )


def _normalized(path: str) -> str:
    kept: list[str] = []
    for name in path.split("/")[1:]:
        if name == ".." and kept:
            kept.pop()
        elif name != ".":
            kept.append(name)
    if not kept:
        return "/"
    return "/" + "".join(f"{name}/" for name in kept[:-1] if name) + kept[-1]


def _query(query: str) -> str:
    query = _escaped(_unescaped(query))
    lowered = query.lower()
    if "id=" in lowered or "aspsessionid" in lowered:
        for session in _query_sessions():
            found = session.match(query)
            if found is not None:
                query = found[1] + (found[2] or "")
    query = query.lower()
    if "&" not in query:
        return query
    return "&".join("=".join(pair) for pair in sorted(tuple(each.split("=", 1)) for each in query.split("&")))


@cache
def _query_sessions() -> Sequence[re.Pattern[str]]:
    return tuple(
        re.compile(rf"^(.*){session}(?:&(.*))?$", re.IGNORECASE)
        for session in (
            "jsessionid=[0-9a-z]{32}",
            "phpsessid=[0-9a-z]{32}",
            "sid=[0-9a-z]{32}",
            "aspsessionid[a-z]{8}=[a-z]{24}",
            "cfid=[^&]+&cftoken=[^&]+",
        )
    )


def _unescaped(text: str) -> str:
    """Without escapes, and without those that come to light thereby; bytes as Latin-1."""
    if "%" not in text:
        return text
    raw = text.encode("ascii")
    for _ in range(_MAX_PASSES):
        plain = unquote_to_bytes(raw)
        if plain == raw:
            break
        raw = plain
    return raw.decode("latin-1")


def _escaped(text: str) -> str:
    if _TO_ESCAPE.search(text) is None:
        return text
    return quote_from_bytes(text.encode("latin-1"), safe=_SAFE)
