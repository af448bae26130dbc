"""Which archives must stay because later ones refer to their bodies."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from crawler.prune.cycles import Place
from crawler.prune.finished import OutputFile, sound_lines
from crawler.write.cdxj.lines import REVISIT

Needed = Callable[[Sequence[OutputFile], Collection[OutputFile], Mapping[OutputFile, Place | None]], set[OutputFile]]
"""As `Needs.needed`."""


class Needs:
    """Finds archives to which others refer. Whether an archive has revisit records is looked up once."""

    def __init__(self) -> None:
        self._has_revisits: dict[Path, tuple[int, bool]] = {}
        """By path, with the size when it was looked up: an archive that is still open grows."""

    def needed(
        self, archives: Sequence[OutputFile], chosen: Collection[OutputFile], places: Mapping[OutputFile, Place | None]
    ) -> set[OutputFile]:
        """Those of the chosen archives that others need, or may need. `archives` are all of the crawl, in the order
        written; `places` tells their cycles. Raises `OSError`.

        The archives of a cycle need only each other. So they go together, and nothing has to be read. References of
        archives before the first cycle are followed."""
        paths = {each.path for each in archives}
        self._has_revisits = {path: found for path, found in self._has_revisits.items() if path in paths}
        kept = self._of_kept_cycles(archives, chosen, places)
        goes = set(chosen) - kept
        others = [each for each in archives if places[each] is None or each in goes]
        if not goes or len(others) == len(goes) or not any(map(self._may_refer, others)):
            return kept
        from crawler.prune.following import needed_by_others  # noqa: PLC0415 - few crawls delete archives

        return kept | needed_by_others(others, goes)

    def _of_kept_cycles(
        self, archives: Sequence[OutputFile], chosen: Collection[OutputFile], places: Mapping[OutputFile, Place | None]
    ) -> set[OutputFile]:
        """The chosen archives of cycles of which others are kept that may refer to them."""
        asked = {places[each] for each in chosen} - {None}
        kept: set[Place | None] = set()
        for each in reversed(archives):  # the newest one goes last, so that the next look need not read others
            place = places[each]
            if place in asked and place not in kept and each not in chosen and self._may_refer(each):
                kept.add(place)
        return {each for each in chosen if places[each] in kept}

    def _may_refer(self, archive: OutputFile) -> bool:
        size, found = self._has_revisits.get(archive.path, (None, False))
        if size != archive.bytes:
            try:
                found = any(REVISIT.encode() in line for line in sound_lines(archive.path))
            except FileNotFoundError:
                return False
            self._has_revisits[archive.path] = archive.bytes, found
        return found
