"""The certificate of the API."""

import logging
import ssl
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

from crawler.serve.life.summary import moment_text

log = logging.getLogger(__name__)

_NO_CHECK_TIME: Final = 0x200000
"""This flag and the next codes are of x509_vfy.h of OpenSSL."""
_OTHER_NAME: Final = 62
_OTHER_ADDRESS: Final = 64
_TO_MEND: Final = "replace it and its key, then send SIGHUP"


class CertificateRefused(Exception):
    """The certificate can't be used. The message says why, and what to do."""


class Certificate:
    """A certificate and its key, from files that may be replaced."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Raises `CertificateRefused`."""
        self._certificate = certificate
        self._key = key
        self._names: Sequence[str] = ()
        self._told: Sequence[object] = ()
        self._context = self._load()

    def context(self) -> ssl.SSLContext:
        """The context for a new connection."""
        return self._context

    def tell(self, names: Iterable[str]) -> None:
        """Log what was read, now and after each `reload`. Clients ask these names: NAME or NAME:PORT."""
        hosts = (urlsplit(f"//{name}").hostname for name in names)
        self._names = [*dict.fromkeys(host for host in hosts if host)]
        self._tell()

    def reload(self) -> None:
        """Read the files again. If they can't be used, keep the present certificate."""
        try:
            self._context = self._load()
        except CertificateRefused as error:
            log.warning("API: %s; the present certificate is kept", error)
        else:
            self._tell()

    def _tell(self) -> None:
        """Log which certificate clients get, unless it is that of the last time, and what they will refuse in it."""
        try:
            facts = _show(self._context, self._certificate, flags=_NO_CHECK_TIME)
            names = ", ".join(name for _, name in facts.get("subjectAltName", ())) or "no name"
            told = f"for {names}, from {_moment(facts['notBefore'])} to {_moment(facts['notAfter'])}"
            if (told, facts["serialNumber"]) != self._told:
                log.info("API: the certificate in %s is %s", self._certificate, told)
            self._told = told, facts["serialNumber"]
            _show(self._context, self._certificate)
        except ssl.SSLError as error:
            said = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else error.reason or error
            log.warning("API: clients will refuse the certificate in %s: %s; %s", self._certificate, said, _TO_MEND)
        lacking = [name for name in self._names if not self._is_for(name)]
        if lacking:
            log.warning(
                "API: the certificate in %s is not for %s: clients that ask so will refuse it; %s",
                *(self._certificate, " and ".join(lacking), _TO_MEND),
            )

    def _is_for(self, name: str) -> bool:
        try:
            _show(self._context, self._certificate, flags=_NO_CHECK_TIME, name=name)
        except ssl.SSLCertVerificationError as error:
            return error.verify_code not in (_OTHER_NAME, _OTHER_ADDRESS)
        except ssl.SSLError:
            pass  # that is told without a name
        return True

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


def _show(context: ssl.SSLContext, file: Path, *, flags: int = 0, name: str | None = None) -> dict[str, Any]:
    """What a client of the context reads in its certificate, if the client trusts those in the file, and asks for that
    name, if any. Raises `ssl.SSLError` if it refuses the certificate."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.load_verify_locations(file)
    trusting.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | flags
    trusting.check_hostname = name is not None
    trusting.hostname_checks_common_name = False  # browsers do not look there
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(to_client, to_server, server_hostname=name)
    server = context.wrap_bio(to_server, to_client, server_side=True)
    for each in (client, server, client):
        with suppress(ssl.SSLWantReadError):
            each.do_handshake()
    return client.getpeercert() or {}


def _moment(said: str) -> str:
    """A moment of a certificate."""
    return moment_text(ssl.cert_time_to_seconds(said))
