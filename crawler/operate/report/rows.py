"""A section of a report as rows of a table, for programs that read CSV."""

import csv
from collections.abc import Iterable, Mapping
from typing import TextIO

import msgspec

from crawler.operate.report.forms import (
    BrokenAnchor,
    DeadLink,
    Duplicate,
    FetchedRow,
    HostRow,
    Orphan,
    RedirectLink,
    RefusedExample,
    RefusedRow,
    Report,
)


class RefusedLine(msgspec.Struct, frozen=True, kw_only=True):
    """An example of links that a rule has refused; without one, the rule alone."""

    rule: str
    links: int
    url: str | None
    page: str | None


_ROWS: Mapping[str, type[msgspec.Struct]] = {
    "hosts": HostRow,
    "dead-links": DeadLink,
    "broken-anchors": BrokenAnchor,
    "orphans": Orphan,
    "redirects": RedirectLink,
    "duplicates": Duplicate,
    "refused": RefusedLine,
    "slowest": FetchedRow,
    "largest": FetchedRow,
}


def write_csv(report: Report, section: str, stream: TextIO) -> None:
    """A section with the names of its columns. Raises `KeyError` for one that is no table."""
    columns = _ROWS[section].__struct_fields__
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow(columns)
    for row in _rows(report, section):
        lines.writerow([in_a_line(getattr(row, column)) for column in columns])
    stream.flush()


def in_a_line(value: object) -> object:
    """`csv` quotes line feeds alone, but many readers take a carriage return for the end of a line. Truth values are
    written as in JSON and in exports."""
    if isinstance(value, Mapping):
        return " ".join(f"{name}:{count}" for name, count in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.replace("\r", " ") if isinstance(value, str) else value


def _rows(report: Report, section: str) -> Iterable[msgspec.Struct]:
    if section == "hosts":
        return report.hosts.rows
    if section == "dead-links":
        return () if report.dead_links is None else report.dead_links.links
    if section == "redirects":
        return () if report.redirects is None else report.redirects.links
    if section == "broken-anchors":
        return () if report.broken_anchors is None else report.broken_anchors.links
    if section == "orphans":
        return () if report.orphans is None else report.orphans.pages
    if section == "refused":
        return (line for row in report.refused or () for line in _refused_lines(row))
    rows: Iterable[msgspec.Struct] | None = getattr(report, section)
    return rows or ()


def _refused_lines(row: RefusedRow) -> Iterable[RefusedLine]:
    none = RefusedExample(url="", page="")
    for example in row.examples or (none,):
        yield RefusedLine(rule=row.rule, links=row.links, url=example.url or None, page=example.page or None)
