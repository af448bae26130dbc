"""Reads the configuration of a crawl from what a program gives."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from config import Config, ConfigError, Loaded, Problem, values_of
from crawler.disk.directory import CrawlDirectory
from crawler.operate.opening import refuse_without_configuration
from crawler.url.seeds import read_seed
from crawler.url.urls import UrlReader, origin_of
from crawler.wiring.configuration import load

Options = dict[str, tuple[str, object]]
"""The argument that gives each key, and the value."""


def read_configuration(
    config: str | os.PathLike[str] | Config | None,
    *,
    seeds: Iterable[str] | None,
    directory: str | os.PathLike[str] | None,
    values: Mapping[str, object],
    preset: str | None,
) -> Loaded:
    """The configuration of a file or a `Config`, or one without a file. `seeds`, `directory` and `values` override it;
    the environment overrides a file.

    With neither a configuration nor seeds, it is that of the last run in the directory. Without a directory and without
    a name, the crawl is named after the host of its first seed. Raises `ConfigError`, and
    `DirectoryRefused` for a crawl that has lost the configuration of its last run.
    """
    _check_types(config, directory, values)
    options: Options = {}
    if seeds is not None:
        urls = listed("seeds", seeds)
        options |= {"crawl.seeds": ("seeds", urls), "crawl.seed_files": ("seeds", [])}
    if directory is not None:
        options["crawl.directory"] = ("directory", os.fspath(directory))
    tables = [("set", values)]
    if isinstance(config, Config):
        tables.insert(0, ("Config", values_of(config)))
    elif config is not None:
        _refuse_others(os.fspath(config))
        return load(Path(config), tables=tables, options=options, environ=os.environ, preset=preset)
    elif seeds is None and values.keys().isdisjoint(("crawl", "crawl.seeds", "crawl.seed_files")):
        return _load_earlier(directory, tables, preset)
    loaded = load(None, tables=tables, options=options, environ=os.environ, preset=preset)
    if loaded.origins["crawl.directory"] == loaded.origins["crawl.name"] == "default":
        named = {"crawl.name": ("seeds", _name(loaded.seeds[0].url))}
        loaded = load(None, tables=tables, options=options | named, environ=os.environ, preset=preset)
    return loaded


def listed(name: str, given: object) -> list[str]:
    """The texts of an argument that takes one or several. Raises `TypeError` for what can't be texts; the configuration
    checks each of a list."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes | bytearray | memoryview):
        raise TypeError(f"{name}: expected a URL as text, or a list of them, found {given!r}")
    return list(given)


def checked_urls(given: object) -> list[str]:
    """The URLs that a program gives to a crawl that is open. Raises `TypeError`."""
    urls = listed("urls", given)
    for url in urls:
        if not isinstance(url, str):
            raise TypeError(f"urls: expected each URL as text, found {url!r}")
    return urls


def _check_types(config: object, directory: object, values: object) -> None:
    """Raises `TypeError`."""
    if not isinstance(directory, str | bytes | os.PathLike | None):
        raise TypeError(f"directory: expected a path, found {directory!r}")
    if not isinstance(values, Mapping):
        raise TypeError(f'set: expected a dict such as {{"limits.pages": 100}}, found {values!r}')
    if not isinstance(config, str | os.PathLike | Config | None):
        found = "a dict: give it as set=" if isinstance(config, Mapping) else repr(config)
        raise TypeError(f"config: expected the path of a file or a Config, found {found}")


def _refuse_others(config: str) -> None:
    """Refuse a URL or a directory in place of a configuration file."""
    message = "expected the path of a configuration file, found "
    if "://" in config:
        raise ConfigError([Problem(f'{message}the URL {config}: give it as seeds=["{config}"]')])
    if Path(config).is_dir():
        raise ConfigError(
            [Problem(f"{message}the directory {config}: if it is that of a crawl, give it as directory=")]
        )


def _load_earlier(
    directory: str | os.PathLike[str] | None, tables: list[tuple[str, Mapping[str, object]]], preset: str | None
) -> Loaded:
    if directory is None:
        raise ConfigError(
            [Problem("there is nothing to crawl: give a configuration file, or seeds, or the directory of a crawl")]
        )
    earlier = CrawlDirectory(Path(directory)).earlier_configuration
    if earlier is None:
        refuse_without_configuration(Path(directory))
        message = f"there is no crawl in {os.fspath(directory)}: give a configuration file or seeds"
        raise ConfigError([Problem(message, where="directory")])
    options: Options = {"crawl.directory": ("directory", os.fspath(directory))}
    return load(earlier, tables=tables, options=options, environ=os.environ, preset=preset, as_run=True)


def _name(seed: str) -> str:
    """The name of a crawl from its seed, for its directory: host and port."""
    try:
        place = origin_of(read_seed(UrlReader(), seed)[0].url).partition("://")[2]
    except ValueError:
        return "crawl"  # the seed is refused later, with all others
    return re.sub(r"[^A-Za-z0-9._-]+", "-", place).strip("._-")[:100]
