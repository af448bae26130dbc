"""The process of a part, which a supervisor starts."""

import socket
from functools import partial

import click

from crawler.cli.run.allocator import settle_allocator
from crawler.cli.run.running import in_event_loop
from crawler.codes.exit_codes import FAILED
from crawler.parts.line.line import framed, open_line
from crawler.parts.line.messages import Failed, ToPart
from crawler.supervise import part
from crawler.supervise.process import COMMAND, take_signals
from crawler.wiring.plugins.blame import blaming
from crawler.wiring.plugins.checks import PluginFailed
from crawler.wiring.plugins.loading import NamedBackend


@click.command(COMMAND, hidden=True)
@click.argument("descriptor", type=int)
def run_part(descriptor: int) -> int:
    """Run a part of a crawl. A supervisor starts this, with the descriptor of a socket to it."""
    take_signals()
    settle_allocator()
    try:
        connected = socket.socket(fileno=descriptor)
    except OSError as error:
        raise click.UsageError("`onceover crawl --parts N` starts the parts of a crawl; nobody else can") from error
    plugins: list[NamedBackend] = []
    with connected.dup() as again:
        try:
            with blaming(plugins):
                return in_event_loop(partial(_run, connected, plugins))
        except PluginFailed as error:
            # A task that raises SystemExit ends the event loop at once, and the line with it.
            again.setblocking(True)
            again.sendall(framed(Failed(message=str(error), exit_code=FAILED)))
            return FAILED


async def _run(connected: socket.socket, plugins: list[NamedBackend]) -> int:
    """Run the part, and tell the supervisor what keeps it from going on. Errors that nobody expects end the process,
    and stand in its log. The plug-ins of the crawl are appended to a list."""
    line = await open_line(connected, ToPart)
    try:
        await part.run_part(line, plugins)
    except BaseException as error:
        # With what it knows, it takes a megabyte.
        from crawler.cli.errors import known_error  # noqa: PLC0415 - see above

        known = known_error(error)
        if known is None:
            raise
        line.send(Failed(message=known.message, exit_code=known.exit_code))
        return known.exit_code
    finally:
        await line.aclose()
    return 0
