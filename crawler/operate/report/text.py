"""A report for people."""

import textwrap
from collections.abc import Mapping
from typing import Final

from rich.table import Table

from crawler.operate.report.forms import HostRow, HostTable, Remaining, Report, Summary
from crawler.status import duration, size

_WIDTH: Final = 80


def heading(report: Report) -> str:
    state = "runs" if report.running else "does not run"
    source = "" if report.source == "records" else "; it has no records, so this is what its ledger tells"
    return f"{report.directory}, {report.at}: {state}{source}"


def summary_lines(summary: Summary) -> list[str]:
    """Names and values, wrapped."""
    lines = []
    for name, value in _rows(summary):
        head = f"{name:>10}  "
        lines += textwrap.wrap(value, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    return lines


def _rows(summary: Summary) -> list[tuple[str, str]]:
    share = "" if summary.share_done is None else f" ({summary.share_done:.1%})"
    rows = [("URLs", f"{summary.settled:,} of {summary.urls:,} settled{share}, {summary.hosts:,} hosts")]
    received = "" if summary.bytes_received is None else f" · {size(summary.bytes_received)} received"
    rows.append(("pages", f"{summary.pages:,}{received}"))
    times = summary.times
    if times.first_at is not None:
        mean = "" if times.mean_s is None else f" · {times.mean_s:.2f} s each on average"
        rows.append(("fetched", f"{times.first_at} to {times.last_at}{mean}"))
    rows.append(("left", _left(summary.remaining)))
    counts = (
        ("answers", summary.statuses, ""),
        ("failed", summary.failures, ""),
        ("excluded", summary.exclusions, ""),
        ("refused", summary.refused or {}, " (links)"),
    )
    rows += [(name, _counts(each) + unit) for name, each, unit in counts if each]
    return rows


def _left(remaining: Remaining) -> str:
    if not remaining.urls:
        return "nothing that is known"
    left = f"{remaining.urls:,} URLs"
    if remaining.seconds is None:
        return left
    why = "" if remaining.host is None else f", because of the pace of {remaining.host}"
    return f"{left} · about {duration(remaining.seconds)}{why}, if no more are found"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items())


def host_tables(hosts: HostTable) -> list[Table]:
    """A table for each thing that hosts can have much of."""
    kinds = (("pages", hosts.most_pages), ("bytes", hosts.most_bytes), ("failures", hosts.most_failures))
    return [_table(f"most {name}", rows) for name, rows in kinds if rows]


def _table(title: str, rows: list[HostRow]) -> Table:
    table = Table(title, "pages", "failures", "received", "s each", "last", box=None, pad_edge=False)
    for column in table.columns[1:5]:
        column.justify = "right"
    for row in rows:
        received = "" if row.bytes_received is None else size(row.bytes_received)
        mean = "" if row.mean_s is None else f"{row.mean_s:.2f}"
        table.add_row(row.host, f"{row.pages:,}", f"{row.failures:,}", received, mean, (row.last_at or "")[:19])
    return table
