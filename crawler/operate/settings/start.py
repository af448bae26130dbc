"""How a crawl was started, so that its configuration can be read again."""

import os
import shlex
from pathlib import Path
from typing import Self

import msgspec

from config import ConfigError, Loaded, Problem, with_values
from crawler.codes.unreadable import UNREADABLE
from crawler.disk.directory import CrawlDirectory
from crawler.files.content import read_file
from crawler.wiring.configuration import load


class GivenSeeds(msgspec.Struct, frozen=True):
    """Seeds of the command line."""

    urls: list[str] = []
    files: list[str] = []
    """Absolute paths."""

    def __bool__(self) -> bool:
        return bool(self.urls or self.files)

    def options(self) -> dict[str, tuple[str, object]]:
        """What replaces all other seeds by these, if there are any: for each key, the option that sets it, and the
        value."""
        if not self:
            return {}
        return {"crawl.seeds": ("--seed", self.urls), "crawl.seed_files": ("--seed-file", self.files)}


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """The file and the options of the last start."""

    configuration: str | None = None
    """The absolute path of the file; None for that in the directory of the crawl."""
    directory: str | None = None
    """What `--dir` has named."""
    settings: list[str] = []
    """The values of `--set`."""
    preset: str | None = None
    seeds: list[str] = []
    """These and the next replaced the seeds of the file."""
    seed_files: list[str] = []
    max_pages: int | None = None
    """The limit of that run alone."""
    is_demo: bool = False
    """Whether `onceover demo` has given the settings, which are not in a file."""

    @classmethod
    def read_from(cls, directory: CrawlDirectory) -> Self | None:
        """How the last run was started; None if a program started it."""
        try:
            return msgspec.json.decode(read_file(directory.start), type=cls)
        except (FileNotFoundError, *UNREADABLE):
            return None

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    def file(self, directory: CrawlDirectory) -> Path:
        return directory.configuration if self.configuration is None else Path(self.configuration)

    def load(self, directory: CrawlDirectory, *, named: str) -> Loaded:
        """The configuration as a start with the same words would read it now. `named` is what the crawl calls its
        directory. Raises `ConfigError`."""
        is_own = self.configuration is None
        if is_own:
            refuse_without_file(directory)
        options: dict[str, tuple[str, object]] = {}
        if is_own or self.directory is not None:
            options["crawl.directory"] = ("--dir", named if is_own else self.directory)
        options |= GivenSeeds(self.seeds, self.seed_files).options()
        return load(
            self.file(directory),
            overrides=self.settings,
            options=options,
            environ=os.environ,
            preset=self.preset,
            as_run=is_own,
        )


def refuse_without_file(directory: CrawlDirectory) -> None:
    """Raise `ConfigError` if somebody has deleted the configuration of a crawl."""
    if not directory.configuration.exists():
        what = (
            "expected the configuration of the crawl, found no such file: restore it, or stop the crawl and run "
            f"`onceover crawl CONFIG --dir {shlex.quote(str(directory.path))}` with its settings"
        )
        raise ConfigError([Problem(what, where=str(directory.configuration))])


def with_page_limit(loaded: Loaded, max_pages: int | None) -> Loaded:
    """The configuration with another limit of pages for one run."""
    if max_pages is None:
        return loaded
    return msgspec.structs.replace(
        loaded, config=with_values(loaded.config, {"limits.pages": max_pages}), lasting_limits=loaded.lasting.limits
    )
