"""Options that several commands have, and the completion of their values."""

import math
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from config import presets, settings
from config.units import parse_duration, parse_size

_BOOLEAN: Final = ("true", "false")


_Command = TypeVar("_Command", bound=Callable[..., object])


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


preset_option = click.option(
    "--preset", metavar="NAME", shell_complete=complete_preset, help="A preset to use instead of the defaults."
)


def settings_option(example: str = "fetch.timeout_s=5") -> Callable[[_Command], _Command]:
    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        shell_complete=complete_setting,
        help=f"Set a value: {example}, for example.",
    )


class NumberRange(click.FloatRange):
    """A range of numbers. NaN, which no range of click keeps out, is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


def size_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """The callback of an option that takes a size: its bytes."""
    try:
        return None if value is None else parse_size(value)
    except ValueError as error:
        raise click.BadParameter(f"expected a size, as 500MB or 8GiB: {error}") from error


def duration_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    """The callback of an option that takes a duration: its seconds."""
    try:
        return None if value is None else parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(f"expected a duration such as 7d, 12h or 30min: {error}") from error


def age_of(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """The callback of an option that takes an age: its seconds. As `duration_of`, but with a unit: whoever writes 90
    means days, and would get 90 seconds."""
    if value is not None and value.rstrip()[-1:].isdigit():
        raise click.BadParameter(f"expected a number with its unit, as 90d or 12h, found {value!r}")
    return duration_of(context, parameter, value)
