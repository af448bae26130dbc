"""Reads the folder of a daemon: each file `NAME.toml` is a crawl."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from config import ConfigError, Loaded, render_toml
from crawler.serve.life.facts import Plan
from crawler.wiring.configuration import load
from crawler.wiring.schedule import next_tick

SUFFIX: Final = ".toml"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl in the folder."""

    loaded: Loaded | None = None
    plan: Plan | None = None
    problems: tuple[str, ...] = ()
    """Why its configuration can't be used; empty if it can."""


def read_folder(home: Path) -> dict[str, Found]:
    """The crawls of a folder by name. Hidden files are left out. Raises `OSError` if the folder can't be read."""
    names = sorted(
        path.stem for path in home.iterdir() if path.suffix == SUFFIX and not path.name.startswith(".") and path.stem
    )
    return _refuse_shared({name: _read(home, home / f"{name}{SUFFIX}") for name in names})


def problems_of_new(home: Path, name: str, text: bytes) -> tuple[str, ...]:
    """What is wrong with the configuration of a crawl that a program wants to create. It may not name files outside the
    folder."""
    # A hidden file is no crawl, and its name gives the crawl the same name.
    aside = home / f".{name}{SUFFIX}"
    aside.write_bytes(text)
    try:
        found = _read(home, aside)
    finally:
        aside.unlink()
    if found.loaded is None or found.plan is None:
        return tuple(problem.replace(str(aside), f"{name}{SUFFIX}") for problem in found.problems)
    outside = [
        f"{key}: expected a path within {home}, found {path}"
        for key, paths in (
            ("crawl.directory", (found.plan.directory,)),
            ("crawl.seed_files", found.loaded.config.crawl.seed_files),
        )
        for path in paths
        if not Path(path).resolve().is_relative_to(home.resolve())
    ]
    shared = _refuse_shared({**read_folder(home), name: found})[name].problems
    return (*outside, *shared)


def _read(home: Path, path: Path) -> Found:
    try:
        loaded = load(path, environ=os.environ)
        tick = next_tick(loaded)
    except ConfigError as error:
        return Found(problems=tuple(str(problem) for problem in error.problems))
    except OSError as error:
        return Found(problems=(f"{error.filename}: {error.strerror}",))
    settings = loaded.config.daemon
    plan = Plan(
        directory=os.path.normpath(home / loaded.config.crawl.directory),
        digest=_digest(loaded),
        next_tick=tick,
        keep_runs=settings.keep_runs,
        max_memory_bytes=settings.max_memory_bytes,
        max_open_files=settings.max_open_files,
    )
    return Found(loaded=loaded, plan=plan)


def _digest(loaded: Loaded) -> str:
    text = render_toml(loaded.config) + "\n".join(seed.url for seed in loaded.seeds)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _refuse_shared(found: Mapping[str, Found]) -> dict[str, Found]:
    """Refuse crawls with the same directory, but the first of them."""
    users: dict[str, str] = {}
    checked: dict[str, Found] = {}
    for name, each in found.items():
        checked[name] = each
        if each.plan is None:
            continue
        first = users.setdefault(each.plan.directory, name)
        if first != name:
            problem = (
                f"{name}{SUFFIX}: crawl.directory is {each.plan.directory}, which {first}{SUFFIX} uses; each crawl "
                "needs a directory of its own: change crawl.directory or crawl.name in one of them"
            )
            checked[name] = Found(problems=(problem,))
    return checked
