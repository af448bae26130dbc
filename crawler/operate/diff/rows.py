"""A difference as CSV, with the names of its columns."""

import csv
from typing import Final, TextIO

from crawler.operate.diff.forms import Answer, Diff
from crawler.operate.report.rows import in_a_line

_SIDES: Final = ("before", "after")
_OF_ANSWER: Final = Answer.__struct_fields__


def write_csv(diff: Diff, stream: TextIO) -> None:
    """One line for each URL."""
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow(["kind", "url", "fields", "moved_to", *(f"{side}_{name}" for side in _SIDES for name in _OF_ANSWER)])
    for each in diff.differences:
        answers = [getattr(side, name, None) for side in (each.before, each.after) for name in _OF_ANSWER]
        lines.writerow(map(in_a_line, [each.kind, each.url, " ".join(each.fields), each.moved_to, *answers]))
    stream.flush()
