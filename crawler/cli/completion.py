"""Shell completion: names of presets, and keys and values of `--set`."""

from typing import Final

import click
from click.shell_completion import CompletionItem

from config import presets, settings

_BOOLEAN: Final = ("true", "false")


def complete_preset(_context: click.Context, _option: click.Parameter, begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in presets() if name.startswith(begun)]


def complete_setting(_context: click.Context, _option: click.Parameter, begun: str) -> list[CompletionItem]:
    """Keys with an equals sign; after it, the values, for settings with few of them."""
    key, equals, value = begun.partition("=")
    if not equals:
        found = (setting for setting in settings().values() if setting.key.startswith(begun))
        return [CompletionItem(f"{setting.key}=", help=setting.meaning) for setting in found]
    setting = settings().get(key)
    if setting is None:
        return []
    choices = _BOOLEAN if setting.kind == "bool" else setting.choices
    return [CompletionItem(f"{key}={choice}") for choice in choices if choice.startswith(value)]
