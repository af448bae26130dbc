"""Summarizes all trials of a competitor on a work in one row. Pure."""

from collections.abc import Iterable, Sequence

import msgspec

from crawler.compare.measure.trial import Check, Competitor, Crawled, Done, Failed, Look, Timing
from crawler.compare.measure.work import Work
from crawler.compare.statistics import SIGMA, Spread, deviation, spread, upper_bound

_SPREADS = (
    *("links_per_s", "new_per_s", "known_per_s", "p50_s", "p99_s", "p999_s", "slowest_s"),
    *("dump_s", "load_s", "forgotten_per_s", "server_cpu_s"),
)
"""Figures that differ between the rounds of a competitor."""
MEMORY_SHARE = 0.1
"""The growth of a process may differ by this share from the memory that its set reports."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One competitor on one work. Figures that were not or can't be measured are None."""

    work: str
    competitor: str
    backend: str
    has_estimates: bool = True
    """Whether the set knows its rate, its losses and its memory."""
    is_exact: bool = False
    """Whether it loses no URL, or only by equal fingerprints."""
    failed: str | None = None
    """Why a trial failed."""
    links_per_s: Spread | None = None
    new_per_s: Spread | None = None
    known_per_s: Spread | None = None
    p50_s: Spread | None = None
    p99_s: Spread | None = None
    p999_s: Spread | None = None
    slowest_s: Spread | None = None
    bytes: int | None = None
    """Memory as the set reports it, or else the growth of its process."""
    reported_bytes: int | None = msgspec.field(default=None, name="told_bytes")
    steady_bytes: int | None = None
    noise_bytes: int = 0
    """How much of `steady_bytes` may have other reasons."""
    peak_bytes: int | None = None
    server_bytes: int | None = None
    """How much of `reported_bytes` is memory of a server; None if the set lies on none."""
    server_cpu_s: Spread | None = None
    """Processor time of the server for each link of the work."""
    disk_bytes: int | None = None
    snapshot_bytes: int | None = None
    dump_s: Spread | None = None
    load_s: Spread | None = None
    forgotten_per_s: Spread | None = None
    bytes_per_url: float | None = None
    distinct: int = 0
    lost: int | None = None
    loss: float | None = None
    """Share of the new URLs that the set called known."""
    loss_below: float | None = None
    """With 95 % confidence, the true share is below this."""
    rate: float | None = None
    """False-positive rate at the end, by probes."""
    probes: int = 0
    estimated_rate: float | None = msgspec.field(default=None, name="told_rate")
    rate_past: float | None = None
    """The rate beyond the capacity."""
    past: int | None = None
    """Number of URLs in it then."""
    loss_past: float | None = None
    bytes_past: int | None = None
    """Memory then, as the set reports it."""
    capacity: int = 0
    """Number of URLs for which it was sized."""
    portal_rate: float | None = None
    """False-positive rate on the largest host."""
    portal_probes: int = 0
    rate_deviation: float | None = None
    """Deviation of all probes from its own estimates, in standard deviations."""
    lost_deviation: float | None = None
    memory_deviation: float | None = None
    """Deviation of the growth of the process from the memory that the set reports, as a share of the latter."""
    splits: int | None = None
    twice: int | None = None
    """URLs that it called new twice, which breaks its promise."""
    forgotten: float | None = None
    """Share of the URLs to forget that it forgot; None if it can't forget."""
    wrongly_forgotten: int | None = None
    pages: int | None = None
    pages_missing: int | None = None
    pages_per_s: float | None = None

    @property
    def is_faint(self) -> bool:
        """Whether its memory is too small to be measured by the growth of a process, and it does not report it
        either."""
        return self.reported_bytes is None and self.bytes is not None and self.bytes < self.noise_bytes

    @property
    def agrees(self) -> bool | None:
        """Whether rate, losses and memory agree with what the set reports; None if it reports nothing."""
        found = [abs(each) <= SIGMA for each in (self.rate_deviation, self.lost_deviation) if each is not None]
        if self.has_estimates and self.reported_bytes is not None and self.steady_bytes is not None:
            difference = abs(self.steady_bytes - self.reported_bytes)
            found.append(difference <= max(self.noise_bytes, MEMORY_SHARE * self.reported_bytes))
        return all(found) if found else None


def rows(works: Iterable[Work], competitors: Sequence[Competitor], done: Sequence[Done]) -> list[Row]:
    """A row for each competitor on each work that has trials, in their order."""
    found = []
    for work in works:
        for competitor in competitors:
            trials = [each for each in done if (each.work, each.competitor) == (work.name, competitor.name)]
            if trials:
                found.append(_row(work, competitor, trials))
    return _with_missing_pages(found)


def _with_missing_pages(found: Sequence[Row]) -> list[Row]:
    """If it is not known which pages exist, the crawl that found most of them defines it."""
    most: dict[str, int] = {}
    for row in found:
        most[row.work] = max(most.get(row.work, 0), row.pages or 0)
    return [
        msgspec.structs.replace(row, pages_missing=most[row.work] - row.pages)
        if row.pages is not None and row.pages_missing is None
        else row
        for row in found
    ]


def _row(work: Work, competitor: Competitor, trials: Sequence[Done]) -> Row:
    row = Row(
        work=work.name,
        competitor=competitor.name,
        backend=competitor.backend,
        has_estimates=competitor.has_estimates,
        is_exact=competitor.is_exact,
        distinct=work.survey.distinct,
        capacity=competitor.capacity_for(work.survey.distinct),
    )
    failures = [each.outcome.reason for each in trials if isinstance(each.outcome, Failed)]
    timings = [each.outcome for each in trials if isinstance(each.outcome, Timing)]
    checks = [each.outcome for each in trials if isinstance(each.outcome, Check)]
    crawls = [each.outcome for each in trials if isinstance(each.outcome, Crawled)]
    if failures:
        row = msgspec.structs.replace(row, failed=failures[0])
    if timings:
        row = msgspec.structs.replace(row, **_timing_fields(work, timings))
    if checks:
        row = msgspec.structs.replace(row, **_check_fields(checks[-1]))
    if crawls:
        row = msgspec.structs.replace(row, **_crawl_fields(crawls[-1]))
    return row


def _timing_fields(work: Work, timings: Sequence[Timing]) -> dict[str, object]:
    spreads = {
        name: spread([value for each in timings if (value := getattr(each, name)) is not None]) for name in _SPREADS
    }
    steady, peak = _median(timings, "steady_bytes"), _median(timings, "peak_bytes")
    reported, disk = _median(timings, "reported_bytes"), _median(timings, "disk_bytes")
    memory = steady if reported is None else reported
    return {
        **spreads,
        "bytes": memory,
        "reported_bytes": reported,
        "steady_bytes": steady,
        "noise_bytes": max(each.noise_bytes for each in timings),
        "peak_bytes": peak,
        "server_bytes": _median(timings, "server_bytes"),
        "disk_bytes": disk,
        "snapshot_bytes": _median(timings, "snapshot_bytes"),
        "bytes_per_url": None if memory is None else memory / max(1, work.survey.distinct),
        "memory_deviation": None if steady is None or not reported else steady / reported - 1,
    }


def _median(timings: Sequence[Timing], name: str) -> int | None:
    found = spread([value for each in timings if (value := getattr(each, name)) is not None])
    return None if found is None else round(found.median)


def _check_fields(check: Check) -> dict[str, object]:
    last = check.looks[-1] if check.looks else None
    past = check.past[-1] if check.past else None
    return {
        "distinct": check.distinct,
        "lost": check.lost,
        "loss": check.lost / max(1, check.distinct),
        "loss_below": upper_bound(check.lost) / max(1, check.distinct),
        "rate": _rate(last),
        "probes": 0 if last is None else last.probes,
        "estimated_rate": None if last is None else last.estimated_rate,
        "rate_past": _rate(past),
        "past": None if past is None else past.distinct,
        "loss_past": None if past is None else past.lost / past.distinct,
        "bytes_past": None if past is None else past.reported_bytes,
        "portal_rate": check.portal_hits / check.portal_probes if check.portal_probes else None,
        "portal_probes": check.portal_probes,
        "rate_deviation": _rate_deviation(check.looks, check.clustering),
        "lost_deviation": _lost_deviation(check),
        "splits": None if last is None else last.splits,
        "twice": check.twice,
        "forgotten": None if check.forgotten is None else check.forgotten / max(1, check.forget_asked),
        "wrongly_forgotten": None if check.forgotten is None else check.wrongly_forgotten,
    }


def _crawl_fields(crawl: Crawled) -> dict[str, object]:
    return {
        "pages": crawl.pages,
        "pages_missing": crawl.missing,
        "pages_per_s": crawl.pages / max(1e-9, crawl.seconds),
        "bytes": crawl.reported_bytes,
        "reported_bytes": crawl.reported_bytes,
        "distinct": crawl.count,
    }


def _rate(look: Look | None) -> float | None:
    return look.hits / look.probes if look is not None and look.probes else None


def _rate_deviation(looks: Sequence[Look], clustering: float) -> float | None:
    """The deviation of all looks together. A single one of a hundred looks exceeds 2.6 deviations by chance."""
    estimated = [(look, look.estimated_rate) for look in looks if look.estimated_rate is not None]
    if not estimated:
        return None
    probes = sum(look.probes for look, _ in estimated)
    hits = sum(look.hits for look, _ in estimated)
    expected = sum(look.probes * rate for look, rate in estimated)
    by_chance = sum(look.probes * rate * (1 - rate) for look, rate in estimated) * clustering
    # The errors of its estimates add up, because each estimate builds on those before.
    by_estimate = sum(look.probes * look.rate_sigma for look, _ in estimated) ** 2
    variance = by_chance + by_estimate
    if expected * 2 > probes:  # then misses are the rare events
        return -deviation(probes - hits, probes - expected, variance=variance)
    return deviation(hits, expected, variance=variance)


def _lost_deviation(check: Check) -> float | None:
    if check.estimated_lost is None or check.lost_sigma is None:
        return None
    # A URL that the set accepts later is no longer lost, and the sets do not count it as lost either.
    return deviation(check.lost - check.recovered, check.estimated_lost, variance=check.lost_sigma**2)
