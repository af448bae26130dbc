"""From the URL of a server to a machine that may run parts of the crawl there."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from config import ConfigError, Loaded, ServerUnusable
from crawler.cluster.decoding import why_retired
from crawler.cluster.machine import MachineDirectory, begin_machine
from crawler.cluster.register import Register, find_generation
from crawler.cluster.values import Cluster, Forgotten
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import read_layout
from crawler.disk.unlocking import locked_to_run
from crawler.redis.server import Server
from crawler.supervise.preparing import Plan, waits_for_parts
from crawler.wiring.components.exchanging import checked_redis, redis_server
from crawler.wiring.configuration import load
from crawler.wiring.crawl import check_configuration
from crawler.wiring.parts import use_suffixes_of

_TRY_AGAIN_S: Final = 2.0


class Joined:
    """A machine in a crawl, with its locked directory."""

    def __init__(self, reached: Loaded, register: Register, cluster: Cluster, directory: CrawlDirectory) -> None:
        """`reached` says how this machine reaches Redis."""
        self.register = register
        self.cluster = cluster
        """As it was read first."""
        self.server: Server = redis_server(reached)
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.options = _options(reached)
        self.exchange_prefix = f"{reached.config.exchange.prefix}:{cluster.identity.generation}"
        self._directory = directory
        self.home = MachineDirectory(directory)
        here, known, has_edits = self.home.identity(), cluster.identity, self.home.has_edits
        self.home.learn(cluster)
        is_same = here.configuration_version == known.configuration_version
        is_older = here.configuration_version < known.configuration_version
        self.has_replaced = here.configuration != known.configuration and (is_same or (is_older and has_edits))
        """Whether other settings stood here than the crawl has, and those of the crawl do now."""
        self.version = 0
        """Of the configuration that this machine has taken over."""
        self._configuration = ""
        self._plan = self._make_plan(cluster)

    @property
    def plan(self) -> Plan:
        """With the directories that parts have now: one that was adopted gets another."""
        return msgspec.structs.replace(self._plan, layout=self.home.layout)

    def parts_here(self) -> Mapping[int, Path]:
        """The directories of parts that are on this machine."""
        return self.home.layout.directories_here(self._directory.path)

    def learn(self, cluster: Cluster) -> None:
        """Take over a newer configuration, if there is one, or another of the same version: after a failover that has
        lost that one, Redis says what it is. Raises `ConfigError` if it can't be used here; then the one before
        holds."""
        version, configuration = cluster.identity.configuration_version, cluster.identity.configuration
        if version > self.version or (version == self.version and configuration != self._configuration):
            self._plan = self._make_plan(cluster)

    def _make_plan(self, cluster: Cluster) -> Plan:
        loaded = load(self._directory.configuration)
        check_configuration(loaded)
        self.version, self._configuration = cluster.identity.configuration_version, cluster.identity.configuration
        return Plan(loaded=loaded, directory=self._directory, layout=self.home.layout)


def _options(reached: Loaded) -> dict[str, str | None]:
    """The settings by which this machine reaches Redis, whatever others say."""
    exchange = reached.config.exchange
    return {
        key: getattr(exchange, key.removeprefix("exchange."))
        for key, origin in reached.origins.items()
        if key.startswith("exchange.") and origin != "default"
    }


@asynccontextmanager
async def join(reached: Loaded, path: Path, *, on_wait: Callable[[str], object]) -> AsyncIterator[Joined]:
    """Lock the directory of a machine, and make it one of the crawl that the server of `reached` has. `on_wait` is told
    what is waited for, and that settings were replaced. A machine that has run with this server waits for it, as while
    it runs; for another one the address may be wrong. Raises `ConfigError` and `DirectoryRefused`."""
    prefix = reached.config.exchange.prefix
    async with _reach(reached, on_wait if _has_run(reached, path) else None) as client:
        with locked_to_run(path) as directory:
            layout = read_layout(path)
            if layout is not None:
                for pause_s in waits_for_parts(list(layout.directories_here(path).values()), on_wait):
                    await asyncio.sleep(pause_s)
            register, cluster = await _find(reached, client, directory, on_wait)
            begin_machine(directory, cluster.identity, url=str(redis_server(reached)), prefix=prefix)
            use_suffixes_of(directory)
            try:
                joined = Joined(reached, register, cluster, directory)
            except ConfigError:
                on_wait(
                    "This machine can't use the settings that Redis has for all machines. "
                    f"`onceover set {path} KEY=VALUE` changes them; or change them in {directory.configuration}, and "
                    f"use `onceover reload {path}`."
                )
                raise
            if joined.has_replaced:
                on_wait(
                    f"{directory.configuration} had other settings than Redis has for all machines, and has these now. "
                    f"`onceover set {path} KEY=VALUE` changes them while the crawl runs."
                )
            yield joined


def _has_run(reached: Loaded, path: Path) -> bool:
    """Whether the directory of a machine is that of a crawl which this server has."""
    layout = read_layout(path)
    if layout is None or layout.cluster is None:
        return False
    stored = layout.cluster
    return (stored.url, stored.prefix) == (str(redis_server(reached)), reached.config.exchange.prefix)


@asynccontextmanager
async def _reach(reached: Loaded, on_wait: Callable[[str], object] | None) -> AsyncIterator[Any]:
    """A client of the server. With `on_wait`, one that can't be used now is waited for."""
    told = ""
    client = None
    async with AsyncExitStack() as stack:
        while client is None:
            try:
                client = await stack.enter_async_context(checked_redis(reached))
            except ServerUnusable as error:
                if on_wait is None:
                    raise
                if str(error) != told:
                    told = str(error)
                    on_wait(f"Waiting until Redis can be used. {told}")
                await asyncio.sleep(_TRY_AGAIN_S)
        yield client


async def _find(
    reached: Loaded, client: Any, directory: CrawlDirectory, tell: Callable[[str], object]
) -> tuple[Register, Cluster]:
    """The register of the crawl. If Redis has forgotten it, the directory of a machine is enough to write it again."""
    prefix = reached.config.exchange.prefix
    generation = await find_generation(client, prefix)
    if generation is not None:
        with suppress(Forgotten):
            register = Register(client, prefix=prefix, generation=generation)
            cluster = await register.read()
            if cluster.retired is not None:
                raise DirectoryRefused(why_retired(cluster.retired))
            return register, cluster
    layout = read_layout(directory.path)
    if layout is None or layout.cluster is None or layout.cluster.prefix != prefix:
        raise reached.refuse(
            "exchange.url",
            f"Redis at {redis_server(reached)} has no crawl with the prefix {prefix}: make one by `onceover cluster "
            "init`. If it had one, start a machine first that has parts of that: it writes the crawl again",
        )
    home = MachineDirectory(directory)
    register = Register(client, prefix=prefix, generation=layout.generation)
    tell(
        f"Redis at {redis_server(reached)} has no register of this crawl, as after a flush, or it is the wrong server. "
        "This machine writes the register again."
    )
    await register.create(home.identity(), is_new=False)
    try:
        await register.raise_to(home.identity(), home.epochs())
        return register, await register.read()
    except Forgotten as error:
        raise DirectoryRefused(
            f"{directory.path} belongs to another crawl than the one that uses the prefix {prefix!r} in Redis at "
            f"{redis_server(reached)}, or to an earlier generation of it. Name another directory by --dir, or another "
            "prefix of keys"
        ) from error
