"""The command line. Results go to stdout, everything else to stderr.

Each command has a module, which is imported when it is called: all of them together take a second.

Exit codes: 0 the crawl is complete; 1 failed; 2 wrong usage or configuration; 3 stopped by a limit; 4 stopped by a
signal, with the state saved; 5 the crawl directory is locked, paused or of another version; 6 a server that the
configuration names can't be reached.
"""

import faulthandler
import gc
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import Final

import click
from click.exceptions import NoArgsIsHelpError
from click.shell_completion import add_completion_class

from crawler import __version__
from crawler.cli.bash_completion import AssignmentBash
from crawler.cli.run.current_directory import deleted_directory
from crawler.cli.run.streams import drop_unprinted, escape_unencodable, open_missing_streams, say
from crawler.codes.exit_codes import COMPLETE, STOPPED, USAGE

_OF_CLICK = ("No such command", "Got unexpected extra argument", "Missing command")
_NOT_A_NUMBER: Final = re.compile(r"\ba valid (integer|float)(?: range)?$")
_NUMBERS: Final[Mapping[str, str]] = {"integer": "a whole number", "float": "a number"}
_GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "Crawl": {
        "crawl": "crawl",
        "try": "trial",
        "demo": "demo",
        "config": "configure",
    },
    "See what a crawl does, and what it has found": {
        "status": "operate.pausing",
        "top": "operate.top",
        "report": "report.command",
        "diff": "report.diff",
        "search": "search",
        "export": "operate.export",
        "inspect": "inspect",
    },
    "Control a crawl, whether it runs or not": {
        "pause": "operate.pausing",
        "resume": "operate.pausing",
        "stop": "operate.pausing",
        "set": "operate.settings",
        "reload": "operate.settings",
        "add": "operate.urls",
        "recrawl": "operate.urls",
        "forget": "operate.urls",
        "retire": "operate.hosts",
        "unretire": "operate.hosts",
        "budget": "operate.hosts",
    },
    "Keep, copy and divide a crawl": {
        "checkpoint": "operate.pausing",
        "backup": "operate.copies",
        "restore": "operate.copies",
        "prune": "operate.prune",
        "parts": "parts",
        "frontier": "frontier",
        "sharing": "operate.sharing",
    },
    "Run many crawls, or one on many machines": {
        "daemon": "serve.daemon",
        "start": "serve.crawls",
        "token": "serve.token",
        "cluster": "operate.cluster",
    },
    "Other commands": {
        "compare": "compare.command",
        "plugins": "plugins",
        "identity": "identity",
        "simweb": "simulate",
    },
}
"""By what they are for: the module of each command, which defines it under its own name."""
_MODULES: Final = {name: module for group in _GROUPS.values() for name, module in group.items()} | {
    "ask": "operate.ask",
    "run-part": "run.part",
}
"""Also of the commands that programs call."""


class Commands(Mapping[str, click.Command]):
    """The commands by name. To look one up imports it."""

    def __getitem__(self, name: str) -> click.Command:
        # It loads ssl, which `--version` does not need.
        contexts = import_module("crawler.fetch.connect.tls.contexts")
        lookup = import_module("crawler.fetch.connect.lookup.late")
        with contexts.importing_late(), lookup.importing_late():
            attribute = f"{name}_" if iskeyword(name) else name.replace("-", "_")
            command: click.Command = getattr(import_module(f"crawler.cli.{_MODULES[name]}"), attribute)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


class _Onceover(click.Group):
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, _MODULES))
        limit = formatter.width - 6 - longest
        for title, names in _GROUPS.items():
            with formatter.section(title):
                lines = [(name.ljust(longest), self.commands[name].get_short_help_str(limit)) for name in names]
                formatter.write_dl(lines)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command. Other crawlers take a URL in its place."""
        if "://" in args[0] and not ctx.resilient_parsing:
            seed = shlex.quote(args[0])
            raise click.UsageError(
                f"expected a command, found the URL {args[0]}: `onceover crawl --seed {seed}` crawls it"
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command. If whoever reads its output has enough, as `head` has, it ends without failing."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            if not drop_unprinted():
                raise
            return COMPLETE


@click.group(cls=_Onceover, commands=Commands(), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="onceover")
@click.pass_obj
def onceover(begin: Callable[[], None] | None) -> None:
    """Crawl a web: every page once, politely, without losing any."""
    if begin is not None:
        begin()


def main() -> None:
    """Run a command, and end the process with its exit code."""
    open_missing_streams()
    escape_unencodable()
    faulthandler.enable(file=2)  # if compiled code crashes, stderr has the lines of Python that called it
    add_completion_class(AssignmentBash)
    _refuse_bytes()
    try:
        code = onceover(standalone_mode=False, prog_name="onceover", obj=_interrupt_on_signals)
    except click.exceptions.Abort:
        _complain("stopped before the end; what was saved is kept")
        sys.exit(STOPPED)
    except click.ClickException as error:
        _complain_of_usage(error)
        _complain_of_directory()
        sys.exit(error.exit_code)
    except BaseException as error:
        _end_at_once_on_signals()
        known = import_module("crawler.cli.errors").known_error(error)
        if known is None:
            raise
        _complain(known.message)
        _complain_of_directory(known.message)
        if known.may_lack_output:
            drop_unprinted()
        sys.exit(known.exit_code)
    sys.exit(code or 0)


def _refuse_bytes() -> None:
    """Names in files and messages of a crawl are text. Python passes bytes that are none on as surrogates."""
    given = [("arguments", text) for text in sys.argv[1:]]
    for what, name in (*given, ("a current directory", _current_directory())):
        if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
            _complain(f"expected {what} in UTF-8, found {name!a}; if it is a file or a directory, rename it")
            sys.exit(USAGE)


def _current_directory() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""  # deleted: whoever needs it says so


def _end_at_once_on_signals() -> None:
    """The command has failed. An exception of a handler would end the search for what to say of that in a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _interrupt_on_signals() -> None:
    """Now that the command is imported. Python drops what a handler of signals raises within its importer."""
    # `onceover_crawler` has disabled the collector for that time. What is imported stays, so it need not be looked at:
    # that takes a tenth of the start of a crawl, and finds 1,800 small objects.
    gc.freeze()
    gc.enable()
    import_module("crawler.cli.run.interrupts").interrupt_on_signals()


def _complain_of_usage(error: click.ClickException) -> None:
    """Report it in one line, like every other error. Errors that click finds get a pointer to the help. Our own errors
    say what to do."""
    if isinstance(error, NoArgsIsHelpError):
        error.show()
        return
    text = error.format_message().rstrip(".")
    is_clicks = type(error) is not click.UsageError or text.startswith(_OF_CLICK)
    if is_clicks and isinstance(error, click.UsageError):
        text = _set_instead(error) or " ".join(map(str.strip, text.splitlines()))  # it lists choices on a line each
        text = _NOT_A_NUMBER.sub(lambda match: _NUMBERS[match[1]], f"{text[0].lower()}{text[1:]}")
        if error.ctx is not None:
            then = "" if text.endswith(("?", "?)")) else ";"
            text = f"{text}{then} `{error.ctx.command_path} --help` shows the usage"
    _complain(text)


def _set_instead(error: click.UsageError) -> str | None:
    """What to write for an option that is a setting, as other crawlers have --max-depth."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return None
    name = error.option_name.lstrip("-").replace("-", "_")
    found = [key for key in import_module("config").settings() if key.endswith((f".{name}", f".{name}_s"))]
    if not found or all(param.name != "settings" for param in error.ctx.command.params):
        return None
    instead = " or ".join(f"`--set {key}=VALUE`" for key in found)
    return f"no such option '{error.option_name}': write {instead}"


def _complain_of_directory(told: str = "") -> None:
    """Say that the current directory was deleted, if it was, which may be the reason for another error."""
    deleted = deleted_directory()
    if deleted is not None and deleted != told:
        _complain(deleted)


def _complain(error: object) -> None:
    say(f"onceover: {error}", to_stderr=True)
