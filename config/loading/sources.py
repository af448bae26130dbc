"""Reads values from a TOML text, the environment and `--set`. Each source gives unchecked entries."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from config.loading.blocks import BlockKind, block_key, block_kinds
from config.loading.lines import Lines
from config.loading.suggest import did_you_mean, unknown_in_block, unknown_key
from config.problems import Problem
from config.settings import Setting, sections, settings
from config.toml import parse_toml

PREFIX = "ONCEOVER_"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One value of one key, from one source."""

    key: str
    item: str | None = None
    """The name within a table, if only that is set: `--set fetch.hosts.a.test=127.0.0.1`."""
    value: object
    raw: str | None = None
    """The original text, from sources that give values as text."""
    origin: str
    item_origins: tuple[str, ...] = ()
    """For a list, where each item is written, if that is known."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One block of a file, such as `[[site]]`."""

    kind: BlockKind
    entries: list[Entry]
    """The keys of these are the names in the block."""
    origin: str


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from one source."""

    entries: list[Entry] = []
    blocks: list[Block] = []
    problems: list[Problem] = []
    extends: Entry | None = None
    """The preset that a file extends."""
    is_lasting: bool = True
    """Whether its limits also apply to later runs, unless they are given as text."""


def toml_source(text: str, name: str) -> Source:
    """The entries of a TOML text. Messages call it `name`."""
    try:
        tables = parse_toml(text)
    except ValueError as error:
        # ValueError also covers integers with thousands of digits, which the parser does not report as its own error.
        return Source(problems=[_syntax_problem(str(error), text, name)])
    except RecursionError:
        return Source(problems=[Problem("not usable: lists or tables are nested too deeply", where=name)])
    return _TomlReader(Lines(text), name).read(tables)


def table_source(tables: Mapping[str, Any], name: str) -> Source:
    """The entries of tables that are not written in a text. Messages call them `name`."""
    return _TomlReader(Lines(""), name).read(tables)


class _TomlReader:
    """Collects the entries of a file, each with its line."""

    def __init__(self, lines: Lines, name: str) -> None:
        self._lines = lines
        self._name = name
        self._entries: list[Entry] = []
        self._blocks: list[Block] = []
        self._problems: list[Problem] = []

    def read(self, tables: Mapping[str, Any]) -> Source:
        extends: Entry | None = None
        for section, table in tables.items():
            where = self._origin(section)
            if section == "extends":
                extends = Entry(key=section, value=table, origin=where)
            elif section in block_kinds():
                self._read_blocks(block_kinds()[section], table)
            elif section not in sections():
                self._problems.append(_unknown_section(section, table, where))
            elif not isinstance(table, dict):
                message = f"expected a section, [{section}], found one value"
                self._problems.append(Problem(message, where=where, key=section))
            else:
                self._read_section(section, table)
        return Source(entries=self._entries, blocks=self._blocks, problems=self._problems, extends=extends)

    def _read_section(self, section: str, table: Mapping[str, object]) -> None:
        for field, value in table.items():
            key = f"{section}.{field}"
            if key in block_kinds():
                self._read_blocks(block_kinds()[key], value)
            elif key in settings():
                self._entries += self._entries_of(settings()[key], key, value, section, field)
            else:
                self._problems.append(Problem(unknown_key(key), where=self._origin(section, field), key=key))

    def _read_blocks(self, kind: BlockKind, tables: object) -> None:
        path = tuple(kind.key.split("."))
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            found = f"one table, [{kind.key}]" if isinstance(tables, dict) else "something else"
            message = f"expected blocks, each under [[{kind.key}]], found {found}"
            self._problems.append(Problem(message, where=self._origin(*path), key=kind.key))
            return
        for index, table in enumerate(tables):
            here = (*path, str(index))
            entries: list[Entry] = []
            for field, value in table.items():
                if isinstance(value, dict) and field not in kind.settings and field in sections() and kind.overrides:
                    inner = {f"{field}.{name}": (each, (*here, field, name)) for name, each in value.items()}
                else:
                    inner = {field: (value, (*here, field))}
                for name, (each, place) in inner.items():
                    if name in kind.settings:
                        entries += self._entries_of(kind.settings[name], name, each, *place)
                    else:
                        problem_key = block_key(kind, index + 1, name)
                        message = unknown_in_block(kind, name)
                        self._problems.append(Problem(message, where=self._origin(*place), key=problem_key))
            self._blocks.append(Block(kind=kind, entries=entries, origin=self._origin(*here)))

    def _entries_of(self, setting: Setting, key: str, value: object, *path: str) -> list[Entry]:
        """The entry of a value. A table of options also gives an entry for each option in it."""
        if setting.kind != "options" or not isinstance(value, dict):
            return [self._entry(key, value, *path)]
        options = [self._entry(f"{key}.{name}", option, *path, name) for name, option in value.items()]
        return [self._entry(key, {}, *path), *options]

    def _entry(self, key: str, value: object, *path: str) -> Entry:
        items = self._lines.of_items(value, *path) if isinstance(value, list) else []
        origins = tuple(self._line_origin(line) for line in items)
        return Entry(key=key, value=value, origin=self._origin(*path), item_origins=origins)

    def _origin(self, *path: str) -> str:
        return self._line_origin(self._lines.of(*path))

    def _line_origin(self, line: int | None) -> str:
        return self._name if line is None else f"{self._name}:{line}"


def environment_source(environ: Mapping[str, str]) -> Source:
    """The entries of variables such as `ONCEOVER_FETCH__TIMEOUT_S`.

    Variables with the prefix but without two underscores are not settings, and are ignored.
    """
    entries: list[Entry] = []
    problems: list[Problem] = []
    for variable, text in sorted(environ.items()):
        if not variable.startswith(PREFIX) or "__" not in variable:
            continue
        origin = f"environment {variable}"
        key = _key_of(variable)
        if key not in settings() and not is_option(key):
            problems.append(Problem(unknown_key(key), where=origin, key=key))
        elif not _is_unicode(text):
            problems.append(Problem("expected text in UTF-8", where=origin, key=key))
        else:
            entries += _entries_of_text(key, text, origin)
    return Source(entries=entries, problems=problems)


def override_source(overrides: Sequence[str]) -> Source:
    """The entries of `--set`, such as `fetch.timeout_s=5`."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for override in overrides:
        key, equals, text = override.partition("=")
        key = key.strip()
        table, item = _table_item(key)
        if not equals or not _is_unicode(override):
            message = f"expected KEY=VALUE in UTF-8, as fetch.timeout_s=5, found {override!r}"
            problems.append(Problem(message, where="--set"))
        elif key in settings() or is_option(key):
            entries += _entries_of_text(key, text, "--set")
        elif table is not None:
            entries.append(Entry(key=table, item=item, value=_toml_or_text(text), raw=text, origin="--set"))
        else:
            problems.append(Problem(unknown_key(key), where="--set", key=key))
    return Source(entries=entries, problems=problems)


def is_option(key: str) -> bool:
    """Whether that is the key of an option, known or not: `visited.options.filters`."""
    table, _, name = key.rpartition(".")
    return bool(name) and table in settings() and settings()[table].kind == "options"


def _entries_of_text(key: str, text: str, origin: str) -> list[Entry]:
    """The entry of that text. A table of options also gives an entry for each option in it."""
    value = _toml_or_text(text)
    if key not in settings() or settings()[key].kind != "options" or not isinstance(value, dict):
        return [Entry(key=key, value=value, raw=text, origin=origin)]
    options = [Entry(key=f"{key}.{name}", value=option, origin=origin) for name, option in value.items()]
    return [Entry(key=key, value={}, origin=origin), *options]


def _key_of(variable: str) -> str:
    name = variable.removeprefix(PREFIX).lower()
    option = name.replace("__", ".")
    return option if is_option(option) else name.replace("__", ".", 1)


def option_source(options: Mapping[str, tuple[str, object]]) -> Source:
    """The entries of options that set one key, such as `--dir`. `options` has the option and its value by key."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for key, (option, value) in options.items():
        items = value if isinstance(value, list) else ()
        wrong = [text for text in items or (value,) if isinstance(text, str) and not _is_unicode(text)]
        problems += [Problem(f"expected text in UTF-8, found {text!r}", where=option, key=key) for text in wrong]
        if not wrong:
            entries.append(Entry(key=key, value=value, origin=option, item_origins=(option,) * len(items)))
    return Source(entries=entries, problems=problems)


def _toml_or_text(text: str) -> object:
    """The text as a TOML value; the text itself if it is not one."""
    try:
        values = parse_toml(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return values["value"] if len(values) == 1 else text


def _table_item(key: str) -> tuple[str | None, str]:
    section, _, rest = key.partition(".")
    field, _, item = rest.partition(".")
    found = settings().get(f"{section}.{field}")
    return (found.key if found and found.kind == "table" and item else None), item.strip("\"'")


def _is_unicode(text: str) -> bool:
    """Whether the system gave valid UTF-8. Python passes other bytes on as surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unknown_section(section: str, value: object, where: str) -> Problem:
    if isinstance(value, dict):
        hint = (
            did_you_mean(section, sections(), written="[{}]") or f"there are {', '.join(f'[{s}]' for s in sections())}"
        )
        return Problem(f"unknown section [{section}]; {hint}", where=where)
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        hint = f"there are {', '.join(f'[[{kind}]]' for kind in block_kinds())}"
        return Problem(f"unknown block [[{section}]]; {hint}", where=where)
    return Problem(unknown_key(section), where=where, key=section)


def _syntax_problem(message: str, text: str, name: str) -> Problem:
    match = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if match:
        return Problem(f"not valid TOML: {match[1]}", where=f"{name}:{match[2]}:{match[3]}")
    last = text.rstrip("\n").count("\n") + 1
    return Problem(f"not valid TOML: {message}", where=f"{name}:{last}")
