"""One request, in the form in which aiohttp's connector takes it."""

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from ssl import SSLContext
from typing import Any
from urllib.parse import unquote_to_bytes

import aiohttp
from aiohttp.client_reqrep import ConnectionKey, RequestInfo
from aiohttp.http_writer import _serialize_headers
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

_SIMPLE = re.compile(r"(https?://[^/?#@\\\s]+)(/[!-\"$-~]*)")
"""An origin, and what is sent as it stands. URLs of pages are in this form, unless they have a login."""


class Origin:
    """What the URLs of one origin have in common."""

    __slots__ = ("host", "host_header", "key", "port", "scheme")

    def __init__(self, url: URL) -> None:
        self.scheme = url.scheme
        self.host = url.raw_host or ""
        self.port = url.port
        self.host_header = url.host_port_subcomponent
        self.key = ConnectionKey(self.host, self.port, self.scheme == "https", True, None, None, None)
        """The key for requests that go the usual way."""


class SentUrl:
    """A URL as it is sent: byte for byte, without its fragment. Raises `InvalidURL`.

    yarl takes 15 µs to parse one, a sixth of what a request costs. So we let it parse the origin, once.
    """

    __slots__ = ("_text", "_whole", "login", "origin", "target")

    def __init__(self, text: str, /) -> None:
        if "#" in text:
            text = text.partition("#")[0]
        self._text = text
        self._whole: URL | None = None
        self.login: str | None = None
        """The value of the header Authorization for a user and password in the URL."""
        if (found := _SIMPLE.fullmatch(text)) is not None:
            self.origin = _origin(found[1])
            self.target: str = found[2]
            """Path and query."""
        else:
            self._whole = _parse(text)
            self.origin = Origin(self._whole)
            self.target = self._whole.raw_path_qs
            if self._whole.raw_user is not None or self._whole.raw_password is not None:
                user, password = self._whole.raw_user or "", self._whole.raw_password or ""
                self.login = f"Basic {b64encode(unquote_to_bytes(f'{user}:{password}')).decode()}"

    @property
    def whole(self) -> URL:
        """The URL as yarl's."""
        if self._whole is None:
            self._whole = _parse(self._text)
        return self._whole


@lru_cache(maxsize=4096)
def _origin(text: str) -> Origin:
    return Origin(_parse(f"{text}/"))


def _parse(text: str) -> URL:
    try:
        parsed = URL(text, encoded=True)
        _ = parsed.raw_host, parsed.port  # yarl parses the authority on demand
    except ValueError as error:
        raise aiohttp.InvalidURL(text, str(error)) from error
    if text.endswith("?") and not parsed.raw_query_string:
        # yarl drops an empty query.
        parsed = parsed.with_path(f"{parsed.raw_path}?", encoded=True)
    return parsed


class HttpRequest:
    """A request without a body. Raises `InvalidURL` and `NonHttpUrlClientError`.

    Connections, pool, TLS, proxies and parser are aiohttp's. Its session is not used: it can follow redirects, keep
    cookies, upload, compress and trace, and makes an object for each of them with each request. Without it a request
    takes half the time.
    """

    __slots__ = ("connection_key", "headers", "method", "proxy", "proxy_headers", "ssl", "url_sent")

    proxy_auth = None

    def __init__(
        self,
        method: str,
        url: SentUrl,
        headers: Mapping[str, str],
        *,
        ssl: SSLContext | None = None,
        proxy: URL | None = None,
        proxy_headers: Mapping[str, str] | None = None,
    ) -> None:
        """`ssl` replaces the connector's context. `proxy_headers` go to the proxy alone."""
        origin = url.origin
        if origin.scheme not in ("http", "https"):
            raise aiohttp.NonHttpUrlClientError(url.whole)
        if not origin.host or origin.host_header is None:
            raise aiohttp.InvalidURL(url.whole)
        self.method = method
        self.headers = {"Host": origin.host_header, **headers}
        if (login := url.login) is not None:
            self.headers.setdefault("Authorization", login)
        self.url_sent = url
        self.ssl: SSLContext | bool = True if ssl is None else ssl
        self.proxy = proxy
        self.proxy_headers = None if proxy is None else CIMultiDict(proxy_headers or {})
        self.connection_key = origin.key if ssl is None and proxy is None else self._own_key(origin.key)
        """Requests with the same key can use the same connection."""

    def serialize(self) -> bytes:
        """The head of the request. Raises `ValueError` for a header that would begin another one."""
        is_absolute = self.proxy is not None and not self.is_ssl()
        target = str(self.url) if is_absolute else self.url_sent.target
        headers: Any = self.headers
        return _serialize_headers(f"{self.method} {target} HTTP/1.1", headers)

    # what the connector asks for

    @property
    def url(self) -> URL:
        """Without a login."""
        whole = self.url_sent.whole
        return whole if self.url_sent.login is None else whole.with_user(None)

    @property
    def host(self) -> str:
        return self.url_sent.origin.host

    @property
    def server_hostname(self) -> str:
        """The name that the certificate must have: none ends with the dot that a host in a URL may have."""
        return self.host.rstrip(".")

    @property
    def port(self) -> int | None:
        return self.url_sent.origin.port

    def is_ssl(self) -> bool:
        return self.url_sent.origin.scheme == "https"

    def _own_key(self, usual: ConnectionKey) -> ConnectionKey:
        proxy_headers = self.proxy_headers
        proxied = hash(tuple(proxy_headers.items())) if proxy_headers else None
        return usual._replace(ssl=self.ssl, proxy=self.proxy, proxy_headers_hash=proxied)

    @property
    def request_info(self) -> RequestInfo:
        url = self.url
        return RequestInfo(url, self.method, CIMultiDictProxy(CIMultiDict(self.headers)), url)
