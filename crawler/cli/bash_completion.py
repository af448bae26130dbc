"""Completion for Bash."""

import os

from click.shell_completion import BashComplete, CompletionItem, split_arg_string


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
