"""How we speak TLS. The certificate authorities of the system are loaded for the first connection, not at the start.

To load them takes as long as an empty Python, and a crawl without https never needs them.
"""

import os
import ssl
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


def tls_context(*, authorities: Iterable[str] = (), verifies: bool = True) -> ssl.SSLContext:
    """How to speak TLS. Raises `ValueError` for a file of authorities without certificates.

    As browsers do, it offers nothing below TLS 1.2. Without our minimum it would depend on how Python was compiled:
    Debian's offers older versions, and fails later for other reasons.
    """
    context = late_context() if verifies else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if not verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    for file in authorities:
        try:
            context.load_verify_locations(file)
        except (OSError, ssl.SSLError) as error:
            raise ValueError(f"no certificates in PEM can be read from {file}: {error}") from error
    return context


class LateAuthorities(ssl.SSLContext):
    """A context of clients that loads the authorities of the system before its first connection."""

    is_loaded = False

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        self._load()
        return super().wrap_bio(*args, **kwargs)

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        self._load()
        return super().wrap_socket(*args, **kwargs)

    def get_ca_certs(self, *args: Any, **kwargs: Any) -> Any:
        self._load()
        return super().get_ca_certs(*args, **kwargs)

    def cert_store_stats(self) -> dict[str, int]:
        self._load()
        return super().cert_store_stats()

    def _load(self) -> None:
        if not self.is_loaded:
            self.is_loaded = True
            self.load_default_certs(ssl.Purpose.SERVER_AUTH)


def late_context() -> ssl.SSLContext:
    """What `ssl.create_default_context()` makes, except for when the authorities are loaded."""
    context = LateAuthorities(ssl.PROTOCOL_TLS_CLIENT)
    if sys.version_info >= (3, 13):
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_STRICT
    if (file := os.environ.get("SSLKEYLOGFILE")) and not sys.flags.ignore_environment:
        context.keylog_filename = file
    return context


@contextmanager
def importing_late() -> Iterator[None]:
    """What is imported in this block makes late contexts. aiohttp makes two when it is imported, which a plug-in may
    use, and we never do. To load the authorities for both would be 8 % of importing a crawl: 45 ms of 564."""
    make = ssl.create_default_context
    context: Any = ssl.SSLContext

    def make_late(*args: Any, **kwargs: Any) -> ssl.SSLContext:
        return make(*args, **kwargs) if args or kwargs else late_context()

    ssl.create_default_context = make_late
    context.set_default_verify_paths = lambda _: None  # for its second context, which verifies nothing
    try:
        yield
    finally:
        del context.set_default_verify_paths  # that of the base class is back
        ssl.create_default_context = make
