"""Lets leaves grow and split, a little at each call."""

from visited.bits.kernel import Kernel
from visited.splitting.fingerprint_list import FingerprintList
from visited.splitting.leaf_plan import LeafPlan
from visited.splitting.leaf_rebuild import LeafRebuild
from visited.splitting.leaves import Leaves


class LeafGrowth:
    """The rebuild that is under way, if any, and when to look for the next."""

    def __init__(self, plan: LeafPlan, *, hashes: int, kernel: Kernel) -> None:
        self._plan = plan
        self._hashes = hashes
        self._kernel = kernel
        self._rebuild: LeafRebuild | None = None
        self._next_check_at = 0
        self.count = 0
        """The number of leaves that were rebuilt."""

    @property
    def is_rebuilding(self) -> bool:
        return self._rebuild is not None

    @property
    def memory_bytes(self) -> int:
        return self._rebuild.memory_bytes if self._rebuild else 0

    def advance(self, leaves: Leaves, fingerprints: FingerprintList, *, count: int) -> None:
        """Rebuild leaves that are full, within the kernel's budget for a call. `count` is the number of URLs."""
        # Checking all leaves takes as long as adding some URLs, so we check when they have filled by a 4096th, or have
        # a 16th of a URL more.
        if self._rebuild is None and count < self._next_check_at:
            return
        budget = self._kernel.fill_budget
        while budget > 0:
            if self._rebuild is None:
                sizes = self._plan.next_sizes(leaves, mean_list=count // len(leaves.bits) + 1, budget=budget)
                if not sizes:
                    self._next_check_at = count + max(count >> 12, len(leaves.bits) >> 4) + 1
                    return
                self._rebuild = LeafRebuild(leaves, fingerprints, sizes_by_leaf=sizes, hashes=self._hashes)
            budget = self._rebuild.advance(self._kernel, budget)
            if budget > 0:
                self.count += self._rebuild.leaf_count
                self._rebuild = None
