"""Writes values as TOML, and parses it.

The standard library can only read TOML, and takes minutes for a key with tens of thousands of parts.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_ESCAPES = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"} | {
    code: f"\\u{code:04x}" for code in (*range(8), 11, *range(14, 32), 127)
}
_LINE = 110


def toml_value(value: object) -> str:
    """A value as TOML, such that reading it gives the same value.

    It writes texts, numbers, booleans, and lists and tables of these. Other values, such as dates, become texts.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return _int(value)
        case float():
            return repr(value)
        case str():
            return _text(value)
        case list() | tuple():
            return _list([toml_value(item) for item in value])
        case Mapping():
            items = ", ".join(f"{_text(str(name))} = {toml_value(item)}" for name, item in value.items())
            return f"{{ {items} }}" if items else "{}"
        case _:
            return _text(str(value))


def _text(text: str) -> str:
    # Patterns are full of backslashes, and are only readable in literal strings.
    if "\\" in text and "'" not in text and not any(ord(char) < 32 or ord(char) == 127 for char in text):
        return f"'{text}'"
    return f'"{text.translate(_ESCAPES)}"'


def _int(value: int) -> str:
    # Python refuses to write numbers with thousands of digits in base ten. They only occur in messages.
    if abs(value) >= 1 << 1000:
        return hex(value)
    return f"{value:_}" if abs(value) >= 10_000 else str(value)


def _list(items: list[str]) -> str:
    line = f"[{', '.join(items)}]"
    return line if len(line) <= _LINE else "[\n" + "".join(f"    {item},\n" for item in items) + "]"


MAX_PARTS: Final = 20
"""The longest key that is read. Keys of settings have five parts at most."""
_PART = r"""(?:[A-Za-z0-9_-]++|"(?>(?:[^"\\\n]++|\\.)*)"|'[^'\n]*+')"""
_TOKENS: Final = re.compile(
    # Texts of several lines, comments, keys or what looks like them, and texts that do not end.
    rf'''"""(?>(?:[^"\\]++|\\.|"(?!""))*)(?:"{{3,5}}|\Z)|\'\'\'(?>(?:[^']++|'(?!''))*)(?:'{{3,5}}|\Z)|\#[^\n]*+'''
    rf"""|(?P<key>{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MAX_PARTS}}})|{_PART}|"[^\n]*+|'[^\n]*+""",
    re.DOTALL,
)


def parse_toml(text: str) -> dict[str, Any]:
    """Raises `ValueError` if it is not valid, and `RecursionError` if it is nested too deeply."""
    import tomllib  # noqa: PLC0415 - not all crawls have a file

    for token in _TOKENS.finditer(text):
        if token["key"]:
            line = text.count("\n", 0, token.start()) + 1
            column = token.start() - text.rfind("\n", 0, token.start())
            message = f"expected a key of at most {MAX_PARTS} parts, found more"
            raise ValueError(f"{message} (at line {line}, column {column})")
    return tomllib.loads(text)
