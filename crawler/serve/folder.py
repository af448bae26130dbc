"""Reads the folder of a daemon: each file `NAME.toml` is a crawl."""

import errno
import hashlib
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from config import ConfigError, Loaded, Problem, parse_toml
from config.loading.blocks import all_values
from config.schema.render import Render
from crawler.files.folders import sync_directory
from crawler.serve.life.facts import Plan
from crawler.serve.records import FOLDER, OWNERS_FILE
from crawler.wiring.configuration import load
from crawler.wiring.schedule import next_tick

log = logging.getLogger(__name__)

SUFFIX: Final = ".toml"
_PATHS: Final = (
    "crawl.directory",
    "crawl.seed_files",
    "scope.place_files",
    "scope.exclude_place_files",
    "fetch.authorities",
    "identity.keys",
    "output.dedupe_against",
)
_BY_HAND: Final = ("exchange", "fetch.logins")
"""They name a server, and a file or a variable that is sent there."""
_BROWSER: Final = "render.browser"
"""A program."""
_SECRET_OPTIONS: Final = ("password_file", "password_env", "tls_ca", "tls_cert", "tls_key")
"""The same in the options of backends."""
_UNNAMABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, and bytes that are no UTF-8: what the API and logs can't show."""
_REMAIN: Final = re.compile(r"\.\..+\.toml(\.made|\.new)?")
"""Files that a daemon writes for a moment. Their names begin with two dots, because people hide theirs with one."""
_LONGEST: Final = 255 - len("...deleted")
"""Of the name of a configuration file, in bytes: it gets a longer one while its crawl is being deleted."""
_DELETED: Final = re.compile(r"\.\.([^.].*)\.toml\.deleted")  # no crawl has a hidden name


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl in the folder."""

    loaded: Loaded | None = None
    plan: Plan | None = None
    problems: tuple[str, ...] = ()
    """Why its configuration can't be used; empty if it can."""


def read_folder(home: Path) -> dict[str, Found]:
    """The crawls of a folder by name. Hidden files are left out. Raises `OSError` if the folder can't be read."""
    paths = {name.removesuffix(SUFFIX): home / name for name in read_names(home)}
    found = {name: read_file(home, path) for name, path in paths.items()}
    # Without those that somebody has removed meanwhile.
    there = {name: each for name, each in found.items() if each.plan is not None or not _is_gone(paths[name])}
    return _refuse_shared(home, there)


def _is_gone(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:  # nobody knows it
        return False
    return False


def read_names(home: Path) -> list[str]:
    """The names of the configuration files in a folder. Files whose names can't be shown, or are too long, are left
    out, with a warning. Raises `OSError` if it can't be read."""
    names = sorted(path.name for path in home.iterdir() if path.suffix == SUFFIX and not path.name.startswith("."))
    good = []
    for name in names:
        if _UNNAMABLE.search(name):
            log.warning("%a in %s is left out: its name is not UTF-8, or has control characters; rename it", name, home)
        elif len(os.fsencode(name)) > _LONGEST:
            log.warning("%a in %s is left out: its name has more than %d bytes; rename it", name, home, _LONGEST)
        else:
            good.append(name)
    return good


def set_aside(home: Path, name: str) -> Path:
    """Take the configuration of a crawl that is being deleted out of the folder, also for who looks after a power
    failure. Returns where it is, until the daemon has forgotten the crawl. Raises `OSError`, and nothing has changed
    then."""
    path, aside = home / f"{name}{SUFFIX}", home / f"..{name}{SUFFIX}.deleted"
    if path.is_dir() and not path.is_symlink():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with suppress(FileNotFoundError):
        path.replace(aside)
    sync_directory(home)
    return aside


def clear_remains(home: Path) -> dict[str, Path]:
    """Delete the hidden files that a daemon which was killed has left. Returns the crawls that it was deleting, and
    where their configurations are. Raises `OSError` if the folder can't be read."""
    deleted = {}
    for path in list(home.iterdir()):
        if (found := _DELETED.fullmatch(path.name)) is not None:
            deleted[found[1]] = path
        elif _REMAIN.fullmatch(path.name):
            with suppress(OSError):
                path.unlink()
    return deleted


def problems_of_new(home: Path, name: str, text: bytes) -> tuple[str, ...]:
    """What is wrong with the configuration of a crawl that a program wants to create. It may not name files outside the
    folder, nor programs, nor secrets, nor a server for the links of parts."""
    return tuple(outside_of(home, values_in(text))) or read_as(home, name, text).problems


def values_in(text: bytes) -> dict[str, object]:
    """What a configuration sets, unchecked; nothing if it can't be read, which `read_as` tells, with the line."""
    try:
        return parse_toml(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}


def read_as(home: Path, name: str, text: bytes, *, stays_in: str | None = None) -> Found:
    """The crawl of that name, if this were its configuration, and what is wrong with that. One that there is already
    `stays_in` its directory."""
    # A hidden file is no crawl, and its name gives the crawl the same name.
    aside = home / f"..{name}{SUFFIX}"
    aside.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(text)
        found = read_file(home, aside)
    finally:
        aside.unlink(missing_ok=True)
    if found.loaded is None or found.plan is None:
        problems = tuple(problem.replace(str(aside), f"{name}{SUFFIX}") for problem in found.problems)
        return msgspec.structs.replace(found, problems=problems)
    directory = found.plan.directory  # may also follow from crawl.name
    if stays_in is None and not _is_within(home, directory):
        problems = (f"crawl.directory: expected a path within {home}, found {directory}",)
        return msgspec.structs.replace(found, problems=problems)
    if stays_in not in (None, directory):
        why = f"expected {stays_in}, where the crawl is, found {directory}; it follows from crawl.name unless it is set"
        return msgspec.structs.replace(found, problems=(f"crawl.directory: {why}",))
    shared = _refuse_shared(home, {**read_folder(home), name: found})[name].problems
    return msgspec.structs.replace(found, problems=shared)


def outside_of(
    home: Path, given: Mapping[str, object], *, instead_of: Mapping[str, object] = MappingProxyType({})
) -> Iterator[str]:
    """What programs may not name in a configuration: paths outside the folder, programs, and what is a secret of the
    daemon's user. Ask this before anything is read or started. What the configuration that it replaces has may stay."""

    def new_values(*keys: str) -> Iterator[tuple[str, object]]:
        old = list(_values(instead_of, keys))
        return (each for each in _values(given, keys) if each not in old)

    for key, paths in new_values(*_PATHS):
        for path in paths if isinstance(paths, list) else [paths]:
            if isinstance(path, str) and not _is_within(home, path):
                yield f"{key}: expected a path within {home}, found {path}"
            elif isinstance(path, str) and key != "crawl.directory" and _is_own(home, path):
                yield f"{key}: expected no file that the daemon has for itself, found {path}"
    by_hand = [key for key, value in new_values(*_BY_HAND) if value]
    by_hand += [key for key, value in new_values(_BROWSER) if value != Render().browser]
    for key, options in new_values("visited.options", "output.sink.options"):
        by_hand += [f"{key}.{name}" for name in _SECRET_OPTIONS if isinstance(options, dict) and name in options]
    for key in by_hand:
        yield f"{key}: expected in files that were put into {home} by hand, found in one that a program sends"


def is_by_hand(key: str) -> bool:
    """Whether programs may not set it."""
    return key.rpartition(".")[2] in _SECRET_OPTIONS or key.startswith((*_BY_HAND, _BROWSER))


def _values(given: object, keys: Iterable[str]) -> Iterator[tuple[str, object]]:
    """The values that a configuration has for keys, of a key in blocks that of each."""
    for key in keys:
        found = [given]
        for name in key.split("."):
            blocks = (block for each in found for block in (each if isinstance(each, list) else [each]))
            found = [block[name] for block in blocks if isinstance(block, dict) and name in block]
        yield from ((key, value) for value in found)


def _is_own(home: Path, path: str) -> bool:
    place = (home / path).resolve()
    return any(place.is_relative_to((home / own).resolve()) for own in (FOLDER, OWNERS_FILE))


def _is_within(home: Path, path: str) -> bool:
    try:
        return (home / path).resolve().is_relative_to(home.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def read_file(home: Path, path: Path) -> Found:
    """The crawl of a configuration file, or what is wrong with that."""
    try:
        check_kind(path)
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
        comes_back=loaded.config.recrawl.schedule != "off" and tick is None,
        keep_runs=settings.keep_runs,
        max_memory_bytes=settings.max_memory_bytes,
        max_open_files=settings.max_open_files,
    )
    return Found(loaded=loaded, plan=plan)


def check_kind(path: Path) -> None:
    """Refuse what is no file: a pipe would hold up whoever reads it, and a device never ends. Raises `ConfigError` and
    `OSError`."""
    if path.exists() and not path.is_file():
        raise ConfigError([Problem("expected a file, found something else", str(path))])


def _digest(loaded: Loaded) -> str:
    """The digest of what differs from the defaults. Another version finds the same one, although it may have further
    settings, or another order of them. What `[[site]]` overrides counts also if it is the default."""
    given = {
        key: value
        for key, setting, value in all_values(loaded.config)
        if value != setting.default or (setting.per_site and key != setting.key)
    }
    text = msgspec.json.encode([dict(sorted(given.items())), [seed.url for seed in loaded.seeds]], enc_hook=str)
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _refuse_shared(home: Path, found: Mapping[str, Found]) -> dict[str, Found]:
    """Refuse crawls whose directories overlap with those of crawls before them, or with the daemon's folder."""
    directories = {f"{name}{SUFFIX}": each.plan.directory for name, each in found.items() if each.plan is not None}
    problems = overlaps(directories, homes=[home])
    return dict(found) | {
        file.removesuffix(SUFFIX): Found(problems=(f"{file}: {problem}",)) for file, problem in problems.items()
    }


def overlaps(directories: Mapping[str, str], *, homes: Iterable[Path]) -> dict[str, str]:
    """What is wrong with the directories of crawls: of two that are the same, or one within the other, the second is
    refused. The folders that daemons of `homes` have for themselves come first."""
    users: dict[Path, str] = {}
    lowest: dict[Path, Path] = {}
    """Of each directory in use, and of each above it: the first in use that is there or below."""

    def use(path: Path, user: str) -> None:
        users[path] = user
        for each in (path, *path.parents):
            lowest.setdefault(each, path)

    for home in homes:
        use(Path(os.path.realpath(home / FOLDER)), "the daemon")
    problems = {}
    for name, directory in directories.items():
        path = Path(os.path.realpath(directory))
        used = lowest.get(path) or next((each for each in path.parents if each in users), None)
        if used is None:
            use(path, name)
        else:
            problems[name] = (
                f"crawl.directory is {path}, and {users[used]} uses {used}; each crawl needs a directory of its own, "
                "not within that of another: change crawl.directory or crawl.name"
            )
    return problems
