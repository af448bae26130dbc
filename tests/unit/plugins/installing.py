"""Packages that look installed: a folder on the path of imports, as pip leaves it."""

import importlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from crawler.wiring.plugins.packages import _read_package_of, _read_registrations

SETS = """
    from collections.abc import Sequence
    from typing import Annotated, Any, BinaryIO

    import msgspec
    from msgspec import Meta

    from visited import VisitedStats
    from visited.descriptor import Cost, Descriptor, Parameters
    from visited.snapshot import read_snapshot, write_snapshot

    class Options(msgspec.Struct, frozen=True, kw_only=True):
        letters: Annotated[int, Meta(ge=1, le=100, description="Length of a URL.", extra={"unit": "letters"})] = 100
        alphabets: tuple[str, ...] = ()

    class StringSet:
        def __init__(self, _parameters: Parameters, options: Options | None = None) -> None:
            self.options = options
            self.met: set[str] = set()

        async def add_many(self, urls: Sequence[str]) -> list[bool]:
            fresh = [url not in self.met and not self.met.add(url) for url in urls]
            return fresh

        def has_many(self, urls: Sequence[str]) -> list[bool]:
            return [url in self.met for url in urls]

        async def forget_many(self, urls: Sequence[str]) -> int:
            known = self.met & set(urls)
            self.met -= known
            return len(known)

        def describe(self) -> VisitedStats:
            return VisitedStats(backend="strings", count=len(self.met), capacity=None, memory_bytes=1)

        def dump(self, file: BinaryIO) -> None:
            parts = [msgspec.json.encode(sorted(self.met))]
            write_snapshot(file, backend="strings", parameters={}, state={}, parts=parts)

        def load(self, file: BinaryIO) -> None:
            self.met = set()
            self.met = set(msgspec.json.decode(bytes(read_snapshot(file, backend="strings", parameters={}).parts[0])))

        def __len__(self) -> int:
            return len(self.met)

        async def aclose(self) -> None:
            pass

    class Plain(StringSet):
        pass

    DESCRIPTOR = Descriptor(
        name="anything",
        make=StringSet,
        options=Options,
        can_forget=True,
        is_exact=True,
        cost=lambda count, _rate, _options: Cost(memory_bytes=count * 100),
    )
"""
"""The module of a package that has a good visited set."""


class Site:
    """A folder of installed packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._modules: list[str] = []

    def add(
        self,
        package: str,
        module: str,
        code: str = SETS,
        *,
        entries: Mapping[str, str] | None = None,
        version: str = "1.0",
    ) -> None:
        """Install a package of one module. `entries` has its entry points as `group.name`, each with its place."""
        (self.folder / f"{module}.py").write_text(dedent(code))
        info = self.folder / f"{package.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        (info / "top_level.txt").write_text(f"{module}\n")
        lines = [
            f"[onceover.{key.partition('.')[0]}]\n{key.partition('.')[2]} = {place}\n"
            for key, place in (entries or {}).items()
        ]
        (info / "entry_points.txt").write_text("".join(lines))
        self._modules.append(module)
        importlib.invalidate_caches()
        _read_registrations.cache_clear()
        _read_package_of.cache_clear()

    def forget(self) -> None:
        for module in self._modules:
            sys.modules.pop(module, None)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    made = Site(folder)
    yield made
    made.forget()
