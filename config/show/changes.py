"""Describes how a configuration differs from another one, or from the defaults."""

from collections.abc import Mapping
from typing import Final

import msgspec

from config.loading.blocks import all_values
from config.loading.loaded import Loaded
from config.schema import Config
from config.settings import Setting
from config.show.render import public_text, value_text
from config.toml import toml_value

_MOST_CHARS: Final = 80
"""Length of a shown value."""
_MOST_ITEMS: Final = 3


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that differs between two configurations."""

    key: str
    """A key of a block is written `site[1].match`."""
    was: str
    now: str
    text: str
    """Both, for people."""

    @property
    def root_key(self) -> str:
        """The key of the setting, or, for one in a block, of this kind of blocks, such as `site`."""
        return self.key.partition("[")[0]


def changes(before: Config, after: Loaded, /) -> list[str]:
    """The settings for later runs that differ from `before`, with a line for each.

    The directory of the crawl is left out, because it may have moved or may be written in another way.
    """
    return [change.text for change in differences(before, after.lasting)]


def differences(before: Config, after: Config, /) -> list[Change]:
    """The settings that differ, without the directory of the crawl."""
    old, new = ({key: (setting, value) for key, setting, value in all_values(each)} for each in (before, after))
    found: list[Change] = []
    for key, setting in ({key: each for key, (each, _) in (old | new).items()}).items():
        was, now = old.get(key, (setting, None))[1], new.get(key, (setting, None))[1]
        if was == now or key == "crawl.directory":
            continue
        texts = _short(public_text(setting, was)), _short(public_text(setting, now))
        if setting.kind in ("texts", "ints", "table", "options") and was and now:
            text = f"{key} {_item_changes(_items(setting, was), _items(setting, now), _renewed(setting, was, now))}"
        else:
            default = ", the default" if now is not None and now == setting.default else ""
            text = f"{key} is {texts[1]}{default}; it was {texts[0]}"
        found.append(Change(key=key, was=texts[0], now=texts[1], text=text))
    return found


def non_defaults(config: Config, /) -> list[str]:
    """A line for each setting that differs from its default, for a log. It has only the names of tables, because
    headers may have secrets."""
    return [
        f"{key} = {_short(toml_value(list(value)) if isinstance(value, Mapping) else value_text(setting, value))}"
        for key, setting, value in all_values(config)
        if value is not None and value != setting.default
    ]


def _renewed(setting: Setting, was: object, now: object) -> list[str]:
    """The names in a secret table that have other values."""
    if not (setting.is_secret and isinstance(was, Mapping) and isinstance(now, Mapping)):
        return []
    return [toml_value(name) for name, value in now.items() if name in was and was[name] != value]


def _items(setting: Setting, value: object) -> list[str]:
    if isinstance(value, Mapping) and setting.is_secret:
        return [toml_value(name) for name in value]
    if isinstance(value, Mapping):
        return [f"{toml_value(name)} = {toml_value(item)}" for name, item in value.items()]
    return [toml_value(item) for item in value] if isinstance(value, list | tuple) else []


def _item_changes(was: list[str], now: list[str], renewed: list[str]) -> str:
    more = list(dict.fromkeys(item for item in now if item not in set(was)))
    less = list(dict.fromkeys(item for item in was if item not in set(now)))
    texts = [f"has {_list(more)} more"] if more else []
    texts += [f"no longer has {_list(less)}"] if less else []
    texts += [f"has another value of {_list(renewed)}"] if renewed else []
    return " and ".join(texts) or "is in another order"


def _list(items: list[str]) -> str:
    rest = f" and {len(items) - _MOST_ITEMS:,} others" if len(items) > _MOST_ITEMS else ""
    return ", ".join(_short(item) for item in items[:_MOST_ITEMS]) + rest


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_CHARS else f"{line[: _MOST_CHARS - 1]}…"
