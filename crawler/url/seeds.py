"""Reads URLs that a person wrote, such as seeds, where a scheme may be missing, as in `example.org`."""

import re
from collections.abc import Callable
from typing import Final

from ada_url import normalize_url

from crawler.url.hosts import has_known_top_level, is_address
from crawler.url.urls import Target, UrlReader, host_of, without_password

_WITHOUT_SCHEME: Final = re.compile(
    r"(?:localhost|\[[0-9a-f:.]+\]|[^\s/?#@:\[\]\\][^\s/?#@:\[\]\\.]*+\.[^\s/?#@:\[\]\\]++)"
    r"(?P<port>:[0-9]{1,5})?(?:[/?#].*)?",
    re.DOTALL | re.IGNORECASE,
)
"""A host in which a dot stands, and perhaps a port. `tel:112` is none, and `me@example.org` neither. The first dot
behind the first character counts, so that a long text takes no longer than its length."""
_HOST: Final = re.compile(r"((?:[\w-]+\.)+[\w-]+)(?::[0-9]{1,5})?(?=[/?#]|\Z)")
_ANOTHER_URL: Final = re.compile(r"\s[\"'<]?https?://", re.IGNORECASE)
"""A URL behind white space. Within one URL that would be `%20`."""
_LOGIN: Final = re.compile(r"(?!mailto:)[^\s/?#@:\\]+:[^\s/?#@\\]*@[^\s/?#@\\]", re.IGNORECASE)
"""A user and a password before a host, without a scheme. The user would be read as the scheme."""
_IPV4: Final = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
_RESERVED: Final = frozenset({"example", "internal", "invalid", "local", "localhost", "test"})
"""Top-level domains that are in no list of public suffixes (RFC 2606, RFC 6761, RFC 6762; `internal` by ICANN)."""


def read_seed(urls: UrlReader, text: str, /, *, called: str = "seed") -> tuple[Target, bool]:
    """The URL, and whether it has a scheme; one without gets https. Without a scheme, it must begin with an address,
    `localhost`, or a name in a top-level domain that exists: `seeds.txt` is a mistake, and `1.5` is no address. Raises
    `ValueError` as `UrlReader.seed`, with what to write."""
    written = text.strip()
    if _ANOTHER_URL.search(written) is not None:
        raise ValueError(
            f"{called} {without_password(written)[:100]!r} holds several URLs: write each on a line of its own"
        )
    match = _WITHOUT_SCHEME.fullmatch(written)
    if match is None:
        if _LOGIN.match(written) is not None:
            text = written = f"https://{written}"
        read = urls.seed(text, called=called)
        if "@" in written and _has_login(written):
            raise ValueError(
                f"{called} '{read.url}' has a login, which would not be sent, but be written to logs and archives: "
                "write it without, and name the login in fetch.logins"
            )
        return read, True
    target: Target | None
    try:
        target = urls.seed(f"https://{written}", called=called)
    except ValueError:
        target = None
    if target is None:
        return urls.seed(text, called=called), True
    if (why := _why_not_meant(target.host, written)) is not None:
        raise ValueError(f"{called} {written[:100]!r} has no scheme, and {why}; if it is a host, write '{target.url}'")
    # With the port of https, it can't be meant for http.
    return target, match["port"] == ":443"


def is_seed(text: str, /) -> bool:
    """Whether `read_seed` can read it."""
    try:
        read_seed(UrlReader(), text)
    except ValueError:
        return False
    return True


def scheme_adder(url: str, /) -> Callable[[str], str]:
    """A function that adds the scheme to URLs without one that begin with the host of the sitemap or robots.txt at
    `url`, such as `example.org/a`. Without it, such a URL would be read as a path."""
    own = host_of(url).removeprefix("www.") if url else ""
    scheme = url.partition(":")[0]

    def add_scheme(href: str) -> str:
        if not own or not (found := _HOST.match(href)):
            return href
        host = found[1].lower()
        return f"{scheme}://{href}" if host == own or host.endswith(f".{own}") else href

    return add_scheme


def _has_login(url: str, /) -> bool:
    """Whether a URL has a user or a password. Raises `ValueError` if it is no URL."""
    return "@" in normalize_url(url).partition("//")[2].partition("/")[0]


def _why_not_meant(host: str, written: str) -> str | None:
    """Why what was written may be a mistake, though it can be read as a URL at that host; None if it is none."""
    if host == "localhost" or host.startswith("["):
        return None
    if is_address(host):
        return None if _IPV4.match(written) is not None else "is no full address"
    top_level = host.rstrip(".").rpartition(".")[2]
    return None if top_level in _RESERVED or has_known_top_level(host) else f"no top-level domain .{top_level} is known"
