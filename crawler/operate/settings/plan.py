"""Which settings a new configuration changes, and when each change holds. Pure."""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from config import Change, Config, ConfigError, Loaded, Problem, differences, value_at, with_values
from crawler.control.replies import SettingChange
from crawler.wiring.live.effect import Effect, effect_of

_OF_COMPARISONS = "compare"
_OF_DAEMON = "daemon."
BY_OPERATOR = "onceover set"
"""The origin of values that an operator has set."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    recorded: Loaded
    """What the next start will read."""
    running: Loaded
    """What holds now."""
    changes: list[SettingChange]


def make_plan(recorded: Loaded, running: Loaded, new: Loaded, *, lacks: Mapping[str, str]) -> Plan:
    """From what would be read so far, and what holds so far, to a `new` configuration. `lacks` are the settings that
    this crawl can't change at once, and why. Raises `ConfigError` with all that can't be changed in this crawl."""
    found = _differences(recorded, new)
    effects = {
        key: effect_of(key, recorded.config, new.config) for key in dict.fromkeys(each.root_key for each in found)
    }
    refused = [each for each in found if effects[each.root_key].when == "never"]
    problems = _problems(new, refused, effects) + _moved(recorded.config, new.config)
    if problems:
        raise ConfigError(problems)
    at_once = [key for key, effect in effects.items() if _is_now(key, effect, running.config, new.config, lacks)]
    merged = msgspec.structs.replace(
        new,
        config=with_values(running.config, {key: value_at(new.config, key) for key in at_once}),
        origins={**running.origins, **new.origins},
    )
    changes = [
        setting_change(each, "now")
        if each.root_key in at_once
        else setting_change(each, "restart", effects[each.root_key].reason or lacks[each.root_key])
        for each in found
    ]
    return Plan(recorded=new, running=merged, changes=changes)


def next_settings(running: Loaded, recorded: Loaded) -> list[SettingChange]:
    """What the next start changes, from what holds now to what it will read. What is for a daemon holds at once."""
    found = [each for each in differences(running.lasting, recorded.lasting) if not each.key.startswith(_OF_DAEMON)]
    return [
        setting_change(each, "restart", effect_of(each.root_key, running.config, recorded.config).reason)
        for each in found
    ]


def _differences(recorded: Loaded, new: Loaded) -> list[Change]:
    """What is different in this run, and what only in later runs."""
    found = differences(recorded.config, new.config)
    keys = {each.key for each in found}
    found += [each for each in differences(recorded.lasting, new.lasting) if each.key not in keys]
    return [each for each in found if each.root_key.partition(".")[0] != _OF_COMPARISONS]


def _is_now(key: str, effect: Effect, running: Config, new: Config, lacks: Mapping[str, str]) -> bool:
    """A setting that returns to what still holds does so at once, whatever it is."""
    return (effect.when == "now" and key not in lacks) or value_at(running, key) == value_at(new, key)


def _problems(new: Loaded, refused: Iterable[Change], effects: dict[str, Effect]) -> list[Problem]:
    return [
        Problem(
            f"can't be changed in this crawl: {effects[each.root_key].reason}. It is {each.was}, and would be "
            f"{each.now}",
            where=_place(new.origins.get(each.key)),
            key=each.key,
        )
        for each in refused
    ]


def _place(origin: str | None) -> str | None:
    return None if origin in (None, "default", BY_OPERATOR) else origin


def _moved(before: Config, after: Config) -> list[Problem]:
    was, now = before.crawl.directory, after.crawl.directory
    if was == now:
        return []
    reason = effect_of("crawl.directory", before, after).reason
    message = f"can't be changed in this crawl: {reason}. It is {was}, and would be {now}"
    return [Problem(message, key="crawl.directory")]


def setting_change(change: Change, holds: Literal["now", "restart"], reason: str | None = None) -> SettingChange:
    return SettingChange(key=change.key, was=change.was, now=change.now, text=change.text, holds=holds, reason=reason)
