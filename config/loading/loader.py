"""From files, environment and arguments to one configuration."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec

from config.loading.blocks import block_key, block_kinds, with_blocks
from config.loading.checks import DEFAULT, check_seeds, cross_check
from config.loading.seeds import Seed, read_seed_file
from config.loading.sites import overridden
from config.loading.sources import (
    Block,
    Entry,
    Source,
    environment_source,
    option_source,
    override_source,
    toml_source,
)
from config.loading.suggest import did_you_mean
from config.loading.values import checked
from config.presets import preset_text, presets
from config.problems import ConfigError, Problem
from config.schema import Config
from config.schema.crawl import Limits
from config.settings import sections, settings
from config.toml import toml_value


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration, and where it comes from."""

    config: Config
    origins: dict[str, str]
    """Where the value of each key stands, as `default`, `crawl.toml:12`, `preset broad:7`, `environment ONCEOVER_…`,
    `--set` or another option. What stands in blocks is named as `site[1].match`; the block itself, as `site[1]`."""
    seeds: tuple[Seed, ...]
    """From `seeds`, then from the seed files, in their order."""
    limits: Limits | None = None
    """Those that hold for later runs too; None if these are all."""

    @property
    def lasting(self) -> Config:
        """What later runs begin with. Limits that the command line or the environment gives are of this run alone."""
        return self.config if self.limits is None else msgspec.structs.replace(self.config, limits=self.limits)

    def refuse(self, key: str, message: str) -> ConfigError:
        """An error about a value that only a later stage could judge, as a pattern or the name of a rule."""
        origin = self.origins[key]
        return ConfigError([Problem(message, where=None if origin == DEFAULT else origin, key=key)])

    def of_sites(self, numbers: Iterable[int]) -> "Loaded":
        """What holds where these of the blocks `[[site]]` match, numbered from 0; the later goes before. It has no
        blocks, and the origins name them."""
        origins = dict(self.origins)
        chosen = tuple(numbers)
        for number in chosen:
            for key in self.config.site[number].overrides:
                name = block_key(block_kinds()["site"], number + 1)
                origins[key] = f"{self.origins[f'{name}.{key}']}, {name}"
        config = overridden(self.config, [self.config.site[number] for number in chosen])
        return Loaded(config=msgspec.structs.replace(config, site=()), origins=origins, seeds=self.seeds)


def load(
    path: str | Path | None,
    *,
    overrides: Sequence[str] = (),
    options: Mapping[str, tuple[str, object]] | None = None,
    environ: Mapping[str, str] | None = None,
    preset: str | None = None,
    as_run: bool = False,
    require_seeds: bool = True,
) -> Loaded:
    """Load a configuration file; None for none.

    What comes later here goes before: defaults, `preset`, the preset that the file `extends`, the file, the
    environment, `overrides` (the arguments of `--set`), `options` (by key, an option of the command and its value, as
    `("--dir", "crawls/a")`). Of a file that was written `as_run` every setting has a value, so `preset` goes before it.
    A value that is replaced by another is not looked at. Raises `ConfigError` with all problems.
    """
    file = Path(path) if path is not None else None
    sources = _sources(file, overrides=overrides, environ=environ or {}, preset=preset, as_run=as_run)
    sources.append(option_source(options or {}))
    problems = [problem for source in sources for problem in source.problems]
    winners = _winners(entry for source in sources for entry in source.entries)
    values, refused = _checked(winners)
    problems += refused.values()
    origins = {key: winners[key].origin if key in winners else DEFAULT for key in settings() if key not in refused}
    _fill_in(values, file)
    if "crawl.seed_files" in values:
        given_as_text = winners["crawl.seed_files"].raw is not None
        _anchor(values, Path() if file is None or given_as_text else file.parent)
    config = _config(values)
    problems += cross_check(config, origins)
    config, block_origins, refused_in_blocks = _with_blocks(
        config, [block for source in sources for block in source.blocks]
    )
    origins |= block_origins
    problems += refused_in_blocks
    if not problems:
        problems += _check_sites(Loaded(config=config, origins=origins, seeds=()))
    seeds = _listed_seeds(config, winners)
    for name in config.crawl.seed_files:
        read = read_seed_file(_shown(Path(name)), named_at=origins["crawl.seed_files"])
        if isinstance(read, Problem):
            problems.append(read)
        else:
            seeds += read
    silent = any(problem.key is None or problem.key.startswith("crawl.") for problem in problems)
    problems += check_seeds(config, origins, seeds=seeds, required=require_seeds and not silent)
    if problems:
        raise ConfigError(problems)
    return Loaded(config=config, origins=origins, seeds=tuple(seeds), limits=_lasting_limits(sources))


def _lasting_limits(sources: Sequence[Source]) -> Limits:
    """The limits without those that are given as text, for this run."""
    written = (entry for source in sources for entry in source.entries if entry.raw is None)
    winners = {key: entry for key, entry in _winners(written).items() if settings()[key].section == "limits"}
    return _config(_checked(winners)[0]).limits


def _sources(
    file: Path | None, *, overrides: Sequence[str], environ: Mapping[str, str], preset: str | None, as_run: bool
) -> list[Source]:
    """The sources, the weakest first."""
    sources: list[Source] = []
    named = [] if preset is None else _preset_sources(Entry(key="preset", value=preset, origin="--preset"))
    if not as_run:
        sources += named
    if file is not None:
        source = _file_source(file)
        if source.extends is not None:
            sources += _preset_sources(source.extends)
        sources.append(source)
    if as_run:
        sources += named
    return [*sources, environment_source(environ), override_source(overrides)]


def _file_source(file: Path) -> Source:
    try:
        data = file.read_bytes()
    except OSError as error:
        hint = "; `onceover config init` writes one" if isinstance(error, FileNotFoundError) else ""
        return Source(
            problems=[Problem(f"can't read the configuration: {error.strerror or error}{hint}", where=str(file))]
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Source(problems=[Problem("expected TOML in UTF-8; save the file as UTF-8", where=f"{file}:{line}")])
    return toml_source(text, str(file))


def _preset_sources(entry: Entry) -> list[Source]:
    """A preset, behind the one that it builds on."""
    source = _preset_source(entry)
    return [source] if source.extends is None else [*_preset_sources(source.extends), source]


def _preset_source(entry: Entry) -> Source:
    name = entry.value
    if isinstance(name, str) and name in presets():
        return toml_source(preset_text(name), f"preset {name}")
    hint = did_you_mean(str(name), presets())
    message = f"expected the name of a preset, one of {', '.join(presets())}, found {toml_value(name)}"
    return Source(problems=[Problem(f"{message}; {hint}" if hint else message, where=entry.origin, key=entry.key)])


def _winners(entries: Iterable[Entry]) -> dict[str, Entry]:
    """The entry that counts for each key."""
    winners: dict[str, Entry] = {}
    for entry in entries:
        if entry.item is not None:
            before = winners[entry.key].value if entry.key in winners else {}
            table = dict(before) if isinstance(before, dict) else {}
            value = entry.value if isinstance(entry.value, str) else entry.raw
            winners[entry.key] = Entry(key=entry.key, value={**table, entry.item: value}, origin=entry.origin)
        else:
            winners[entry.key] = entry
    return winners


def _checked(winners: Mapping[str, Entry]) -> tuple[dict[str, object], dict[str, Problem]]:
    """The values that hold, and the problems of those that don't, by key."""
    values: dict[str, object] = {}
    refused: dict[str, Problem] = {}
    for key, entry in winners.items():
        try:
            values[key] = checked(settings()[key], entry)
        except ValueError as error:
            refused[key] = Problem(str(error), where=entry.origin, key=key)
    return values, refused


def _fill_in(values: dict[str, object], file: Path | None) -> None:
    """Give a crawl without a name that of its file, and one without a directory that of its name."""
    if "crawl.name" not in values and file is not None:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem).lstrip("._-")[:100]
        values["crawl.name"] = stem or settings()["crawl.name"].default
    name = values.get("crawl.name", settings()["crawl.name"].default)
    values.setdefault("crawl.directory", f"crawls/{name}")


def _anchor(values: dict[str, object], base: Path) -> None:
    """Make the paths of seed files absolute, so that they hold wherever the configuration is copied to."""
    names = cast(tuple[str, ...], values["crawl.seed_files"])
    values["crawl.seed_files"] = tuple(str((base / name).absolute()) for name in names)


def _config(values: Mapping[str, object]) -> Config:
    tables: dict[str, dict[str, object]] = {section: {} for section in sections()}
    for key, value in values.items():
        section, _, field = key.partition(".")
        tables[section][field] = value
    return msgspec.convert(tables, Config)


def _with_blocks(config: Config, blocks: Iterable[Block]) -> tuple[Config, dict[str, str], list[Problem]]:
    """The configuration with its blocks, where each of their values stands, and the problems with them."""
    problems: list[Problem] = []
    origins: dict[str, str] = {}
    built: dict[str, list[object]] = {}
    for block in blocks:
        kind = block.kind
        number = len(built.setdefault(kind.key, [])) + 1
        origins[block_key(kind, number)] = block.origin
        values: dict[str, object] = {}
        for entry in block.entries:
            key = block_key(kind, number, entry.key)
            origins[key] = entry.origin
            try:
                values[entry.key] = checked(kind.settings[entry.key], entry)
            except ValueError as error:
                problems.append(Problem(str(error), where=entry.origin, key=key))
        given = {entry.key for entry in block.entries}
        missing = [setting for setting in kind.own if setting.required and setting.name not in given]
        for setting in missing:
            message = f"expected {setting.name}, {setting.expected}, found none"
            problems.append(Problem(message, where=block.origin, key=block_key(kind, number)))
        built[kind.key].append(None if missing or problems else kind.built(values))
    if not problems:
        for key, made in built.items():
            config = with_blocks(config, block_kinds()[key], tuple(made))
    return config, origins, problems


def _check_sites(loaded: Loaded) -> list[Problem]:
    """Problems between values that a block `[[site]]` sets and others, where it alone matches."""
    problems: list[Problem] = []
    for number, site in enumerate(loaded.config.site):
        there = loaded.of_sites([number])
        problems += cross_check(there.config, there.origins, about=frozenset(site.overrides))
    return problems


def _listed_seeds(config: Config, winners: Mapping[str, Entry]) -> list[Seed]:
    urls = config.crawl.seeds
    entry = winners.get("crawl.seeds")
    if entry is None:
        return []
    origins = entry.item_origins if len(entry.item_origins) == len(urls) else (entry.origin,) * len(urls)
    return [Seed(url, origin) for url, origin in zip(urls, origins, strict=True)]


def _shown(path: Path) -> Path:
    """The path from here, if it is below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
