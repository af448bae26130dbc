"""Finds the bodies of pages for which the archive has only revisit records, also in earlier crawls."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path

from config import Loaded
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.earlier import earlier_places
from crawler.export.archives import Archive, archives_in
from crawler.export.captures import Captures, RevisitedCaptures
from crawler.export.wacz.packing import earlier_archives
from crawler.page.digests import digest_text
from crawler.wiring.recovery.facts import Facts
from crawler.write.cdxj.lines import moment_of
from crawler.write.dedupe.sources import responses_in, sources_in
from crawler.write.warc_reader import Capture
from frontier.descriptor import Problem


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


def add_earlier_bodies(facts: Facts, named: Sequence[str]) -> Iterator[Problem]:
    """Add the bodies of the earlier crawls that `output.dedupe_against` names, if the archive refers to any that it
    lacks. What can't be read is a problem."""
    if not named or not facts.lacks_payloads():
        return
    for name in named:
        try:
            sources = sources_in(earlier_places([name]))
            for found in chain.from_iterable(responses_in(Path(each.path)) for each in sources):
                facts.add_elsewhere(digest_text(found.sha1), f"{found.moment} {found.url}")
        except (ValueError, OSError, DirectoryRefused) as error:
            yield Problem("damaged", name, f"this earlier crawl can't be read: {error}")


def referred_by(revisit: Capture) -> str | None:
    """The moment and URL of the record that a revisit refers to, as `Fact` has them."""
    if revisit.refers_to is None:
        return None
    url, date = revisit.refers_to
    return f"{moment_of(date)} {url}"
