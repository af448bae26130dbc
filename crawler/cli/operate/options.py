"""What the commands of an operator have in common."""

from pathlib import Path

import click

directory = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def alias(command: click.Command, name: str, means: str) -> click.Command:
    """The same command under a name that it had before."""
    return click.Command(
        name, callback=command.callback, params=command.params, hidden=True, help=f"The old name of `onceover {means}`."
    )
