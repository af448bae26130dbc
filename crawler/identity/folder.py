"""A folder of keys: makes it, renews its key, and says which key signs now."""

import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from crawler.codes.unreadable import UNREADABLE
from crawler.files.replacing import replace_file
from crawler.identity.keys import (
    KeyDirectory,
    PublicKey,
    public_key,
    signed_until,
    signing_now,
    thumbprint,
)

DIRECTORY_FILE: Final = "http-message-signatures-directory"
_KEY_SUFFIX: Final = ".pem"
DAY_S: Final = 86_400
_OVERLAP_S: Final = 7 * DAY_S
"""How long a key stays valid after its successor has begun to sign."""


class IdentityRefused(ValueError):
    """The folder can't be used. The message says why, and what to do."""


class KeyFolder:
    """The keys in a folder. Raises `IdentityRefused`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.directory_file = path / DIRECTORY_FILE

    def make(self, *, now: float, valid_s: float) -> PublicKey:
        """Make the folder and its first key. It refuses to change one that has keys."""
        present = next(self.path.glob(f"*{_KEY_SUFFIX}"), None)
        if present is None and self.directory_file.exists():
            present = self.directory_file
        if present is not None:
            raise IdentityRefused(
                f"{present} exists and was not changed: `onceover identity renew {self.path}` makes the next key, and "
                "another folder is another identity"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        return self._add((), nbf=int(now), exp=int(now + valid_s))

    def renew(self, *, now: float, valid_s: float, lead_s: float) -> tuple[PublicKey, tuple[PublicKey, ...]]:
        """Make the next key, which signs after `lead_s`, or as soon as no other does; the older ones stay for a week
        after that. Returns the key, and those that have left the directory because they are no longer valid."""
        known = self.directory().keys
        nbf = min(int(now + lead_s), signed_until(known, int(now)))
        kept = tuple(
            key if key.nbf > nbf else msgspec.structs.replace(key, exp=min(key.exp, nbf + _OVERLAP_S))
            for key in known
            if key.exp > now
        )
        made = self._add(kept, nbf=nbf, exp=int(nbf + valid_s))
        return made, tuple(key for key in known if key.exp <= now)

    def _add(self, others: tuple[PublicKey, ...], *, nbf: int, exp: int) -> PublicKey:
        private = Ed25519PrivateKey.generate()
        key = public_key(private, nbf=nbf, exp=exp)
        # A crash in between leaves a private key that no directory names, and that signs nothing.
        content = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        replace_file(self.key_file(key), content, mode=0o600)
        replace_file(self.directory_file, KeyDirectory((*others, key)).encode(), mode=0o644)
        return key

    def key_file(self, key: PublicKey, /) -> Path:
        return self.path / f"{key.kid}{_KEY_SUFFIX}"

    def directory(self) -> KeyDirectory:
        """What the folder publishes."""
        try:
            directory = msgspec.json.decode(self.directory_file.read_bytes(), type=KeyDirectory)
        except FileNotFoundError:
            raise IdentityRefused(
                f"expected keys in {self.path}, found none: `onceover identity init {self.path}` makes one"
            ) from None
        except OSError as error:
            raise IdentityRefused(f"can't read {self.directory_file}: {error.strerror}") from error
        except UNREADABLE as error:
            raise IdentityRefused(f"expected a directory of keys in {self.directory_file}: {error}") from error
        for key in directory.keys:
            if key.kid != thumbprint(key.x):
                raise IdentityRefused(f"{self.directory_file}: {key.kid} is not the thumbprint of its key")
        return directory

    def private_key(self, key: PublicKey, /) -> Ed25519PrivateKey:
        """The private half of a key. It refuses a file that others may read, as ssh does."""
        file = self.key_file(key)
        try:
            mode = file.stat().st_mode
            content = file.read_bytes()
        except OSError as error:
            raise IdentityRefused(f"can't read {file}: {error.strerror}") from error
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise IdentityRefused(f"{file} can be read by other users: `chmod 600 {file}`")
        private = None
        with suppress(ValueError, TypeError):
            private = load_pem_private_key(content, None)
        if not isinstance(private, Ed25519PrivateKey) or public_key(private, nbf=0, exp=0).kid != key.kid:
            raise IdentityRefused(f"expected the private half of {key.kid} in {file}, an Ed25519 key in PEM")
        return private

    def signing_key(self, now: float, /) -> tuple[PublicKey, Ed25519PrivateKey] | None:
        """The key that signs now, with its private half; None if none is valid."""
        key = signing_now(self.directory().keys, now)
        return None if key is None else (key, self.private_key(key))
