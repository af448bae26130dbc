"""Looks in earlier crawls for bodies that the archive of this one lacks."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from crawler.disk.directory import DirectoryRefused
from crawler.disk.earlier import earlier_places
from crawler.page.digests import digest_text
from crawler.wiring.recovery.facts import Facts
from crawler.write.cdxj.lines import moment_of
from crawler.write.dedupe.sources import responses_in, sources_in
from crawler.write.warc_reader import Capture
from frontier.descriptor import Problem


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
