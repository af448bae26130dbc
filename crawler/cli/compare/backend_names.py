"""Names of visited sets, as options of a command."""

from collections.abc import Sequence
from difflib import get_close_matches

import click
from click.shell_completion import CompletionItem

from config import COMPARE_BACKENDS
from crawler.wiring.plugins.catalog import Catalog


def check_backends(context: click.Context, option: click.Parameter, names: Sequence[str]) -> Sequence[str]:
    """The names, if each is that of a visited set that can be compared, or the name or the path of a plug-in."""
    for name in names:
        try:
            is_known = Catalog().is_plugin("visited", name) or name in COMPARE_BACKENDS
        except ValueError as error:
            raise click.BadParameter(str(error), context, option) from error
        if not is_known:
            known = _known()
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            raise click.BadParameter(f'expected a visited set, found "{name}"; {hint}', context, option)
    return names


def complete_backend(_context: click.Context, _option: click.Parameter, begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in _known() if name.startswith(begun)]


def _known() -> Sequence[str]:
    return (*COMPARE_BACKENDS, *Catalog().plugins("visited"))
