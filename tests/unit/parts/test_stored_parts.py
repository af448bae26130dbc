"""The same histories as in the model, with frontiers in LevelDB: what the machines decide is done to real stores."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from crawler.testing.loops import VirtualTimeLoop
from tests.unit.parts.model import Part
from tests.unit.parts.stored import StoredPart
from tests.unit.parts.test_links_on_their_way import Links, storm

MEMORY = "/dev/shm"


class StoredLinks(Links):
    """Parts with stores, in one event loop of virtual time."""

    def __init__(self) -> None:
        super().__init__()
        # In memory, where there is such a place: nothing here is about the speed of the disk.
        self.base = tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None)
        self.runner = asyncio.Runner(loop_factory=VirtualTimeLoop)

    def make_part(self, number: int, draw: Callable[[], int]) -> Part:
        return StoredPart(number, self.world, [0, 1], Path(self.base.name), self.run)

    def run(self, step: Coroutine[object, object, object]) -> object:
        return self.runner.run(step)

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            for part in self.parts:
                assert isinstance(part, StoredPart)
                part.close()
            self.runner.close()
            self.base.cleanup()


def test_stores_keep_what_the_machines_decide() -> None:
    for seed in range(3):
        storm(StoredLinks(), seed, steps=60)


@pytest.mark.long
def test_stores_keep_what_the_machines_decide_in_many_histories() -> None:
    for seed in range(100, 1_000):
        storm(StoredLinks(), seed, steps=200)
