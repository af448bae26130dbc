"""Proves, record by record, that ledger, records, archive and the tables of sinks agree."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from config import Loaded
from crawler.discover.marks import names_after_redirects, names_of_checks
from crawler.disk.directory import CrawlDirectory
from crawler.disk.pruned import PrunedNumbers
from crawler.export.archived_pages import digest_of_capture
from crawler.page import LinkKind, PageRecord, body_digest
from crawler.page.digests import digest_text
from crawler.page.number_set import NumberSet
from crawler.wiring.components import discovering
from crawler.wiring.components.processing import ReadableSink, readable_sinks
from crawler.wiring.recovery.bodies import add_earlier_bodies, referred_by
from crawler.wiring.recovery.facts import Fact, Facts, Source, Told
from crawler.wiring.recovery.indexes import index_problems
from crawler.wiring.recovery.machines import OtherMachines
from crawler.wiring.recovery.reconciliation import COPYLESS, MAIN_KINDS, REFETCH, UNARCHIVED_REASONS, fact_of
from crawler.wiring.recovery.rewriting import Repaired, write_again
from crawler.wiring.recovery.setting_aside import damaged, is_set_aside, unread, unread_file
from crawler.write.records import OnUnread, extents_now, read_extents
from crawler.write.warc_reader import Capture, captures
from frontier import Damaged, LedgerReads, NumberReads, UrlState
from frontier.descriptor import Problem

_LEDGER: Final = "the ledger"
_RECORDS: Final = "the records"
_ARCHIVE: Final = "the archive"
_UNNAMED: Final = f"{_ARCHIVE} does not have; if an earlier crawl has it, name that in output.dedupe_against"
_NUMBERS: Final = 1 << 64
_REWRITE: Final = "; `verify --repair` writes it again from the records"


class Verification:
    """Reads ledger and outputs once. A number that the ledger gives to no settled URL is an earlier copy, or was
    in flight when a crawl was killed, if the ledger knows its URL. Otherwise it was forgotten, or lost."""

    def __init__(
        self, loaded: Loaded, outputs: Sequence[CrawlDirectory], ledger: LedgerReads, *, others: OtherMachines
    ) -> None:
        """The same as for `Reconciliation`."""
        self.others = others
        self._loaded = loaded
        self._outputs = outputs
        self._ledger = ledger
        self._urls = discovering.url_reader(loaded)
        self._pruned = PrunedNumbers(outputs)
        self._facts = Facts()  # once nothing can fail any more, because it is a file that must be closed
        self._exchanges = 0
        self._unread: set[int] = set()
        """Sinks that could not be read. Nothing follows from what they did not tell."""
        self._read_in_part: set[int] = set()
        """Of records and archive those with files that could not be read. What they lack may stand there."""
        self._shared: set[int] = set()
        """Sinks to which all parts write, on all machines."""
        self._names: dict[int, str] = {}
        """What is compared with the ledger: records, archive, and the sinks."""
        self._forgotten = Counter[int]()
        """How many numbers of each source have URLs that the ledger does not know."""
        self.bodiless = 0
        """Records without number, such as what a rendered page loaded, whose bodies a repair has moved aside. Nothing
        fetches them again, so they are no problem."""

    async def problems(self) -> AsyncIterator[Problem]:
        """Everything that does not agree. Read them all, then ask for the counts."""
        output = self._loaded.config.output
        self._facts.add(Source.LEDGER, self._of_ledger())
        if output.records:
            self._names[Source.RECORDS] = _RECORDS
            for problem in self._read_records():
                yield problem
        if output.warc:
            self._names[Source.ARCHIVE] = _ARCHIVE
            for problem in self._read_archive():
                yield problem
        async for problem in self._read_sinks():
            yield problem
        for source in self._unread:
            del self._names[source]
        for source, name in self._names.items():
            for problem in self._compare(source, name):
                yield problem

    def counts(self) -> list[Told]:
        """How much was read, the ledger first."""
        return [
            Told(
                name=name,
                numbers=self._facts.count(source),
                repeated=self._facts.repeated(source),
                pruned=len(self._pruned_of(source)),
                unarchived=self._facts.unarchived() if source == Source.ARCHIVE else 0,
                forgotten=self._forgotten[source],
            )
            for source, name in ({int(Source.LEDGER): _LEDGER} | self._names).items()
        ]

    async def repair_sinks(self) -> dict[str, Repaired]:
        """Write again, from the records, what sinks lack or have otherwise. Returns which pages that were, by sink.
        Call this once all problems are known. Raises `OSError` and `ConfigError`."""
        wanted = {
            name: source
            for source, name in self._names.items()
            if source >= Source.FIRST_SINK and self._facts.note_wanted(source)
        }
        repaired = {name: Repaired() for name in wanted}
        for output in self._outputs if Source.RECORDS in self._names else ():
            for sink in readable_sinks(self._loaded, output):
                name = _name_of(sink)
                if name in wanted and sink.open_to_repair is not None and output.records.is_dir():
                    async with sink.open_to_repair() as opened:
                        is_wanted = partial(self._facts.is_wanted, wanted[name])
                        await write_again(opened, output.records, is_wanted, repaired[name])
        return repaired

    def close(self) -> None:
        self._facts.close()

    def _of_ledger(self) -> Iterator[Fact]:
        numberless = 0
        for known in self._ledger.all_known():
            if isinstance(known, Damaged) or known.entry.elsewhere or known.entry.state is UrlState.PENDING:
                continue  # fsck reports what is damaged
            entry = known.entry
            self.others.note(entry)
            numberless -= not entry.number  # because damage has replaced the entry
            digest = None if entry.digest is None else digest_text(entry.digest)
            is_archived = (
                entry.kind != LinkKind.EXTERNAL
                and entry.status is not None
                and digest is not None
                and entry.reason not in UNARCHIVED_REASONS
                and not self._loaded.config.output.records
            )
            told = (entry.canonical, entry.state.name.lower(), entry.status, digest)
            yield Fact(entry.number or numberless, *told, is_archived=is_archived)

    def _read_records(self) -> Iterator[Problem]:
        directories = [each.records for each in self._outputs if each.records.is_dir()]
        problems, on_unread = self._unread_files(Source.RECORDS)
        on_damage, extents = self._facts.add_unreadable, extents_now(*directories)
        read = read_extents(PageRecord, extents, on_damage=on_damage, on_unread=on_unread)
        self._facts.add(Source.RECORDS, map(fact_of, read))
        yield from problems
        for path, offset, why in self._facts.unreadable():
            yield damaged(path, f"the line at byte {offset} can't be read: {why}")
        is_all_there = self._is_all_here(Source.RECORDS) and not self._pruned_of(Source.RECORDS)
        for number, url in self._facts.without_copy(Source.RECORDS) if is_all_there else ():
            yield Problem("records", url, f"number {number} says that the page has not changed, and {COPYLESS}")

    def _read_archive(self) -> Iterator[Problem]:
        directories = [each.warc for each in self._outputs if each.warc.is_dir()]
        problems, on_unread = self._unread_files(Source.ARCHIVE)
        read = partial(captures, full_blocks=True, with_exchanges=True, on_unread=on_unread)
        for found in chain.from_iterable(map(read, directories)):
            if not isinstance(found, Capture):
                yield damaged(str(found.path), f"bytes {found.start} to {found.end} can't be read")
            elif found.kind in MAIN_KINDS:
                yield from self._read_capture(found)
            elif found.kind == "conversion" and found.purpose is None:
                # A rendered page: its record tells of the document, and not of what the server sent.
                self._facts.replace_archived_digest(found.number, digest_of_capture(found))
        yield from problems
        yield from chain.from_iterable(map(index_problems, directories))
        self._facts.resolve_payloads()
        earlier = self._loaded.config.output.dedupe_against
        yield from add_earlier_bodies(self._facts, earlier)
        is_all_read = Source.ARCHIVE not in self._read_in_part
        nobody = f"{_ARCHIVE} and the earlier crawls do not have" if earlier else _UNNAMED
        for number, url in self._facts.dangling(Source.ARCHIVE) if is_all_read else ():
            yield Problem("archive", url, f"number {number} refers to a body that {nobody}")
        for number, url in self._facts.without_copy(Source.ARCHIVE) if self._is_all_here(Source.ARCHIVE) else ():
            message = f"number {number} says that the page has not changed, and {_ARCHIVE} has no body of it"
            yield Problem("archive", url, message)
        is_moved = any(is_set_aside(path) for each in directories for path in each.iterdir())
        for _, url in self._facts.dangling(Source.EXCHANGES) if is_all_read else ():
            if is_moved:
                self.bodiless += 1
            else:
                yield Problem("archive", url, f"a record without number refers to a body that {nobody}")

    def _read_capture(self, found: Capture) -> Iterator[Problem]:
        digest, payload, referred = None, None, None
        who = f"number {found.number}" if found.purpose is None else f"the record for {found.purpose}"
        if found.kind == "revisit":
            payload = found.payload_digest  # None for 304 Not Modified
            referred = referred_by(found)
        else:
            digest = digest_of_capture(found)
            try:
                actual = body_digest(found.http()[-1])
            except ValueError as error:
                yield Problem("archive", found.url, f"{who} is no response: {error}")
                return
            if found.payload_digest is not None and found.payload_digest != actual:
                message = f"{who} has the payload {actual}, and says {found.payload_digest}"
                yield Problem("archive", found.url, message)
            self._facts.add_payload(actual, digest)
        source, number = Source.ARCHIVE, found.number
        if found.purpose is not None:
            self._exchanges += 1
            source, number = Source.EXCHANGES, self._exchanges
        self._facts.add(source, [Fact(number, found.url, digest=digest, payload=payload, referred=referred)])

    async def _read_sinks(self) -> AsyncIterator[Problem]:
        numbers: dict[str, int] = {}
        for output in self._outputs:
            for sink in readable_sinks(self._loaded, output):
                if sink.name in numbers and not sink.has_files:
                    continue  # all parts write to the same place
                source = numbers.setdefault(sink.name, Source.FIRST_SINK + len(numbers))
                self._names[source] = _name_of(sink)
                self._shared |= set() if sink.has_files else {source}
                try:
                    await self._read_sink(source, sink)
                except OSError as error:
                    self._unread.add(source)
                    yield unread(sink.name, error, has_files=sink.has_files)

    async def _read_sink(self, source: int, sink: ReadableSink) -> None:
        async for rows in sink.read():
            facts = (Fact(each.number, each.url, each.state, each.status, each.digest) for each in rows)
            self._facts.add(source, facts)

    def _compare(self, source: int, name: str) -> Iterator[Problem]:
        is_archive = source == Source.ARCHIVE
        # The records say which pages were truncated, so that the archive may have another body.
        teller = Source.RECORDS if is_archive and Source.RECORDS in self._names else Source.LEDGER
        of_sink = _REWRITE if Source.RECORDS in self._names else ""
        lacks = REFETCH if source < Source.FIRST_SINK else of_sink
        differs = "" if is_archive else lacks  # `fsck` reads no bodies
        pruned = self._pruned_of(source)
        missing = self._facts.missing(source, among=teller, archived_only=is_archive)
        for number, url, state in missing if source not in self._read_in_part else ():
            if number in pruned or (source not in self._shared and self.others.excuse(number)):
                continue
            who = f"number {number}" if number > 0 else "it"
            yield Problem("missing", url, f"{who} is {state}, and is missing in {name}{lacks}")
        for found in self._facts.disagreements(source, among=teller):
            message = f"number {found.number} has the {found.what} {found.other} in {name}, and {found.one} in "
            yield Problem("different", found.url, message + self._names.get(teller, _LEDGER) + differs)
        # The ledger knows canonical URLs alone.
        for number, url, other in self._facts.of_other_urls(source) if source >= Source.FIRST_SINK else ():
            yield Problem("different", url, f"number {number} is {other} in {name}{differs}")
        for number, url in self._facts.of_two_urls(source):
            yield Problem("number", url, f"number {number} is in {name} for another URL, too")
        for number, url in self._facts.unknown(source):
            if not self._is_known(url):
                self._forgotten[source] += 1
                if source < Source.FIRST_SINK and self._has_lost(number):
                    message = f"number {number} is in {name}, and is missing in {_LEDGER}{REFETCH}"
                    yield Problem("missing", url, message)

    def _unread_files(self, source: int) -> tuple[list[Problem], OnUnread]:
        """A list of problems, and what adds files to it that can't be read."""
        problems: list[Problem] = []

        def add(path: Path, error: OSError) -> None:
            self._read_in_part.add(source)
            problems.append(unread_file(path, error))

        return problems, add

    def _is_all_here(self, source: int) -> bool:
        return self.others.has_nothing and source not in self._read_in_part

    def _pruned_of(self, source: int) -> NumberSet:
        if source == Source.RECORDS:
            return self._pruned.of("records")
        return self._pruned.of("warc") if source == Source.ARCHIVE else NumberSet()

    def _has_lost(self, number: int) -> bool:
        """Whether the ledger lacks a number, although nobody has told it to forget that."""
        return isinstance(self._ledger, NumberReads) and not self._ledger.was_forgotten(number % _NUMBERS)

    def _is_known(self, url: str) -> bool:
        """Whether the ledger has the URL, under whatever number, or a part on another machine."""
        try:
            target = self._urls.seed(url)
        except ValueError:
            return False
        canonical = target.canonical
        names = [canonical, *names_of_checks(canonical), *names_after_redirects(canonical)]
        return self.others.has_queue(target.queue_key) or any(self._ledger.known(name) is not None for name in names)


def _name_of(sink: ReadableSink) -> str:
    return f"the sink {sink.name}"
