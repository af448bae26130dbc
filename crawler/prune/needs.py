"""Which archives must stay because later ones refer to their bodies."""

from collections.abc import Collection, Sequence
from pathlib import Path

from crawler.prune.finished import OutputFile, sound_lines
from crawler.write.cdxj.lines import REVISIT


class Needs:
    """Finds archives to which others refer. As long as no archive has revisit records, each is looked at once."""

    def __init__(self) -> None:
        self._without_revisits: set[tuple[Path, int]] = set()

    def needed(self, archives: Sequence[OutputFile], chosen: Collection[OutputFile]) -> set[OutputFile]:
        """Those of the chosen archives to which others refer. `archives` are all of the crawl, in the order written.
        Raises `OSError`."""
        if not chosen or not any(map(self._may_refer, archives)):
            return set()
        from crawler.prune.following import needed_by_others  # noqa: PLC0415 - few crawls delete archives

        return needed_by_others(archives, chosen)

    def _may_refer(self, archive: OutputFile) -> bool:
        identity = archive.path, archive.bytes
        if identity in self._without_revisits:
            return False
        try:
            if any(REVISIT.encode() in line for line in sound_lines(archive.path)):
                return True
        except FileNotFoundError:
            return False
        self._without_revisits.add(identity)
        return False
