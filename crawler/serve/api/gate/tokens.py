"""The tokens of the API.

The owner's token is in `DIR/token`, so that it can be read when it is needed. Of each further token only a digest is
kept, in `DIR/daemon/tokens.json`. Tokens are random, so a plain SHA-256 can't be turned back by guessing.

Both files are read at each request, so a change holds at once.
"""

import fcntl
import hashlib
import hmac
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.files.replacing import replace_file
from crawler.serve.records import FOLDER, OWNERS_FILE

OWNER: Final = "owner"
"""The name of the token in `DIR/token`."""
MAX_TOKENS: Final = 100
_MODE: Final = 0o600
_MAX_BYTES: Final = 1 << 20
_MIN_CHARACTERS: Final = 16
_THEN_RESTART: Final = "Delete the file, and the next start makes a new token"
_THEN_ADD: Final = "Delete the file, and add its tokens again"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class TokenRefused(Exception):
    """A file of tokens can't be used, or a token can't be added. The message says why, and what to do."""


class Rights(StrEnum):
    FULL = "full"
    READ = "read"
    """It may ask for everything, and change nothing."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a token; it can't be used by who reads this."""

    name: str
    rights: Rights
    sha256: str
    created_at: float | None = None


class Tokens:
    """The tokens of a folder."""

    def __init__(self, home: Path) -> None:
        self.owner_path = home / OWNERS_FILE
        self._folder = home / FOLDER
        self._path = self._folder / "tokens.json"

    def make_owner(self) -> None:
        """Make the owner's token if there is none, or only an empty file, as a power failure leaves it. Raises
        `TokenRefused` and `OSError`."""
        with suppress(FileNotFoundError):
            if self.owner_path.stat().st_size:
                self.known()
                return
        replace_file(self.owner_path, f"{secrets.token_urlsafe(32)}\n".encode(), mode=_MODE)

    def known(self) -> list[Token]:
        """All that hold. Raises `TokenRefused`."""
        return [*self._owner(), *self._others()]

    def find(self, presented: str) -> Token | None:
        """The token that somebody presents. Raises `TokenRefused`."""
        digest = _digest(presented)
        found = None
        # All are compared, so that the time does not tell which of them was nearly right.
        for token in self.known():
            if hmac.compare_digest(token.sha256, digest):
                found = token
        return found

    def add(self, name: str, rights: Rights, now: float | None = None) -> str:
        """Add a token and return it; it can't be read again. Raises `TokenRefused` and `OSError`."""
        if not _NAME.fullmatch(name):
            raise TokenRefused(
                "expected a name of letters, digits, dots, dashes and underscores, first a letter or digit, at most "
                f"64, found {name[:100]!r}"
            )
        if name == OWNER:
            raise TokenRefused(f"{OWNER} is the token in {self.owner_path}; choose another name")
        with self._changing() as others:
            if any(token.name == name for token in others):
                raise TokenRefused(f"there is a token {name}; revoke it first, or choose another name")
            if len(others) >= MAX_TOKENS:
                raise TokenRefused(f"there are {MAX_TOKENS} tokens, and no more are allowed; revoke one first")
            secret = secrets.token_urlsafe(32)
            created_at = time.time() if now is None else now
            self._save(
                [*others, Token(name=name, rights=rights, sha256=_digest(secret), created_at=round(created_at, 3))]
            )
        return secret

    def revoke(self, name: str) -> None:
        """Raises `TokenRefused` and `OSError`."""
        if name == OWNER:
            raise TokenRefused(
                f"the token of the owner is in {self.owner_path}: write another into that file, and the old one no "
                "longer holds"
            )
        with self._changing() as others:
            left = [token for token in others if token.name != name]
            if len(left) == len(others):
                known = ", ".join(token.name for token in others) or "none"
                raise TokenRefused(f"there is no token {name[:100]!r}; there are: {known}")
            self._save(left)

    def _owner(self) -> list[Token]:
        content = _read_private(self.owner_path, then=_THEN_RESTART)
        if content is None:
            return []
        secret = content.decode("ascii", "replace").strip()
        if len(secret) < _MIN_CHARACTERS:
            raise TokenRefused(
                f"expected a token of at least {_MIN_CHARACTERS} characters in {self.owner_path}, found {len(secret)}. "
                f"{_THEN_RESTART}"
            )
        return [Token(name=OWNER, rights=Rights.FULL, sha256=_digest(secret))]

    def _others(self) -> list[Token]:
        content = _read_private(self._path, then=_THEN_ADD)
        if content is None:
            return []
        try:
            return msgspec.json.decode(content, type=list[Token])
        except UNREADABLE as error:
            raise TokenRefused(f"{self._path} is damaged: {error}. {_THEN_ADD}") from error

    @contextmanager
    def _changing(self) -> Iterator[list[Token]]:
        """The tokens but that of the owner, while nobody else changes them."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(self._folder / "tokens.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _MODE)
        try:
            if (owner := self._user_of_daemon()) is not None:
                # Where that user has put a link, nothing that it leads to changes hands.
                os.lchown(self._folder, *owner)
                os.fchown(lock, *owner)
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self._others()
        finally:
            os.close(lock)

    def _save(self, tokens: list[Token]) -> None:
        content = msgspec.json.format(msgspec.json.encode(tokens))
        replace_file(self._path, content, mode=_MODE, owner=self._user_of_daemon())

    def _user_of_daemon(self) -> tuple[int, int] | None:
        """The owner of the folder and its group, who get what root makes: the daemon runs as that user. None if this is
        not root."""
        if os.geteuid() != 0:
            return None
        home = self.owner_path.parent.stat()
        return home.st_uid, home.st_gid


def _read_private(path: Path, *, then: str) -> bytes | None:
    """The content of a file that only its owner may read; None if there is none."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(_MAX_BYTES)
    except FileNotFoundError:
        return None
    except PermissionError as error:
        then = "Only its owner, the user of the daemon, may read it: run the command as that user"
        raise TokenRefused(f"{path} can't be read: {error.strerror}. {then}") from error
    except OSError as error:
        raise TokenRefused(f"{path} can't be read: {error.strerror}. {then}") from error
    if mode & 0o077:
        raise TokenRefused(f"others may read {path}: expected mode 600, found {mode:o}. {then}")
    return content


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
