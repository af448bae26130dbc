"""A port that a server can't have."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


class CannotListen(OSError):
    """The system does not let the process listen there: another one does, or it may not. Nothing was changed."""

    def __str__(self) -> str:
        return str(self.strerror)


@contextmanager
def listening(host: str, port: int, *, advice: str) -> Iterator[None]:
    """Turn each `OSError` within into a `CannotListen` that names the port, and says what to do."""
    try:
        yield
    except OSError as error:
        where = f"[{host}]" if ":" in host else host
        why = f"can't listen on {where}:{port}: {os.strerror(error.errno or 0)}; {advice}"
        raise CannotListen(error.errno, why) from error
