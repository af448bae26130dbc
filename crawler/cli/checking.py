"""Checks configurations: each by itself, and that the directories of crawls do not overlap."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec

from config import Config, ConfigError, Loaded, Problem
from crawler.serve.folder import check_kind, overlaps, read_names
from crawler.wiring.components import signing
from crawler.wiring.configuration import load
from crawler.wiring.crawl import check_configuration
from crawler.wiring.filter_size import filter_warnings


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a configuration, as `config check --json` prints it."""

    valid: bool
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    """What the user should know about a valid configuration."""
    seeds: int | None = None
    """The number of seeds; None if the configuration is invalid, like `directory`."""
    directory: str | None = None
    purpose: Sequence[str] | None = None
    """What the crawl says it is for; None if it does not say so."""
    respects_preferences: bool = True


class Place(msgspec.Struct, frozen=True):
    path: Path
    home: Path | None
    """The folder that was given, in which a daemon would start the crawl; None if the file was given."""


def places(given: Iterable[Path]) -> Iterator[Place]:
    """The files that are given, and those in folders that are given, as `onceover daemon` reads them. Raises
    `ConfigError` for a folder without any."""
    for path in given:
        if not path.is_dir():
            yield Place(path, None)
            continue
        names = read_names(path)
        if not names:
            raise ConfigError(
                [Problem("expected files NAME.toml, each the configuration of a crawl; found none", str(path))]
            )
        yield from (Place(path / name, path) for name in names)


def check_all(found: Sequence[Place], settings: Sequence[str]) -> dict[str, Checked]:
    """Check each file. The result says what is wrong with it, or that nothing is."""
    checked = {str(place.path): _check(place, settings) for place in found}
    directories = {
        path: str((place.home or Path()) / directory)
        for place in found
        if (directory := checked[path := str(place.path)].directory) is not None
    }
    homes = {place.home for place in found if place.home is not None}
    for path, problem in overlaps(directories, homes=homes).items():
        checked[path] = Checked(valid=False, problems=(Problem(problem, path),))
    return checked


def _check(place: Place, settings: Sequence[str]) -> Checked:
    try:
        if place.home is not None:
            check_kind(place.path)
        loaded = load(place.path, overrides=settings, environ=os.environ)
        check_configuration(loaded)
    except ConfigError as error:
        return Checked(valid=False, problems=error.problems)
    return Checked(
        valid=True,
        warnings=(
            *filter_warnings(loaded),
            *signing.warnings(loaded),
            *_secret_headers(loaded),
            *_unfindable_patterns(loaded),
        ),
        seeds=len(loaded.seeds),
        directory=loaded.config.crawl.directory,
        purpose=loaded.config.crawl.purpose or None,
        respects_preferences=loaded.config.crawl.respect_preferences,
    )


def _secret_headers(loaded: Loaded) -> Iterator[Problem]:
    """Logins that every host would get to see."""
    for name in loaded.config.fetch.headers:
        if name.lower() in ("authorization", "cookie"):
            instead = "in a block [[site]]" if name.lower() == "cookie" else "in fetch.logins, or in a block [[site]],"
            yield loaded.problem(
                "fetch.headers",
                f"{name} is sent to every host that the crawl asks: give it {instead} to the hosts that need it",
            )


def _unfindable_patterns(loaded: Loaded) -> Iterator[Problem]:
    """Patterns with what no URL has, because it is escaped there."""
    for key, patterns in _patterns(loaded.config):
        for pattern in patterns:
            strange = next((each for each in pattern if each == " " or not each.isascii()), None)
            if strange is not None:
                written = quote(strange, errors="replace")
                yield loaded.problem(
                    key,
                    f"{pattern!r} has {strange!r}, which is in no URL: patterns are searched in URLs as they are sent, "
                    f"with {written} in paths, and with the form xn--… in hosts",
                )


def _patterns(config: Config) -> Iterator[tuple[str, Sequence[str]]]:
    """The patterns that are searched for in URLs, by key."""
    scope, render = config.scope, config.render
    yield from (("scope.include", scope.include), ("scope.exclude", scope.exclude))
    yield from (("render.patterns", render.patterns), ("render.block_urls", render.block_urls))
    for number, site in enumerate(config.site, 1):
        for key in ("scope.include", "scope.exclude"):
            yield f"site[{number}].{key}", site.overrides.get(key, ())
    for number, pattern in enumerate(config.recrawl.pattern, 1):
        yield f"recrawl.pattern[{number}].matching", (pattern.matching,)
