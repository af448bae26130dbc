"""Copies URLs of a crawl to another: pieces of an export, and their import."""

from functools import partial
from time import perf_counter

import msgspec

from crawler.control.replies import ExportPiece, Imported
from crawler.control.requests import Export, Import
from crawler.operate.actions.exported import line_of, read_line
from crawler.operate.actions.imported import canonical_of, enter_lines, note_imported
from crawler.operate.actions.slices import SLICE_S
from crawler.operate.actions.urls import read_target
from crawler.operate.refused import Refused
from crawler.operate.target import OperatedCrawl, ledger_reads, recovering
from frontier import Damaged


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
    recovers, read = await recovering(crawl), partial(read_target, crawl)
    known = crawl.state.knows_many([canonical_of(line, read) for line in decoded])
    new = [line for line, is_known in zip(decoded, known, strict=True) if not is_known]
    try:
        if new:
            syncs = crawl.loaded.config.frontier.durability == "power"
            note_imported(crawl.directory.imported, new, syncs=syncs)
    except OSError as error:
        raise Refused(f"not all was entered, because that can't be noted: {error}; then import it again") from error
    return Imported(added=await enter_lines(frontier, recovers, new, read))
