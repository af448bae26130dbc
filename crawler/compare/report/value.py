"""A report as a value: all measurements, and what follows from them."""

import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from crawler.compare.measure.trial import Competitor, Done
from crawler.compare.measure.work import Live, Survey, Work
from crawler.compare.report.expecting import Expectation, Finding, judge
from crawler.compare.report.recommending import Advice, Requirements, recommend
from crawler.compare.report.summary import Row, rows
from crawler.status import number_of

_PACKAGES = ("onceover", "numpy", "mmh3", "plyvel", "rbloom", "fastbloom-rs", "pybloom-live", "redis")
_DISTRIBUTIONS = {"onceover": "onceover-crawler"}
"""Packages whose distribution has another name."""
_COLOURS = (
    *("#0b6e99", "#d1495b", "#2e8b57", "#edae49", "#6f4e9c", "#3d405b"),
    *("#e07a1f", "#5f9ea0", "#a05195", "#7a6a53", "#1b998b", "#c06c84"),
)


class ReportedWork(msgspec.Struct, frozen=True, kw_only=True):
    """A work, described for people."""

    name: str
    about: str
    survey: Survey | None = None
    stands_for: int | None = None
    problems: tuple[str, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True):
    complete: bool
    """Whether all trials are finished. The same command continues a run that was stopped."""
    measured_at: str
    machine: dict[str, str]
    versions: dict[str, str]
    seed: int
    works: tuple[ReportedWork, ...]
    competitors: tuple[Competitor, ...]
    rows: tuple[Row, ...]
    advice: tuple[Advice, ...]
    findings: tuple[Finding, ...]
    trials: tuple[Done, ...]
    """All samples."""


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """When and how the trials of a report were run."""

    seed: int
    measured_at: str
    complete: bool


def report_of(
    works: Sequence[Work],
    refused: Iterable[tuple[str, str]],
    competitors: Sequence[Competitor],
    done: Sequence[Done],
    *,
    requirements: Requirements,
    expected: Sequence[Expectation],
    circumstances: Circumstances,
) -> Report:
    """The report of these trials. `refused` has the works that could not be read, each with the reason."""
    found = rows(works, competitors, done)
    surveys = {work.name: work for work in works}
    reported = [_describe_work(work) for work in works]
    reported += [ReportedWork(name=name, about="could not be measured", problems=(why,)) for name, why in refused]
    return Report(
        complete=circumstances.complete,
        measured_at=circumstances.measured_at,
        machine=machine(),
        versions=versions() | _plugin_versions(competitors),
        seed=circumstances.seed,
        works=tuple(reported),
        competitors=tuple(competitors),
        rows=tuple(found),
        advice=tuple(recommend(found, requirements)),
        findings=tuple(judge(expected, found, surveys)),
        trials=tuple(done),
    )


def colour_of(report: Report, competitor: str) -> str:
    """The colour of a competitor in all plots and tables."""
    names = [each.name for each in report.competitors]
    return _COLOURS[names.index(competitor) % len(_COLOURS)]


def machine() -> dict[str, str]:
    return {"cpu": _cpu(), "cores": str(len(os.sched_getaffinity(0))), "system": platform.platform()}


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(_DISTRIBUTIONS.get(name, name))
        except PackageNotFoundError:
            continue
    return found


def _plugin_versions(competitors: Iterable[Competitor]) -> dict[str, str]:
    """The versions of the packages from which competitors come."""
    packages = (each.package.rpartition(" ") for each in competitors if each.package)
    return {name: version for name, _, version in packages}


def _describe_work(work: Work) -> ReportedWork:
    survey = work.survey
    if isinstance(work.stream, Live):
        about = f"a live crawl of {'a real' if work.stream.web is None else 'the simulated'} web, once with each set"
    else:
        about = (
            f"{number_of(survey.links, 'link')} to {number_of(survey.distinct, 'URL')} ({survey.repeats:.0%} repeats) "
            f"on {number_of(survey.hosts, 'host')}, the largest with "
            f"{survey.largest_host_urls / max(1, survey.distinct):.1%}; "
            f"{survey.mean_length:.0f} characters each"
        )
    problems = []
    if survey.unreadable:
        more = survey.unreadable - len(survey.first_unreadable)
        lines = number_of(survey.unreadable, "line is", "lines are")
        problems = [f"{lines} not a URL, and left out:", *survey.first_unreadable]
        problems += [f"and {more:,} more"] if more else []
    return ReportedWork(
        name=work.name, about=about, survey=survey, stands_for=work.stands_for, problems=tuple(problems)
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, None) or platform.processor() or "unknown"
