"""What a user may set.

`schema` is the one place where a setting is written down: a field of a frozen struct, with its type, default, unit,
limits and meaning. Its checks, its line in `show`, in a written configuration, in the JSON Schema and in the manual
are all derived from that field, so a new setting is one field, and a new choice is one word.

A value comes from one of five places; the later goes before:

    the default          in the schema
    a preset             a file of this package, named by `extends` in the user's file
    the user's file      TOML
    the environment      ONCEOVER_FETCH__TIMEOUT_S=5
    the command line     --set fetch.timeout_s=5

Loading goes in steps: each source gives *entries* (key, value, origin) and the problems it has on its own; of the
entries for one key the strongest is kept, and checked against its setting; then the values are checked against each
other; then the seeds are read. Problems are collected, not raised, until the last step, so that a user sees all of them
at once, each with its place. Where a value comes from is kept for as long as the configuration is.

Of blocks, as `[[site]]`, a file may hold any number (`blocks`). They are no sixth place, but say where else other
values hold: `Loaded.of_sites` is the configuration there (`sites`), with origins of its own.

A unit belongs to the name of a setting (`timeout_s`); sizes and durations may also be given as text with a unit.
What is unset is None.

Only the command line and the wiring of the crawl know this package; each part of the crawl gets plain values. This
package imports nothing else of the project, and judges neither URLs nor patterns: `Loaded.refuse` makes an error with
the right place for those who do.
"""

from config.contact import has_contact, owned_by_others
from config.json_schema import json_schema
from config.loader import Loaded, load
from config.presets import preset_text, presets
from config.problems import ConfigError, Problem
from config.render import Row, render_show, render_toml
from config.schema import Config
from config.schema.compare import CompareBackend, CompareSet, CompareWork
from config.schema.crawl import Crawl, Limits, Output, Progress
from config.schema.fetch import Extractor, Fetch
from config.schema.frontier import Durability, Frontier, FrontierBackend, QueueBy, Visited, VisitedBackend
from config.schema.politeness import Politeness
from config.schema.scope import Scope, Urls, Within
from config.schema.site import Site
from config.seeds import Seed
from config.settings import Setting, settings
from config.sites import overridden
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
