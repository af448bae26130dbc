"""Changes settings of a crawl: in its file in the folder, so that they last, and in the crawl itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

import msgspec
from aiohttp import web

from config import ConfigError
from crawler.control.replies import Reconfigured, SettingChange
from crawler.control.requests import Reload, Set
from crawler.disk.directory import CrawlDirectory
from crawler.operate.settings.changing import DOES_NOT_RUN
from crawler.serve.api.actions import Actions, audit
from crawler.serve.api.data.forms import ConfigurationText, ReloadBody, SettingsBody, TextBody
from crawler.serve.api.gate.caller import caller_of
from crawler.serve.api.problems import Refused
from crawler.serve.editing import Edited, Unwritable, edit, read_text, replace_text
from crawler.serve.inspection import ask_status
from crawler.serve.keeper import Keeper

_OF_COMPARISONS = "compare."
_OF_DAEMON = "daemon."


async def change_settings(actions: Actions, request: web.Request, body: SettingsBody) -> Reconfigured:
    """Change settings, in its configuration and in the crawl, all of them or none."""
    keeper = actions.keeper(request)
    async with _editing(actions):
        edited = await asyncio.to_thread(edit, actions.home, keeper.name, body.settings)
        wanted = Set(settings=edited.settings, dry_run=body.dry_run)
        if body.dry_run:
            return await _ask(actions, keeper, edited, wanted)
        changed = await _change(actions, keeper, edited, wanted)
    # Not the values, which may be secret.
    audit(request, f"{keeper.name}: changed {', '.join(each.partition('=')[0] for each in edited.settings)}")
    return changed


async def show_configuration_text(actions: Actions, request: web.Request) -> ConfigurationText:
    """Its configuration, as the file has it."""
    keeper, caller = actions.keeper(request), caller_of(request)
    if not caller.may_change:
        raise Refused(HTTPStatus.FORBIDDEN, f"the {caller.name} may not read this file, which may have secrets")
    async with _editing(actions):
        return ConfigurationText(text=await asyncio.to_thread(read_text, actions.home, keeper.name))


async def change_configuration_text(actions: Actions, request: web.Request, body: TextBody) -> Reconfigured:
    """Replace the text of its configuration, and change what is different, all of it or nothing."""
    keeper = actions.keeper(request)
    async with _editing(actions):
        edited = await asyncio.to_thread(replace_text, actions.home, keeper.name, body.text, before=body.before)
        changed = await _change(actions, keeper, edited, Reload())
    audit(request, f"{keeper.name}: changed its configuration")
    return changed


@asynccontextmanager
async def _editing(actions: Actions) -> AsyncIterator[None]:
    """Of two requests for one crawl, the second one finds what the first has written."""
    try:
        async with actions.writing:
            yield
    except ConfigError as error:
        problems = tuple(map(str, error.problems))
        detail = "the settings can't be changed so; nothing was changed"
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, detail, problems) from error
    except Unwritable as error:
        raise Refused(HTTPStatus.CONFLICT, str(error)) from error


async def _change(actions: Actions, keeper: Keeper, edited: Edited, wanted: Set | Reload) -> Reconfigured:
    await actions.replace(keeper, edited.write)
    try:
        changed = await _ask(actions, keeper, edited, wanted)
    except (Refused, OSError, asyncio.CancelledError):
        await actions.replace(keeper, edited.undo)
        raise
    await actions.read_folder()
    return changed


async def _ask(actions: Actions, keeper: Keeper, edited: Edited, wanted: Set | Reload) -> Reconfigured:
    """Let the crawl take over the settings, or only check them. One that has not begun reads the file."""
    directory = keeper.facts.directory_now
    if directory is None or not CrawlDirectory(actions.directory(keeper)).lock.exists():
        return Reconfigured(running=False, dry_run=wanted.dry_run, file=None, changes=edited.changes)
    changed = await actions.ask_crawl(keeper, wanted)
    told = {each.key for each in changed.changes}
    missed = [each for each in edited.changes if each.key not in told and not each.key.startswith(_OF_COMPARISONS)]
    if missed:
        missed = await _as_known(actions.directory(keeper), missed, running=changed.running)
    return msgspec.structs.replace(changed, changes=[_as_here(each) for each in (*changed.changes, *missed)])


async def _as_known(directory: Path, changes: list[SettingChange], *, running: bool) -> list[SettingChange]:
    """Changes of the file that are none for the crawl: it was told before, or has just read the file at its start."""
    if not running:
        return [msgspec.structs.replace(each, reason=DOES_NOT_RUN) for each in changes]
    status = await ask_status(directory)
    later = {} if status is None else {each.key: each for each in status.next_settings}
    return [later.get(each.key) or msgspec.structs.replace(each, holds="now", reason=None) for each in changes]


def _as_here(change: SettingChange) -> SettingChange:
    """The crawl leaves it to the daemon what the daemon is told of it."""
    if not change.key.startswith(_OF_DAEMON):
        return change
    return msgspec.structs.replace(change, holds="now", reason=None)


async def reload_crawl(actions: Actions, request: web.Request, body: ReloadBody) -> Reconfigured:
    """Read its configuration again, and change what is different, all of it or nothing."""
    keeper = actions.keeper(request)
    changed = await actions.ask_crawl(keeper, Reload(dry_run=body.dry_run))
    if not body.dry_run:
        audit(request, f"{keeper.name}: read its configuration again")
        await actions.read_folder()
    return msgspec.structs.replace(changed, changes=[_as_here(each) for each in changed.changes])
