"""Options of backends: keys such as `visited.options.filters`. The chosen backend defines them."""

from collections.abc import Mapping
from functools import cache

from config.loading.sources import Entry
from config.loading.suggest import did_you_mean
from config.loading.values import checked_value
from config.problems import Problem
from config.settings import Setting, settings_of
from visited.backends import BACKENDS, descriptor
from visited.descriptor import CommonOptions, checked_options

KEY = "visited.options"


@cache
def options_of(backend: str) -> dict[str, Setting]:
    """The options of a backend by name. This imports the backend."""
    if backend not in BACKENDS:
        return {}
    structs = (descriptor(backend).options, CommonOptions)
    return {setting.name: setting for struct in structs for setting in settings_of(struct, KEY)}


def check_options(
    entries: Mapping[str, Entry], table: str, backend: str
) -> tuple[dict[str, object], dict[str, Problem]]:
    """The valid options by name, and the problems of the others by key. The entries, at least one, have keys of
    options in this table."""
    values: dict[str, object] = {}
    refused: dict[str, Problem] = {}
    for key, entry in entries.items():
        name = key.removeprefix(f"{table}.")
        setting = options_of(backend).get(name)
        try:
            if setting is None:
                raise ValueError(_unknown(name, table, backend))
            values[name] = checked_value(setting, entry)
        except ValueError as error:
            refused[key] = Problem(str(error), where=entry.origin, key=key)
    if not refused:
        try:
            checked_options(descriptor(backend), values)
        except ValueError as error:
            origin = next(iter(entries.values())).origin
            refused[table] = Problem(str(error), where=origin, key=table)
    return values, refused


def _unknown(name: str, table: str, backend: str) -> str:
    known = options_of(backend)
    if not known:
        return f"unknown option; {backend} has none"
    hint = did_you_mean(name, known, written=f"{table}.{{}}") or f"it has {', '.join(known)}"
    return f"unknown option of {backend}; {hint}"
