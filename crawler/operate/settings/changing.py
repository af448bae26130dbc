"""The two steps of a change: everything is checked, then all of it holds. `change_settings` takes both."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final, Protocol

import msgspec

from config import Config, ConfigError, Loaded, Problem, render_run, value_at, with_values
from crawler.codes.exit_codes import FAILED
from crawler.control.replies import Reconfigured, SettingChange
from crawler.control.requests import Reload, Set
from crawler.disk.directory import CrawlDirectory
from crawler.operate.refused import Refused
from crawler.operate.settings.plan import BY_OPERATOR, Plan, make_plan, next_settings
from crawler.operate.settings.start import Start, refuse_without_file, with_page_limit
from crawler.wiring.configuration import load
from crawler.wiring.crawl import check_configuration
from crawler.wiring.live.effect import effect_of
from crawler.wiring.live.live import LiveSettings
from crawler.wiring.live.values import Values, make_values

DOES_NOT_RUN: Final = "the crawl does not run"

Read = Callable[[Loaded], Loaded]
"""Makes a new configuration of that of the next start. Raises `ConfigError`. It may block."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A change that can be made. What it was prepared for must not change before `commit`."""

    plan: Plan
    values: Values | None = None
    """Made of the configuration that will hold; None if this process does not crawl."""


class CrawlSettings(Protocol):
    @property
    def turn(self) -> AbstractAsyncContextManager[None]:
        """Entered before `prepare`, and left after `commit`, or without it if the change is not to be made."""
        ...

    @property
    def start(self) -> Start | None:
        """How it was started; None if a program did, with settings of its own."""
        ...

    async def prepare(self, read: Read) -> Prepared:
        """Raises `ConfigError`. It changes nothing."""
        ...

    async def commit(self, prepared: Prepared) -> int:
        """Let it hold. Returns the number of new seeds. Raises `OSError` if the new configuration can't be stored, and
        then nothing has changed."""
        ...


class StoredSettings:
    """The settings of a crawl that does not run."""

    def __init__(self, loaded: Loaded, directory: CrawlDirectory) -> None:
        self.turn: AbstractAsyncContextManager[None] = asyncio.Lock()
        self.start = Start.read_from(directory)
        self._recorded = loaded
        self._directory = directory

    async def prepare(self, read: Read) -> Prepared:
        new = read(self._recorded)
        # Limits of one run are no limits of the next.
        new = msgspec.structs.replace(new, config=new.lasting, lasting_limits=None)
        plan = make_plan(self._recorded, self._recorded, new, lacks={})
        check_configuration(new)
        changes = [msgspec.structs.replace(each, holds="restart", reason=DOES_NOT_RUN) for each in plan.changes]
        return Prepared(plan=msgspec.structs.replace(plan, changes=changes))

    async def commit(self, prepared: Prepared) -> int:
        self._recorded = prepared.plan.recorded
        write(self._directory, self._recorded)
        return 0


class RunningSettings:
    """The settings of a crawl that this process runs."""

    def __init__(self, live: LiveSettings, directory: CrawlDirectory, start: Start | None) -> None:
        self.turn: AbstractAsyncContextManager[None] = asyncio.Lock()
        self.start = start
        self._live = live
        self._directory = directory
        self._recorded = live.loaded
        self.next_settings: list[SettingChange] = []
        """What was changed, and holds from the next start."""

    async def prepare(self, read: Read) -> Prepared:
        # Files are read and patterns compiled beside the event loop: lists of places may be long.
        return await asyncio.to_thread(self._prepare, read)

    def _prepare(self, read: Read) -> Prepared:
        new = read(self._recorded)
        plan = make_plan(self._recorded, self._live.loaded, new, lacks=self._live.lacks)
        check_configuration(new)
        return Prepared(plan=plan, values=make_values(plan.running))

    async def commit(self, prepared: Prepared) -> int:
        assert prepared.values is not None
        write(self._directory, prepared.plan.recorded)
        self._recorded = prepared.plan.recorded
        self.next_settings = next_settings(prepared.plan.running, prepared.plan.recorded)
        return await self._live.replace(prepared.values)


def write(directory: CrawlDirectory, loaded: Loaded) -> None:
    directory.write_configuration(render_run(loaded.lasting))


def reader_of_settings(directory: CrawlDirectory, settings: Sequence[str]) -> Read:
    """Reads the configuration in the directory of a crawl, with other values for some settings."""
    return partial(_with_settings, directory, settings)


def _with_settings(directory: CrawlDirectory, settings: Sequence[str], recorded: Loaded) -> Loaded:
    refuse_without_file(directory)
    try:
        new = load(directory.configuration, overrides=settings, environ={}, require_seeds=False)
    except ConfigError as error:
        raise error.without(_OPTION) from error
    keys = {setting.partition("=")[0].strip() for setting in settings}
    _refuse_comparisons(keys, new.config)
    named = [f"limits.{name}" for name in Config().limits.__struct_fields__ if f"limits.{name}" in keys]
    limits = with_values(recorded.config, {key: value_at(new.config, key) for key in named}).limits
    # The file has what lasts. Of the limits of this run, only those change that are named.
    origins = {key: origin for key, origin in new.origins.items() if origin != _OPTION}
    return msgspec.structs.replace(
        new,
        config=msgspec.structs.replace(new.config, limits=limits),
        origins={**new.origins, **dict.fromkeys(new.origins.keys() - origins.keys(), BY_OPERATOR)},
        lasting_limits=new.config.limits,
    )


def _refuse_comparisons(keys: Iterable[str], config: Config) -> None:
    of_comparisons = [key for key in keys if key.startswith("compare.")]
    if of_comparisons:
        raise ConfigError(
            Problem(f"can't be changed in a crawl: {effect_of(key, config, config).reason}", key=key)
            for key in of_comparisons
        )


_OPTION: Final = "--set"
"""The user has not written it."""


def reader_of_start(directory: CrawlDirectory, start: Start) -> Read:
    """Reads the configuration with which a crawl was started."""

    def read(recorded: Loaded) -> Loaded:
        new = start.load(directory, named=recorded.config.crawl.directory)
        if new.origins["crawl.parts"] == "default":  # as at a start, a crawl keeps its number of parts
            new = msgspec.structs.replace(
                new, config=with_values(new.config, {"crawl.parts": recorded.config.crawl.parts})
            )
        return with_page_limit(new, start.max_pages)

    return read


async def change_settings(
    settings: CrawlSettings, directory: CrawlDirectory, request: Set | Reload, *, is_running: bool
) -> Reconfigured:
    """Change all that a request asks for, or nothing. Raises `Refused` and `ConfigError`."""
    read, file = _reader(settings, directory, request)
    async with settings.turn:
        try:
            prepared = await settings.prepare(read)
        except ConfigError as error:
            raise error.without(BY_OPERATOR) from error
        new_seeds = 0
        if not request.dry_run:
            try:
                new_seeds = await settings.commit(prepared)
            except OSError as error:
                message = f"nothing was changed: {directory.configuration} can't be written: {error.strerror or error}"
                raise Refused(message, FAILED) from error
    return Reconfigured(
        running=is_running, dry_run=request.dry_run, file=file, changes=prepared.plan.changes, new_seeds=new_seeds
    )


def _reader(settings: CrawlSettings, directory: CrawlDirectory, request: Set | Reload) -> tuple[Read, str | None]:
    """What reads the new configuration, and the file that is read again."""
    if isinstance(request, Set):
        return reader_of_settings(directory, request.settings), None
    if settings.start is None or settings.start.is_demo:
        raise Refused(
            f"{directory.path} was started by `onceover demo` or a program, which gave its settings: there is no "
            f"configuration to read again. `onceover set {directory.path} KEY=VALUE` changes them"
        )
    return reader_of_start(directory, settings.start), str(settings.start.file(directory))
