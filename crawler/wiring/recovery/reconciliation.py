"""Compares the ledger of a crawl with its output: finds URLs that are settled but not written, and the reverse."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from config import Loaded
from crawler.discover.marks import name_of_page, names_after_redirects, names_of_checks
from crawler.disk.directory import CrawlDirectory
from crawler.disk.pruned import PrunedNumbers
from crawler.page import EMBEDDED, REPEAT_REASONS, LinkKind, PageRecord
from crawler.page.digests import digest_text
from crawler.page.number_set import NumberSet
from crawler.record import FILTER_REASONS
from crawler.record.changes import Change
from crawler.status import number_of
from crawler.wiring.components import discovering
from crawler.wiring.recovery.bodies import add_earlier_bodies, referred_by
from crawler.wiring.recovery.entries import RecordUrls
from crawler.wiring.recovery.facts import Fact, Facts, Source
from crawler.wiring.recovery.machines import OtherMachines
from crawler.write.records import read_records
from crawler.write.warc_reader import Capture, captures
from frontier import CrawlUrl, Damaged, LedgerEntry, LedgerReads, NumberReads, UrlState
from frontier.descriptor import Problem

DAMAGED = "damaged-output"
"""A kind of problem that is only reported. What was lost by it is a problem of its own."""
REFETCH: Final = "; `fsck --refetch` has it fetched again"
"""What to do about a problem that this mends."""
MAIN_KINDS = ("response", "revisit")
_BODILESS = (
    "the archive refers to a body that it does not have; if an earlier crawl has it, name that in output.dedupe_against"
)
COPYLESS: Final = "no other record says what it holds"
"""Of a page whose last visits were answered by 304."""

_UPPER_BITS: Final = 32
"""A lineage is in the bits from here on."""
UNARCHIVED_REASONS = REPEAT_REASONS | FILTER_REASONS
"""Of pages that the archive may lack. The ledger does not say whether a page that repeats another was left out."""


class Difference(msgspec.Struct, frozen=True):
    """A disagreement between ledger and output, and the URL to fetch again for it; None if that would not help."""

    problem: Problem
    again: CrawlUrl | None = None


class Reconciliation:
    """Reads ledger, records and archives once. It needs a few bits of memory for each URL, and a temporary file for
    the digests of bodies.

    URLs that were in flight when a crawl crashed may be written and not settled. That is no difference, because they
    are fetched again.
    """

    def __init__(
        self, loaded: Loaded, outputs: Sequence[CrawlDirectory], ledger: LedgerReads, *, others: OtherMachines
    ) -> None:
        """`outputs` are the directories with output of the crawl, the oldest first."""
        self._others = others
        self._output = loaded.config.output
        self._outputs = outputs
        self._ledger = ledger
        self._urls = RecordUrls(loaded.config, discovering.url_reader(loaded))
        self._pruned = PrunedNumbers(outputs)
        self._recorded = NumberSet()
        self._archivable = NumberSet()
        """Pages that a server sent, so that the archive must have them."""
        self._archived = NumberSet()
        self._bodiless = NumberSet()
        """Pages that the archive has as revisits of bodies that are gone."""
        self._is_any_unchanged = False
        self._copyless = NumberSet()
        """Pages whose records only say that they have not changed."""
        self.highest: dict[int, int] = {}
        """The highest numbers of the output, and of what was pruned of it, by their upper bits, so that each lineage
        has one. A ledger that has lost its last changes would give them again."""
        for each in outputs:
            self._note_number(PrunedNumbers([each]).highest)

    def differences(self) -> Iterator[Difference]:
        if self._output.records:
            yield from self._records()
        if self._output.warc:
            yield from self._captures()
        yield from self._unwritten()

    def pages(self) -> Iterator[CrawlUrl]:
        """The URLs of all pages that were fetched, to fetch them again."""
        for known in self._ledger.all_known():
            if not isinstance(known, Damaged) and known.entry.state is UrlState.DONE:
                url = self._urls.of_entry(known.entry)
                if url is not None:
                    yield url

    def _records(self) -> Iterator[Difference]:
        directories = [each.records for each in self._outputs if each.records.is_dir()]
        damaged: list[tuple[Path, int, str]] = []
        for record in read_records(*directories, on_damage=lambda *where: damaged.append(where)):
            yield from map(_damaged_line, damaged)
            damaged.clear()
            self._note_number(record.number)
            url = self._urls.of_record(record)
            entry = None if url is None else self._entry(record, url)
            if entry is None and self._is_excused(record.number, url):
                continue
            if entry is None:
                problem = Problem("output", record.url, f"record {record.number} has it, and the ledger does not")
                yield Difference(problem, url)
            elif _agrees(record, entry):
                self._recorded.add(record.number)
                self._is_any_unchanged |= record.change == Change.NOT_MODIFIED
                if is_archived(record):
                    self._archivable.add(record.number)
        yield from map(_damaged_line, damaged)
        if self._is_any_unchanged and self._others.has_nothing and not self._pruned.of("records"):
            with closing(Facts()) as facts:
                facts.add(Source.RECORDS, map(fact_of, read_records(*directories, on_damage=lambda *_: None)))
                for number, _ in facts.without_copy(Source.RECORDS):
                    self._copyless.add(number)

    def _entry(self, record: PageRecord, url: CrawlUrl) -> LedgerEntry | None:
        """The ledger entry for a record: of several entries of its URL, the one with its number."""
        canonical = name_of_page(url.canonical)
        names = [canonical]
        if record.kind == LinkKind.EXTERNAL:
            names = [*names_of_checks(canonical)]
        if record.kind in (LinkKind.REDIRECT, LinkKind.SITEMAP, *EMBEDDED):
            names += names_after_redirects(canonical)
        found = (known.entry for name in names if (known := self._ledger.known(name)) is not None)
        first = next(found, None)
        is_it = first is None or first.number == record.number
        return first if is_it else next((entry for entry in found if entry.number == record.number), first)

    def _captures(self) -> Iterator[Difference]:
        with closing(Facts()) as facts:
            yield from self._read_captures(facts)
            unread = [*add_earlier_bodies(facts, self._output.dedupe_against)]  # `inspect verify` tells
            for number, _ in () if unread else facts.dangling(Source.ARCHIVE):
                self._bodiless.add(number)
            for number, _ in facts.without_copy(Source.ARCHIVE) if self._others.has_nothing else ():
                self._bodiless.add(number)

    def _read_captures(self, facts: Facts) -> Iterator[Difference]:
        read = (captures(each.warc, full_blocks=False, with_exchanges=True) for each in self._outputs)
        for found in chain.from_iterable(read):
            if not isinstance(found, Capture):
                size = number_of(found.end - found.start, "byte")
                yield Difference(Problem(DAMAGED, str(found.path), f"damage of {size} at {found.start}"))
                continue
            if found.kind in MAIN_KINDS:
                _add_body(facts, found)
            if found.purpose is not None:
                continue
            if found.kind in MAIN_KINDS and found.number not in self._archived:
                self._archived.add(found.number)
                self._note_number(found.number)
                url = self._urls.of_url(found.url, depth=1, kind=LinkKind.LINK, via=None)
                if url is None or self._is_excused(found.number, url):
                    continue
                if self._ledger.known(url.canonical) is None:
                    problem = Problem("output", found.url, "the archive has it, and the ledger does not")
                    yield Difference(problem, url)

    def _note_number(self, number: int) -> None:
        upper = number >> _UPPER_BITS
        self.highest[upper] = max(number, self.highest.get(upper, 0))

    def _is_excused(self, number: int, url: CrawlUrl | None) -> bool:
        """Whether a page was forgotten or is of a part on another machine, if the ledger lacks its URL."""
        if url is not None and self._others.has_queue(url.queue_key):
            return True
        return isinstance(self._ledger, NumberReads) and self._ledger.was_forgotten(number)

    def _unwritten(self) -> Iterator[Difference]:
        """Settled URLs that the output lacks."""
        for known in self._ledger.all_known():
            if isinstance(known, Damaged):
                continue
            entry = known.entry
            if entry.state is UrlState.PENDING or entry.elsewhere:
                continue
            self._others.note(entry)
            lack = self._lack(entry)
            if lack is not None:
                message = f"{entry.state.name.lower()} in the ledger, {lack}"
                yield Difference(Problem("output", entry.canonical, message), self._urls.of_entry(entry))

    def _lack(self, entry: LedgerEntry) -> str | None:
        """What the output lacks of a settled URL, or what is wrong there; None if it is as it must be."""
        number = entry.number
        if self._output.records and number not in self._recorded:
            is_excused = self._pruned.has("records", number) or self._others.excuse(number)
            return None if is_excused else "and has no record"
        if number in self._copyless:
            return f"its last visit says that it has not changed, and {COPYLESS}"
        if not self._must_be_archived(entry):
            return None
        if not self._is_archived(number):
            return None if self._others.excuse(number) else "and is not in the archive"
        return f"and {_BODILESS}" if number in self._bodiless else None

    def _is_archived(self, number: int) -> bool:
        """Whether the archive has a page, or had it until its file was deleted on purpose."""
        return number in self._archived or self._pruned.has("warc", number)

    def _must_be_archived(self, entry: LedgerEntry) -> bool:
        """Whether the archive must have the page of a settled URL."""
        if not self._output.warc or entry.kind == LinkKind.EXTERNAL:
            return False
        if self._output.records:
            return entry.number in self._archivable
        is_page = entry.state is UrlState.DONE and entry.status is not None and entry.digest is not None
        return is_page and entry.reason not in UNARCHIVED_REASONS


def _add_body(facts: Facts, found: Capture) -> None:
    """Add what a response has, or what a revisit refers to."""
    is_revisit = found.kind == "revisit"
    payload = found.payload_digest if is_revisit else None
    if found.purpose is None:
        referred = referred_by(found) if is_revisit else None
        facts.add(Source.ARCHIVE, [Fact(found.number, found.url, payload=payload, referred=referred)])
    if not is_revisit and found.payload_digest is not None:
        facts.add_payload(found.payload_digest, None)


def _damaged_line(where: tuple[Path, int, str]) -> Difference:
    path, offset, why = where
    return Difference(Problem(DAMAGED, str(path), f"the line at byte {offset} is damaged: {why}"))


def _agrees(record: PageRecord, entry: LedgerEntry) -> bool:
    """Whether record and ledger tell the same about a settled URL. A damaged record may still be well-formed."""
    return (
        entry.number == record.number
        and entry.state.name.lower() == record.state
        and entry.status == record.status
        and (entry.digest is None or record.digest is None or digest_text(entry.digest) == record.digest)
    )


def is_archived(record: PageRecord) -> bool:
    """Whether a server answered, so that its response was archived, unless the page was left out. No server sent a
    redirect by HSTS or to http instead of https, and answers to checks are not archived."""
    if record.kind == LinkKind.EXTERNAL or record.not_archived is not None:
        return False
    return record.status is not None and not (record.ip is None and record.status == 307 and record.duration_s == 0)


def fact_of(record: PageRecord) -> Fact:
    return Fact(
        record.number,
        record.url,
        record.state,
        record.status,
        record.digest,
        referred="" if record.change == Change.NOT_MODIFIED else None,
        is_archived=is_archived(record),
        is_whole=record.truncated is None,
    )
