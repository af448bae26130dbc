"""Recommends a set for each work, and says how certain that is. Pure."""

from collections.abc import Sequence

import msgspec

from crawler.compare.report.summary import Row
from crawler.compare.statistics import upper_bound
from crawler.status import figure, number_of, size

_CLOSE = 0.05
"""Sets whose memory differs by less than this share are equally good."""


class Requirements(msgspec.Struct, frozen=True, kw_only=True):
    max_loss: float
    max_memory_bytes: int | None


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    work: str
    competitor: str | None
    """None if no measured set fulfils the requirements."""
    text: str
    sure: str
    """How certain it is, and why."""


def recommend(rows: Sequence[Row], requirements: Requirements) -> list[Advice]:
    """For each work, the set with the least memory that fulfils the requirements. If another set is better in case
    there are more URLs than expected, it is recommended for that case. Live crawls are judged by their missing
    pages; a set on a server, whose memory they do not tell, is not recommended for them.

    A set on a server is recommended only if no other will do, and otherwise for crawls that share one: each batch waits
    for it, and its memory is memory too."""
    found = []
    for work in dict.fromkeys(row.work for row in rows):
        here = [row for row in rows if row.work == work and _is_measured(row)]
        if here:
            found += _for_work(work, here, requirements)
        crawled = [
            row
            for row in rows
            if row.work == work and row.failed is None and row.pages is not None and row.bytes is not None
        ]
        if crawled:
            found.append(_for_crawl(work, crawled, requirements))
    return found


def frontier(rows: Sequence[Row]) -> list[Row]:
    """The best choices, by memory: for each, no other has both less memory and less loss."""
    best: list[Row] = []
    for row in sorted(rows, key=lambda each: (each.bytes or 0, each.loss or 0.0)):
        if _is_measured(row) and (not best or (row.loss or 0.0) < (best[-1].loss or 0.0)):
            best.append(row)
    return best


def _is_measured(row: Row) -> bool:
    return row.failed is None and row.bytes is not None and not row.is_faint and row.loss is not None and not row.twice


def _for_work(work: str, rows: Sequence[Row], requirements: Requirements) -> list[Advice]:
    demand = _demand(rows[0].distinct, requirements)
    fitting = [row for row in rows if _fits(row, row.loss, requirements)]
    if not fitting:
        least = min(rows, key=lambda row: row.loss or 0.0)
        text = f"{demand}: none of these. The closest is {_name_and_size(least)}, which lost {_one_in(least.loss)}."
        return [Advice(work=work, competitor=None, text=text, sure="Measured.")]
    here = [row for row in fitting if row.server_bytes is None]
    remote = [row for row in fitting if row.server_bytes is not None]
    best = _least(here or remote)
    found = [
        Advice(
            work=work,
            competitor=best.competitor,
            text=f"{demand}: {_name_and_size(best)}.",
            sure=_certainty(best, here or remote, requirements),
        )
    ]
    beyond = [
        msgspec.structs.replace(row, bytes=row.bytes_past)
        for row in here or remote
        if row.past is not None and row.bytes_past is not None
    ]
    growing = [row for row in beyond if _fits(row, row.loss_past, requirements)]
    if growing and best.competitor not in [row.competitor for row in growing]:
        safe = _least(growing)
        times = figure((safe.past or 0) / max(1, safe.distinct))
        found.append(
            Advice(
                work=work,
                competitor=safe.competitor,
                text=f"If there may be {times} times as many: {_name_and_size(safe)}. At {safe.past:,} URLs "
                f"it lost {_one_in(safe.loss_past)}, {best.competitor} {_one_in(best.loss_past)}.",
                sure="Measured beyond the work.",
            )
        )
    if here and remote:
        shared = _least(remote)
        found.append(
            Advice(
                work=work,
                competitor=shared.competitor,
                text=f"If crawls share the set, or this machine has no memory for it: {_name_and_size(shared)}.",
                sure=_certainty(shared, remote, requirements),
            )
        )
    return found


def _for_crawl(work: str, rows: Sequence[Row], requirements: Requirements) -> Advice:
    """The recommendation for a live crawl, by missing pages, because lost links are not counted there."""
    pages = max(_existing_pages(row) for row in rows)
    memory = "" if requirements.max_memory_bytes is None else f" in {size(requirements.max_memory_bytes)}"
    demand = f"For a crawl of {number_of(pages, 'page')}{memory} and at most {_one_in(requirements.max_loss)} missing"
    fitting = [row for row in rows if _fits(row, (row.pages_missing or 0) / max(1, _existing_pages(row)), requirements)]
    if not fitting:
        best = min(rows, key=lambda row: row.pages_missing or 0)
        text, competitor = f"{demand}: none of these. The closest is {_name_and_size(best)}.", None
    else:
        best = min(fitting, key=lambda row: row.bytes or 0)
        text, competitor = f"{demand}: {_name_and_size(best)}.", best.competitor
    below = upper_bound(best.pages_missing or 0) / max(1, pages)
    missing = number_of(best.pages_missing or 0, "page was", "pages were")
    sure = f"{missing} missing, so the true share is below {_one_in(below)} (95 %)."
    return Advice(work=work, competitor=competitor, text=text, sure=sure)


def _existing_pages(row: Row) -> int:
    return (row.pages or 0) + (row.pages_missing or 0)


def _fits(row: Row, loss: float | None, requirements: Requirements) -> bool:
    if loss is None or loss > requirements.max_loss:
        return False
    return requirements.max_memory_bytes is None or (row.bytes or 0) <= requirements.max_memory_bytes


def _least(rows: Sequence[Row]) -> Row:
    """The set with the least memory; of equally good ones, the fastest."""
    least = min(row.bytes or 0 for row in rows)
    close = [row for row in rows if (row.bytes or 0) <= least * (1 + _CLOSE)]
    return max(close, key=lambda row: row.links_per_s.median if row.links_per_s else 0.0)


def _certainty(best: Row, fitting: Sequence[Row], requirements: Requirements) -> str:
    assert best.loss_below is not None
    if best.lost == 0 and best.is_exact:
        sure = "Sure: it is exact."
    elif best.loss_below <= requirements.max_loss:
        sure = (
            f"Sure: {best.lost:,} of {best.distinct:,} were lost, so the true share is below "
            f"{_one_in(best.loss_below)} (95 %)."
        )
    else:
        sure = (
            f"Likely: {best.lost:,} of {best.distinct:,} were lost, but the true share may be up to "
            f"{_one_in(best.loss_below)} (95 %). A larger work would tell."
        )
    others = [row for row in fitting if row is not best]
    if others:
        second = min(others, key=lambda row: row.bytes or 0)
        share = (second.bytes or 0) / max(1, best.bytes or 0)
        sure += f" The second best, {second.competitor}, takes {share:.2f} times the memory."
    if best.links_per_s is not None and best.links_per_s.samples > 1:
        sure += f" The speeds of its {best.links_per_s.samples} rounds differ by ±{best.links_per_s.share:.0%}."
    return sure


def _demand(distinct: int, requirements: Requirements) -> str:
    memory = "" if requirements.max_memory_bytes is None else f" in {size(requirements.max_memory_bytes)}"
    return f"For {number_of(distinct, 'URL')}{memory} and at most {_one_in(requirements.max_loss)} lost"


def _name_and_size(row: Row) -> str:
    text = f"{row.competitor}, {size(row.bytes or 0)}"
    if row.server_bytes is None:
        return text
    text += f", of which {size(row.server_bytes)} on its server"
    if row.p50_s is not None:
        text += f"; a batch waits {figure(row.p50_s.median * 1e3)} ms for it"
    if row.server_cpu_s is not None:
        text += f", and a link takes {figure(row.server_cpu_s.median * 1e6)} µs of its processor"
    return text


def _one_in(share: float | None) -> str:
    if not share:
        return "none"
    return f"1 in {1 / share:,.0f}" if share < 0.01 else f"{min(share, 1.0):.1%}"
