"""`onceover compare --advise`: which visited set fits, by the formulas. Nothing is measured."""

import math
from collections.abc import Sequence

import click
import msgspec
from rich import box
from rich.table import Table

from config import toml_value
from crawler.cli.run.streams import say_result, while_read
from crawler.cli.run.terminal import results_console
from crawler.codes.exit_codes import COMPLETE, FAILED
from crawler.compare.report.table import columns_of, share
from crawler.status import number_of, size
from crawler.wiring.auto_backend import EXACT_ON_DISK, advised_sets, best_option, candidate, default_memory_bytes, fits
from visited.advice import Option, options

_MOST_URLS = 10**12
"""As for `visited.capacity`."""


class Advised(msgspec.Struct, frozen=True, kw_only=True):
    """What `--json` prints."""

    urls_expected: int
    loss: float
    memory_bytes: int
    options: list[Option]
    advised: str | None
    """None if no set fits."""
    visited: dict[str, str | int | float]
    """The section [visited] for it."""


def advise_on(urls: str, *, loss: float, memory_bytes: int | None, backends: Sequence[str], as_json: bool) -> int:
    """Print which of these backends fit, or of ours if there are none, with their parameters.

    A filter whose error rate is the allowed loss loses less than that, because its rate is lower until it is full.
    """
    count = _count(urls)
    given = default_memory_bytes() if memory_bytes is None else memory_bytes
    try:
        among = [candidate(name) for name in backends] or advised_sets()
        found = options(count, loss, among=among)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    best = best_option(count, loss, memory_bytes=given, among=among)
    advised = Advised(
        urls_expected=count,
        loss=loss,
        memory_bytes=given,
        options=found,
        advised=None if best is None else best.backend,
        visited={} if best is None else _section(best, count, loss),
    )
    if as_json:
        say_result(msgspec.json.encode(advised))
    else:
        with while_read():
            _show(advised, found)
    return FAILED if best is None else COMPLETE


def _count(text: str) -> int:
    try:
        value = float(text.replace("_", "").replace(",", ""))
    except ValueError:
        value = math.nan
    if not 1 <= value <= _MOST_URLS:
        raise click.UsageError(
            f"--urls-expected: expected a number of URLs such as 2e8 or 200_000_000, from 1 to {_MOST_URLS:_}, "
            f"found '{text}'"
        )
    return round(value)


def _section(option: Option, count: int, loss: float) -> dict[str, str | int | float]:
    if option.backend == "exact":
        return {"backend": "exact"}
    if option.backend == EXACT_ON_DISK:
        return {"backend": "exact", "store": "leveldb"}
    return {"backend": option.backend, "capacity": count, "error_rate": loss}


def _show(advised: Advised, found: Sequence[Option]) -> None:
    count = advised.urls_expected
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column("", no_wrap=True)
    for name in ("memory", "on disk", "B/URL", "rate", "lost", "share", "fits"):
        table.add_column(name, justify="right", no_wrap=True)
    for option in found:
        table.add_row(
            option.backend,
            size(option.memory_bytes),
            size(option.disk_bytes) if option.disk_bytes else "",
            f"{option.memory_bytes / count:.2f}",
            share(option.false_positive_rate),
            f"{option.expected_lost:,.0f}",
            share(option.expected_lost / count),
            "yes" if fits(option, count, advised.loss, memory_bytes=advised.memory_bytes) else "no",
        )
    # The table is never narrower than its figures, whatever the width of the terminal.
    stdout = results_console(width=max(results_console().width, columns_of(table)))
    stdout.print(
        f"{number_of(advised.urls_expected, 'URL')} in {size(advised.memory_bytes)}; "
        f"at most {share(advised.loss)} may be lost",
        table,
        highlight=False,
    )
    if advised.advised is None:
        nearest = min(found, key=lambda option: option.memory_bytes).backend
        stdout.print(f"None of them fits. {nearest} needs the least memory.", highlight=False)
        return
    stdout.print("Recommended:\n\n[visited]", highlight=False)
    for name, value in advised.visited.items():
        stdout.print(f"{name} = {toml_value(value)}", highlight=False)
    if "error_rate" in advised.visited:
        stdout.print(
            "\nBy default a crawl looks up in its ledger what a filter calls known (visited.verify), and loses "
            "nothing. The losses above are those with verify = false.",
            highlight=False,
        )
