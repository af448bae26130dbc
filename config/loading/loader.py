"""Makes one configuration from all sources."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

import msgspec

from config.backends import Backends, OwnBackends
from config.loading.blocks import block_key
from config.loading.checks import DEFAULT, check_contact, check_seeds, cross_check
from config.loading.files import read_sources
from config.loading.loaded import Loaded
from config.loading.seeds import given_seeds
from config.loading.sources import Block, Entry, Source, option_source
from config.loading.tables import program_source
from config.loading.values import check_options, checked_value
from config.problems import ConfigError, Problem
from config.schema import Config
from config.schema.crawl import Limits
from config.settings import Setting, sections, settings, with_values

_PATHS: Final = ("crawl.seed_files", "output.dedupe_against")
"""Relative ones start from the configuration file, or, if they are given as text, from the current directory."""
_PATHS_FROM_HERE: Final = ("scope.place_files", "scope.exclude_place_files", "fetch.authorities")
"""Relative ones start from the current directory."""


def load(  # noqa: PLR0913 - each may be left out
    path: str | Path | None,
    *,
    overrides: Sequence[str] = (),
    options: Mapping[str, tuple[str, object]] | None = None,
    tables: Sequence[tuple[str, Mapping[str, object]]] = (),
    environ: Mapping[str, str] | None = None,
    preset: str | None = None,
    as_run: bool = False,
    require_seeds: bool = True,
    require_contact: bool = True,
    backends: Backends = OwnBackends(),  # noqa: B008 - a value without state
    is_seed: Callable[[str], bool] = lambda _: True,
) -> Loaded:
    """Load a configuration file, or a configuration without a file.

    Each of these overrides those before it: defaults, `preset`, the preset that the file `extends`, the file, the
    environment, `overrides` (the arguments of `--set`), `tables` (what a program gives: for messages a name, and values
    by key), `options` (for a key, the option of the command and its value, as `("--dir", "crawls/a")`). A file that was
    written `as_run` has a value for every setting, so there `preset` overrides the file. A value that another one
    overrides is not checked. `backends` are those that it may name, and `is_seed` says whether a text can be read as a
    seed. Raises `ConfigError` with all problems. If it need not `require_seeds`, a seed file that can't be read is no
    problem. Without `require_contact`, as of a crawl that has begun, nobody asks whose hosts the seeds are, which takes
    some 20 µs for each.
    """
    file = Path(path) if path is not None else None
    sources = [
        *read_sources(file, overrides=overrides, environ=environ or {}, preset=preset, as_run=as_run),
        *(program_source(values, origin) for origin, values in tables),
        option_source(options or {}),
    ]
    problems = [problem for source in sources for problem in source.problems]
    strongest = _strongest(entry for source in sources for entry in source.entries)
    values, refused = _check_values(strongest, settings(), backends)
    problems += refused.values()
    origins = dict.fromkeys(settings(), DEFAULT) | {key: entry.origin for key, entry in strongest.items()}
    origins = {key: origin for key, origin in origins.items() if key not in refused}
    _fill_in(values, file)
    _anchor(values, strongest, file)
    config = _config(values)
    problems += cross_check(config, origins, backends)
    blocks = [block for source in sources for block in source.blocks]
    config, block_origins, refused_in_blocks = _with_blocks(config, blocks, backends)
    origins |= block_origins
    problems += refused_in_blocks
    if not problems:
        problems += _check_sites(Loaded(config=config, origins=origins, seeds=(), backends=backends))
    files_named_at = origins.get("crawl.seed_files", DEFAULT)
    seeds, unread = given_seeds(config.crawl, strongest.get("crawl.seeds"), files_named_at=files_named_at)
    if require_seeds:
        problems += unread
    # A problem with the section or the seeds explains why there are none.
    is_explained = any(problem.key is None or problem.key.startswith("crawl.") for problem in problems)
    required = require_seeds and not is_explained
    problems += check_seeds(config, seeds=seeds, required=required)
    if require_contact:
        problems += check_contact(config, origins, seeds=seeds, is_seed=is_seed)
    if problems:
        raise ConfigError(problems)
    return Loaded(
        config=config,
        origins=origins,
        seeds=tuple(seeds),
        unread=tuple(unread),
        backends=backends,
        lasting_limits=_lasting_limits(sources, backends),
    )


def setting_values(
    path: Path,
    overrides: Sequence[str],
    *,
    backends: Backends = OwnBackends(),  # noqa: B008 - a value without state
) -> dict[str, object]:
    """The values, by key, that the arguments of `--set` give to settings of a file. A table in which they change
    something is there as a whole. Paths are as they were given, and no file that they name is read. Raises
    `ConfigError`."""
    sources = read_sources(path, overrides=overrides, environ={}, preset=None, as_run=False)
    problems = [problem for source in sources for problem in source.problems]
    values, refused = _check_values(
        _strongest(entry for source in sources for entry in source.entries), settings(), backends
    )
    problems += refused.values()
    if problems:
        raise ConfigError(problems)
    keys = (entry.key if entry.key in settings() else entry.key.rpartition(".")[0] for entry in sources[-1].entries)
    return {key: values[key] for key in keys}


def _lasting_limits(sources: Sequence[Source], backends: Backends) -> Limits:
    """The limits without those for this run alone, which are given as text."""
    written = (entry for source in sources if source.is_lasting for entry in source.entries if entry.raw is None)
    strongest = {key: entry for key, entry in _strongest(written).items() if key.startswith("limits.")}
    return _config(_check_values(strongest, settings(), backends)[0]).limits


def _strongest(entries: Iterable[Entry]) -> dict[str, Entry]:
    """The strongest entry of each key. Items of a table are added to the weaker ones."""
    strongest: dict[str, Entry] = {}
    for entry in entries:
        if entry.item is not None:
            before = strongest[entry.key].value if entry.key in strongest else {}
            table = dict(before) if isinstance(before, dict) else {}
            value = entry.value if isinstance(entry.value, str) else entry.raw
            strongest[entry.key] = Entry(key=entry.key, value={**table, entry.item: value}, origin=entry.origin)
        else:
            strongest[entry.key] = entry
    return strongest


def _check_values(
    entries: Mapping[str, Entry], known: Mapping[str, Setting], backends: Backends
) -> tuple[dict[str, object], dict[str, Problem]]:
    """The valid values, and the problems of the others, by key."""
    values: dict[str, object] = {}
    refused: dict[str, Problem] = {}
    for key, entry in entries.items():
        if key not in known:
            continue
        try:
            values[key] = checked_value(known[key], entry, backends)
        except ValueError as error:
            refused[key] = Problem(str(error), where=entry.origin, key=key)
    for table, setting in known.items():
        if setting.options_of is None or setting.options_of in refused:
            continue
        options = {key: entry for key, entry in entries.items() if key.startswith(f"{table}.")}
        chooser = known[setting.options_of]
        name, kind = values.get(setting.options_of, chooser.default), setting.backends
        # Ours need no option. Not to ask for them saves their import.
        if isinstance(name, str) and kind is not None and (options or name not in chooser.choices):
            origin = entries[setting.options_of].origin if setting.options_of in entries else DEFAULT
            values[table], refused_options = check_options(
                options, table, (kind, name), origin=origin, backends=backends
            )
            refused |= refused_options
    return values, refused


def _fill_in(values: dict[str, object], file: Path | None) -> None:
    """Fill in defaults that depend on the file: the name of the crawl, and its directory."""
    if "crawl.name" not in values and file is not None:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem).lstrip("._-")[:100]
        values["crawl.name"] = stem or settings()["crawl.name"].default
    name = values.get("crawl.name", settings()["crawl.name"].default)
    values.setdefault("crawl.directory", f"crawls/{name}")


def _anchor(values: dict[str, object], strongest: Mapping[str, Entry], file: Path | None) -> None:
    """Make paths absolute, so that they stay valid when the configuration is copied."""
    for key in (*_PATHS, *_PATHS_FROM_HERE):
        if key in values:
            starts_here = key in _PATHS_FROM_HERE or strongest[key].raw is not None
            base = Path() if file is None or starts_here else file.parent
            values[key] = tuple(str((base / name).absolute()) for name in cast(tuple[str, ...], values[key]))


def _config(values: Mapping[str, object]) -> Config:
    tables: dict[str, dict[str, object]] = {section: {} for section in sections()}
    for key, value in values.items():
        section, _, field = key.partition(".")
        tables[section][field] = value
    return msgspec.convert(tables, Config)


def _with_blocks(
    config: Config, blocks: Iterable[Block], backends: Backends
) -> tuple[Config, dict[str, str], list[Problem]]:
    """The configuration with its blocks, the origins of their values, and the problems with them."""
    problems: list[Problem] = []
    origins: dict[str, str] = {}
    built: dict[str, list[object]] = {}
    for block in blocks:
        kind = block.kind
        number = len(built.setdefault(kind.key, [])) + 1
        origins[block_key(kind, number)] = block.origin
        given = {entry.key: entry for entry in block.entries}
        origins |= {block_key(kind, number, key): entry.origin for key, entry in given.items()}
        values, refused = _check_values(given, kind.settings, backends)
        problems += [
            msgspec.structs.replace(problem, key=block_key(kind, number, key)) for key, problem in refused.items()
        ]
        missing = [setting for setting in kind.own if setting.required and setting.name not in given]
        for setting in missing:
            message = f"expected {setting.name}, {setting.expected}, found none"
            problems.append(Problem(message, where=block.origin, key=block_key(kind, number)))
        built[kind.key].append(None if missing or problems else kind.build(values))
    if not problems:
        config = with_values(config, {key: tuple(each) for key, each in built.items()})
    return config, origins, problems


def _check_sites(loaded: Loaded) -> list[Problem]:
    """Problems between the values of a block `[[site]]` and all others, where it alone matches."""
    problems: list[Problem] = []
    for number, site in enumerate(loaded.config.site):
        there = loaded.of_sites([number])
        problems += cross_check(there.config, there.origins, loaded.backends, about=frozenset(site.overrides))
    return problems
