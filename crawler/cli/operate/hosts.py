"""onceover retire, unretire, budget"""

from pathlib import Path

import click
import msgspec

from crawler.cli.operate.options import Daemon, as_json, crawl_at, directory, of_daemon
from crawler.control.replies import Changed, QueueForm
from crawler.control.requests import MAX_BUDGET, Request, Retire, SetBudget, Unretire
from crawler.status import number_of

_SHOWN = 100
"""Characters of a wrong argument."""

_host = click.argument("host")


def _cost(_context: click.Context, _argument: click.Parameter, value: str) -> int | None:
    """The budget; None for `default`."""
    if value == "default":
        return None
    # Python converts no text of more than 4,300 digits.
    if value.isascii() and value.isdigit() and len(value) <= _SHOWN and int(value) <= MAX_BUDGET:
        return int(value)
    raise click.BadParameter(
        f"expected a cost of 0 to {MAX_BUDGET:,}, or `default` for frontier.total_budget, found {value[:_SHOWN]!r}"
    )


@click.command()
@directory
@_host
@of_daemon
@as_json
def retire(directory: Path, host: str, daemon: Daemon | None, as_json: bool) -> None:
    """Stop serving HOST. Its URLs are kept, also those that are found later."""
    _change(directory, daemon, Retire(host=host), as_json)


@click.command()
@directory
@_host
@of_daemon
@as_json
def unretire(directory: Path, host: str, daemon: Daemon | None, as_json: bool) -> None:
    """Serve HOST again after `retire`."""
    _change(directory, daemon, Unretire(host=host), as_json)


@click.command()
@directory
@_host
@click.argument("cost", callback=_cost)
@of_daemon
@as_json
def budget(directory: Path, host: str, cost: int | None, daemon: Daemon | None, as_json: bool) -> None:
    """Set the total budget of HOST to COST. It replaces frontier.total_budget. With `default`, that applies again.

    A fetch costs 1, or what frontier.cost says.
    """
    _change(directory, daemon, SetBudget(host=host, cost=cost), as_json)


def _change(directory: Path, daemon: Daemon | None, request: Request[Changed], as_json: bool) -> None:
    with crawl_at(directory, daemon, to_change=True) as crawl:
        changed = crawl.ask(request)
    for queue in changed.queues:
        click.echo(msgspec.json.encode(queue) if as_json else f"{queue.host} {_describe(queue, request)}")


def _describe(queue: QueueForm, request: Request[Changed]) -> str:
    kept = number_of(queue.size, "URL is kept", "URLs are kept")
    if isinstance(request, Retire):
        return f"is retired: {kept}, and not fetched"
    spent = f"{queue.spent:,} spent" if queue.budget is None else f"{queue.spent:,} of {queue.budget:,} spent"
    if queue.retired:
        return f"is still retired: {spent}, {kept}"
    if queue.size and not queue.served:
        return f"is retired, because its budget is spent: {spent}, {kept}"
    return f"is served: {spent}, {number_of(queue.size, 'URL waits', 'URLs wait')}"
