"""Applies blocks `[[site]]` to a configuration."""

from collections.abc import Iterable

import msgspec

from config.schema import Config
from config.schema.site import Site


def with_overrides(config: Config, sites: Iterable[Site]) -> Config:
    """The configuration with the settings of these blocks. Later blocks override earlier ones."""
    tables: dict[str, dict[str, object]] = {}
    for site in sites:
        for key, value in site.overrides.items():
            section, _, name = key.partition(".")
            tables.setdefault(section, {})[name] = value
    changed = {section: msgspec.structs.replace(getattr(config, section), **table) for section, table in tables.items()}
    return msgspec.structs.replace(config, **changed)
