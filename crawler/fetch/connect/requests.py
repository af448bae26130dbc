"""One request, in the form in which aiohttp's connector takes it."""

from collections.abc import Mapping
from ssl import SSLContext
from typing import Any, cast

import aiohttp
from aiohttp import encode_basic_auth
from aiohttp.client_reqrep import ConnectionKey, RequestInfo
from aiohttp.http_writer import _serialize_headers
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL


class HttpRequest:
    """A request without a body. Raises `InvalidURL` and `NonHttpUrlClientError`.

    Connections, pool, TLS, proxies and parser are aiohttp's. Its session is not used: it can follow redirects, keep
    cookies, upload, compress and trace, and makes an object for each of them with each request. Without it a request
    takes half the time.
    """

    __slots__ = ("headers", "method", "proxy", "proxy_headers", "ssl", "url")

    proxy_auth = None
    server_hostname = None

    def __init__(
        self,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        *,
        ssl: SSLContext | None = None,
        proxy: URL | None = None,
        proxy_headers: Mapping[str, str] | None = None,
    ) -> None:
        """`ssl` replaces the connector's context. `proxy_headers` go to the proxy alone."""
        if url.scheme not in ("http", "https"):
            raise aiohttp.NonHttpUrlClientError(url)
        host = url.host_port_subcomponent
        if not url.raw_host or host is None:
            raise aiohttp.InvalidURL(url)
        self.method = method
        self.headers = {"Host": host, **headers}
        if url.raw_user is not None or url.raw_password is not None:
            self.headers.setdefault("Authorization", encode_basic_auth(url.user or "", url.password or ""))
            url = url.with_user(None)
        self.url = url
        self.ssl: SSLContext | bool = True if ssl is None else ssl
        self.proxy = proxy
        self.proxy_headers = None if proxy is None else CIMultiDict(proxy_headers or {})

    def serialized(self) -> bytes:
        """The head of the request. Raises `ValueError` for a header that would begin another one."""
        is_absolute = self.proxy is not None and not self.is_ssl()
        target = str(self.url) if is_absolute else self.url.raw_path_qs
        return _serialize_headers(f"{self.method} {target} HTTP/1.1", cast(Any, self.headers))

    # what the connector asks for

    @property
    def host(self) -> str:
        return self.url.raw_host or ""

    @property
    def port(self) -> int | None:
        return self.url.port

    def is_ssl(self) -> bool:
        return self.url.scheme == "https"

    @property
    def connection_key(self) -> ConnectionKey:
        """Requests with the same key can use the same connection."""
        url, proxy_headers = self.url, self.proxy_headers
        proxied = hash(tuple(proxy_headers.items())) if proxy_headers else None
        return ConnectionKey(url.raw_host or "", url.port, self.is_ssl(), self.ssl, self.proxy, None, proxied)

    @property
    def request_info(self) -> RequestInfo:
        return RequestInfo(self.url, self.method, CIMultiDictProxy(CIMultiDict(self.headers)), self.url)
