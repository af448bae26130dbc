"""Divides a crawl on many machines anew, when the directories of all its parts are in one place."""

from pathlib import Path
from typing import Any

from config import Loaded
from crawler.cluster.machine import MachineDirectory, with_parts_found
from crawler.cluster.values import Cluster, Forgotten, Retirement
from crawler.codes.exit_codes import FAILED
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import Layout, read_layout, write_layout
from crawler.operate.cluster.reaching import generation_at, place_of, register_at, server_of
from crawler.operate.opening import lock_directory
from crawler.operate.refused import Refused
from crawler.operate.upkeep.dividing import Divided, Progress, check_gathered, divide


async def divide_cluster(path: Path, parts: int, loaded: Loaded, *, progress: Progress) -> Divided:
    """Divide the crawl of a machine that has the directories of all parts. `loaded` says how to reach Redis. Raises as
    `divide` does."""
    with lock_directory(path, to_change=True):
        layout = read_layout(path)
        assert layout is not None
        found = with_parts_found(path, layout)
        if found != layout:
            write_layout(path, found)
    check_gathered(path)  # before the server is asked, which may be far away
    async with server_of(loaded) as client:
        register = RegisterOfMachines(path, client, loaded)
        return await divide(path, parts, progress=progress, register=register)


class RegisterOfMachines:
    """The register of the crawl in a directory, which the caller has locked."""

    def __init__(self, path: Path, client: Any, loaded: Loaded) -> None:
        self._path = path
        self._client = client
        self._loaded = loaded

    async def learn(self) -> None:
        generation = self._layout.generation
        used_by = await generation_at(self._client, self._loaded)
        if used_by not in (None, generation):
            await self._check_other(str(used_by))
        register, home = self._register(generation), self._home()
        if used_by is None:
            await register.create(home.identity(), is_new=False)
        try:
            await register.raise_to(home.identity(), home.epochs())
            cluster: Cluster = await register.read()
        except Forgotten:
            return  # another crawl uses the prefix now, and no machine can run this one
        home.learn(cluster)

    async def retire(self, generation: str) -> None:
        layout, home = self._layout, self._home()
        epochs = home.epochs()
        stored = [epochs.get(part, 0) for part in range(len(layout.parts))]
        retirement = Retirement(generation=generation, where=place_of(self._path))
        try:
            denied = await self._register(layout.generation).retire(retirement, stored)
        except Forgotten:
            return
        if denied is not None:
            raise Refused(
                f"the crawl in {self._path} can't be divided: {denied.why}. Nothing was changed; go on with the same "
                f"command, or give it up by --into {len(layout.parts)}",
                FAILED,
            )

    async def revive(self, generation: str) -> None:
        await self._register(self._layout.generation).revive(generation)

    async def _check_other(self, generation: str) -> None:
        """Another generation uses the prefix: refuse if it is a later one of this crawl."""
        try:
            other: Cluster = await self._register(generation).read()
        except Forgotten:
            return
        if self._layout.generation in other.identity.replaces:
            raise Refused(
                f"{self._path} has the crawl as it was before it was divided anew: expected generation {generation}, "
                f"found {self._layout.generation}. Gather the directories of the parts as they are now",
                FAILED,
            )

    @property
    def _layout(self) -> Layout:
        layout = read_layout(self._path)
        assert layout is not None
        return layout

    def _home(self) -> MachineDirectory:
        return MachineDirectory(CrawlDirectory(self._path))

    def _register(self, generation: str) -> Any:
        return register_at(self._client, self._loaded, generation)
