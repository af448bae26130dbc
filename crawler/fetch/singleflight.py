"""One asks, the others wait."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class SingleFlight:
    """Lets one of several askers for the same key do the work.

    An asker whose `waited` returns True looks again for the result: it may find none, if the one that led failed or
    was cancelled, and then it leads itself.
    """

    def __init__(self) -> None:
        self._landings: dict[str, asyncio.Future[None]] = {}

    async def waited(self, key: str, /) -> bool:
        """Wait for whoever leads for `key`; False at once if nobody does."""
        landing = self._landings.get(key)
        if landing is None:
            return False
        await asyncio.shield(landing)
        return True

    @asynccontextmanager
    async def lead(self, key: str, /) -> AsyncIterator[None]:
        """Lead for `key`; only right after `waited` said False."""
        if key in self._landings:
            raise RuntimeError(f"two lead for {key!r} at once: `waited` must be asked first, with no await between")
        landing = self._landings[key] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            del self._landings[key]
            landing.set_result(None)
