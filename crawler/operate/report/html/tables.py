"""Tables of what strangers have written: everything is escaped, and controls nothing."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from crawler.operate.report.text import printable

_MAX_TEXT: Final = 300
"""Characters of a text that are shown."""


class Cell(str):
    """A cell that is HTML already."""

    __slots__ = ()


def text(value: str) -> str:
    """A text of strangers, without what could turn or hide the text around it."""
    shown = value if len(value) <= _MAX_TEXT else f"{value[:_MAX_TEXT]}…"
    return escape(printable(shown))


def url(value: str | None) -> Cell:
    """A URL, to be followed if it is one of the web."""
    if value is None:
        return Cell("–")
    if not value.lower().startswith(("http://", "https://")):
        return Cell(text(value))
    return Cell(f'<a href="{escape(printable(value))}" rel="noreferrer nofollow">{text(value)}</a>')


def number(value: int | None) -> Cell:
    return Cell("–" if value is None else f'<span class="number">{value:,}</span>')


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are texts, which are escaped, or of `Cell`."""
    head = "".join(f"<th>{text(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll card"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: str) -> str:
    return value if isinstance(value, Cell) else text(value)
