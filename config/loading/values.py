"""Checks values against their settings, and options against the backend that defines them."""

import math
import re
from collections.abc import Mapping

import msgspec

from config.backends import Backend, Backends
from config.loading.blocks import block_kinds
from config.loading.sources import Entry
from config.loading.suggest import did_you_mean
from config.problems import Problem, shortened
from config.settings import Setting, settings_of
from config.toml import toml_value
from config.units import parse_duration, parse_size

_SHOWN = 80


def checked_value(setting: Setting, entry: Entry, backends: Backends) -> object:
    """The value of the entry in the type of its setting. Raises `ValueError`, which says what was expected and
    found."""
    value = entry.value if entry.raw is None else _from_text(setting, entry)
    if value is None and setting.optional:
        return None
    try:
        found = msgspec.convert(_normal(setting, value), setting.type)
    except msgspec.ValidationError as error:
        raise ValueError(_refusal(setting, value, str(error), backends)) from None
    except (ValueError, OverflowError):
        raise ValueError(_refusal(setting, value, "", backends)) from None
    names = found if isinstance(found, tuple) else (found,)
    for number, name in enumerate(names if setting.choices or setting.names_backends else ()):
        is_plugin = setting.names_backends and backends.is_plugin(setting.backends or "", str(name))
        if name not in setting.choices and not is_plugin and setting.pattern is None:
            raise ValueError(_refusal(setting, value, f"$[{number}]", backends))
        if is_plugin and isinstance(found, tuple):
            _check_needs_no_options(setting, str(name), backends)
    return found


def _check_needs_no_options(setting: Setting, name: str, backends: Backends) -> None:
    """Raises `ValueError` for a plug-in in a list, where it can have no options, that needs some."""
    known = options_of(backends.find(setting.backends or "", name), "options")
    if needed := [option.key for option in known.values() if option.required]:
        section = setting.key.partition(".")[0]
        kinds = (kind for kind in block_kinds().values() if kind.key.startswith(f"{section}."))
        blocks = [kind.key for kind in kinds for own in kind.own if own.backends == setting.backends]
        place = f"give it a block [[{blocks[0]}]]" if blocks else "name another"
        raise ValueError(f"{name} needs {', '.join(needed)}, and a plug-in in this list has no options; {place}")


def _from_text(setting: Setting, entry: Entry) -> object:
    """The value that a text from the environment or `--set` means for this setting.

    A text needs no quotes, a single text is a list of one, and an empty text unsets what may be unset.
    """
    assert entry.raw is not None
    plain = entry.value if isinstance(entry.value, str) else entry.raw
    if setting.kind in ("text", "choice"):
        return plain
    if not entry.raw.strip() and setting.optional:
        return None
    if setting.kind == "texts" and not isinstance(entry.value, list):
        return [plain] if plain.strip() else []
    if setting.kind == "ints" and not isinstance(entry.value, list):
        return [entry.value] if entry.raw.strip() else []
    return entry.value


def _normal(setting: Setting, value: object) -> object:
    """Converts a quantity with a unit to its base unit. Raises `ValueError` if it is not a quantity."""
    match setting.kind, value:
        case "seconds", str():
            return parse_duration(value)
        case "bytes", str():
            return parse_size(value)
        case (("seconds" | "float"), (int() | float())) if not isinstance(value, bool):
            number = float(value)
            if not math.isfinite(number):
                raise ValueError("not finite")
            return number
    return value


def _refusal(setting: Setting, value: object, error: str, backends: Backends) -> str:
    found = value
    if isinstance(value, list) and (item := re.search(r"\$\[(\d+)\]", error)):
        found = value[int(item[1])]
    elif isinstance(value, dict):
        found = next(({k: v} for k, v in value.items() if not _fits(setting, {k: v})), value)
    shown = _without_secret(found) if setting.hides_wrong else _shown(found)
    plugins = () if setting.backends is None else backends.plugins(setting.backends)
    meant = did_you_mean(found, (*setting.choices, *plugins), written='"{}"') if isinstance(found, str) else None
    return f"expected {setting.expected}, found {shown}{f'; {meant}' if meant else ''}"


def _shown(value: object) -> str:
    in_one_line = " ".join(map(str.strip, toml_value(value).split("\n")))
    return shortened(in_one_line, longest=_SHOWN, shown=_SHOWN)


def _without_secret(value: object) -> str:
    under = f" under {_shown(next(iter(value)))}" if isinstance(value, dict) and len(value) == 1 else ""
    return f"something else{under}, which is not shown, because it may be secret"


def _fits(setting: Setting, value: object) -> bool:
    try:
        msgspec.convert(value, setting.type)
    except msgspec.ValidationError:
        return False
    return True


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
