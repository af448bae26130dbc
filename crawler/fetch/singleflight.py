"""Merges equal requests: one caller asks, the others wait for its result."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class SingleFlight:
    """Lets one of several callers for the same key do the work: the leader.

    When `wait_for_leader` returns True, the caller looks again for the result. If there is none, because the leader
    failed or was cancelled, the caller leads itself.
    """

    def __init__(self) -> None:
        self._leaders: dict[str, asyncio.Future[None]] = {}

    async def wait_for_leader(self, key: str, /) -> bool:
        """Wait until the leader for `key` is done; False at once if there is none."""
        done = self._leaders.get(key)
        if done is None:
            return False
        await asyncio.shield(done)
        return True

    @asynccontextmanager
    async def lead(self, key: str, /) -> AsyncIterator[None]:
        """Lead for `key`. Allowed only right after `wait_for_leader` has returned False."""
        if key in self._leaders:
            raise RuntimeError(f"two leaders for {key!r}: call `wait_for_leader` first, with no await in between")
        done = self._leaders[key] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            del self._leaders[key]
            done.set_result(None)
