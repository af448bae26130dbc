"""Changes settings in the configuration file of a crawl, so that they last. All of it blocks."""

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

import msgspec

from config import ConfigError, Loaded, Problem, differences, settings
from config.loading.sources import Entry, override_source
from config.show.render import value_text
from config.show.rewrite import rewrite_toml
from crawler.codes.full_disk import DISK_FULL
from crawler.control.replies import SettingChange
from crawler.files.folders import sync_directory
from crawler.files.replacing import replace_file
from crawler.operate.settings.plan import setting_change
from crawler.serve.folder import SUFFIX, Found, outside_of, read_as, read_file, values_in
from crawler.wiring.configuration import setting_values

_OPTION: Final = "--set"
_NOT_BEGUN: Final = "the crawl has not begun yet"


class Unwritable(Exception):
    """The file can't be changed from here. The message says why, and what to do."""


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration file with other values for some settings, which is not written yet."""

    path: Path
    before: bytes
    after: bytes
    settings: list[str]
    """The changes, as `Set` takes them."""
    changes: list[SettingChange]
    """What they change in the file."""

    def write(self) -> None:
        """Raises `Unwritable`."""
        self._replace(self.after)

    def undo(self) -> None:
        """Raises `Unwritable`."""
        self._replace(self.before)

    def _replace(self, text: bytes) -> None:
        aside = self.path.with_name(f"..{self.path.name}.made")
        try:
            replace_file(aside, text, mode=self.path.stat().st_mode & 0o777)
            aside.replace(self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            raise _full_or_unwritable(self.path, error) from error


def _full_or_unwritable(path: Path, error: OSError) -> Exception:
    if error.errno in DISK_FULL:
        return error  # can be done again when there is space
    return Unwritable(f"{path} can't be written to: {error.strerror or error}; {_INSTEAD}")


_INSTEAD: Final = "change it where it is kept, and let the daemon read it again"


def edit(home: Path, name: str, texts: Sequence[str]) -> Edited:
    """Change settings in the file of a crawl, but do not write it. `texts` are as `onceover set` takes them, and may
    name what `PUT` of a configuration may. Raises `ConfigError`, and `Unwritable` for what is no file of the folder."""
    path = _file(home, name)
    outside = [each for entry in override_source(texts).entries for each in outside_of(home, _nested(entry))]
    if outside:
        raise ConfigError([Problem(each) for each in outside])
    try:
        values = setting_values(path, texts)
    except ConfigError as error:
        raise error.without(_OPTION) from error
    old = read_file(home, path)
    if old.loaded is None or old.plan is None:
        raise ConfigError([Problem(each) for each in old.problems])
    before = path.read_bytes()
    try:
        after = rewrite_toml(before.decode("utf-8-sig"), values).encode()
    except ValueError as error:
        raise Unwritable(f"{path} can't be changed by a program: {error}; {_INSTEAD}") from error
    new = _read_new(home, name, after, old)
    changes = _changes_of_next_start(old.loaded, new)
    _refuse_unlike(path, values, new, {each.key for each in changes})
    given = {key: settings()[key].value_in(new.lasting) for key in values}
    return Edited(
        path=path,
        before=before,
        after=after,
        settings=[
            f"{key}={'' if value is None else value_text(settings()[key], value)}" for key, value in given.items()
        ],
        changes=changes,
    )


def read_text(home: Path, name: str) -> str:
    """The text of the file of a crawl. Raises `Unwritable` for what is no file of the folder."""
    path = _file(home, name)
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Unwritable(f"{path} can't be read: {error}; {_INSTEAD}") from error


def replace_text(home: Path, name: str, text: str, *, before: str) -> Edited:
    """Replace the text of the file of a crawl, which is `before`, but do not write it. What only files may name that
    were put there by hand stays as it is. Raises as `edit` does."""
    if read_text(home, name) != before:
        raise Unwritable(f"{name}{SUFFIX} was changed by somebody else meanwhile: read it again, and change that")
    path = _file(home, name)
    outside = outside_of(home, values_in(text.encode()), instead_of=values_in(before.encode()))
    if problems := [Problem(each) for each in outside]:
        raise ConfigError(problems)
    old = read_file(home, path)
    new = _read_new(home, name, text.encode(), old)
    return Edited(
        path=path,
        before=before.encode(),
        after=text.encode(),
        settings=[],
        changes=[] if old.loaded is None else _changes_of_next_start(old.loaded, new),
    )


def _read_new(home: Path, name: str, text: bytes, old: Found) -> Loaded:
    """What the file of a crawl would say with this text. Raises as `edit` does."""
    try:
        new = read_as(home, name, text, stays_in=None if old.plan is None else old.plan.directory)
    except OSError as error:
        raise _full_or_unwritable(home, error) from error
    if new.problems or new.loaded is None:
        raise ConfigError([Problem(each) for each in new.problems])
    return new.loaded


def _file(home: Path, name: str) -> Path:
    path = home / f"{name}{SUFFIX}"
    if path.is_symlink() or not path.is_file():
        found = "a symbolic link" if path.is_symlink() else "something else" if path.exists() else "nothing"
        raise Unwritable(f"expected a file at {path}, found {found}; {_INSTEAD}")
    return path


def _changes_of_next_start(before: Loaded, after: Loaded) -> list[SettingChange]:
    return [setting_change(each, "restart", _NOT_BEGUN) for each in differences(before.lasting, after.lasting)]


def _nested(entry: Entry) -> dict[str, object]:
    """What an entry sets, in tables as in a file, unchecked."""
    value = entry.value if entry.item is None else {entry.item: entry.value}
    for name in reversed(entry.key.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


def _refuse_unlike(path: Path, keys: Collection[str], loaded: Loaded, changed: AbstractSet[str]) -> None:
    """Refuse values that the file can't give, because the environment or a preset does, and changes of others."""
    problems = []
    for key in keys:
        origin = loaded.origins[key]
        if settings()[key].value_in(loaded.config) is not None and not origin.startswith(str(path.parent)):
            problems.append(Problem(f"{path.name} can't give it that value: it comes from {origin}", key=key))
    others = sorted(changed - set(keys))
    problems += [Problem(f"it would change, too; change {path.name} by hand", key=key) for key in others]
    if problems:
        raise ConfigError(problems)
