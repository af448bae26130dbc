"""onceover frontier retire, unretire, budget, pause, resume: changes by the operator of a crawl that does not run."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

import click
import msgspec

from crawler.cli.json_forms import queue_form
from crawler.cli.opening import open_stored
from crawler.status import host_of, number_of
from crawler.wiring.backends import lacks
from frontier import Pausing, QueueControl, QueueReads, QueueStatus

MOST_BUDGET = 1 << 53
_directory = click.argument("directory", type=click.Path(path_type=Path))
_host = click.argument("host")
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _cost(_context: click.Context, _argument: click.Parameter, value: str) -> int | None:
    """The budget; None for `default`."""
    if value == "default":
        return None
    if value.isascii() and value.isdigit() and int(value) <= MOST_BUDGET:
        return int(value)
    raise click.BadParameter(
        f"expected a cost of 0 to {MOST_BUDGET:,}, or `default` for frontier.total_budget, found {value!r}"
    )


@runtime_checkable
class _Queues(QueueControl, QueueReads, Protocol):
    """Queues that an operator can see and change."""


@click.command()
@_directory
@_host
@_as_json
def retire(directory: Path, host: str, as_json: bool) -> None:
    """Stop serving HOST. Its URLs are kept, also those that are found later."""
    changed = _change_queues(directory, host, lambda queues, key: queues.retire(key))
    _print(changed, as_json, lambda queue: f"is retired: {_kept_urls(queue)}, and not fetched")


@click.command()
@_directory
@_host
@_as_json
def unretire(directory: Path, host: str, as_json: bool) -> None:
    """Serve HOST again after `retire`."""
    changed = _change_queues(directory, host, lambda queues, key: queues.unretire(key))
    _print(changed, as_json, _describe_served)


@click.command()
@_directory
@_host
@click.argument("cost", callback=_cost)
@_as_json
def budget(directory: Path, host: str, cost: int | None, as_json: bool) -> None:
    """Set the total budget of HOST to COST, instead of frontier.total_budget. With `default`, that applies again.

    A fetch costs 1, or what frontier.cost says.
    """
    changed = _change_queues(directory, host, lambda queues, key: queues.set_budget(key, cost))
    _print(changed, as_json, _describe_served)


@click.command()
@_directory
@click.option("--reason", default="paused by the operator", help="Shown while the crawl is paused.")
@_as_json
def pause(directory: Path, reason: str, as_json: bool) -> None:
    """Pause the crawl: until it is resumed, it fetches nothing, whoever starts it."""
    with _open_pausing(directory) as pausing:
        if pausing.paused is not None:
            raise click.UsageError(f"{directory} is already paused: {pausing.paused}; resume it first")
        asyncio.run(pausing.pause(reason))
    click.echo(msgspec.json.encode({"paused": reason}) if as_json else f"{directory} is paused: {reason}")


@click.command()
@_directory
@_as_json
def resume(directory: Path, as_json: bool) -> None:
    """End a pause."""
    with _open_pausing(directory) as pausing:
        if pausing.paused is None:
            raise click.UsageError(f"{directory} is not paused; nothing was changed")
        asyncio.run(pausing.resume())
    text = f"{directory} is no longer paused: `onceover crawl` goes on"
    click.echo(msgspec.json.encode({"paused": None}) if as_json else text)


hold = click.Command("hold", params=pause.params, callback=pause.callback, hidden=True, help="The old name of pause.")
release = click.Command(
    "release", params=resume.params, callback=resume.callback, hidden=True, help="The old name of resume."
)


@contextmanager
def _open_pausing(directory: Path) -> Iterator[Pausing]:
    with open_stored(directory, to_change=True) as (_, config, state):
        if not isinstance(state, Pausing):
            raise lacks(config, "be paused")
        yield state


def _change_queues(
    directory: Path, host: str, change: Callable[[_Queues, str], Coroutine[object, object, None]]
) -> list[QueueStatus]:
    """Change the queues of a host, which has several with frontier.parallel_queues. Queues that need no change are
    skipped; if none needs one, that is an error."""
    with open_stored(directory, to_change=True) as (_, config, state):
        if not isinstance(state, _Queues):
            raise lacks(config, "change what an operator asks for its queues")
        keys = [queue.key for queue in state.queues() if _is_of(host, queue.key)]
        if not keys:
            raise click.UsageError(
                f"{directory} has no queue of {host}; `onceover inspect {directory} queues` lists them"
            )
        changed, refusal = [], None
        for key in keys:
            try:
                asyncio.run(change(state, key))
            except ValueError as error:
                refusal = error
            else:
                changed.append(state.queue(key))
    if not changed:
        raise click.UsageError(f"{directory}: {refusal}; nothing was changed")
    return [queue for queue in changed if queue is not None]


def _is_of(host: str, key: str) -> bool:
    """Whether HOST, as people or `inspect queues` write it, is the host of the queue."""
    return host == key or host.lower() in (shown := host_of(key), shown.partition("#")[0])


def _describe_served(queue: QueueStatus) -> str:
    spent = f"{queue.spent:,} spent" if queue.budget is None else f"{queue.spent:,} of {queue.budget:,} spent"
    if queue.retired:
        return f"is still retired: {spent}, {_kept_urls(queue)}"
    if queue.size and not queue.served:
        return f"is retired, because its budget is spent: {spent}, {_kept_urls(queue)}"
    return f"is served: {spent}, {number_of(queue.size, 'URL waits', 'URLs wait')}"


def _kept_urls(queue: QueueStatus) -> str:
    return number_of(queue.size, "URL is kept", "URLs are kept")


def _print(changed: list[QueueStatus], as_json: bool, describe: Callable[[QueueStatus], str]) -> None:
    for queue in changed:
        click.echo(msgspec.json.encode(queue_form(queue)) if as_json else f"{host_of(queue.key)} {describe(queue)}")
