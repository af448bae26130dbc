"""Options that several commands have."""

from collections.abc import Callable
from typing import TypeVar

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
