"""What a user may set.

`schema` is the one place where a setting is written down: a field of a frozen struct, with its type, default, unit,
limits and meaning. Its checks and its lines in `show`, in written configurations, in the JSON Schema and in the manual
are derived from that field. So a new setting is one field, and a new choice is one word.

A value comes from one of five places. A later place overrides an earlier one:

    the default          in the schema
    a preset             a file of this package, named by `extends` in the user's file
    the user's file      TOML
    the environment      ONCEOVER_FETCH__TIMEOUT_S=5
    the command line     --set fetch.timeout_s=5

The room `loading` reads these in steps. Each source gives *entries* (key, value, origin) and its own problems. The
strongest entry of a key is kept and checked against its setting; then the values are checked against each other; then
the seeds are read. Problems are collected until the last step, so that a user sees all of them at once, each with its
place. The configuration remembers where each value comes from.

A file may hold any number of blocks, as `[[site]]`. They are no sixth place: they say where else other values hold.
`Loaded.of_sites` is the configuration there, with origins of its own.

The name of a setting carries its unit (`timeout_s`). Sizes and durations may also be given as text with a unit. What is
unset is None.

The room `show` writes a configuration out. `problems` holds the errors, `settings` the schema as values, `units` and
`toml` the texts of values, `presets` the presets, `contact` whether site owners can reach whoever crawls.

Only the command line and the wiring know this package; each component gets plain values. The package imports nothing
else of the project, and judges neither URLs nor patterns: `Loaded.refuse` makes an error with the right place for those
who do.
"""

from config.contact import has_contact, owned_by_others
from config.loading.loader import Loaded, load
from config.loading.seeds import Seed
from config.loading.sites import overridden
from config.presets import preset_text, presets
from config.problems import ConfigError, Problem
from config.schema import Config
from config.schema.compare import CompareBackend, CompareSet, CompareWork
from config.schema.crawl import Crawl, Limits, Output, Progress
from config.schema.fetch import Extractor, Fetch
from config.schema.frontier import Durability, Frontier, FrontierBackend, QueueBy, Visited, VisitedBackend
from config.schema.politeness import Politeness
from config.schema.scope import Scope, Urls, Within
from config.schema.site import Site
from config.settings import Setting, settings
from config.show.changes import changes, chosen
from config.show.json_schema import json_schema
from config.show.render import Row, render_show, render_toml
from config.toml import toml_value
from config.units import parse_size

__all__ = [
    "CompareBackend",
    "CompareSet",
    "CompareWork",
    "Config",
    "ConfigError",
    "Crawl",
    "Durability",
    "Extractor",
    "Fetch",
    "Frontier",
    "FrontierBackend",
    "Limits",
    "Loaded",
    "Output",
    "Politeness",
    "Problem",
    "Progress",
    "QueueBy",
    "Row",
    "Scope",
    "Seed",
    "Setting",
    "Site",
    "Urls",
    "Visited",
    "VisitedBackend",
    "Within",
    "changes",
    "chosen",
    "has_contact",
    "json_schema",
    "load",
    "overridden",
    "owned_by_others",
    "parse_size",
    "preset_text",
    "presets",
    "render_show",
    "render_toml",
    "settings",
    "toml_value",
]
