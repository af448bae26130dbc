"""What a user may set.

`schema` defines each setting once: as a field of a frozen struct, with its type, default, unit, limits and meaning.
Everything else is derived from this field: its checks, and its lines in `show`, in written configurations, in the JSON
Schema and in the manual. So a new setting is one field, and a new choice is one word.

A value has one of five sources. Each overrides those before it:

    the default          in the schema
    a preset             a file of this package, which `extends` in the user's file names
    the user's file      TOML
    the environment      ONCEOVER_FETCH__TIMEOUT_S=5
    the command line     --set fetch.timeout_s=5; or the program, set={"fetch.timeout_s": 5}

The room `loading` reads them in steps. Each source gives *entries* (key, value, origin) and its own problems. The
strongest entry of each key is checked against its setting. Then the values are checked against each other, and the
seeds are read. The last step reports all problems at once, each with its place. The configuration remembers where each
value comes from.

A file may have any number of blocks such as `[[site]]`. They are no sixth source: they set other values for a part of
the web. `Loaded.of_sites` has the configuration for these parts, with its own origins.

The name of a setting has its unit (`timeout_s`). Sizes and durations may also be given as text with a unit. An unset
value is None.

The room `show` writes a configuration out, and changes values in a written one. `problems` has the errors, `settings`
the schema as values, `units` and `toml` the texts of values; `contact` says whether site owners can reach the person
who crawls.

Only the command line, the library and the wiring import this package; each component gets plain values. Of the rest of
the project, the package knows only the descriptors of visited sets and frontiers. It imports the descriptor of a set,
and with it NumPy, only to check its options. The caller of `load` passes the other backends, plug-ins among them
(`backends`); the `load` of the wiring knows all of them. The package checks neither URLs nor patterns: components that
do so call `Loaded.refuse` to make an error with the right place.
"""

from config.backends import Backend, Backends
from config.contact import has_contact, owned_by_others
from config.loading.blocks import named_backends, with_overrides
from config.loading.checks import missing_contact
from config.loading.files import preset_text, presets
from config.loading.loaded import Loaded
from config.loading.loader import load, setting_values
from config.loading.seeds import Seed, read_seeds
from config.loading.tables import values_of
from config.problems import ConfigError, Problem, ServerAway, ServerUnusable, shortened
from config.schema import Config
from config.schema.compare import COMPARE_BACKENDS, CompareSet, CompareWork
from config.schema.crawl import Crawl, Limits, OutputSink
from config.schema.fetch import Fetch
from config.schema.site import Site
from config.settings import Setting, settings, settings_of, value_at, with_values
from config.show.changes import Change, changes, differences, non_defaults
from config.show.json_schema import json_schema
from config.show.render import render_run, render_show, render_toml
from config.toml import parse_toml, toml_value

__all__ = [
    "COMPARE_BACKENDS",
    "Backend",
    "Backends",
    "Change",
    "CompareSet",
    "CompareWork",
    "Config",
    "ConfigError",
    "Crawl",
    "Fetch",
    "Limits",
    "Loaded",
    "OutputSink",
    "Problem",
    "Seed",
    "ServerAway",
    "ServerUnusable",
    "Setting",
    "Site",
    "changes",
    "differences",
    "has_contact",
    "json_schema",
    "load",
    "missing_contact",
    "named_backends",
    "non_defaults",
    "owned_by_others",
    "parse_toml",
    "preset_text",
    "presets",
    "read_seeds",
    "render_run",
    "render_show",
    "render_toml",
    "setting_values",
    "settings",
    "settings_of",
    "shortened",
    "toml_value",
    "value_at",
    "values_of",
    "with_overrides",
    "with_values",
]
