"""Asks a daemon through its API, and blocks until it has answered."""

import ipaddress
import shlex
import socket
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from http.client import BadStatusLine, HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Final, Self, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from crawler.codes.exit_codes import FAILED, REFUSED, USAGE
from crawler.codes.unreadable import UNREADABLE
from crawler.control.address import NAME_OF_API, address
from crawler.control.client import NoAnswer
from crawler.control.replies import Refusal

_TIMEOUT_S: Final = 120.0
"""The daemon gives up sooner on a crawl that says nothing."""
_SHOWN: Final = 300
"""Characters of an answer that is no problem."""
_EXIT_CODES: Final[Mapping[int, int]] = {
    HTTPStatus.UNAUTHORIZED: REFUSED,
    HTTPStatus.FORBIDDEN: REFUSED,
    HTTPStatus.NOT_FOUND: USAGE,
    HTTPStatus.CONFLICT: REFUSED,
    HTTPStatus.UNPROCESSABLE_ENTITY: USAGE,
}
"""The exit code for the status of a refusal. It is that of a command that asks the crawl itself."""
_NOT_YET_VALID: Final = 9
"""This and the next ones are codes of x509_vfy.h of OpenSSL."""
_HAS_EXPIRED: Final = 10
_OTHER_NAME: Final = 62
_OTHER_ADDRESS: Final = 64

_Answer = TypeVar("_Answer", bound=msgspec.Struct)


class _Problem(msgspec.Struct):
    detail: str
    problems: list[str] = []


class DaemonClient:
    def __init__(
        self, name: str, connect: Callable[[], HTTPConnection], *, away: Refusal, base: str = "", token: str = ""
    ) -> None:
        """`name` is for messages, `away` the answer if nobody listens, `base` the path before that of the API."""
        self._name = name
        self._connect = connect
        self._away = away
        self._base = f"{base.rstrip('/')}/api/v1/"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    @classmethod
    def at_url(cls, url: str, *, token: str) -> Self:
        """Raises `ValueError` for a URL that no daemon has, or at which the token could be read on its way."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise ValueError(f"expected the URL of a daemon, found {url!r}: {error}") from error
        is_plain = "@" not in parts.netloc and parts.path.isascii() and not parts.query and not parts.fragment
        if parts.scheme not in ("http", "https") or not host or not is_plain:
            raise ValueError(f"expected the URL of a daemon, as https://crawls.example.org:8443, found {url!r}")
        if parts.scheme == "http" and not _is_loopback(host):
            raise ValueError(f"expected https://, found {url!r}: others could read the token on its way")
        connect: Callable[[], HTTPConnection] = partial(HTTPConnection, host, port, timeout=_TIMEOUT_S)
        if parts.scheme == "https":
            connect = partial(HTTPSConnection, host, port, timeout=_TIMEOUT_S, context=ssl.create_default_context())
        away = Refusal(f"no daemon listens at {url}: look whether it runs, and with which --listen", FAILED)
        return cls(url, connect, away=away, base=parts.path, token=token)

    @classmethod
    def of_folder(cls, home: Path, folder: Path) -> Self:
        """The daemon of a folder of configurations, by the socket in its own folder there."""
        name = shlex.quote(str(home))
        how = f"`onceover daemon {name}` starts one, and `onceover status {name}/crawls/NAME` tells of a crawl"
        away = Refusal(f"no daemon serves {home}: {how}", REFUSED)
        return cls(f"the daemon of {home}", partial(_LocalConnection, folder), away=away)

    def ask(
        self,
        expected: type[_Answer],
        method: str,
        *path: str,
        query: Mapping[str, object] | None = None,
        body: object = None,
    ) -> _Answer | Refusal:
        """The answer, which is in JSON. Raises `NoAnswer`."""
        target = self._base + "/".join(quote(each, safe="") for each in path)
        if query:
            target += f"?{urlencode(query)}"
        connection = self._connect()
        try:
            connection.request(
                method, target, body=None if body is None else msgspec.json.encode(body), headers=self._headers
            )
            response = connection.getresponse()
            answer = response.read()
        except (ConnectionRefusedError, FileNotFoundError):
            return self._away
        except PermissionError:
            return Refusal(f"{self._name} belongs to another user: run the command as that user", REFUSED)
        except ssl.SSLCertVerificationError as error:
            said = error.verify_message.rstrip(".")
            raise NoAnswer(
                f"{self._name} has a certificate that does not hold: {said}; {_to_mend(error.verify_code)}"
            ) from error
        except (HTTPException, OSError) as error:
            said = f"{self._name} does not answer ({type(error).__name__} {error})"
            raise NoAnswer(f"{said}: {self._to_try(error)}") from error
        finally:
            connection.close()
        if response.status < HTTPStatus.MULTIPLE_CHOICES:
            try:
                return msgspec.json.decode(answer, type=expected)
            except UNREADABLE as error:
                raise NoAnswer(f"{self._name} answers as no daemon of this version does: {error}") from error
        return Refusal(self._detail(response.status, answer), _EXIT_CODES.get(response.status, FAILED))

    def _to_try(self, error: HTTPException | OSError) -> str:
        if self._name.startswith("http://") and isinstance(error, ConnectionResetError | BadStatusLine):
            return "if it has a certificate, use https:// instead of http://; else try again"
        if "WRONG_VERSION_NUMBER" in str(error):
            return "if it has no certificate, use http:// instead of https://, on its own machine"
        return "try again"

    def _detail(self, status: int, answer: bytes) -> str:
        try:
            problem = msgspec.json.decode(answer, type=_Problem)
            detail = "\n".join([problem.detail, *(f"  {each}" for each in problem.problems)])
        except UNREADABLE:
            detail = answer[:_SHOWN].decode("utf-8", "replace")
        return f"{self._name} answers {status}: {detail}"


class _LocalConnection(HTTPConnection):
    def __init__(self, folder: Path) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._folder = folder

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_TIMEOUT_S)
        with address(self._folder, NAME_OF_API) as short:
            self.sock.connect(short)


def _to_mend(verify_code: int) -> str:
    """What to do about a certificate that was refused with this code of OpenSSL."""
    if verify_code in (_NOT_YET_VALID, _HAS_EXPIRED):
        return "give the daemon one that holds now, or set the clock of this machine"
    if verify_code in (_OTHER_NAME, _OTHER_ADDRESS):
        return "name the daemon in the URL as its certificate does"
    return "if an authority of your own has signed it, name the file with the authority's certificate in SSL_CERT_FILE"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
