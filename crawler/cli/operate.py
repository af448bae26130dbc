"""onceover frontier retire, unretire, budget, hold, release: changes by the operator of a crawl that does not run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from crawler.cli.json_forms import queue_form
from crawler.cli.opening import open_stored
from crawler.status import host_of, number_of
from crawler.wiring.storage import rules
from frontier.clock import steady_clock
from frontier.leveldb.store import LevelDBStore
from frontier.queues.lifecycle import IllegalTransition
from frontier.queues.queue import QueueRecord
from frontier.transitions.active_queues import ActiveQueues
from frontier.transitions.operating import Operator

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


@contextmanager
def _open_operator(directory: Path) -> Iterator[tuple[LevelDBStore, Operator]]:
    with open_stored(directory, to_change=True) as (_, config, store):
        yield store, Operator(store, ActiveQueues(store, rules(config), clock=steady_clock()))


@click.command()
@_directory
@_host
@_as_json
def retire(directory: Path, host: str, as_json: bool) -> None:
    """Stop serving HOST. Its URLs are kept, also those that are found later."""
    with _open_operator(directory) as (store, operating):
        changed = _change_queues(store, directory, host, operating.retire)
    _print(changed, as_json, lambda record: f"is retired: {_kept_urls(record)}, and not fetched")


@click.command()
@_directory
@_host
@_as_json
def unretire(directory: Path, host: str, as_json: bool) -> None:
    """Serve HOST again after `retire`."""
    with _open_operator(directory) as (store, operating):
        changed = _change_queues(store, directory, host, operating.unretire)
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
    with _open_operator(directory) as (store, operating):
        changed = _change_queues(store, directory, host, lambda key: operating.set_budget(key, cost))
    _print(changed, as_json, _describe_served)


@click.command()
@_directory
@click.option("--reason", default="held by the operator", help="Shown while the crawl is held.")
@_as_json
def hold(directory: Path, reason: str, as_json: bool) -> None:
    """Hold the crawl: until it is released, it fetches nothing, whoever starts it."""
    with _open_operator(directory) as (store, operating):
        if store.marks.held is not None:
            raise click.UsageError(f"{directory} is already held: {store.marks.held}; release it first")
        operating.hold(reason)
    click.echo(msgspec.json.encode({"held": reason}) if as_json else f"{directory} is held: {reason}")


@click.command()
@_directory
@_as_json
def release(directory: Path, as_json: bool) -> None:
    """End a hold."""
    with _open_operator(directory) as (_, operating):
        try:
            operating.release()
        except IllegalTransition as error:
            raise click.UsageError(f"{directory}: {error}; nothing was changed") from error
    click.echo(msgspec.json.encode({"held": None}) if as_json else f"{directory} is released: `onceover crawl` goes on")


def _change_queues(store: LevelDBStore, directory: Path, host: str, change: Callable[[str], None]) -> list[QueueRecord]:
    """Change the queues of a host, which has several with frontier.parallel_queues. Queues that need no change are
    skipped; if none needs one, that is an error."""
    keys = [record.key for record in store.reads.queues() if _is_of(host, record.key)]
    if not keys:
        raise click.UsageError(f"{directory} has no queue of {host}; `onceover inspect {directory} queues` lists them")
    changed, refusal = [], None
    for key in keys:
        try:
            change(key)
        except IllegalTransition as error:
            refusal = error
        else:
            changed.append(store.reads.queue(key))
    if not changed:
        raise click.UsageError(f"{directory}: {refusal}; nothing was changed")
    return [record for record in changed if record is not None]


def _is_of(host: str, key: str) -> bool:
    """Whether HOST, as people or `inspect queues` write it, is the host of the queue."""
    return host == key or host.lower() in (shown := host_of(key), shown.partition("#")[0])


def _describe_served(record: QueueRecord) -> str:
    spent = f"{record.spent:,} spent" if record.budget is None else f"{record.spent:,} of {record.budget:,} spent"
    if record.retired:
        return f"is still retired: {spent}, {_kept_urls(record)}"
    if record.size and record.position is None:
        return f"is retired, because its budget is spent: {spent}, {_kept_urls(record)}"
    return f"is served: {spent}, {number_of(record.size, 'URL waits', 'URLs wait')}"


def _kept_urls(record: QueueRecord) -> str:
    return number_of(record.size, "URL is kept", "URLs are kept")


def _print(changed: list[QueueRecord], as_json: bool, describe: Callable[[QueueRecord], str]) -> None:
    for record in changed:
        click.echo(msgspec.json.encode(queue_form(record)) if as_json else f"{host_of(record.key)} {describe(record)}")
