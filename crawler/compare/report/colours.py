"""The colours of competitors."""

from typing import Final

from crawler.compare.report.value import Report

COLOURS: Final = (
    "#0b6e99",
    "#d1495b",
    "#2e8b57",
    "#edae49",
    "#6f4e9c",
    "#3d405b",
    "#e07a1f",
    "#5f9ea0",
    "#a05195",
    "#7a6a53",
    "#1b998b",
    "#c06c84",
)


def colour_of(report: Report, competitor: str) -> str:
    """The colour of a competitor in all plots and tables."""
    names = [each.name for each in report.competitors]
    return COLOURS[names.index(competitor) % len(COLOURS)]
