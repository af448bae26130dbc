"""Which lineages a crawl may still draw, so that no record number is given twice, not even by copies of the crawl.

A lineage stands above the counter in the numbers of records (`layout`). A crawl draws them from below, whenever it is
divided. A backup sets some aside from above, for a crawl that is restored from it: that draws only these. So the
numbers of both differ, also if both live on. `lineages.json` says what is left, and names the crawl and its copies.

This halves what is left, and more, with each restore of a restored crawl. When too few are left, a crawl draws a block
at random from those above `LAST_IN_ORDER`, which nobody gets in order. It knows the blocks that it and the crawls
before it have drawn, and draws none of these. Two crawls that can't know of each other draw the same lineage with a
probability of some millionths.

Of two visits to a page, the later one has the higher number. So no crawl gets lineages below those that it has used, or
that the crawl had used from which it was restored.
"""

import fcntl
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from crawler.disk.directory import LINEAGES, DirectoryRefused
from crawler.files.content import read_file
from crawler.files.folders import opened_folder
from crawler.files.replacing import replace_file
from frontier import MAX_LINEAGE

LAST_IN_ORDER: Final = (1 << 16) - 1
"""A crawl that was never restored uses lineages up to here."""
_TIMES: Final = 4
_SPARE: Final = 1024
_SHARE: Final = 4
"""A copy gets `_TIMES` lineages for each part, and `_SPARE` more, since it may be divided and copied, too; but no more
than one `_SHARE`th of what is left, and none if that is not enough for its parts. A block is drawn from the first
`_SHARE`th of what is left above: so there is room for others above it."""
_SPARE_DRAWN: Final = 252
"""A block drawn at random has `_TIMES` lineages for each part, and these."""
_DRAWS: Final = 1000
"""How often a block is drawn until it is a new one."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive lineages."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1


NO_LINEAGES: Final = Block(first=1, last=0)


class Lineages(msgspec.Struct, frozen=True, kw_only=True):
    """What is left to one crawl."""

    crawl: str
    """A random name. Copies of one crawl have the same."""
    first: int = 1
    """All lineages below are used up. So may be some from there on, as the layout says."""
    last: int = LAST_IN_ORDER
    drawn: tuple[Block, ...] = ()
    """What it, and the crawls from which it was restored, have drawn at random."""

    @property
    def last_lineage(self) -> int | None:
        """The highest that the crawl may use. None if it may use all in order."""
        return None if self.last == LAST_IN_ORDER else self.last

    @property
    def spans_drawn(self) -> tuple[tuple[int, int], ...]:
        """First and last of each block."""
        return tuple((each.first, each.last) for each in self.drawn)


def read_lineages(directory: Path) -> Lineages:
    """Those of the crawl in a directory. Raises `DirectoryRefused` if the file can't be read."""
    path = directory / LINEAGES
    try:
        return msgspec.json.decode(read_file(path), type=Lineages)
    except FileNotFoundError:
        return Lineages(crawl="")
    except (OSError, ValueError, RecursionError) as error:
        raise DirectoryRefused(
            f"{path} can't be read: {error}. It says which record numbers are left: restore a copy of that file"
        ) from error


def whole_lineage(directory: Path) -> int:
    """The one that the crawl in a directory uses if it is not in parts. Raises `DirectoryRefused`."""
    return read_lineages(directory).first - 1


def write_lineages(directory: Path, lineages: Lineages) -> None:
    replace_file(directory / LINEAGES, msgspec.json.encode(lineages) + b"\n")


def learn_lineages(directory: Path, *, last: int | None, drawn: Iterable[tuple[int, int]]) -> None:
    """Store what another directory of the crawl says is left: `last` is its `last_lineage`, `drawn` its `spans_drawn`.
    That is less than was known here, or a block that was drawn there; an older register does not tell blocks."""
    left = read_lineages(directory)
    blocks = (Block(first=low, last=high) for low, high in drawn)
    others = [each for each in blocks if each not in left.drawn]
    is_drawn = last is not None and (
        left.last <= LAST_IN_ORDER < last or any(each.first <= last <= each.last for each in others)
    )
    if last is None or not (last < left.last or is_drawn):
        last = left.last
    learned = msgspec.structs.replace(left, last=last, drawn=(*left.drawn, *others))
    if learned != left:
        write_lineages(directory, learned)


def name_crawl(directory: Path) -> str:
    """The name of the crawl in a directory, which is drawn now if it has none."""
    with _alone(directory):
        lineages = read_lineages(directory)
        if not lineages.crawl:
            lineages = msgspec.structs.replace(lineages, crawl=secrets.token_hex(8))
            write_lineages(directory, lineages)
        return lineages.crawl


def set_aside(directory: Path, *, parts: int, used_below: int) -> Block:
    """Set lineages aside for a copy of the crawl in a directory, which has so many parts, and has used all lineages
    below `used_below`. None are if too few are left: a crawl that is restored from the copy draws some at random."""
    with _alone(directory):
        lineages = read_lineages(directory)
        first = max(lineages.first, used_below)
        left = lineages.last - first + 1
        count = min(_TIMES * parts + _SPARE, left // _SHARE)
        if count < parts:
            return NO_LINEAGES
        write_lineages(directory, msgspec.structs.replace(lineages, last=lineages.last - count))
        return Block(first=lineages.last - count + 1, last=lineages.last)


def renew(directory: Path, *, parts: int, used_below: int) -> Lineages:
    """What is left to the crawl in a directory, which has used all lineages below `used_below`. If that is too little
    for so many parts, it draws a block first. Raises `DirectoryRefused`."""
    with _alone(directory):
        lineages = read_lineages(directory)
        if lineages.last - max(lineages.first, used_below) + 1 >= parts:
            return lineages
        block = draw(lineages.drawn, parts=parts, above=max(lineages.last, used_below - 1))
        if block is None:
            raise DirectoryRefused(
                f"the crawl in {directory} was divided and restored so often that no record numbers are left: begin a "
                "new crawl"
            )
        # The first one is for a crawl that is not in parts.
        lineages = msgspec.structs.replace(
            lineages, first=block.first + 1, last=block.last, drawn=(*lineages.drawn, block)
        )
        write_lineages(directory, lineages)
        return lineages


def draw(drawn: Sequence[Block], *, parts: int, above: int) -> Block | None:
    """Draw lineages for so many parts at random, `above` those that were used, and none that were drawn. None if there
    is no room."""
    size = _TIMES * parts + _SPARE_DRAWN
    least = max(above, LAST_IN_ORDER) + 1
    choices = (MAX_LINEAGE - least + 1) // _SHARE - size + 1
    for _ in range(_DRAWS if choices > 0 else 0):
        first = least + secrets.randbelow(choices)
        last = first + size - 1
        if all(last < each.first or each.last < first for each in drawn):
            return Block(first=first, last=last)
    return None


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Several backups of one crawl may begin at the same time, and while it runs."""
    with opened_folder(directory) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
