"""Blocks: arrays of tables such as `[[site]]`. A file may have any number of them.

A kind of block is a field of the schema that holds a tuple of structs. A field of `Config` gives `[[site]]`, and a
field of a section gives `[[compare.set]]`. Only files have blocks. Those of a file follow those of its preset.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, get_type_hints

import msgspec

from config.schema import Config
from config.schema.site import Site
from config.settings import (
    Setting,
    block_struct,
    holds_overrides,
    meaning_of,
    sections,
    settings,
    settings_of,
    value_at,
    with_values,
)


class BlockKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of block."""

    key: str
    """As users name it: `site`, `compare.set`."""
    struct: type
    own: tuple[Setting, ...]
    """The settings that only blocks of this kind have."""
    overrides: str | None
    """The field for settings of sections that it overrides; None if it overrides none."""
    settings: dict[str, Setting]
    """All settings that it may have, by their names in it: `match`, `politeness.min_delay_s`."""

    @property
    def meaning(self) -> str:
        return meaning_of(self.struct)

    def build(self, values: Mapping[str, object]) -> Any:
        """The struct with these checked values; their keys are the names in the block."""
        own = {setting.name for setting in self.own}
        fields: dict[str, Any] = {name: value for name, value in values.items() if name in own}
        if self.overrides is not None:
            fields[self.overrides] = {key: value for key, value in values.items() if key not in own}
        return self.struct(**fields)

    def values(self, block: Any) -> dict[str, object]:
        """The values of a block, by their names in it. Its own settings are included even at their defaults."""
        found = {setting.name: getattr(block, setting.name) for setting in self.own}
        return found if self.overrides is None else {**found, **getattr(block, self.overrides)}


@cache
def block_kinds() -> dict[str, BlockKind]:
    """All kinds of blocks by key, in the order of the schema."""
    found: dict[str, BlockKind] = {}
    for prefix, parent in [("", Config), *((f"{name}.", struct) for name, struct in sections().items())]:
        for name, hint in get_type_hints(parent, include_extras=True).items():
            if (struct := block_struct(hint)) is not None:
                found[prefix + name] = _kind(prefix + name, struct)
    return found


def with_overrides(config: Config, sites: Iterable[Site]) -> Config:
    """The configuration with the settings of these blocks. Later blocks override earlier ones."""
    return with_values(config, {key: value for site in sites for key, value in site.overrides.items()})


def block_key(kind: BlockKind, number: int, name: str = "") -> str:
    """The key of a setting in block `number` (from 1): `site[2].fetch.timeout_s`. Without `name`, the block itself."""
    return f"{kind.key}[{number}].{name}".removesuffix(".")


def _kind(key: str, struct: type) -> BlockKind:
    own = tuple(settings_of(struct, key))
    hints = get_type_hints(struct, include_extras=True)
    overrides = next((name for name, hint in hints.items() if holds_overrides(hint)), None)
    others = {} if overrides is None else {each.key: each for each in settings().values() if each.per_site}
    return BlockKind(
        key=key,
        struct=struct,
        own=own,
        overrides=overrides,
        settings={setting.name: setting for setting in own} | others,
    )


def all_values(config: Config) -> Iterator[tuple[str, Setting, object]]:
    """All settings with their keys and values: those of sections in the order of the schema, then those of blocks."""
    for key, setting in settings().items():
        yield key, setting, setting.value_in(config)
    for kind in block_kinds().values():
        for number, block in enumerate(value_at(config, kind.key), start=1):
            for name, value in kind.values(block).items():
                yield block_key(kind, number, name), kind.settings[name], value


def named_backends(config: Config) -> Iterator[tuple[str, str]]:
    """The kind and the name or path of each backend that a configuration names, plug-ins included."""
    for _, setting, value in all_values(config):
        if setting.backends is not None and setting.names_backends and value is not None:
            names = value if isinstance(value, tuple) else (value,)
            yield from ((setting.backends, str(name)) for name in names)
