"""A difference for people, and as CSV, with the names of its columns."""

import csv
from collections.abc import Iterator
from itertools import groupby
from typing import Final, TextIO

from crawler.operate.diff.forms import Answer, Diff, Difference, Field, Kind
from crawler.operate.report.rows import in_a_line
from crawler.operate.report.text import answer as answer_of
from crawler.operate.report.text import titled
from crawler.status import number_of, size

_SHOWN: Final = 200
"""Characters of a title or description."""
_FINGERPRINT_BITS: Final = 64


_SIDES: Final = ("before", "after")
_OF_ANSWER: Final = Answer.__struct_fields__


def diff_lines(diff: Diff) -> Iterator[str]:
    """The summary, then the URLs by kind."""
    yield f"{_side(diff.before.directory, diff.before.until)} -> {_side(diff.after.directory, None)}"
    yield f"{'pages':>10}  {diff.before.pages:,} -> {diff.after.pages:,}"
    yield f"{'same':>10}  {number_of(diff.same, 'page')}"
    for kind, count in diff.counts.items():
        fields = ", ".join(f"{field}: {pages:,}" for field, pages in diff.fields.items())
        yield f"{kind:>10}  {_counted(kind, count)}" + (f" ({fields})" if kind == "changed" and fields else "")
    for kind, differences in groupby(diff.differences, lambda each: each.kind):
        yield from titled(kind, (line for each in differences for line in _lines(each)))
        if more := diff.more.get(kind):
            yield f"  and {number_of(more, 'more URL')}; a larger --limit shows them"


def _side(directory: str, until: str | None) -> str:
    return directory if until is None else f"{directory} until {until}"


def _counted(kind: Kind, count: int) -> str:
    return (
        number_of(count, "URL that is no page", "URLs that are no pages")
        if kind == "answer"
        else number_of(count, "page")
    )


def _lines(difference: Difference) -> Iterator[str]:
    match difference:
        case Difference(kind="changed", before=Answer() as before, after=Answer() as after):
            yield difference.url
            for field in difference.fields:
                yield f"    {field}  {_change(field, before, after)}"
        case Difference(kind="gone"):
            moved = "" if difference.moved_to is None else f"; the same body is at {difference.moved_to}"
            yield f"{_outcome(difference.after)}  {difference.url}{_target(difference.after)}{moved}"
        case Difference(kind="new"):
            was = "" if difference.before is None else f"  was {_outcome(difference.before)}"
            yield f"{difference.url}{was}"
        case _:
            outcomes = f"{_outcome(difference.before)} -> {_outcome(difference.after)}"
            yield f"{outcomes}  {difference.url}{_target(difference.after)}"


def _outcome(answer: Answer | None) -> str:
    return "not met" if answer is None else answer_of(answer.status, answer.reason)


def _target(answer: Answer | None) -> str:
    return "" if answer is None or answer.redirect is None else f" -> {answer.redirect}"


def _change(field: Field, before: Answer, after: Answer) -> str:
    if field == "body":
        return f"{_size(before)} -> {_size(after)}"
    if field == "text":
        bits = (int(before.text or "0", 16) ^ int(after.text or "0", 16)).bit_count()
        return f"its fingerprint differs in {bits} of {_FINGERPRINT_BITS} bits"
    return f"{_shown(getattr(before, field))} -> {_shown(getattr(after, field))}"


def _size(answer: Answer) -> str:
    return "?" if answer.size_bytes is None else size(answer.size_bytes)


def _shown(value: str | int | bool | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= _SHOWN else f'"{value[:_SHOWN]}…"'
    return "none" if value is None else str(value)


def write_csv(diff: Diff, stream: TextIO) -> None:
    """One line for each URL."""
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow(["kind", "url", "fields", "moved_to", *(f"{side}_{name}" for side in _SIDES for name in _OF_ANSWER)])
    for each in diff.differences:
        answers = [getattr(side, name, None) for side in (each.before, each.after) for name in _OF_ANSWER]
        lines.writerow(map(in_a_line, [each.kind, each.url, " ".join(each.fields), each.moved_to, *answers]))
    stream.flush()
