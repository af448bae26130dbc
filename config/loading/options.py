"""Options of backends: keys such as `visited.options.filters`. The chosen backend defines them."""

from collections.abc import Mapping

import msgspec

from config.backends import Backend, Backends
from config.loading.sources import Entry
from config.loading.suggest import did_you_mean
from config.loading.values import checked_value
from config.problems import Problem
from config.settings import Setting, settings_of


def options_of(backend: Backend, table: str) -> dict[str, Setting]:
    """The options of a backend by name, as settings of that table."""
    return {setting.name: setting for struct in backend.options for setting in settings_of(struct, table)}


def check_options(
    entries: Mapping[str, Entry], table: str, chosen: tuple[str, str], *, origin: str, backends: Backends
) -> tuple[dict[str, object], dict[str, Problem]]:
    """The valid options by name, and the problems of the others by key. `chosen` is the kind of the backend and its
    name, `origin` where it was chosen. The entries have keys of options in this table."""
    backend = backends.find(*chosen)
    known = options_of(backend, table)
    values: dict[str, object] = {}
    refused: dict[str, Problem] = {}
    for key, entry in entries.items():
        name = key.removeprefix(f"{table}.")
        try:
            if name not in known:
                raise ValueError(_unknown(name, table, chosen[1], known))
            values[name] = checked_value(known[name], entry, backends)
        except ValueError as error:
            refused[key] = Problem(str(error), where=entry.origin, key=key)
    where = next((entry.origin for entry in entries.values()), origin)
    for name, setting in known.items():
        key = f"{table}.{name}"
        if setting.required and key not in entries:
            refused[key] = Problem(f"expected {setting.expected}, found none", where=where, key=key)
    if not refused:
        try:
            for struct in backend.options:
                fields = struct.__struct_fields__
                msgspec.convert({name: value for name, value in values.items() if name in fields}, struct)
        except ValueError as error:
            refused[table] = Problem(str(error), where=where, key=table)
    return values, refused


def _unknown(name: str, table: str, backend: str, known: Mapping[str, Setting]) -> str:
    if not known:
        return f"unknown option; {backend} has none"
    hint = did_you_mean(name, known, written=f"{table}.{{}}") or f"it has {', '.join(known)}"
    return f"unknown option of {backend}; {hint}"
