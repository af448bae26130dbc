"""Changes values in a configuration that somebody has written."""

import re
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from config.settings import settings
from config.show.render import value_text

_LONE_LF: Final = re.compile(r"(?<!\r)\n")


def rewrite_toml(text: str, values: Mapping[str, object], /) -> str:
    """A configuration with other values for some settings, by key; None unsets one. All else stays as it was written,
    with its comments. Raises `ValueError` for what can't be changed."""
    try:
        document = tomlkit.parse(text)
        for key, value in values.items():
            _set(document, key, value)
        written = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise ValueError(str(error)) from error
    # What is new ends its lines as the rest does.
    return _LONE_LF.sub("\r\n", written) if "\r\n" in text and not _LONE_LF.search(text) else written


def _set(document: MutableMapping[str, Any], key: str, value: object) -> None:
    section, _, name = key.partition(".")
    if value is None:
        document.get(section, {}).pop(name, None)
        return
    if section not in document:
        document[section] = tomlkit.table()
    document[section][name] = tomlkit.value(value_text(settings()[key], value))
