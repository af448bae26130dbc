"""Shell completion: names of presets, and keys and values of `--set`."""

import os
from typing import Final

import click
from click.shell_completion import BashComplete, CompletionItem, split_arg_string

from config import presets, settings

_BOOLEAN: Final = ("true", "false")


def complete_preset(_context: click.Context, _option: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of presets."""
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


class AssignmentBash(BashComplete):
    """Completion for Bash, which treats `=` as the end of a word, and adds a space after each completion."""

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' type value
    local response=$(env COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete $1)
    COMPREPLY=()
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value")
                [[ $value != *= ]] || compopt -o nospace ;;
        esac
    done
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.fsencode(os.environ["COMP_LINE"])[: int(os.environ["COMP_POINT"])]
        words = split_arg_string(os.fsdecode(line))
        # A space at the end begins a new word.
        begun = words.pop() if words and not line[-1:].isspace() else ""
        return words[1:], begun

    def format_completion(self, item: CompletionItem) -> str:
        value = item.value
        if "=" in os.environ.get("COMP_WORDBREAKS", "="):
            key, equals, after = value.partition("=")
            value = after if equals and after else key + equals
        return f"{item.type},{value}"
