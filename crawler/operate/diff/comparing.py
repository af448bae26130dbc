"""Compares what each URL was with what it is now."""

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

import msgspec

from crawler.operate.diff.forms import FIELDS, KINDS, Answer, Difference, Field, Kind
from crawler.operate.diff.sides import Renaming, Side

_ALL: Final = "SELECT name, side, is_page, answer FROM urls ORDER BY name, side"
_MOVED: Final = """
    SELECT answer FROM urls AS now
    WHERE side = 1 AND body = ? AND is_page
        AND NOT EXISTS (SELECT 1 FROM urls AS old WHERE old.name = now.name AND old.side = 0 AND old.is_page)
    ORDER BY number LIMIT 1
"""
_OF_ANSWERS: Final[tuple[Field, ...]] = ("status", "reason", "redirect")
_UNKNOWN_MEANS_EQUAL: Final = frozenset({"body", "text"})
"""A crawl may know no digest of a body, and no fingerprint of a text."""
_EXCLUDED: Final = "excluded"


class Compared:
    """Counts the differences of two sides, and keeps up to `limit` of each kind, of those that `only` names: by their
    kind, or by a field that is different. With an empty one, all."""

    def __init__(
        self, database: sqlite3.Connection, *, renaming: Renaming, only: Collection[str], limit: int | None
    ) -> None:
        self._database = database
        self._renaming = renaming
        self._only = frozenset(only)
        self._limit = limit
        self._decode = msgspec.json.Decoder(Answer).decode
        self.same = 0
        self.counts: dict[Kind, int] = dict.fromkeys(KINDS, 0)
        self._fields: Counter[Field] = Counter()
        self._kept: dict[Kind, list[Difference]] = {kind: [] for kind in KINDS}
        self._more: dict[Kind, int] = dict.fromkeys(KINDS, 0)
        database.execute("CREATE INDEX bodies ON urls (body)")
        for _, rows in groupby(database.execute(_ALL), itemgetter(0)):
            sides = {side: (bool(is_page), self._decode(answer)) for _, side, is_page, answer in rows}
            (was_page, before), (is_page, after) = (sides.get(side, (False, None)) for side in Side)
            self._add(was_page, before, is_page, after)

    @property
    def fields(self) -> dict[Field, int]:
        return dict(self._fields.most_common())

    @property
    def more(self) -> dict[Kind, int]:
        return {kind: count for kind, count in self._more.items() if count}

    def differences(self) -> Iterator[Difference]:
        for kind in KINDS:
            for each in self._kept[kind]:
                yield self._with_target(each) if kind == "gone" else each

    def _add(self, was_page: bool, before: Answer | None, is_page: bool, after: Answer | None) -> None:
        answers = [each for each in (before, after) if each is not None]
        if not was_page and not is_page and all(each.state == _EXCLUDED for each in answers):
            return
        fields: list[Field] = []
        if was_page != is_page:
            kind: Kind = "new" if is_page else "gone"
        else:
            fields = _different(before, after, FIELDS if is_page else _OF_ANSWERS)
            if not fields:
                self.same += is_page
                return
            kind = "changed" if is_page else "answer"
            if is_page:
                self._fields.update(fields)
        self.counts[kind] += 1
        if self._only and kind not in self._only and self._only.isdisjoint(fields):
            return
        if self._limit is not None and len(self._kept[kind]) >= self._limit:
            self._more[kind] += 1
            return
        url = after.url if after is not None else self._renaming(answers[0].url)
        self._kept[kind].append(Difference(url=url, kind=kind, fields=fields, before=before, after=after))

    def _with_target(self, gone: Difference) -> Difference:
        if gone.before is None or gone.before.body is None:
            return gone
        found = self._database.execute(_MOVED, (gone.before.body,)).fetchone()
        return gone if found is None else msgspec.structs.replace(gone, moved_to=self._decode(found[0]).url)


def _different(before: Answer | None, after: Answer | None, fields: Collection[Field]) -> list[Field]:
    """In which of the fields two answers differ. One that is unknown differs in what the other has."""
    none = Answer(url="", state="")
    return [each for each in fields if _differs(before or none, after or none, each)]


def _differs(before: Answer, after: Answer, field: Field) -> bool:
    old, new = getattr(before, field), getattr(after, field)
    return old != new and not (field in _UNKNOWN_MEANS_EQUAL and (old is None or new is None))
