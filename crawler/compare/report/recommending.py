"""What to take for a work, and how sure that is. Pure."""

from collections.abc import Sequence

import msgspec

from crawler.compare.report.summary import Row
from crawler.compare.statistics import upper_bound
from crawler.status import number_of, size

_CLOSE = 0.05
"""Sets whose memory differs by less are as good as one another."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a recommendation keeps to."""

    max_loss: float
    max_memory_bytes: int | None


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """A recommendation."""

    work: str
    competitor: str | None
    """None when nothing that was measured would do."""
    text: str
    sure: str
    """How sure it is, and why."""


def recommend(rows: Sequence[Row], wish: Wish) -> list[Advice]:
    """For each work: the least memory that keeps to the wish, when the count is known and, where that is another set,
    when it turns out larger; for a live crawl, by the pages that are missing."""
    found = []
    for work in dict.fromkeys(row.work for row in rows):
        here = [row for row in rows if row.work == work and _is_whole(row)]
        if here:
            found += _for_work(work, here, wish)
        crawled = [row for row in rows if row.work == work and row.failed is None and row.pages is not None]
        if crawled:
            found.append(_for_crawl(work, crawled, wish))
    return found


def frontier(rows: Sequence[Row]) -> list[Row]:
    """The best choices: no other has both less memory and less loss. In the order of memory."""
    best: list[Row] = []
    for row in sorted(rows, key=lambda each: (each.bytes or 0, each.loss or 0.0)):
        if _is_whole(row) and (not best or (row.loss or 0.0) < (best[-1].loss or 0.0)):
            best.append(row)
    return best


def _is_whole(row: Row) -> bool:
    return row.failed is None and row.bytes is not None and not row.is_faint and row.loss is not None and not row.twice


def _for_work(work: str, rows: Sequence[Row], wish: Wish) -> list[Advice]:
    demand = _demand(rows[0].distinct, wish)
    fitting = [row for row in rows if _fits(row, row.loss, wish)]
    if not fitting:
        least = min(rows, key=lambda row: row.loss or 0.0)
        text = f"{demand}: none of these. Nearest is {_named(least)}, which lost {_one_in(least.loss)}."
        return [Advice(work=work, competitor=None, text=text, sure="As measured.")]
    best = _least(fitting)
    found = [
        Advice(
            work=work, competitor=best.competitor, text=f"{demand}: {_named(best)}.", sure=_sure(best, fitting, wish)
        )
    ]
    there = [_when_past(row) for row in fitting if row.past is not None and row.bytes_past is not None]
    growing = [row for row in there if _fits(row, row.loss_past, wish)]
    if growing and best.competitor not in [row.competitor for row in growing]:
        safe = _least(growing)
        found.append(
            Advice(
                work=work,
                competitor=safe.competitor,
                text=f"If it may turn out to be {_times(safe)} as many: {_named(safe)}. At {safe.past:,} URLs it lost "
                f"{_one_in(safe.loss_past)}, {best.competitor} {_one_in(best.loss_past)}.",
                sure="As measured beyond the work.",
            )
        )
    return found


def _when_past(row: Row) -> Row:
    """With the memory that it takes when it holds more URLs than the work has."""
    return msgspec.structs.replace(row, bytes=row.bytes_past)


def _for_crawl(work: str, rows: Sequence[Row], wish: Wish) -> Advice:
    """By the pages that are missing: what is lost of the links is not counted there."""
    pages = max(_there_are(row) for row in rows)
    memory = "" if wish.max_memory_bytes is None else f" in {size(wish.max_memory_bytes)}"
    demand = f"For a crawl of {number_of(pages, 'page')}{memory} and at most {_one_in(wish.max_loss)} missing"
    fitting = [row for row in rows if _fits(row, (row.pages_missing or 0) / max(1, _there_are(row)), wish)]
    if not fitting:
        best = min(rows, key=lambda row: row.pages_missing or 0)
        text, competitor = f"{demand}: none of these. Nearest is {_named(best)}.", None
    else:
        best = min(fitting, key=lambda row: row.bytes or 0)
        text, competitor = f"{demand}: {_named(best)}.", best.competitor
    below = upper_bound(best.pages_missing or 0) / max(1, pages)
    missing = number_of(best.pages_missing or 0, "page was", "pages were")
    sure = f"{missing} missing, so that the true share is below {_one_in(below)} (95 %)."
    return Advice(work=work, competitor=competitor, text=text, sure=sure)


def _there_are(row: Row) -> int:
    return (row.pages or 0) + (row.pages_missing or 0)


def _fits(row: Row, loss: float | None, wish: Wish) -> bool:
    if loss is None or loss > wish.max_loss:
        return False
    return wish.max_memory_bytes is None or (row.bytes or 0) <= wish.max_memory_bytes


def _least(rows: Sequence[Row]) -> Row:
    """The one of least memory; of those that are as good, the fastest."""
    least = min(row.bytes or 0 for row in rows)
    close = [row for row in rows if (row.bytes or 0) <= least * (1 + _CLOSE)]
    return max(close, key=lambda row: row.links_per_s.median if row.links_per_s else 0.0)


def _sure(best: Row, fitting: Sequence[Row], wish: Wish) -> str:
    assert best.loss_below is not None
    if best.lost == 0 and best.told_rate == 0.0:
        sure = "Sure: it is exact."
    elif best.loss_below <= wish.max_loss:
        sure = (
            f"Sure: {best.lost:,} of {best.distinct:,} were lost, so that the true share is below "
            f"{_one_in(best.loss_below)} (95 %)."
        )
    else:
        sure = (
            f"Likely: {best.lost:,} of {best.distinct:,} were lost, but the true share may be up to "
            f"{_one_in(best.loss_below)} (95 %). More URLs would tell."
        )
    others = [row for row in fitting if row is not best]
    if others:
        second = min(others, key=lambda row: row.bytes or 0)
        share = (second.bytes or 0) / max(1, best.bytes or 0)
        sure += f" The next, {second.competitor}, takes {share:.2f} times the memory."
    if best.links_per_s is not None and best.links_per_s.samples > 1:
        sure += f" Speeds of its {best.links_per_s.samples} rounds differ by ±{best.links_per_s.share:.0%}."
    return sure


def _demand(distinct: int, wish: Wish) -> str:
    memory = "" if wish.max_memory_bytes is None else f" in {size(wish.max_memory_bytes)}"
    return f"For {number_of(distinct, 'URL')}{memory} and at most {_one_in(wish.max_loss)} lost"


def _named(row: Row) -> str:
    return f"{row.competitor}, {size(row.bytes or 0)}"


def _one_in(share: float | None) -> str:
    if not share:
        return "none"
    return f"1 in {1 / share:,.0f}" if share < 0.01 else f"{min(share, 1.0):.1%}"


def _times(row: Row) -> str:
    return f"{(row.past or 0) / max(1, row.distinct):.2g} times"
