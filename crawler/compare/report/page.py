"""The report for a browser: one HTML file with its plots."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from crawler.compare.report.summary import Row
from crawler.compare.report.table import cpu_of, number, rate_of, share
from crawler.compare.report.value import Report, ReportedWork, colour_of
from crawler.compare.statistics import Spread
from crawler.html_document import html_document
from crawler.status import size

_COSTS = ("set", "memory", "bytes/URL", "process", "peak", "disk", "lost", "rate", "own estimate", "agrees")
_SPEEDS = ("set", "links/s", "new/s", "known/s", "p50", "p99", "dump", "load", "snapshot")
_GROWTH = ("set", "capacity", "splits", "p99.9", "slowest", "beyond: URLs", "memory", "rate", "lost")
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
    if any(row.pages is not None for row in rows):
        elements.append(
            _table(("set", "pages", "missing", "pages/s", "memory"), (_crawl_cells(row, colours) for row in rows))
        )
    elif rows:
        elements.append("<h3>Memory and losses</h3>" + _table(_COSTS, (_cost_cells(row, colours) for row in rows)))
        measured = [row for row in rows if row.bytes is not None]
        elements.append("<h3>Speed</h3>" + _table(_SPEEDS, (_speed_cells(row, colours) for row in measured)))
        elements.append("<h3>Growth</h3>" + _table(_GROWTH, (_growth_cells(row, colours) for row in measured)))
    if work.stands_for:
        elements.append(_extrapolation(work.stands_for, rows, colours))
    if any(row.server_cpu_s is not None for row in rows):
        elements.append(_on_servers(rows, colours))
    if any(row.forgotten is not None for row in rows):
        elements.append(_forgetting(rows, colours))
    if work.problems:
        elements.append(f'<ul class="problems">{"".join(f"<li>{escape(each)}</li>" for each in work.problems)}</ul>')
    return f"<section>{''.join(elements)}</section>"


def _cost_cells(row: Row, colours: Mapping[str, str]) -> list[str]:
    if row.bytes is None:
        return _failure_cells(row, colours, len(_COSTS))
    return [
        _name(row, colours),
        _cell(f"&lt; {_bytes(row.noise_bytes)}" if row.is_faint else _bytes(row.bytes)),
        _cell("" if row.bytes_per_url is None or row.is_faint else f"{row.bytes_per_url:.2f}"),
        *(_cell(_bytes(each)) for each in (row.steady_bytes, row.peak_bytes, row.disk_bytes or None)),
        _cell(number(row.lost)),
        _cell(share(row.rate)),
        _cell(share(row.estimated_rate)),
        _verdict(row.agrees),
    ]


def _speed_cells(row: Row, colours: Mapping[str, str]) -> list[str]:
    return [
        _name(row, colours),
        *(_cell(_speed(each)) for each in (row.links_per_s, row.new_per_s, row.known_per_s)),
        *(_cell(_time(each)) for each in (row.p50_s, row.p99_s, row.dump_s, row.load_s)),
        _cell(_bytes(row.snapshot_bytes)),
    ]


def _growth_cells(row: Row, colours: Mapping[str, str]) -> list[str]:
    return [
        _name(row, colours),
        *(_cell(number(each)) for each in (row.capacity, row.splits)),
        *(_cell(_time(each)) for each in (row.p999_s, row.slowest_s)),
        _cell(number(row.past)),
        _cell(_bytes(row.bytes_past)),
        *(_cell(share(each)) for each in (row.rate_past, row.loss_past)),
    ]


def _crawl_cells(row: Row, colours: Mapping[str, str]) -> list[str]:
    if row.pages is None:
        return _failure_cells(row, colours, 5)
    return [
        _name(row, colours),
        _cell(f"{row.pages:,}"),
        _cell(f"{row.pages_missing:,}"),
        _cell(f"{row.pages_per_s or 0:,.0f}"),
        _cell(_bytes(row.bytes)),
    ]


def _extrapolation(urls: int, rows: Sequence[Row], colours: Mapping[str, str]) -> str:
    """Memory extrapolated to the size that the work stands for."""
    cells = (
        [_name(row, colours), _cell(_bytes(round(row.bytes * urls / max(1, row.distinct)))), _cell(_bytes(row.bytes))]
        for row in rows
        if row.bytes is not None
    )
    head = f"<h3>Extrapolated to {urls:,} URLs, in proportion (not measured)</h3>"
    return head + _table(("set", f"at {urls:,} (extrapolated)", "measured here"), cells)


def _on_servers(rows: Sequence[Row], colours: Mapping[str, str]) -> str:
    cells = (
        [
            _name(row, colours),
            _cell(_bytes(row.server_bytes)),
            _cell("" if row.server_bytes is None else f"{row.server_bytes / max(1, row.distinct):.2f}"),
            _cell(cpu_of(row.server_cpu_s)),
            _cell(f"{1 / max(1e-9, row.server_cpu_s.median):,.0f}"),
        ]
        for row in rows
        if row.server_cpu_s is not None
    )
    columns = ("set", "memory", "bytes/URL", "CPU/link", "links/s of a core")
    return "<h3>On the server</h3>" + _table(columns, cells)


def _forgetting(rows: Sequence[Row], colours: Mapping[str, str]) -> str:
    cells = (
        [
            _name(row, colours),
            _cell("can't" if row.forgotten is None else f"{row.forgotten:.2%}"),
            _cell(_speed(row.forgotten_per_s)),
            _cell(number(row.wrongly_forgotten)),
        ]
        for row in rows
        if row.bytes is not None
    )
    columns = ("set", "forgotten", "per second", "others forgotten too")
    return "<h3>Forgetting</h3>" + _table(columns, cells)


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
    return [_name(row, colours), f'<td class="text problem" colspan="{columns - 1}">{why}</td>']


def _cell(content: str) -> str:
    return f"<td>{content}</td>"


def _text(content: str, *, wrap: bool = False) -> str:
    return f'<td class="text{" wrap" if wrap and content else ""}">{escape(content)}</td>'


def _verdict(value: bool | None) -> str:
    return {True: '<td class="yes">yes</td>', False: '<td class="no">no</td>', None: _EMPTY}[value]


def _bytes(value: int | None) -> str:
    return "" if value is None else size(value)


def _speed(found: Spread | None) -> str:
    apart = f" <small>±{found.share:.0%}</small>" if found is not None and found.samples > 1 else ""
    return rate_of(found) + apart


def _time(found: Spread | None) -> str:
    if found is None:
        return ""
    return f"{found.median * 1e6:.1f} µs" if found.median < 1e-3 else f"{found.median * 1e3:.1f} ms"
