"""What a machine has of a crawl, in memory."""

from collections.abc import Iterable, Mapping

from crawler.cluster.values import Cluster, Identity, Wanted

IDENTITY = Identity(
    crawl="0123456789abcdef",
    generation="fedcba9876543210",
    lineages=(1, 2, 3),
    next_lineage=4,
    lease_s=1.0,
    configuration='[crawl]\nname = "web"\n',
    suffixes=b"com\norg\n",
)


class MemoryHome:
    """Directories of parts that exist in memory. `choose` takes all of them, and `makes`."""

    def __init__(self, epochs: dict[int, int] | None = None, *, makes: Iterable[int] = ()) -> None:
        self.stored = dict(epochs or {})
        self.makes = set(makes)

    def identity(self) -> Identity:
        return IDENTITY

    def epochs(self) -> Mapping[int, int]:
        return dict(self.stored)

    def learn(self, _cluster: Cluster) -> Mapping[int, int]:
        return dict(self.stored)

    def choose(self, _cluster: Cluster, here: Mapping[int, int]) -> Iterable[Wanted]:
        yield from (Wanted(part=part, stored=epoch) for part, epoch in here.items())
        yield from (Wanted(part=part, makes=True) for part in sorted(self.makes) if part not in here)

    def store(self, part: int, *, epoch: int, lineage: int) -> None:
        assert lineage == part + 1
        self.stored[part] = epoch
