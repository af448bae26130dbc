"""Ends the run of a crawl on all machines."""

import secrets

from config import Loaded
from crawler.cluster.values import EndingMark
from crawler.engine import Ending
from crawler.operate.cluster.forms import ClusterStopping
from crawler.operate.cluster.reaching import reached


async def stop_cluster(loaded: Loaded, *, now: bool) -> ClusterStopping:
    """Let all machines finish what is in flight, or drop it, and end. Each obeys as soon as it reads the register.
    Raises `ConfigError` and `Refused`."""
    async with reached(loaded, also_full=True) as found:
        cluster = await found.register.read()
        await found.register.end(EndingMark(mark=secrets.token_hex(8), ending=Ending.SIGNAL, now=now))
    held = [state for state in cluster.parts if state.lease is not None]
    return ClusterStopping(
        machines=sorted({state.lease.holder for state in held if state.lease is not None}),
        parts=[state.number for state in held],
    )
