"""What a configuration is where blocks `[[site]]` hold."""

from collections.abc import Iterable

import msgspec

from config.schema import Config
from config.schema.site import Site


def overridden(config: Config, sites: Iterable[Site]) -> Config:
    """The configuration with what the blocks set; the later goes before."""
    tables: dict[str, dict[str, object]] = {}
    for site in sites:
        for key, value in site.overrides.items():
            section, _, name = key.partition(".")
            tables.setdefault(section, {})[name] = value
    changed = {section: msgspec.structs.replace(getattr(config, section), **table) for section, table in tables.items()}
    return msgspec.structs.replace(config, **changed)
