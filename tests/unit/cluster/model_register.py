"""What the register decides, in Python: for histories whose time is not that of a server."""

import copy
from typing import Final

import msgspec

from crawler.cluster.values import COORDINATOR

HELD, EXISTS, UNSURE, OLD, FORGOTTEN = "held", "exists", "unsure", "old", "forgotten"


class LeaseKey(msgspec.Struct):
    holder: str
    claim: str
    epoch: int
    stored: int
    stands: bool
    expires_at: float


class _State(msgspec.Struct):
    """What a copy of the server's memory has. `whole` says that it was created and never written again."""

    exists: bool
    server: str
    opened: dict[int, int]
    claimed: dict[int, int]
    leases: dict[int, LeaseKey]


class ModelRegister:
    """Names of methods and their answers are those of the scripts."""

    RUN_IDS: Final = [f"server {number}" for number in range(1000)]

    def __init__(self) -> None:
        self._run = 0
        self.state = _State(exists=False, server="", opened={}, claimed={}, leases={})
        self.now = 0.0

    @property
    def run_id(self) -> str:
        return self.RUN_IDS[self._run]

    # what happens to the server

    def flush(self) -> None:
        self.state = _State(exists=False, server="", opened={}, claimed={}, leases={})

    def remember(self) -> _State:
        return copy.deepcopy(self.state)

    def restart(self, memory: _State) -> None:
        """With what it had once stored. Another server that takes over is the same."""
        self._run += 1
        self.state = copy.deepcopy(memory)

    def drop_lease(self, part: int) -> None:
        self.state.leases.pop(part, None)

    def lease(self, part: int) -> LeaseKey | None:
        found = self.state.leases.get(part)
        if found is not None and found.expires_at <= self.now:
            del self.state.leases[part]
            return None
        return found

    # what it is asked

    def create(self, *, is_new: bool) -> bool:
        if self.state.exists:
            return False
        self.state.exists, self.state.server = True, self.run_id if is_new else ""
        return True

    def raise_to(self, part: int, epoch: int) -> bool:
        if not self.state.exists:
            return False
        for epochs in (self.state.opened, self.state.claimed):
            epochs[part] = max(epochs.get(part, 0), epoch)
        return True

    def claim(self, part: int, holder: str, claim: str, *, stored: int, makes: bool, lease_s: float) -> int | str:
        if not self.state.exists:
            return FORGOTTEN
        opened = self.state.opened.get(part, 0)
        if not makes and part != COORDINATOR and stored < opened:
            return OLD
        lease = self.lease(part)
        if lease is not None and (lease.stands or lease.stored >= stored):
            return HELD
        if makes:
            if opened > 0:
                return EXISTS
            if self.state.server != self.run_id:
                return UNSURE
        epoch = max(opened, self.state.claimed.get(part, 0), stored) + 1
        self.state.claimed[part] = epoch
        self.state.leases[part] = LeaseKey(holder, claim, epoch, stored, stands=False, expires_at=self.now + lease_s)
        return epoch

    def confirm(self, part: int, claim: str, epoch: int, *, lease_s: float) -> bool:
        lease = self.lease(part)
        if lease is None or lease.claim != claim or not self.state.exists:
            return False
        self.state.opened[part] = epoch
        lease.stands, lease.expires_at = True, self.now + lease_s
        return True

    def renew(self, part: int, claim: str, *, lease_s: float) -> bool:
        lease = self.lease(part)
        if lease is None or lease.claim != claim:
            return False
        lease.expires_at = self.now + lease_s
        return True

    def release(self, part: int, claim: str) -> None:
        lease = self.lease(part)
        if lease is not None and lease.claim == claim:
            del self.state.leases[part]
