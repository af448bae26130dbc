"""Certificates for servers of tests."""

import ssl
from pathlib import Path

import trustme


def issued(host: str, folder: Path) -> tuple[ssl.SSLContext, str]:
    """What a server of that name needs, and the file of the authority that vouches for it, in `folder`."""
    authority = trustme.CA()
    file = folder / f"{host}.pem"
    authority.cert_pem.write_to_path(file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    return context, str(file)
