"""The configuration as a JSON Schema, with which editors complete and check it."""

from typing import Any

from config.loading.blocks import BlockKind, block_kinds
from config.loading.options import options_of
from config.presets import presets
from config.settings import Setting, section_meaning, sections, settings
from visited.backends import BACKENDS

_QUANTITY = r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*"
_UNITS = {"bytes": "([kKmMgGtTpPeE]?[bB]|[kKmMgGtT][iI][bB])?", "seconds": "(ms|s|min|h|d)?"}


def json_schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12, of a configuration file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of onceover",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "extends": {"description": "The preset that this configuration extends.", "enum": presets()},
            **{section: _section(section) for section in sections()},
            **{key: _blocks(kind) for key, kind in block_kinds().items() if "." not in key},
        },
    }


def _section(section: str) -> dict[str, Any]:
    own = {s.name: _setting(s) for s in settings().values() if s.section == section}
    kinds = {key.partition(".")[2]: kind for key, kind in block_kinds().items() if key.startswith(f"{section}.")}
    return _object(section_meaning(section), own | {name: _blocks(kind) for name, kind in kinds.items()})


def _blocks(kind: BlockKind) -> dict[str, Any]:
    own = {setting.name: _setting(setting) for setting in kind.own}
    tables: dict[str, dict[str, Any]] = {}
    for name, setting in kind.settings.items():
        if "." in name:
            schema = _setting(setting)
            schema.pop("default", None)
            tables.setdefault(setting.section, {})[setting.name] = schema
    others = {section: _object(section_meaning(section), table) for section, table in tables.items()}
    required = [setting.name for setting in kind.own if setting.required]
    return {"type": "array", "description": kind.meaning, "items": _object("", own | others) | {"required": required}}


def _object(meaning: str, properties: dict[str, Any]) -> dict[str, Any]:
    description = {"description": meaning} if meaning else {}
    return {"type": "object", **description, "additionalProperties": False, "properties": properties}


def _setting(setting: Setting) -> dict[str, Any]:
    notes: dict[str, Any] = {"description": setting.meaning}
    if setting.default is not None:
        notes["default"] = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    return notes | _type(setting)


def _type(setting: Setting) -> dict[str, Any]:
    limits = {"minimum": setting.minimum, "maximum": setting.maximum}
    match setting.kind:
        case "bool":
            return {"type": "boolean"}
        case "int":
            return {"type": "integer", **limits}
        case "float":
            return {"type": "number", **limits}
        case "bytes" | "seconds":
            number = "integer" if setting.kind == "bytes" else "number"
            pattern = f"{_QUANTITY}{_UNITS[setting.kind]}\\s*$"
            return {"anyOf": [{"type": number, **limits}, {"type": "string", "pattern": pattern}]}
        case "choice":
            return {"enum": list(setting.choices)}
        case "text":
            return _text(setting.pattern)
        case "texts":
            return {"type": "array", "items": _text(setting.pattern)}
        case "ints":
            return {"type": "array", "items": {"type": "integer", **limits}}
        case "options":
            return _object("", _options())
        case "table":
            return {
                "type": "object",
                "propertyNames": {"pattern": setting.key_pattern},
                "additionalProperties": _text(setting.pattern),
            }


def _options() -> dict[str, Any]:
    """The options of all backends. Two backends may have options of one name with other limits."""
    found: dict[str, list[dict[str, Any]]] = {}
    for backend in BACKENDS:
        for name, option in options_of(backend).items():
            schema = _setting(option)
            if schema not in found.setdefault(name, []):
                found[name].append(schema)
    return {name: each[0] if len(each) == 1 else {"anyOf": each} for name, each in found.items()}


def _text(pattern: str | None) -> dict[str, Any]:
    return {"type": "string"} if pattern is None else {"type": "string", "pattern": pattern}
