"""add, forget; what is known about a URL, its visits, and when the next one is due and why then"""

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

import msgspec

from config import Config
from config.schema.recrawl import Recrawl
from crawler.control.known_urls import UrlFound, UrlVisits, VisitForm
from crawler.control.replies import Judged, JudgedUrl
from crawler.control.requests import Add
from crawler.discover.marks import EXTERNAL
from crawler.discover.scope import ScopeRefusal, pattern_search
from crawler.disk.layout import part_at
from crawler.operate.actions.added import AddedNotes, with_precedence
from crawler.operate.actions.forms import moment, url_form
from crawler.operate.refused import Refused
from crawler.operate.target import OperatedCrawl, ledger_reads, queue_reads
from crawler.page import LinkKind, rfc3339
from crawler.parts.ownership import Ownership
from crawler.record import Change
from crawler.revisit.change_rate import change_rate
from crawler.status import duration, host_of
from crawler.url.urls import Target, without_password
from crawler.wiring import seeding
from crawler.wiring.components import discovering
from frontier import CrawlUrl, Frontier, KnownUrl, LedgerEntry, QueueStatus, UrlState
from visited import CannotForget

_ADDED_TOGETHER: Final = 50
"""URLs that are added while the event loop waits."""


async def look_up(crawl: OperatedCrawl, url: str) -> UrlFound:
    target = read_target(crawl, url)
    canonical = target.canonical
    ledger = ledger_reads(crawl)
    known = ledger.known(canonical) or ledger.known(canonical + EXTERNAL)
    if known is None:
        if (elsewhere := _elsewhere(crawl)(target.queue_key)) is not None:
            raise Refused(f"{canonical} is not known here: {elsewhere}")
        return UrlFound(canonical=canonical, found=None, refused=_refusal_of_links(crawl, target))
    known = await _with_current_links(crawl, known)
    waiting = known.waiting
    queues = queue_reads(crawl)
    queue = None if waiting is None else queues.queue(waiting.queue_key)
    form = url_form(
        known,
        due_at=None if queue is None else max(known.due_at or 0.0, queue.wake_at),
        found=_found_by(crawl, known.entry),
        waits=None if queue is None else _waits(known, queue),
        visits=visits_of(known, crawl.loaded.config),
    )
    return UrlFound(canonical=canonical, found=form)


def _elsewhere(crawl: OperatedCrawl) -> Callable[[str], str | None]:
    """Tells from the key of a queue why another part of the crawl has its URLs; None if they are here."""
    part = part_at(crawl.directory.original)
    owner = Ownership(1 if part is None else part.parts).owner

    def why(queue_key: str) -> str | None:
        if part is None or owner(queue_key) == part.number:
            return None
        return f"it belongs to part {owner(queue_key)} of the crawl: name the directory of the whole crawl"

    return why


def _refusal_of_links(crawl: OperatedCrawl, target: Target) -> str | None:
    """Why the crawl does not follow an ordinary link to the URL. If it knows the host, the link is on a page nearby."""
    is_near = queue_reads(crawl).queue(target.queue_key) is not None
    rules = crawl.rules
    return discovering.refusal_of_links(rules.discovery, target.url, queue_key=target.queue_key, is_near=is_near)


async def _with_current_links(crawl: OperatedCrawl, known: KnownUrl) -> KnownUrl:
    """A running frontier keeps the newest link counts in memory."""
    if not crawl.status().running:
        return known
    entry = await (await crawl.frontier()).status_of(known.entry.canonical)
    return known if entry is None else msgspec.structs.replace(known, entry=entry)


def read_target(crawl: OperatedCrawl, url: str) -> Target:
    """A URL as a person wrote it. Raises `Refused` for one that can't be read."""
    try:
        return discovering.read_url(crawl.loaded.config, url)
    except ValueError as error:
        raise Refused(str(error)) from error


def _found_by(crawl: OperatedCrawl, entry: LedgerEntry) -> str:
    if entry.via is not None:
        return f"on {entry.via}" + ("; out of scope, and only checked" if entry.kind == LinkKind.EXTERNAL else "")
    config = crawl.loaded.config
    if entry.canonical in {discovering.read_url(config, seed).canonical for seed in config.crawl.seeds}:
        return "on the list of seeds"
    return "in a file of seeds, or added by an operator or an import"


def _waits(known: KnownUrl, queue: QueueStatus) -> str:
    host = host_of(queue.key)
    if queue.size and not queue.served:
        return f"for ever, because the queue of {host} is retired"
    due_at = max(known.due_at or 0.0, queue.wake_at)
    if known.due_at is not None:
        return f"for another attempt, due {rfc3339(due_at)}"
    when = f", which rests until {rfc3339(due_at)}" if due_at > time.time() else ""
    return f"in the queue of {host}, which holds {queue.size:,}{when}"


async def add(crawl: OperatedCrawl, request: Add) -> Judged:
    """Add URLs in pieces, so that the crawl goes on meanwhile."""
    adding = _Adding(crawl, await crawl.frontier(), request)
    judged: list[JudgedUrl] = []
    for at in range(0, len(request.urls), _ADDED_TOGETHER):
        judged += await adding.add(request.urls[at : at + _ADDED_TOGETHER])
        await asyncio.sleep(0)
    return Judged(urls=judged)


class _Adding:
    """Judges URLs by the scope of the crawl, and adds them to its frontier."""

    def __init__(self, crawl: OperatedCrawl, frontier: Frontier, request: Add) -> None:
        self._frontier = frontier
        self._request = request
        self._config = crawl.loaded.config
        self._notes = AddedNotes(crawl.directory, crawl.state, self._config.frontier.durability)
        self._urls, self._scope, self._discovery = crawl.rules
        self._elsewhere = _elsewhere(crawl)

    async def add(self, texts: Sequence[str]) -> list[JudgedUrl]:
        read = [self._read(text) for text in texts]
        urls = [url for url in read if isinstance(url, CrawlUrl)]
        try:
            before = await self._notes.note(self._frontier, urls, self._request)
        except OSError as error:
            raise Refused(f"not all was queued, because that can't be noted: {error}; then add it again") from error
        await seeding.enqueue(self._frontier, urls, force=self._request.force)
        after = [await self._frontier.status_of(url.canonical) for url in urls]
        judged = iter([self._judge(*each) for each in zip(urls, before, after, strict=True)])
        return [next(judged) if isinstance(url, CrawlUrl) else url for url in read]

    def _read(self, text: str) -> CrawlUrl | JudgedUrl:
        try:
            (url,) = seeding.added_seeds(self._config, self._urls, self._discovery, [text])
        except ValueError as error:
            return JudgedUrl(url=without_password(text), outcome="invalid", reason=str(error))
        refusal = None if self._request.force else self._scope.judge(self._urls.seed(url.url))[0]
        if refusal is not None:
            whole = "; to follow its links, too, add it to crawl.seeds" if refusal is ScopeRefusal.OUT_OF_SCOPE else ""
            why = f"{refusal}; with force it is added all the same{whole}"
            return JudgedUrl(url=url.url, outcome="refused", reason=why)
        if (elsewhere := self._elsewhere(url.queue_key)) is not None:
            return JudgedUrl(url=url.url, outcome="refused", reason=elsewhere)
        return with_precedence(url, self._request.precedence)

    def _judge(self, url: CrawlUrl, before: LedgerEntry | None, after: LedgerEntry | None) -> JudgedUrl:
        if after is None:
            why = "the visited set takes it for known, as filters do now and then; with force it is added"
            return JudgedUrl(url=url.url, outcome="refused", reason=why)
        if before is None:
            return JudgedUrl(url=url.url, outcome="added")
        if before.state is UrlState.PENDING:
            return JudgedUrl(url=url.url, outcome="waits", reason="it is in its queue already")
        if self._request.force:
            return JudgedUrl(url=url.url, outcome="added", reason=f"again: {_settled(before)}")
        return JudgedUrl(url=url.url, outcome="known", reason=f"{_settled(before)}; with force it is fetched again")


def _settled(entry: LedgerEntry) -> str:
    what = entry.reason if entry.status is None else str(entry.status)
    return entry.state.name.lower() + ("" if what is None else f", {what}")


async def forget(crawl: OperatedCrawl, texts: Sequence[str]) -> Judged:
    read = [_read_or_refuse(crawl, text) for text in texts]
    targets = [target for target in read if isinstance(target, Target)]
    frontier = await crawl.frontier()
    before = [await frontier.status_of(target.canonical) for target in targets]
    settled = [entry.canonical for entry in before if entry is not None and entry.state is not UrlState.PENDING]
    try:
        await frontier.forget(settled)
    except CannotForget as error:
        raise Refused(f"nothing was forgotten: {error}") from error
    judged = iter([_judge_forgotten(*each) for each in zip(targets, before, strict=True)])
    return Judged(urls=[next(judged) if isinstance(each, Target) else each for each in read])


def _read_or_refuse(crawl: OperatedCrawl, text: str) -> Target | JudgedUrl:
    try:
        return discovering.read_url(crawl.loaded.config, text)
    except ValueError as error:
        return JudgedUrl(url=without_password(text), outcome="invalid", reason=str(error))


def _judge_forgotten(target: Target, before: LedgerEntry | None) -> JudgedUrl:
    if before is None:
        return JudgedUrl(url=target.url, outcome="unknown", reason="the crawl has never met it")
    if before.state is UrlState.PENDING:
        return JudgedUrl(url=target.url, outcome="waits", reason="it is still to be fetched, and is kept")
    return JudgedUrl(url=target.url, outcome="forgotten", reason=f"was {_settled(before)}")


def visits_of(known: KnownUrl, config: Config) -> UrlVisits:
    """What is known of the visits to a URL: from the ledger, or, while the URL waits, from its entry in the queue."""
    entry = known.entry
    count, history, last_at = entry.visits, entry.history, entry.fetched_at
    if entry.state is UrlState.PENDING:
        last_visit = None if known.waiting is None else known.waiting.last_visit
        if last_visit is None:
            return UrlVisits(count=0, last=[])
        count, history, last_at = last_visit.visits, last_visit.history, last_visit.fetched_at
    rate = change_rate(history)
    next_at, why = _next_visit(entry, config.recrawl)
    return UrlVisits(
        count=count,
        last=_last(history, last_at),
        changes_every_s=None if not rate else round(1 / rate),
        next_at=moment(next_at),
        next_why=why,
    )


def _last(history: Sequence[int], last_at: float | None) -> list[VisitForm]:
    """The visits that found whether the page had changed, the newest first."""
    if last_at is None:
        return []
    gaps = [abs(gap_s) for gap_s in reversed(history)]
    times = accumulate(gaps, lambda at, gap_s: at - gap_s, initial=last_at)
    return [
        VisitForm(at=moment(at), changed=gap_s > 0, after_s=abs(gap_s))
        for at, gap_s in zip(times, reversed(history), strict=False)
    ]


def _next_visit(entry: LedgerEntry, recrawl: Recrawl) -> tuple[float | None, str | None]:
    if entry.state is UrlState.PENDING:
        return None, None
    if recrawl.schedule == "off":
        return None, "recrawl.schedule is off"
    if entry.due_ms is None:
        return None, "the next run plans it"
    return entry.due_ms / 1000, _why(entry, recrawl)


def _why(entry: LedgerEntry, recrawl: Recrawl) -> str:
    after = "" if entry.interval_s is None else f"{duration(entry.interval_s)} after the last visit, "
    if entry.reason == Change.GONE:
        return f"{after}as for all pages that are gone"
    for each in recrawl.pattern:
        search = pattern_search([each.matching], "recrawl.pattern")
        if search is not None and search(entry.url or entry.canonical):
            return f"{after}by the pattern {each.matching} of recrawl.pattern"
    why = f'{after}by the schedule "{recrawl.schedule}"'
    if recrawl.schedule == "sitemap" and entry.kind != LinkKind.SITEMAP and entry.change_frequency is not None:
        why += f", because a sitemap says that it changes {entry.change_frequency}"
    return why
