"""The report for a browser: one HTML file with its plots."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from crawler.compare.report.summary import Row
from crawler.compare.report.table import cpu_of, number, rate_of, share
from crawler.compare.report.value import Report, ReportedWork, colour_of
from crawler.compare.statistics import Spread
from crawler.html_document import html_document
from crawler.status import size

_Column = tuple[str, Callable[[Row], str]]
"""The name of a column, and its cell of a row."""
_EMPTY = "<td></td>"


def page(report: Report, plots: Mapping[str, Sequence[str]]) -> str:
    """The HTML document. `plots` has SVG elements by work."""
    here = files("crawler.compare.report")
    colours = {each.name: colour_of(report, each.name) for each in report.competitors}
    body = [_advice(report), *(_work(report, work, plots.get(work.name, ()), colours) for work in report.works)]
    body.append(_findings(report))
    rest = "" if report.complete else " The run was stopped; what is missing here was not measured yet."
    when = report.measured_at[:16].replace("T", " ")
    return html_document(
        title="Visited sets compared",
        subtitle=escape(f"Measured {when} UTC on {report.machine['cpu']}, {report.machine['cores']} cores.{rest}"),
        style=here.joinpath("report.css").read_text(encoding="utf-8"),
        body="\n".join(each for each in body if each),
        footer=escape(
            f"{report.machine['system']}; "
            + ", ".join(f"{name} {version}" for name, version in report.versions.items())
            + f"; seed {report.seed}. All samples are in report.json."
        ),
    )


def _advice(report: Report) -> str:
    cards = []
    for each in report.advice:
        kind = "card advice" if each.competitor else "card advice none"
        work = f"<span>{escape(each.work)}</span>" if len(report.works) > 1 else ""
        text = f"<strong>{escape(each.text)}</strong><span>{escape(each.sure)}</span>"
        cards.append(f'<div class="{kind}">{work}{text}</div>')
    return f"<section><h2>Recommended</h2>{''.join(cards)}</section>" if cards else ""


def _work(report: Report, work: ReportedWork, plots: Sequence[str], colours: Mapping[str, str]) -> str:
    rows = [row for row in report.rows if row.work == work.name]
    elements = [f"<h2>{escape(work.name)}</h2>", f'<p class="about">{escape(work.about)}</p>']
    if plots:
        figures = "".join(f'<figure class="card">{svg}</figure>' for svg in plots)
        elements.append(f'<div class="plots">{figures}</div>')
    measured = [row for row in rows if row.bytes is not None]
    if any(row.pages is not None for row in rows):
        elements.append(_figures(_CRAWLS, rows, colours))
    elif rows:
        elements.append("<h3>Memory and losses</h3>" + _figures(_COSTS, rows, colours))
        elements.append("<h3>Speed</h3>" + _figures(_SPEEDS, measured, colours))
        elements.append("<h3>Growth</h3>" + _figures(_GROWTH, measured, colours))
    if work.stands_for:
        head = f"<h3>Extrapolated to {work.stands_for:,} URLs, in proportion (not measured)</h3>"
        elements.append(head + _figures(_extrapolated(work.stands_for), measured, colours))
    if on_servers := [row for row in rows if row.server_cpu_s is not None]:
        elements.append("<h3>On the server</h3>" + _figures(_ON_SERVERS, on_servers, colours))
    if any(row.forgotten is not None for row in rows):
        elements.append("<h3>Forgetting</h3>" + _figures(_FORGETTING, measured, colours))
    if work.problems:
        elements.append(f'<ul class="problems">{"".join(f"<li>{escape(each)}</li>" for each in work.problems)}</ul>')
    return f"<section>{''.join(elements)}</section>"


def _extrapolated(urls: int) -> tuple[_Column, ...]:
    """Memory extrapolated to the size that the work stands for."""
    return (
        (f"at {urls:,} (extrapolated)", lambda row: _size(round((row.bytes or 0) * urls / max(1, row.distinct)))),
        ("measured here", lambda row: _size(row.bytes)),
    )


def _findings(report: Report) -> str:
    if not report.findings:
        return ""
    rows = (
        [
            _text(each.work),
            _text(each.set),
            _text(each.figure),
            _cell(f"{each.value:.5g}"),
            _cell("" if each.found is None else f"{each.found:.5g}"),
            _cell(escape(each.within)),
            _verdict(each.met),
            _text(each.says or "", wrap=True),
            _text(each.note or "", wrap=True),
        ]
        for each in report.findings
    )
    columns = ("work", "set", "figure", "expected", "measured", "bound", "met", "source says", "remark")
    return f"<section><h2>Expected and found</h2>{_table(columns, rows)}</section>"


def _figures(columns: Sequence[_Column], rows: Iterable[Row], colours: Mapping[str, str]) -> str:
    """A table with a row for each set, and why others have no figures."""
    cells = (
        [_name(row, colours), *(cell(row) for _, cell in columns)]
        if row.bytes is not None or row.pages is not None
        else _failure_cells(row, colours, len(columns))
        for row in rows
    )
    return _table(("set", *(name for name, _ in columns)), cells)


def _table(columns: Sequence[str], rows: Iterable[list[str]]) -> str:
    """A table without empty columns."""
    rows = list(rows)
    # A row may have fewer cells: its last one may span several columns.
    filled = [any(len(cells) > column and cells[column] != _EMPTY for cells in rows) for column in range(len(columns))]
    head = "".join(f"<th>{escape(name)}</th>" for name, has in zip(columns, filled, strict=True) if has)
    body = "".join(
        f"<tr>{''.join(cell for cell, has in zip(cells, filled, strict=False) if has)}</tr>" for cells in rows
    )
    return f'<div class="card scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _name(row: Row, colours: Mapping[str, str]) -> str:
    colour = colours.get(row.competitor, "transparent")
    return f'<td><span class="swatch" style="background:{colour}"></span>{escape(row.competitor)}</td>'


def _failure_cells(row: Row, colours: Mapping[str, str], columns: int) -> list[str]:
    why = escape(row.failed or "not measured yet")
    return [_name(row, colours), f'<td class="text problem" colspan="{columns}">{why}</td>']


def _cell(content: str) -> str:
    return f"<td>{content}</td>"


def _text(content: str, *, wrap: bool = False) -> str:
    return f'<td class="text{" wrap" if wrap and content else ""}">{escape(content)}</td>'


def _verdict(value: bool | None) -> str:
    return {True: '<td class="yes">yes</td>', False: '<td class="no">no</td>', None: _EMPTY}[value]


def _size(value: int | None) -> str:
    return _cell("" if value is None else size(value))


def _speed(found: Spread | None) -> str:
    apart = f" <small>±{found.share:.0%}</small>" if found is not None and found.samples > 1 else ""
    return _cell(rate_of(found) + apart)


def _time(found: Spread | None) -> str:
    if found is None:
        return _EMPTY
    return _cell(f"{found.median * 1e6:.1f} µs" if found.median < 1e-3 else f"{found.median * 1e3:.1f} ms")


def _ratio(part: float | None, whole: float = 1.0) -> str:
    return _cell("" if part is None else f"{part / whole:.2f}")


def _links_of_a_core(found: Spread | None) -> str:
    return _cell("" if found is None else f"{1 / max(1e-9, found.median):,.0f}")


_COSTS: tuple[_Column, ...] = (
    ("memory", lambda row: _cell(f"&lt; {size(row.noise_bytes)}") if row.is_faint else _size(row.bytes)),
    ("bytes/URL", lambda row: _ratio(None if row.is_faint else row.bytes_per_url)),
    ("process", lambda row: _size(row.steady_bytes)),
    ("peak", lambda row: _size(row.peak_bytes)),
    ("disk", lambda row: _size(row.disk_bytes or None)),
    ("lost", lambda row: _cell(number(row.lost))),
    ("rate", lambda row: _cell(share(row.rate))),
    ("own estimate", lambda row: _cell(share(row.estimated_rate))),
    ("agrees", lambda row: _verdict(row.agrees)),
)
_SPEEDS: tuple[_Column, ...] = (
    ("links/s", lambda row: _speed(row.links_per_s)),
    ("new/s", lambda row: _speed(row.new_per_s)),
    ("known/s", lambda row: _speed(row.known_per_s)),
    ("p50", lambda row: _time(row.p50_s)),
    ("p99", lambda row: _time(row.p99_s)),
    ("dump", lambda row: _time(row.dump_s)),
    ("load", lambda row: _time(row.load_s)),
    ("snapshot", lambda row: _size(row.snapshot_bytes)),
)
_GROWTH: tuple[_Column, ...] = (
    ("capacity", lambda row: _cell(number(row.capacity))),
    ("splits", lambda row: _cell(number(row.splits))),
    ("p99.9", lambda row: _time(row.p999_s)),
    ("slowest", lambda row: _time(row.slowest_s)),
    ("beyond: URLs", lambda row: _cell(number(row.past))),
    ("memory", lambda row: _size(row.bytes_past)),
    ("rate", lambda row: _cell(share(row.rate_past))),
    ("lost", lambda row: _cell(share(row.loss_past))),
)
_CRAWLS: tuple[_Column, ...] = (
    ("pages", lambda row: _cell(number(row.pages))),
    ("missing", lambda row: _cell(number(row.pages_missing))),
    ("pages/s", lambda row: _cell(f"{row.pages_per_s or 0:,.0f}")),
    ("memory", lambda row: _size(row.bytes)),
)
_ON_SERVERS: tuple[_Column, ...] = (
    ("memory", lambda row: _size(row.server_bytes)),
    ("bytes/URL", lambda row: _ratio(row.server_bytes, max(1, row.distinct))),
    ("CPU/link", lambda row: _cell(cpu_of(row.server_cpu_s))),
    ("links/s of a core", lambda row: _links_of_a_core(row.server_cpu_s)),
)
_FORGETTING: tuple[_Column, ...] = (
    ("forgotten", lambda row: _cell("can't" if row.forgotten is None else f"{row.forgotten:.2%}")),
    ("per second", lambda row: _speed(row.forgotten_per_s)),
    ("others forgotten too", lambda row: _cell(number(row.wrongly_forgotten))),
)
