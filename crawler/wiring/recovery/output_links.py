"""The links in the output of a crawl: those that records tell, and those of archived pages, which are read again."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from config import Loaded
from crawler.discover.marks import name_of_page
from crawler.discover.scope import ScopeRefusal
from crawler.disk.directory import CrawlDirectory
from crawler.export.archived_pages import page_of_capture
from crawler.fetch.robots.robots_txt import sitemap_links
from crawler.fetch.robots.rules import MAX_ROBOTS_BYTES, RobotsRules, product_token
from crawler.fetch.robots.status import status_after
from crawler.page import Link, LinkKind, Page, PageRecord, Redirect
from crawler.page.number_set import NumberSet
from crawler.record.changes import Change
from crawler.seams import LinkExtractor
from crawler.steps import run_all
from crawler.wiring.components import discovering, processing
from crawler.wiring.components.fetching import robots_lifetimes
from crawler.wiring.recovery.archived import NUMBERS_TOLD, Progress, archived_pages, facts_of
from crawler.wiring.recovery.bodies import Bodies
from crawler.wiring.recovery.entries import RecordUrls
from crawler.wiring.recovery.settled import SettledUrls
from crawler.wiring.recovery.sources import Sources
from crawler.write.records import read_records
from crawler.write.warc_facts import FAILURE, NOT_FOLLOWED
from crawler.write.warc_reader import Capture, whole_number
from frontier import CrawlUrl, Damaged, LedgerReads, UrlState

_KINDS: Final = {str(kind): kind for kind in LinkKind}


def _kinds_of_links(record: PageRecord) -> dict[str, list[LinkKind]]:
    """The kinds of the links to each canonical URL, in their order, as far as the record tells them."""
    kinds: dict[str, list[LinkKind]] = {}
    for detail in record.link_details or ():
        if (kind := _KINDS.get(detail.kind)) is not None:
            kinds.setdefault(detail.canonical or detail.url, []).append(kind)
    return kinds


class LinksInOutput:
    """The links that the output of a crawl tells, and before them the settled URLs."""

    def __init__(self, loaded: Loaded, sources: Sources, *, progress: Progress) -> None:
        self._reader, self._scope, self._discovery = discovering.rules_of(loaded)
        self._loaded = loaded
        self._sources = sources
        self._progress = progress
        self._urls = RecordUrls(loaded.config, self._reader)
        self._extractor: LinkExtractor = processing.extractor(loaded)
        self._bodies = Bodies(loaded, sources.newest_first[::-1])
        self.settled = SettledUrls(sources, self._urls, self._bodies, progress=progress)
        self._read = NumberSet()
        """Pages whose links are known."""
        self.owed = NumberSet()
        """Pages of other parts whose links are not known yet."""

    def close(self) -> None:
        self._bodies.close()
        self.settled.close()

    def count_unknown(self, pruned: NumberSet) -> int:
        """How many numbers of deleted records have no other record."""
        return pruned.count_without(self.settled.recorded)

    def unread(self, ledger: LedgerReads) -> int:
        """How many fetched pages of the ledger have unknown links."""
        return sum(
            1
            for known in ledger.all_known()
            if not isinstance(known, Damaged)
            and known.entry.state is UrlState.DONE
            and not known.entry.elsewhere
            and (known.entry.status or 0) < 400
            and known.entry.kind != LinkKind.EXTERNAL
            and not self._is_read(known.entry.number)
        )

    def _is_read(self, number: int) -> bool:
        """Whether the links of a page are known, also if this visit only says that it has not changed."""
        return number in self._read or ((copy := self.settled.copy_of(number)) is not None and copy in self._read)

    def _records(self, directory: CrawlDirectory) -> Iterator[PageRecord]:
        if not directory.records.is_dir():
            return
        for count, record in enumerate(read_records(directory.records, last_only=True), 1):
            if count % NUMBERS_TOLD == 0:
                self._progress(count)
            yield record

    def _own(self, url: CrawlUrl | None) -> CrawlUrl | None:
        return url if url is not None and self._sources.owns(url.queue_key) else None

    def _missing(self, directory: CrawlDirectory, links: Iterator[CrawlUrl | None]) -> Iterator[CrawlUrl | None]:
        """Those of the links in an output that the state may lack. From its own output these are all, because links
        that were on their way to other parts are lost with it. From other output these are the links that it owns."""
        return links if directory is self._sources.own else map(self._own, links)

    def links(self) -> Iterator[CrawlUrl | None]:
        """First those of records, then those of pages in the archive whose records have none, and of robots.txt. None
        stands for a visit, as in `SettledUrls.entries`."""
        for read in (self._links_of_records, self._links_of_pages):
            for directory in self._sources.newest_first:
                yield from self._missing(directory, read(directory))

    def _links_of_records(self, directory: CrawlDirectory) -> Iterator[CrawlUrl | None]:
        for record in self._records(directory):
            yield None
            parent = self._urls.of_record(record)
            if parent is None or record.state != "done":
                continue
            # Of a page that has not changed, the copy is owed.
            has_links = record.change != Change.NOT_MODIFIED or record.number in self.settled.copyless
            if directory is not self._sources.own and (record.status or 0) < 400 and has_links:
                self.owed.add(record.number)
            if record.redirect is not None:
                self._note_read(record.number)
                yield from self._redirect_target(record.url, record.redirect, parent)
            elif record.references is not None:
                self._note_read(record.number)
                yield from self._references(record, parent)
            elif record.kind == LinkKind.EXTERNAL or record.not_followed is not None:
                self._note_read(record.number)
                if record.canonical is not None:
                    link = Link(href=record.canonical, kind=LinkKind.CANONICAL)
                    yield from self._judged(record.url, [link], parent)

    def _references(self, record: PageRecord, parent: CrawlUrl) -> Iterator[CrawlUrl]:
        """The URLs to which a page refers, as it was crawled. Those out of scope are among them if they are checked, or
        if embeds may come from anywhere: then what is out of scope as a link was an embed, which lends its host to no
        link. Where the record has details of its links, these say what each was."""
        references, kinds, scope = Counter(record.references), _kinds_of_links(record), self._loaded.config.scope
        checks: dict[str, CrawlUrl] = {}
        followed, embeds = dict[str, str](), set[str]()
        if scope.check_external or scope.offsite_embeds:
            links = [Link(href=each, kind=kind) for each in references for kind in kinds.get(each, [LinkKind.LINK])]
            judged = run_all(self._discovery.links(record.url, links, parent=parent))
            checks = {name_of_page(url.canonical): url for url in judged.checks}
            followed = {url.canonical: url.kind for url in judged.urls}
            if scope.offsite_embeds:
                embeds = {url for url, reason in judged.refusals if reason == ScopeRefusal.OUT_OF_SCOPE}
        for canonical, count in references.items():
            # As a link, so that a page that embeds itself is no target of a redirect.
            url = self._urls.of_url(canonical, depth=parent.depth + 1, kind=LinkKind.LINK, via=parent.url)
            if url is None:
                continue
            kind = followed.get(url.canonical)
            if check := checks.get(url.canonical):
                yield msgspec.structs.replace(check, link_count=count)
            if not check or kind:  # a page may show what it links to
                kind = LinkKind.EMBED if url.url in embeds else kind or kinds.get(canonical, [LinkKind.LINK])[0]
                yield msgspec.structs.replace(url, kind=kind, link_count=count)

    def _note_read(self, number: int) -> None:
        self._read.add(number)
        self.owed.discard(number)

    def _redirect_target(self, url: str, location: str, parent: CrawlUrl) -> Iterator[CrawlUrl]:
        redirect = Redirect(url=url, status=302, headers=[], location=location, fetched_at=0, duration_s=0)
        target = self._discovery.redirect(redirect, parent=parent)
        if isinstance(target, CrawlUrl):
            yield target

    def _links_of_pages(self, directory: CrawlDirectory) -> Iterator[CrawlUrl | None]:
        for number, found in archived_pages(directory, self._progress, with_robots=True):
            if number < 0:
                yield from self._sitemaps(found)
                continue
            yield None
            if number not in self._read:
                if "revisit" in found and (page := self._bodies.with_payload(found["revisit"])) is not None:
                    found["response"] = page
                documents = [found[kind] for kind in ("response", "conversion") if kind in found]
                facts = facts_of(found)
                if documents and FAILURE not in facts:
                    self._note_read(number)
                    outlinks = found["metadata"].outlinks() if "metadata" in found else ()
                    yield from self._links_of(documents, facts, outlinks)

    def _sitemaps(self, found: dict[str, Capture]) -> Sequence[CrawlUrl]:
        """The sitemaps that a robots.txt names, or those that may be there. No page need link to them."""
        capture = found.get("response")
        if "revisit" in found:
            capture = self._bodies.with_payload(found["revisit"])
        config = self._loaded.config
        page = None if capture is None else page_of_capture(capture, max_body_bytes=MAX_ROBOTS_BYTES)
        if page is None or not config.scope.sitemaps or 300 <= page.status < 400:
            return ()
        status = status_after(page, None, 0.0, robots_lifetimes(config), retry_after_s=None)
        # The archive does not tell for which URL it was asked. An embed does not open its host to the crawl.
        parent = self._urls.of_url(page.url, depth=0, kind=LinkKind.EMBED, via=None)
        if parent is None or status.failures or self._is_only_checked(parent.url):
            return ()
        text, agent = status.text, product_token(config.fetch.user_agent)
        links = sitemap_links(None if text is None else RobotsRules(text, agent=agent), config.scope.sitemap_paths)
        return run_all(self._discovery.sitemaps(links, parent=parent)).to_add

    def _is_only_checked(self, url: str) -> bool:
        """Whether the crawl asks a host for its robots.txt to check links to it, and takes no sitemap from there."""
        target = self._reader.seed(url)
        return self._loaded.config.scope.check_external and self._scope.judge(target)[0] is ScopeRefusal.OUT_OF_SCOPE

    def _links_of(
        self, documents: list[Capture], facts: dict[str, str], outlinks: tuple[Link, ...]
    ) -> Iterator[CrawlUrl]:
        """`outlinks` are links that only the browser has found."""
        depth = facts.get("depth", "0")
        parent = self._urls.of_url(
            documents[0].url,
            depth=whole_number(depth) or 0,
            kind=facts.get("kind", LinkKind.LINK),
            via=facts.get("via"),
        )
        if parent is None:
            return
        response: Page | None = None
        for capture in documents:
            page = page_of_capture(capture, max_body_bytes=self._loaded.config.fetch.max_body_bytes)
            if capture.kind == "response":
                response = page
            elif page is not None and response is not None:
                # The crawl has read the rendered document with the headers of the response.
                page = msgspec.structs.replace(page, headers=response.headers, links=outlinks)
            if page is not None and (location := page.header("location")) and 300 <= page.status < 400:
                yield from self._redirect_target(page.url, location, parent)
            elif page is not None and page.has_links:
                extract = self._extractor.extract(page)
                is_followed = NOT_FOLLOWED not in facts
                links = [link for link in extract.links if is_followed or link.kind == LinkKind.CANONICAL]
                yield from self._judged(extract.base_url, links, parent)

    def _judged(self, base_url: str, links: Sequence[Link], parent: CrawlUrl) -> Sequence[CrawlUrl]:
        found = run_all(self._discovery.links(base_url, links, parent=parent))
        own = [msgspec.structs.replace(parent, link_count=found.self_links)] if found.self_links else []
        return [*found.to_add, *own]
