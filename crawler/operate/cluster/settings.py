"""Changes the settings of a crawl on many machines that none of them runs: in Redis, where machines find them when they
start.

While it runs, one machine changes them in all parts. But settings that no machine can use, because this version refuses
what an earlier one took, keep each of them from starting; so they can be changed here, too.
"""

import asyncio
import tempfile
import tomllib
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any

import msgspec

from config import ConfigError, Loaded, Problem, render_run, settings, value_at
from config.show.render import public_text
from crawler.cluster.decoding import why_retired
from crawler.cluster.machine import MachineDirectory
from crawler.cluster.values import Cluster, Identity
from crawler.codes.exit_codes import FAILED, REFUSED
from crawler.control.replies import Reconfigured, SettingChange
from crawler.control.requests import Reload, Set
from crawler.disk.directory import CrawlDirectory
from crawler.operate.cluster.reaching import reached, settings_of_machine
from crawler.operate.opening import lock_directory
from crawler.operate.refused import Refused
from crawler.operate.settings.changing import (
    DOES_NOT_RUN,
    Prepared,
    Read,
    StoredSettings,
    change_settings,
    reader_of_settings,
)
from crawler.operate.settings.start import Start
from crawler.wiring.configuration import load


async def change_stopped(path: Path, request: Set | Reload) -> Reconfigured:
    """Change the settings of the crawl that the machine of a directory belongs to. Raises `ConfigError`,
    `DirectoryRefused` and `Refused`."""
    with lock_directory(path, to_change=True):
        directory = CrawlDirectory(path)
        async with reached(settings_of_machine(path)) as (_, register):
            cluster: Cluster = await register.read()
            home = MachineDirectory(directory)
            _check(path, home, cluster)
            _check_file(directory, home, cluster.identity, request)
            if isinstance(request, Set):
                home.learn(cluster)
            stored = _RegisteredSettings(directory, request, register=register, home=home, cluster=cluster)
            return await change_settings(stored, directory, request, is_running=False)


def _check(path: Path, home: MachineDirectory, cluster: Cluster) -> None:
    here, known = home.identity(), cluster.identity
    if (here.crawl, here.generation) != (known.crawl, known.generation):
        raise Refused(
            f"nothing was changed: {path} belongs to another crawl than Redis has, or to another generation of it: "
            f"expected crawl {known.crawl} (generation {known.generation}), found {here.crawl} ({here.generation})",
            REFUSED,
        )
    if cluster.retired is not None:
        raise Refused(f"nothing was changed: {why_retired(cluster.retired)}", REFUSED)
    leases = [cluster.coordinator, *(part.lease for part in cluster.parts)]
    if holders := sorted({lease.holder for lease in leases if lease is not None}):
        raise Refused(
            f"nothing was changed: a crawl that runs changes its settings in all parts together, but this machine does "
            f"not run. These do, or did a moment ago: {', '.join(holders)}. Use the same command there, or after "
            "`onceover cluster stop`",
            FAILED,
        )


def _check_file(directory: CrawlDirectory, home: MachineDirectory, known: Identity, request: Set | Reload) -> None:
    """Raise `Refused` if what somebody has written into the file would be lost."""
    file, here = directory.configuration, home.identity()
    differs = here.configuration != known.configuration
    is_older = here.configuration_version < known.configuration_version
    if is_older and (isinstance(request, Reload) or (home.has_edits and differs)):
        raise Refused(
            f"nothing was changed: Redis has newer settings than {file} was made from. Keep your changes elsewhere: "
            "when this machine starts, it writes the newer settings there, which you can change then",
            FAILED,
        )
    is_same = here.configuration_version == known.configuration_version
    if isinstance(request, Set) and is_same and differs:
        raise Refused(
            f"nothing was changed: {file} has other settings than Redis, which would be lost: `onceover reload "
            f"{directory.path}` puts them into Redis",
            FAILED,
        )


class _RegisteredSettings:
    """A `CrawlSettings`."""

    start: Start | None = Start()

    def __init__(
        self,
        directory: CrawlDirectory,
        request: Set | Reload,
        *,
        register: Any,
        home: MachineDirectory,
        cluster: Cluster,
    ) -> None:
        self.turn: AbstractAsyncContextManager[None] = asyncio.Lock()
        self._directory = directory
        self._request = request
        self._register = register
        self._home = home
        self._identity = cluster.identity

    async def prepare(self, read: Read) -> Prepared:
        refused: list[Problem] = []
        try:
            recorded = _load(self._identity.configuration)
        except ConfigError as error:
            refused += error.problems
            recorded = self._mended({each.key for each in refused}, read)
        prepared = await StoredSettings(recorded, self._directory).prepare(read)
        changes = [*(_mending(each, prepared.plan.recorded) for each in refused), *prepared.plan.changes]
        return Prepared(plan=msgspec.structs.replace(prepared.plan, changes=changes))

    def _mended(self, refused: AbstractSet[str | None], read: Read) -> Loaded:
        """The settings so far, with what the request says instead of those that are refused. If it names a file, we
        can't know which others that changes."""
        if isinstance(self._request, Set):
            given = [each for each in self._request.settings if each.partition("=")[0].strip() in refused]
            read = reader_of_settings(self._directory, given)
        directory = tomllib.loads(self._identity.configuration).get("crawl", {}).get("directory", "")
        options: dict[str, tuple[str, object]] = {"crawl.directory": ("Redis", directory)}
        mended = read(load(None, options=options, environ={}, require_seeds=False))
        return msgspec.structs.replace(mended, config=mended.lasting, lasting_limits=None)

    async def commit(self, prepared: Prepared) -> int:
        text = render_run(prepared.plan.recorded.lasting)
        # Redis may have forgotten the last settings. Those of this machine would take the place of older ones.
        there, here = (each.configuration_version for each in (self._identity, self._home.identity()))
        if not await self._register.replace_configuration(text, max(there, here) + 1, over=there):
            raise Refused("nothing was changed: others have just changed the settings; repeat the command", FAILED)
        with suppress(OSError):  # Redis has them; this machine learns them when it starts
            self._home.learn(await self._register.read())
        return 0


def _load(text: str) -> Loaded:
    """The settings that the register has. Raises `ConfigError` for what can't be used here."""
    with tempfile.NamedTemporaryFile(suffix=".toml") as file:
        file.write(text.encode())
        file.flush()
        return load(file.name, environ={}, require_seeds=False)


def _mending(problem: Problem, new: Loaded) -> SettingChange:
    """What takes the place of a value that is refused."""
    key = problem.key or "the configuration"
    setting = settings().get(key)
    now = "mended" if setting is None else public_text(setting, value_at(new.config, key))
    return SettingChange(
        key=key, was="refused", now=now, text=f"{key} is {now}; it was refused", holds="restart", reason=DOES_NOT_RUN
    )
