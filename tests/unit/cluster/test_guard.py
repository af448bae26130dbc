"""The guard of a lease."""

import asyncio
import os

import pytest

from crawler.cluster.guard import LeaseGuard
from crawler.cluster.shared_lease import SharedLease
from crawler.testing.loops import in_virtual_time


class Ended(Exception):
    pass


def end() -> None:
    raise Ended


def test_the_process_ends_at_the_end_of_its_lease_and_not_before() -> None:
    now = 10.0
    guard = LeaseGuard(lambda: 12.0, clock=lambda: now, end=end)
    now = 11.9
    guard.check()
    now = 12.0
    with pytest.raises(Ended):
        guard.check()


def test_a_lease_that_was_renewed_lasts_and_one_that_was_taken_does_not() -> None:
    lease = SharedLease.made(12.0)
    seen_elsewhere = SharedLease(os.dup(lease.descriptor))
    guard = LeaseGuard(seen_elsewhere.until, clock=lambda: 12.5, end=end)
    lease.renew(13.0)
    guard.check()
    lease.renew(0.0)
    with pytest.raises(Ended):
        guard.check()
    for each in (lease, lease, seen_elsewhere):
        each.close()


@in_virtual_time
async def test_an_idle_process_ends_in_time() -> None:
    loop = asyncio.get_running_loop()
    until = [5.0]
    guard = LeaseGuard(lambda: until[0], clock=loop.time, end=end)
    loop.call_at(3.0, until.__setitem__, 0, 8.0)
    with pytest.raises(Ended):
        await guard.watch()
    assert 8.0 <= loop.time() < 8.1
