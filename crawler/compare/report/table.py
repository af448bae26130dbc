"""The report for a terminal."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from crawler.compare.report.summary import Row
from crawler.compare.report.value import Report
from crawler.compare.statistics import Spread
from crawler.status import size

_ANY_COLUMNS = 10_000

_Figure = tuple[str, Callable[[Row], str]]


def render(report: Report, columns: int) -> Group:
    """One table for each work, or two if it would be wider than `columns`; then the recommendations."""
    elements: list[RenderableType] = []
    for work in report.works:
        rows = [row for row in report.rows if row.work == work.name]
        elements += [Text(f"\n{work.name}: {work.about}", style="bold"), *_tables(rows, columns)]
        elements += [Text(f"  {line}", style="yellow") for line in work.problems]
        elements += [Text(f"  {row.competitor}: {row.failed}", style="yellow") for row in rows if row.failed]
    if report.findings:
        elements += [Text("\nExpected", style="bold"), *_finding_tables(report)]
    return Group(*elements, *_advice(report))


def _advice(report: Report) -> Iterable[RenderableType]:
    if report.advice:
        yield Text("\nRecommended", style="bold")
    for work, found in groupby(report.advice, key=lambda each: each.work):
        if len(report.works) > 1:
            yield Text(f"  {work}", style="bold")
        for advice in found:
            yield Padding(Text(advice.text), (0, 0, 0, 2), expand=False)
            yield Padding(Text(advice.sure, style="dim"), (0, 0, 0, 4), expand=False)


def _tables(rows: Sequence[Row], columns: int) -> list[Table]:
    measured = [row for row in rows if row.bytes is not None or row.pages is not None]
    if not measured:
        return []
    if any(row.pages is not None for row in measured):
        return [_table(measured, _CRAWL_FIGURES)]
    wide = _table(measured, _SPEED_FIGURES + _COST_FIGURES)
    if columns_of(wide) <= columns:
        return [wide]
    return [_table(measured, _COST_FIGURES), _table(measured, _SPEED_FIGURES)]


def _table(rows: Sequence[Row], figures: Sequence[_Figure]) -> Table:
    """A table without figures that no row has."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", overflow="fold")
    shown = [(name, cells) for name, cell in figures if any(cells := [cell(row) for row in rows])]
    for name, _ in shown:
        table.add_column(name, justify="right", no_wrap=True)
    for number, row in enumerate(rows):
        table.add_row(Text(row.competitor), *(cells[number] for _, cells in shown))
    return table


def columns_of(table: Table, *, minimum: bool = False) -> int:
    """The width of the table without any wrapping, or with all that its columns allow."""
    console = Console(width=_ANY_COLUMNS, markup=False, emoji=False)
    measured = Measurement.get(console, console.options, table)
    return measured.minimum if minimum else measured.maximum


def _memory(row: Row) -> str:
    if row.bytes is None:
        return ""
    return f"< {size(row.noise_bytes)}" if row.is_faint else size(row.bytes)


def _bytes_per_url(row: Row) -> str:
    return "" if row.bytes_per_url is None or row.is_faint else f"{row.bytes_per_url:.1f}"


def number(value: int | None) -> str:
    """A count as text; empty if there is none."""
    return "" if value is None else f"{value:,}"


def _finding_tables(report: Report) -> Iterable[RenderableType]:
    for work, findings in groupby(report.findings, key=lambda each: each.work):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=Text(work), title_justify="left", title_style="")
        table.add_column("set", overflow="fold")
        for name in ("figure", "expected", "measured", ""):
            table.add_column(name, justify="left" if name == "figure" else "right", no_wrap=True)
        for each in findings:
            found = "not measured" if each.found is None else f"{each.found:.4g}"
            table.add_row(
                Text(each.set), each.figure, f"{each.value:.4g}", found, {True: "yes", False: "NO", None: ""}[each.met]
            )
        yield table


def share(value: float | None) -> str:
    """A rate or a loss as short text."""
    if value is None:
        return ""
    return "0" if value == 0 else f"{value:.2%}" if value >= 0.001 else f"{value:.1e}"


def rate_of(found: Spread | None) -> str:
    """Events per second as short text."""
    if found is None:
        return ""
    return f"{found.median / 1e6:.2f} M" if found.median >= 1e5 else f"{found.median:,.0f}"


def _time(found: Spread | None) -> str:
    if found is None:
        return ""
    return f"{found.median * 1e6:.0f} µs" if found.median < 1e-3 else f"{found.median * 1e3:.1f} ms"


def cpu_of(found: Spread | None) -> str:
    """Processor time for a link as short text."""
    return "" if found is None else f"{found.median * 1e6:.1f} µs"


_SPEED_FIGURES: tuple[_Figure, ...] = (
    ("links/s", lambda row: rate_of(row.links_per_s)),
    ("new/s", lambda row: rate_of(row.new_per_s)),
    ("known/s", lambda row: rate_of(row.known_per_s)),
    ("p99", lambda row: _time(row.p99_s)),
    ("slowest", lambda row: _time(row.slowest_s)),
)
_COST_FIGURES: tuple[_Figure, ...] = (
    ("memory", _memory),
    ("B/URL", _bytes_per_url),
    ("server CPU", lambda row: cpu_of(row.server_cpu_s)),
    ("lost", lambda row: number(row.lost)),
    ("rate", lambda row: share(row.rate)),
    ("beyond", lambda row: share(row.rate_past)),
    ("splits", lambda row: number(row.splits)),
    ("agrees", lambda row: {True: "yes", False: "no", None: ""}[row.agrees]),
)
_CRAWL_FIGURES: tuple[_Figure, ...] = (
    ("pages", lambda row: number(row.pages)),
    ("missing", lambda row: number(row.pages_missing)),
    ("pages/s", lambda row: "" if row.pages_per_s is None else f"{row.pages_per_s:,.0f}"),
    ("memory", _memory),
)
