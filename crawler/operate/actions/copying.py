"""Copies URLs of a crawl to another: pieces of an export, and their import."""

from time import perf_counter

import msgspec

from crawler.control.replies import ExportPiece, Imported
from crawler.control.requests import Export, Import
from crawler.operate.actions.exported import Line, line_of, read_line
from crawler.operate.actions.forms import seconds
from crawler.operate.actions.slices import SLICE_S
from crawler.operate.actions.urls import read_target
from crawler.operate.refused import Refused
from crawler.operate.target import OperatedCrawl, ledger_reads, recovering
from crawler.page.digests import digest_bytes
from frontier import CrawlUrl, Damaged, LedgerEntry, UrlState


async def export_piece(crawl: OperatedCrawl, request: Export) -> ExportPiece:
    """As many lines of the ledger as a slice of time has room for."""
    ledger = ledger_reads(crawl)
    lines: list[msgspec.Raw] = []
    damaged: list[str] = []
    size, until = 0, perf_counter() + SLICE_S
    for known in ledger.all_known(request.after):
        if isinstance(known, Damaged):
            damaged.append(repr(known.key))
            continue
        if not request.pending or known.waiting is not None:
            line = msgspec.json.encode(line_of(known))
            lines.append(msgspec.Raw(line))
            size += len(line)
        if size >= request.max_bytes or perf_counter() >= until:
            return ExportPiece(lines=lines, after=known.entry.canonical, damaged=damaged)
    return ExportPiece(lines=lines, after=None, damaged=damaged)


async def import_lines(crawl: OperatedCrawl, request: Import) -> Imported:
    """Enter lines of an export. Known URLs do not change."""
    frontier = await crawl.frontier()
    try:
        decoded = [read_line(line) for line in request.lines]
    except ValueError as error:
        raise Refused(f"expected URLs as `frontier export` prints them: {error}") from error
    waiting = [_url(crawl, line) for line in decoded if line.state == "pending"]
    settled = [_entry(line) for line in decoded if line.state != "pending"]
    added = await frontier.add(waiting)
    return Imported(added=added + await (await recovering(crawl)).record(settled))


def _url(crawl: OperatedCrawl, line: Line) -> CrawlUrl:
    target = read_target(crawl, line.url)
    return CrawlUrl(
        url=target.url,
        canonical=line.canonical or target.canonical,
        queue_key=line.queue or target.queue_key,
        depth=line.depth,
        via=line.via,
        kind=line.kind,
        anchor=line.anchor,
        precedence=line.precedence,
        link_count=1 if line.hit_count is None else line.hit_count,
    )


def _entry(line: Line) -> LedgerEntry:
    return LedgerEntry(
        canonical=line.canonical or line.url,
        state=UrlState[line.state.upper()],
        number=0,
        found_at=seconds(line.found_at),
        via=line.via,
        kind=line.kind,
        status=line.status,
        reason=line.reason,
        fetched_at=seconds(line.fetched_at) or None,
        digest=digest_bytes(line.digest),
        etag=line.etag,
        last_modified=line.last_modified,
        hit_count=1 if line.hit_count is None else line.hit_count,
        elsewhere=True,
    )
