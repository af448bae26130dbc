"""The configuration as a JSON Schema, by which editors complete and check it."""

from typing import Any

from config.presets import presets
from config.settings import Setting, section_meaning, sections, settings

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
            "extends": {"description": "The preset to build on.", "enum": presets()},
            **{section: _section(section) for section in sections()},
        },
    }


def _section(section: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": section_meaning(section),
        "additionalProperties": False,
        "properties": {s.name: _setting(s) for s in settings().values() if s.section == section},
    }


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
        case "table":
            return {
                "type": "object",
                "propertyNames": {"pattern": setting.key_pattern},
                "additionalProperties": _text(setting.pattern),
            }


def _text(pattern: str | None) -> dict[str, Any]:
    return {"type": "string"} if pattern is None else {"type": "string", "pattern": pattern}
