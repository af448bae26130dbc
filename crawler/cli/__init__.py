"""The command line. Results go to stdout, everything else to stderr.

Exit codes: 0 the crawl is complete; 1 failed; 2 wrong usage or configuration; 3 stopped by a limit; 4 stopped by a
signal, with the state saved; 5 the crawl directory is locked, paused or of another version.
"""

import sys

import click
from click.exceptions import NoArgsIsHelpError
from click.shell_completion import add_completion_class

from crawler.cli.codes import STOPPED
from crawler.cli.compare.command import compare
from crawler.cli.completion import AssignmentBash
from crawler.cli.configure import config
from crawler.cli.crawl import crawl
from crawler.cli.demo import demo
from crawler.cli.errors import known_error
from crawler.cli.frontier import frontier
from crawler.cli.inspect import inspect
from crawler.cli.operate.hosts import budget, retire, unretire
from crawler.cli.operate.pausing import pause, resume, status, stop
from crawler.cli.operate.top import top
from crawler.cli.operate.urls import add, forget
from crawler.cli.plugins import plugins
from crawler.cli.run.interrupts import interrupt_on_signals
from crawler.cli.run.part import part
from crawler.cli.run.terminal import drop_unprinted, open_missing_streams, say
from crawler.cli.simulate import simweb

_OF_CLICK = ("No such command", "Got unexpected extra argument")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="onceover-crawler", prog_name="onceover")
def onceover() -> None:
    """Crawl a web: every page once, politely, without losing any."""


for command in (compare, crawl, config, demo, frontier, inspect, part, plugins, simweb):
    onceover.add_command(command)
for command in (status, pause, resume, stop, add, forget, retire, unretire, budget, top):
    onceover.add_command(command)


def main() -> None:
    """Run a command, and end the process with its exit code."""
    interrupt_on_signals()
    open_missing_streams()
    add_completion_class(AssignmentBash)
    try:
        code = onceover(standalone_mode=False, prog_name="onceover")
    except click.exceptions.Abort:
        _complain("stopped before the end; what was saved is kept")
        sys.exit(STOPPED)
    except click.ClickException as error:
        _complain_of_usage(error)
        sys.exit(error.exit_code)
    except BaseException as error:
        known = known_error(error)
        if known is None:
            raise
        _complain(known.message)
        if known.may_lack_output:
            drop_unprinted()
        sys.exit(known.exit_code)
    sys.exit(code or 0)


def _complain_of_usage(error: click.ClickException) -> None:
    """Report it in one line, like every other error. Errors that click finds get a pointer to the help. Our own errors
    say what to do."""
    if isinstance(error, NoArgsIsHelpError):
        error.show()
        return
    text = error.format_message().rstrip(".")
    is_clicks = type(error) is not click.UsageError or text.startswith(_OF_CLICK)
    if is_clicks and isinstance(error, click.UsageError) and error.ctx is not None:
        then = "" if text.endswith(("?", ")")) else ";"
        text = f"{text[0].lower()}{text[1:]}{then} `{error.ctx.command_path} --help` shows the usage"
    _complain(text)


def _complain(error: object) -> None:
    say(f"onceover: {error}", to_stderr=True)
