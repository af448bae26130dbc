"""All settings as values, which are derived from the schema. `blocks` handles arrays of tables."""

from collections.abc import Callable, Mapping
from functools import cache, reduce
from inspect import getdoc
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from config.schema import Config
from config.units import duration_text, size_text

Kind = Literal["bool", "int", "float", "seconds", "bytes", "text", "choice", "texts", "ints", "table", "options"]


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: its place, its valid values and its meaning."""

    section: str
    name: str
    kind: Kind
    default: Any
    words: tuple[str, ...]
    """Words that may stand instead of a number."""
    optional: bool
    """Whether it may be unset; its default is then None."""
    required: bool
    """Whether it has no default; `default` is then None. Only settings of blocks may be required."""
    meaning: str
    unit: str | None
    minimum: float | None
    maximum: float | None
    multiple: int | None
    """What a number must be a multiple of."""
    choices: tuple[str, ...]
    backends: str | None
    """The kind of the backends that it names, or whose options it holds. It may also name a plug-in."""
    options_of: str | None
    """The key of the setting that chooses the backend, for a table of its options."""
    form: str | None
    """What a text must look like, in words."""
    pattern: str | None
    """The pattern that a text, each of several texts, or each value of a table must match."""
    key_pattern: str | None
    """The pattern that each key of a table must match."""
    per_site: bool
    """Whether a block `[[site]]` may set it, too."""
    is_secret: bool
    """Whether logs and messages must show only the keys of this table."""
    hides_wrong: bool
    """Whether messages must not quote a wrong value, because people write a secret there, such as a login in place of
    the file that has it."""
    type: Any
    """For `msgspec.convert`."""

    @property
    def key(self) -> str:
        """The key as users write it: `fetch.timeout_s`."""
        return f"{self.section}.{self.name}"

    def value_in(self, config: Config) -> Any:
        """Its value in a configuration; it must not be the setting of a block."""
        return getattr(getattr(config, self.section), self.name)

    @property
    def names_backends(self) -> bool:
        """Whether its texts may be names of backends."""
        return self.backends is not None and self.options_of is None

    @property
    def limits(self) -> str:
        """The range, the choices or the form, for people; empty if it has none."""
        if self.choices:
            return " or ".join(f'"{choice}"' for choice in self.choices)
        if self.minimum is None and self.maximum is None:
            return self.form or ""
        if self.maximum is None:
            return f"at least {self._number(self.minimum or 0)}"
        if self.minimum is None:
            return f"at most {self._number(self.maximum)}"
        return f"{self._number(self.minimum)} to {self._number(self.maximum)}"

    @property
    def expected(self) -> str:
        """What a value must be; it completes "expected …"."""
        words = "".join(f', or "{word}"' for word in self.words)
        return self._expected + words

    @property
    def _expected(self) -> str:
        match self.kind:
            case "bool":
                return "true or false"
            case "choice":
                return self._with_plugins
            case "int":
                return self._limited(f"a multiple of {self.multiple}" if self.multiple else "a whole number")
            case "float":
                return self._limited("a number")
            case "seconds":
                return self._limited("a duration") + ', as a number of seconds or as text such as "500 ms", "10 min"'
            case "bytes":
                size = f"a multiple of {self.multiple} bytes" if self.multiple else "a size"
                return self._limited(size) + ', as a whole number of bytes or as text such as "512 KiB", "20 MB"'
            case "text":
                return self._limited("text")
            case "texts":
                return f"a list of texts, each {self._with_plugins}" if self._with_plugins else "a list of texts"
            case "ints":
                return self._limited("a list of whole numbers", joined=", each ")
            case "table":
                return self._limited("a table", joined=" such as ")
            case "options":
                return "a table of options"

    @property
    def _with_plugins(self) -> str:
        """The limits, and that a plug-in may be named."""
        plugin = 'a plug-in, as "package.module:Name"' if self.names_backends else ""
        return ", or ".join(text for text in (self.limits, plugin) if text)

    def _limited(self, what: str, *, joined: str = ", ") -> str:
        return f"{what}{joined}{self.limits}" if self.limits else what

    def _number(self, value: float) -> str:
        if self.kind == "seconds":
            return duration_text(value)
        if self.kind == "bytes" and isinstance(value, int):
            text = size_text(value)
            return f"{text} B" if text.isdigit() else text
        return f"{value:_}" if isinstance(value, int) and value >= 10_000 else str(value)


@cache
def settings() -> dict[str, Setting]:
    """All settings by key, in the order of the schema."""
    found = (setting for section, struct in sections().items() for setting in settings_of(struct, section))
    return {setting.key: setting for setting in found}


@cache
def sections() -> dict[str, type]:
    """The struct of each section, in the order of the schema."""
    return {name: hint for name, hint in get_type_hints(Config).items() if block_struct(hint) is None}


def value_at(config: Config, key: str) -> Any:
    """The value of a setting, or all blocks of a kind."""
    return reduce(getattr, key.split("."), config)


def with_values(config: Config, values: Mapping[str, object]) -> Config:
    """The configuration with other values of settings, or other blocks of a kind, by key."""
    tables: dict[str, dict[str, Any]] = {"": {}}
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        tables.setdefault(section, {})[name] = value
    blocks = tables.pop("")
    changed = {section: msgspec.structs.replace(getattr(config, section), **table) for section, table in tables.items()}
    return msgspec.structs.replace(config, **changed, **blocks)


def section_meaning(section: str) -> str:
    """What a section is about."""
    return meaning_of(sections()[section])


def meaning_of(struct: type) -> str:
    """What a struct of the schema is about, in one line."""
    return " ".join((getdoc(struct) or "").split())


def settings_of(struct: type, section: str) -> list[Setting]:
    """The settings that are fields of a struct of the schema."""
    return [
        _setting(section, field)
        for field in msgspec.structs.fields(struct)
        if block_struct(field.type) is None and not holds_overrides(field.type)
    ]


def block_struct(hint: object) -> type | None:
    """The struct of the blocks that a field of that type holds; None if the field does not hold blocks."""
    arguments = get_args(hint)
    return arguments[0] if _is_array(hint) and isinstance(arguments[0], type(msgspec.Struct)) else None


def holds_overrides(hint: object) -> bool:
    """Whether a field of that type holds other values of settings, and is no setting itself."""
    return any("overrides" in (note.extra or ()) for note in _notes_of(hint))


def _setting(section: str, field: msgspec.structs.FieldInfo) -> Setting:
    type_, notes = _unwrap(field.type)
    parts = get_args(type_) if get_origin(type_) in (Union, UnionType) else ()
    literals = [each for each in parts if get_origin(each) is Literal]
    words = tuple(word for each in literals for word in get_args(each))
    others = [each for each in parts if each is not NoneType and each not in literals]
    if parts:
        type_, more = _unwrap((others or literals)[0])
        notes |= more
    if type_ is tuple:
        type_ = tuple[Any, ...]
    items = get_args(type_)
    key_notes: dict[str, Any] = {}
    if _is_array(type_):
        notes |= _unwrap(items[0])[1]
    elif _is_table(type_) and items:
        key_notes = _unwrap(items[0])[1]
        notes |= _unwrap(items[1])[1]
    return Setting(
        section=section,
        name=field.name,
        kind=_kind(type_, notes, f"{section}.{field.name}"),
        default=_default(field),
        required=field.required,
        optional=NoneType in parts,
        words=tuple(map(str, words)) if others else (),
        meaning=notes.get("description") or "",
        unit=notes.get("unit"),
        minimum=notes.get("ge"),
        maximum=notes.get("le"),
        multiple=notes.get("multiple_of"),
        choices=words or items if get_origin(type_) is Literal else notes.get("choices", ()),
        backends=notes.get("backends"),
        options_of=notes.get("options_of"),
        form=notes.get("form"),
        pattern=notes.get("pattern"),
        key_pattern=key_notes.get("pattern"),
        per_site=notes.get("per_site", False),
        is_secret=notes.get("is_secret", False),
        hides_wrong=notes.get("is_secret", False) or notes.get("hides_wrong", False),
        type=field.type,
    )


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.required:
        return None
    return field.default if field.default is not msgspec.NODEFAULT else cast(Callable[[], Any], field.default_factory)()


def _unwrap(hint: Any) -> tuple[Any, dict[str, Any]]:
    """A type without its notes and without the name of a `NewType`, and what the notes say."""
    notes: dict[str, Any] = {}
    for note in _notes_of(hint):
        given = ((name, getattr(note, name)) for name in ("description", "ge", "le", "multiple_of", "pattern"))
        notes |= {name: value for name, value in given if value is not None}
        notes |= note.extra or {}
    plain = hint.__origin__ if hasattr(hint, "__metadata__") else hint
    return getattr(plain, "__supertype__", plain), notes


def _notes_of(hint: object) -> list[msgspec.Meta]:
    """Those for msgspec. A plug-in may have notes for others there."""
    return [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, msgspec.Meta)]


def _is_array(type_: Any) -> bool:
    return get_origin(type_) is tuple and get_args(type_)[1:] == (...,)


def _is_table(type_: Any) -> bool:
    return (get_origin(type_) or type_) in (dict, Mapping)


def _kind(type_: Any, notes: dict[str, Any], key: str) -> Kind:
    unit = notes.get("unit")
    if type_ is bool:
        return "bool"
    if type_ is int:
        return "bytes" if unit == "bytes" else "int"
    if type_ is float:
        return "seconds" if unit == "seconds" else "float"
    if type_ is str:
        return "choice" if "choices" in notes else "text"
    if get_origin(type_) is Literal:
        return "choice"
    if _is_array(type_):
        return "ints" if _unwrap(get_args(type_)[0])[0] is int else "texts"
    if _is_table(type_):
        return "options" if "options_of" in notes else "table"
    raise TypeError(f"{key} can't be a {getattr(type_, '__name__', type_)}")
