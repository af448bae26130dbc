"""The report for a terminal."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from crawler.compare.report import Report
from crawler.compare.statistics import Spread
from crawler.compare.summary import Row
from crawler.status import size


def render(report: Report) -> Group:
    """A table for each work, then what to take."""
    parts: list[RenderableType] = []
    for work in report.works:
        rows = [row for row in report.rows if row.work == work.name]
        parts += [Text(f"\n{work.name}: {work.about}", style="bold"), *_tables(rows)]
        parts += [Text(f"  {line}", style="yellow") for line in work.problems]
        parts += [Text(f"  {row.competitor}: {row.failed}", style="yellow") for row in rows if row.failed]
    if report.findings:
        parts += [Text("\nExpected", style="bold"), _expected(report)]
    if report.advice:
        parts.append(Text("\nWhat to take", style="bold"))
    for advice in report.advice:
        parts += [Text(f"  {advice.text}"), Text(f"    {advice.sure}", style="dim")]
    return Group(*parts)


def _tables(rows: Sequence[Row]) -> Iterable[RenderableType]:
    measured = [row for row in rows if row.bytes is not None or row.pages is not None]
    if any(row.pages is not None for row in measured):
        yield _crawled(measured)
    elif measured:
        yield _measured(measured)


def _measured(rows: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    names = ("links/s", "new/s", "known/s", "p99", "slowest", "memory", "B/URL", "lost", "rate", "past", "as told")
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.competitor,
            *(_rate(each) for each in (row.links_per_s, row.new_per_s, row.known_per_s)),
            *(_time(each) for each in (row.p99_s, row.slowest_s)),
            f"< {size(row.noise_bytes)}" if row.is_faint else size(row.bytes or 0),
            "" if row.bytes_per_url is None or row.is_faint else f"{row.bytes_per_url:.1f}",
            "" if row.lost is None else f"{row.lost:,}",
            share(row.rate),
            share(row.rate_past),
            {True: "yes", False: "no", None: ""}[row.agrees],
        )
    return table


def _crawled(rows: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for name in ("pages", "missing", "pages/s", "memory"):
        table.add_column(name, justify="right")
    for row in rows:
        pages_per_s = "" if row.pages_per_s is None else f"{row.pages_per_s:,.0f}"
        table.add_row(row.competitor, f"{row.pages:,}", f"{row.pages_missing:,}", pages_per_s, size(row.bytes or 0))
    return table


def _expected(report: Report) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("work", "set", "figure"):
        table.add_column(name)
    for name in ("expected", "measured", ""):
        table.add_column(name, justify="right")
    for each in report.findings:
        found = "" if each.found is None else f"{each.found:.4g}"
        table.add_row(each.work, each.set, each.figure, f"{each.value:.4g}", found, "yes" if each.met else "NO")
    return table


def share(value: float | None) -> str:
    """A rate or a loss, short."""
    if value is None:
        return ""
    return "0" if value == 0 else f"{value:.2%}" if value >= 0.001 else f"{value:.1e}"


def _rate(found: Spread | None) -> str:
    if found is None:
        return ""
    return f"{found.median / 1e6:.2f} M" if found.median >= 1e5 else f"{found.median:,.0f}"


def _time(found: Spread | None) -> str:
    if found is None:
        return ""
    return f"{found.median * 1e6:.0f} µs" if found.median < 1e-3 else f"{found.median * 1e3:.1f} ms"
