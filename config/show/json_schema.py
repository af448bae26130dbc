"""The configuration as a JSON Schema, with which editors complete and check it."""

from collections.abc import Iterable
from typing import Any

from config.backends import Backends, OwnBackends
from config.loading.blocks import BlockKind, block_kinds
from config.loading.files import presets
from config.loading.values import options_of
from config.settings import Setting, section_meaning, sections, settings

_QUANTITY = r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*"
_UNITS = {"bytes": "([kKmMgGtTpPeE]?[bB]|[kKmMgGtT][iI][bB])?", "seconds": "(ms|s|min|h|d|w)?"}
_PATH = r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*$"
"""The path of a plug-in: `package.module:Name`."""


def json_schema(backends: Backends | None = None) -> dict[str, Any]:
    """JSON Schema, draft 2020-12, of a configuration file that may name these backends."""
    backends = backends or OwnBackends()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of onceover",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "extends": {"description": "The preset that this configuration extends.", "enum": presets()},
            **{section: _section(section, backends) for section in sections()},
            **{key: _blocks(kind, backends) for key, kind in block_kinds().items() if "." not in key},
        },
    }


def _section(section: str, backends: Backends) -> dict[str, Any]:
    own = [setting for setting in settings().values() if setting.section == section]
    kinds = {key.partition(".")[2]: kind for key, kind in block_kinds().items() if key.startswith(f"{section}.")}
    blocks = {name: _blocks(kind, backends) for name, kind in kinds.items()}
    return _object(section_meaning(section), _properties(own, backends) | blocks) | _options_fit(own, backends)


def _blocks(kind: BlockKind, backends: Backends) -> dict[str, Any]:
    tables: dict[str, dict[str, Any]] = {}
    for name, setting in kind.settings.items():
        if "." in name:
            schema = _setting(setting, backends)
            schema.pop("default", None)
            tables.setdefault(setting.section, {})[setting.name] = schema
    others = {section: _object(section_meaning(section), table) for section, table in tables.items()}
    required = [setting.name for setting in kind.own if setting.required]
    items = _object("", _properties(kind.own, backends) | others) | _options_fit(kind.own, backends)
    return {"type": "array", "description": kind.meaning, "items": items | {"required": required}}


def _properties(own: Iterable[Setting], backends: Backends) -> dict[str, Any]:
    return {setting.name: _setting(setting, backends) for setting in own}


def _options_fit(own: Iterable[Setting], backends: Backends) -> dict[str, Any]:
    """A condition on a table: options have known names, unless the backend is a plug-in that is named by its path."""
    rules = [
        {
            "if": {"properties": {str(each.options_of).rpartition(".")[2]: {"not": {"pattern": _PATH}}}},
            "then": {"properties": {each.name: {"propertyNames": {"enum": list(_options(each, backends))}}}},
        }
        for each in own
        if each.options_of is not None
    ]
    return {"allOf": rules} if rules else {}


def _object(meaning: str, properties: dict[str, Any]) -> dict[str, Any]:
    description = {"description": meaning} if meaning else {}
    return {"type": "object", **description, "additionalProperties": False, "properties": properties}


def _setting(setting: Setting, backends: Backends) -> dict[str, Any]:
    notes: dict[str, Any] = {"description": setting.meaning}
    if setting.default is not None:
        notes["default"] = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    return notes | _type(setting, backends)


def _type(setting: Setting, backends: Backends) -> dict[str, Any]:
    limits = {"minimum": setting.minimum, "maximum": setting.maximum}
    match setting.kind:
        case "bool":
            return {"type": "boolean"}
        case "int" if setting.words:
            return {"anyOf": [{"type": "integer", **limits}, {"enum": list(setting.words)}]}
        case "int":
            return {"type": "integer", **limits}
        case "float":
            return {"type": "number", **limits}
        case "bytes" | "seconds":
            number = "integer" if setting.kind == "bytes" else "number"
            pattern = f"{_QUANTITY}{_UNITS[setting.kind]}\\s*$"
            return {"anyOf": [{"type": number, **limits}, {"type": "string", "pattern": pattern}]}
        case "choice":
            return _choice(setting, backends)
        case "text":
            return _text(setting.pattern)
        case "texts" if setting.backends is not None and setting.pattern is None:
            return {"type": "array", "items": _choice(setting, backends)}
        case "texts":
            return {"type": "array", "items": _text(setting.pattern)}
        case "ints":
            return {"type": "array", "items": {"type": "integer", **limits}}
        case "options":
            return {"type": "object", "properties": _options(setting, backends)}
        case "table":
            return {
                "type": "object",
                "propertyNames": {"pattern": setting.key_pattern},
                "additionalProperties": _text(setting.pattern),
            }


def _choice(setting: Setting, backends: Backends) -> dict[str, Any]:
    if setting.backends is None:
        return {"enum": list(setting.choices)}
    names = [*setting.choices, *backends.plugins(setting.backends)]
    path = {"type": "string", "pattern": _PATH}
    return {"anyOf": [{"enum": names}, path]} if names else path


def _options(table: Setting, backends: Backends) -> dict[str, Any]:
    """The options of all backends. Two backends may have options of one name with other limits."""
    found: dict[str, list[dict[str, Any]]] = {}
    for backend in backends.all(table.backends or ""):
        for name, option in options_of(backend, table.key).items():
            schema = _setting(option, backends)
            if schema not in found.setdefault(name, []):
                found[name].append(schema)
    return {name: each[0] if len(each) == 1 else {"anyOf": each} for name, each in found.items()}


def _text(pattern: str | None) -> dict[str, Any]:
    return {"type": "string"} if pattern is None else {"type": "string", "pattern": pattern}
