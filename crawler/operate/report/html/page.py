"""Puts the page of a report together."""

import shlex
from collections.abc import Iterator
from importlib.metadata import version
from importlib.resources import files

from crawler.course.text import left_text
from crawler.html_document import html_document
from crawler.operate.report.forms import Report, Summary
from crawler.operate.report.html.lists import host_table, sections
from crawler.operate.report.html.plots import figures
from crawler.operate.report.html.tables import text
from crawler.status import number_of, size


def html_page(report: Report) -> str:
    here = files("crawler.operate.report.html")
    plots = "".join(figures(report))
    body = [
        *(f'<p class="about">Note: {text(note)}.</p>' for note in report.notes),
        f'<dl class="tiles">{"".join(_tiles(report.summary))}</dl>',
        f'<section><h2>In pictures</h2><div class="plots">{plots}</div></section>' if plots else "",
        *_hosts(report),
        *_lists(report),
    ]
    state = "runs" if report.running else "does not run"
    source = "its records" if report.source == "records" else "its ledger, because it has no records"
    return html_document(
        title=text(report.directory),
        subtitle=text(f"As of {report.at[:19]}Z, when the crawl {state}; from {source}."),
        style=here.joinpath("report.css").read_text(encoding="utf-8"),
        body="\n".join(each for each in body if each),
        footer=text(f"onceover {version('onceover-crawler')}. Times are in UTC."),
    )


def _tiles(summary: Summary) -> Iterator[str]:
    share = "–" if summary.share_done is None else f"{summary.share_done:.1%}"
    yield _tile("Done", share, f"{summary.settled:,} of {number_of(summary.urls, 'URL')}")
    yield _tile("Pages", f"{summary.pages:,}", f"on {number_of(summary.hosts, 'host')}")
    yield _tile("Left", f"{summary.remaining.urls:,}", left_text(summary.remaining))
    if summary.bytes_received is not None:
        yield _tile("Received", size(summary.bytes_received), f"{size(summary.bytes_decoded or 0)} decoded")
    yield _tile("Given up", f"{summary.failed:,}", f"{summary.excluded:,} excluded by rules")
    times = summary.times
    if times.first_at is not None and times.last_at is not None:
        mean = "" if times.mean_s is None else f"{times.mean_s:.2f} s"
        yield _tile("Mean time", mean or "–", f"{_day(times.first_at)} to {_day(times.last_at)}")
    if summary.external is not None:
        external = summary.external
        yield _tile("Other sites", f"{external.dead:,} dead", f"of {number_of(external.checked, 'link')} checked")


def _day(moment: str) -> str:
    return moment[:16].replace("T", " ")


def _tile(name: str, value: str, more: str) -> str:
    return f"<div><dt>{text(name)}</dt><dd>{text(value)}<small>{text(more)}</small></dd></div>"


def _hosts(report: Report) -> Iterator[str]:
    rows = report.hosts.rows
    if rows:
        left = report.hosts.count - len(rows)
        hint = _more(report, "hosts", left, f" --limit {report.hosts.count}")  # without it, the table has a few hosts
        yield _section("hosts", "Hosts", host_table(rows, report.at), hint)


def _lists(report: Report) -> Iterator[str]:
    for name, title, rows, empty in sections(report):
        hint = _more(report, name, report.more.get(name, 0))
        found = {"dead-links": report.dead_links, "redirects": report.redirects}.get(name)
        if rows and found is not None and not found.is_whole:
            hint += (
                '<p class="about">Each is shown with one page, where the crawl found it first, because it ran without '
                "<code>output.link_details</code>.</p>"
            )
        yield _section(name, title, rows or f'<p class="about">{text(empty)}</p>', hint)


def _section(name: str, title: str, rows: str, hint: str) -> str:
    return f'<section id="{name}"><h2>{text(title)}</h2>{rows}{hint}</section>'


def _more(report: Report, name: str, count: int, options: str = "") -> str:
    if count <= 0:
        return ""
    command = f"onceover report {shlex.quote(report.directory)} {name} --csv{options}"
    return f'<p class="about">{count:,} more: <code>{text(command)}</code></p>'
