"""How the parts of a crawl send each other links."""

from typing import Annotated, Literal

import msgspec

from config.schema.kinds import Text, between, matching, meaning

Prefix = Annotated[str, matching(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}", "of letters, digits, dots, dashes and :")]


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """How the parts of a crawl send each other links."""

    backend: Annotated[
        Literal["local", "redis"],
        meaning(
            "What carries links between parts: local is a socket between processes of one machine, redis a server of "
            "Redis or Valkey."
        ),
    ] = "local"
    url: Annotated[
        Text,
        meaning(
            "The server of Redis: redis://USER@HOST:PORT/DATABASE, rediss:// with TLS, or unix:///PATH. "
            "redis://HOST:PORT,HOST:PORT names nodes of a cluster; one is enough. sentinel://HOST:PORT,HOST:PORT/NAME "
            "asks Sentinels; sentinels:// has TLS. A password does not belong here, because crawl.toml keeps this text."
        ),
    ] = "redis://127.0.0.1:6379/0"
    password_file: Annotated[
        Text | None,
        meaning(
            "File with the password of the server, which is read at each connection. A relative path starts from the "
            "current directory."
        ),
    ] = None
    password_env: Annotated[Text | None, meaning("The environment variable that has the password of the server.")] = (
        None
    )
    prefix: Annotated[
        Prefix, meaning("What the names of all keys in Redis begin with, after a brace: {onceover:GENERATION:PART}.")
    ] = "onceover"
    lease_s: Annotated[
        float,
        between(1, 3600, "seconds"),
        meaning(
            "How long a machine of a crawl on many machines may go on without a word from Redis. `onceover cluster "
            "init` lays it down."
        ),
    ] = 30.0
    tls_ca: Annotated[
        Text | None,
        meaning(
            "File with the certificates, in PEM, of those who may have signed the server's. Unset means those that the "
            "machine trusts. As for the next two, a relative path starts from the current directory."
        ),
    ] = None
    tls_cert: Annotated[
        Text | None, meaning("File with the certificate, in PEM, that the server asks a client for.")
    ] = None
    tls_key: Annotated[Text | None, meaning("File with the key of that certificate.")] = None
