"""All settings as values, which are derived from the schema. `blocks` handles arrays of tables."""

from collections.abc import Callable, Mapping
from functools import cache, reduce
from inspect import getdoc
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import inspect

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
    hints = get_type_hints(struct, include_extras=True)
    return [
        _setting(section, field, hints[field.name])
        for field in cast(inspect.StructType, inspect.type_info(struct)).fields
        if block_struct(hints[field.name]) is None and not holds_overrides(hints[field.name])
    ]


def block_struct(hint: object) -> type | None:
    """The struct of the blocks that a field of that type holds; None if the field does not hold blocks."""
    arguments = get_args(hint)
    is_array = get_origin(hint) is tuple and len(arguments) == 2 and arguments[1] is Ellipsis
    return arguments[0] if is_array and isinstance(arguments[0], type(msgspec.Struct)) else None


def holds_overrides(hint: object) -> bool:
    """Whether a field of that type holds other values of settings, and is no setting itself."""
    return any("overrides" in (note.extra or ()) for note in getattr(hint, "__metadata__", ()))


def _choices(hint: Any, notes: dict[str, Any]) -> tuple[str, ...]:
    # `msgspec.inspect` sorts them, but the order of the schema is better for people.
    plain = get_args(hint)[0] if hasattr(hint, "__metadata__") else hint
    return get_args(plain) if get_origin(plain) is Literal else notes.get("choices", ())


def _setting(section: str, field: inspect.Field, hint: Any) -> Setting:
    type_, notes = _unwrap(field.type)
    optional = False
    words: tuple[str, ...] = ()
    if isinstance(type_, inspect.UnionType):
        optional = any(isinstance(each, inspect.NoneType) for each in type_.types)
        literals = [each for each in type_.types if isinstance(each, inspect.LiteralType)]
        words = tuple(str(word) for each in literals for word in each.values)
        others = (each for each in type_.types if not isinstance(each, inspect.NoneType | inspect.LiteralType))
        type_, more = _unwrap(next(others, literals[0] if literals else type_))
        words = () if isinstance(type_, inspect.LiteralType) else words
        notes |= more
    key_type: inspect.Type | None = None
    item: inspect.Type = type_
    if isinstance(type_, inspect.VarTupleType):
        item, more = _unwrap(type_.item_type)
        notes |= more
    elif isinstance(type_, inspect.DictType):
        key_type, _ = _unwrap(type_.key_type)
        item, more = _unwrap(type_.value_type)
        notes |= more
    return Setting(
        section=section,
        name=field.name,
        kind=_kind(type_, notes, f"{section}.{field.name}"),
        default=_default(field),
        required=field.required,
        optional=optional,
        words=words,
        meaning=notes.get("description", ""),
        unit=notes.get("unit"),
        minimum=getattr(item, "ge", None),
        maximum=getattr(item, "le", None),
        multiple=getattr(item, "multiple_of", None),
        choices=_choices(hint, notes),
        backends=notes.get("backends"),
        options_of=notes.get("options_of"),
        form=notes.get("form"),
        pattern=getattr(item, "pattern", None),
        key_pattern=getattr(key_type, "pattern", None),
        per_site=notes.get("per_site", False),
        is_secret=notes.get("is_secret", False),
        type=hint,
    )


def _default(field: inspect.Field) -> Any:
    if field.required:
        return None
    return field.default if field.default is not msgspec.NODEFAULT else cast(Callable[[], Any], field.default_factory)()


def _unwrap(type_: inspect.Type) -> tuple[inspect.Type, dict[str, Any]]:
    if isinstance(type_, inspect.Metadata):
        return type_.type, {**(type_.extra_json_schema or {}), **(type_.extra or {})}
    return type_, {}


def _kind(type_: inspect.Type, notes: dict[str, Any], key: str) -> Kind:
    unit = notes.get("unit")
    match type_:
        case inspect.BoolType():
            return "bool"
        case inspect.IntType():
            return "bytes" if unit == "bytes" else "int"
        case inspect.FloatType():
            return "seconds" if unit == "seconds" else "float"
        case inspect.StrType():
            return "choice" if "choices" in notes else "text"
        case inspect.LiteralType():
            return "choice"
        case inspect.VarTupleType():
            return "ints" if isinstance(_unwrap(type_.item_type)[0], inspect.IntType) else "texts"
        case inspect.DictType():
            return "options" if "options_of" in notes else "table"
    raise TypeError(f"{key} can't be a {type(type_).__name__.removesuffix('Type')}")
