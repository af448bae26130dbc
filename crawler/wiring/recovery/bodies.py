"""Finds the bodies of pages for which the archive has only revisit records."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from config import Loaded
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.export.archives import Archive, archives_in
from crawler.export.captures import Captures
from crawler.export.revisited import RevisitedCaptures
from crawler.export.wacz.packing import earlier_archives
from crawler.write.warc_reader import Capture


class Bodies:
    """Those of the archives of a crawl, and of the earlier crawls that its configuration names. Their indexes are read
    when somebody asks first; archives without an index are read themselves."""

    def __init__(self, loaded: Loaded, outputs: Sequence[CrawlDirectory]) -> None:
        """`outputs` are the oldest first."""
        self._named = loaded.config.output.dedupe_against
        self._outputs = outputs
        self._opened = ExitStack()
        self._revisited: RevisitedCaptures | None = None

    def with_payload(self, revisit: Capture, /) -> Capture | None:
        """The page that a revisit record stands for; None if nobody has its body."""
        if revisit.refers_to is None:
            return None
        if self._revisited is None:
            directory = self._outputs[-1].path
            captures = self._opened.enter_context(Captures(directory, self._archives(), lambda _: None))
            self._revisited = RevisitedCaptures(directory, captures)
        return self._revisited.with_payload(revisit)

    def close(self) -> None:
        self._opened.close()

    def _archives(self) -> list[Archive]:
        found: list[Archive] = []
        for name in self._named:
            with suppress(DirectoryRefused, OSError):  # it is not there any more
                found += earlier_archives(Path(name))
        for output in self._outputs:
            found += archives_in(output.warc, "")
        return found
