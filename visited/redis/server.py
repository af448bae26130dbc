"""Where a server is, and what the sets ask of a channel to it."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Protocol

import msgspec
from msgspec import Meta

Text = Annotated[str, Meta(min_length=1, extra={"form": "not empty"})]
_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?![\s\S])"
_PREFIX: Final = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}(?![\s\S])"


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of every set on a server of Redis or Valkey."""

    url: Annotated[
        Text,
        Meta(
            description="The server: redis://USER@HOST:PORT/DATABASE, rediss:// with TLS, unix:///PATH, or "
            "sentinel://HOST:PORT,HOST:PORT/NAME. Without a password, because crawl.toml keeps this text."
        ),
    ] = "redis://127.0.0.1:6379/0"
    password_file: Annotated[
        Text | None,
        Meta(description="File with the password of the server. A relative path starts from the current directory."),
    ] = None
    password_env: Annotated[
        Text | None, Meta(description="The environment variable that has the password of the server.")
    ] = None
    tls_ca: Annotated[
        Text | None,
        Meta(
            description="File with the certificates, in PEM, of those who may have signed the server's. Unset means "
            "those that the machine trusts."
        ),
    ] = None
    tls_cert: Annotated[
        Text | None, Meta(description="File with the certificate, in PEM, that the server asks a client for.")
    ] = None
    tls_key: Annotated[Text | None, Meta(description="File with the key of that certificate.")] = None
    prefix: Annotated[
        Annotated[str, Meta(pattern=_PREFIX, extra={"form": "of letters, digits, dots, dashes and :"})],
        Meta(description="What the names of all keys begin with, after a brace: {onceover:visited:SET}."),
    ] = "onceover"
    share: Annotated[
        Annotated[
            str,
            Meta(
                pattern=_NAME,
                extra={"form": "of letters, digits, dots, dashes and underscores, first a letter or digit"},
            ),
        ]
        | None,
        Meta(
            description="The name of the set. Crawls that give the same name share it: each URL is fetched by one of "
            "them. Unset means a set of this crawl alone."
        ),
    ] = None


class Step(msgspec.Struct, frozen=True, gc=False):
    """A call of a script."""

    script: str
    keys: Sequence[str]
    arguments: Sequence[str | bytes | int | float]


class Channel(Protocol):
    """One connection to a server at a time."""

    async def connect(self, *, also_full: bool = False) -> str:
        """Connect anew. Returns the name of the server's memory, which changes at a restart and at a failover. With
        `also_full`, any server will do that answers, as to delete something. Raises `Unreachable`, and `Unavailable`
        for a server that can't be used, `Unwritable` if that may pass."""
        ...

    async def run(self, step: Step, /) -> Any:
        """The script's answer. Raises `Unreachable` if nothing has run, `Unanswered` if nobody knows. The channel may
        then be disconnected."""
        ...

    def run_alone(self, step: Step, /) -> Any:
        """The same, over a connection of its own, for callers that can't wait in an event loop."""
        ...

    async def cpu_s(self) -> float:
        """Processor time that the server has spent since it was started, in seconds. Raises `Unreachable` and
        `Unanswered`."""
        ...

    async def delete(self, start: str, /) -> None:
        """Delete all keys that begin with `start`. Raises `Unreachable` and `Unanswered`."""
        ...

    @property
    def is_connected(self) -> bool: ...

    async def aclose(self) -> None:
        """Closing twice is harmless."""
        ...


Connect = Callable[[ServerOptions, str], Channel]
"""Makes the channel to a server, for keys with the same hash tag as the given one. It connects later."""
