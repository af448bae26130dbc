"""How we speak TLS."""

import ssl
from collections.abc import Iterable

from crawler.fetch.connect.tls.authorities import late_context


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
