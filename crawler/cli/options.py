"""Options that several commands have."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from crawler.cli.completion import complete_preset, complete_setting

_Command = TypeVar("_Command", bound=Callable[..., object])

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
