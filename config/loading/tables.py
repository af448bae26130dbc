"""Values that a program gives: by their keys, or as a whole configuration."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any

import msgspec

from config.loading.blocks import block_kinds
from config.loading.sources import Source, table_source
from config.problems import Problem
from config.schema import Config
from config.settings import settings, value_at


def program_source(values: Mapping[Any, object], origin: str) -> Source:
    """The entries of values by key, such as `{"limits.pages": 100}`, or by section, such as `{"limits": {"pages":
    100}}`. Their limits only apply to this run."""
    tables, problems = _tables(values, origin)
    source = table_source(tables, origin)
    if source.extends is not None:
        problems.append(Problem("a preset can't be named here; give its name as `preset`", where=origin, key="extends"))
    return msgspec.structs.replace(source, problems=[*source.problems, *problems], is_lasting=False)


def values_of(config: Config) -> dict[str, object]:
    """All values of a configuration that differ from their defaults, by key, and its blocks."""
    values: dict[str, object] = {
        key: value
        for key, setting in settings().items()
        if (value := setting.value_in(config)) is not None and value != setting.default
    }
    for kind in block_kinds().values():
        if blocks := value_at(config, kind.key):
            values[kind.key] = [_tables(kind.values(block), kind.key)[0] for block in blocks]
    return values


def _tables(values: Mapping[Any, object], origin: str) -> tuple[dict[str, Any], list[Problem]]:
    """The values as tables within tables, as in a file."""
    tables: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, value in values.items():
        if not isinstance(key, str):
            message = f'expected keys such as "limits.pages", found {key!r}'
            problems.append(Problem(message, where=origin))
            continue
        *path, name = key.split(".", 2)
        table: Any = tables
        for part in path:
            table = table.setdefault(part, {}) if isinstance(table, dict) else None
        if isinstance(table, dict):
            table[name] = _plain(value)
        else:
            problems.append(Problem("this key and a part of it are given; give one of them", where=origin, key=key))
    return tables, problems


def _plain(value: object) -> object:
    """The value in the types of a TOML file."""
    match value:
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case PurePath():
            return str(value)
        case str() | bytes():
            return value
        case Sequence() | AbstractSet():
            return [_plain(each) for each in value]
    return value
