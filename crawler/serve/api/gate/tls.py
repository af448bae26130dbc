"""The certificate of the API."""

import logging
import ssl
import stat
from pathlib import Path
from typing import NoReturn

log = logging.getLogger(__name__)


class CertificateRefused(Exception):
    """The certificate can't be used. The message says why, and what to do."""


class Certificate:
    """A certificate and its key, from files that may be replaced."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Raises `CertificateRefused`."""
        self._certificate = certificate
        self._key = key
        self._context = self._load()

    def context(self) -> ssl.SSLContext:
        """The context for a new connection."""
        return self._context

    def reload(self) -> None:
        """Read the files again. If they can't be used, keep the present certificate."""
        try:
            self._context = self._load()
        except CertificateRefused as error:
            log.warning("API: %s; the present certificate is kept", error)

    def _load(self) -> ssl.SSLContext:
        def refuse_password() -> NoReturn:
            raise CertificateRefused(f"{self._key} is encrypted: expected a key without a pass phrase, of mode 600")

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        try:
            mode = stat.S_IMODE(self._key.stat().st_mode)
            for file in (self._certificate, self._key):
                file.open("rb").close()
            context.load_cert_chain(self._certificate, self._key, refuse_password)
        except ssl.SSLError as error:
            raise CertificateRefused(
                f"expected a certificate in {self._certificate} and its key in {self._key}, both as PEM, found others: "
                f"{error.reason or error}"
            ) from error
        except OSError as error:
            raise CertificateRefused(f"{error.filename} can't be read: {error.strerror}") from error
        if mode & stat.S_IROTH:
            raise CertificateRefused(f"everybody may read the key {self._key}: expected mode 600, found {mode:o}")
        return context
