"""Prepares the works of a comparison: reads each once, so that all sets get the same links."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from config import CompareWork, Config, Loaded, render_toml
from crawler.compare.measure.preparing import (
    Unreadable,
    WorkRefused,
    spool,
    synthetic_work,
    urls_of_file,
    urls_of_pages,
)
from crawler.compare.measure.synthetic import Synthetic
from crawler.compare.measure.work import Live, Survey, Work
from crawler.disk.layout import record_directories
from crawler.simweb.params import WorldParams
from crawler.url.urls import UrlReader
from crawler.wiring.components.discovering import url_reader
from crawler.write.records import read_records
from visited.digests.exact import ExactSet


async def prepare_work(loaded: Loaded, work: CompareWork, path: Path) -> Work:
    """Read a work once, and write its links to files next to `path` if they can't be computed. Raises `WorkRefused`."""
    compare, reader = loaded.config.compare, url_reader(loaded)
    unreadable = Unreadable()
    if work.live != "no":
        return _live(loaded.config, work)
    if work.distinct is not None:
        # `scale` only applies to works that are scale models anyway.
        scale = 1.0 if work.stands_for is None else compare.scale
        stream = Synthetic(
            distinct=max(1, round(work.distinct * scale)),
            repeats=work.repeats,
            hosts=work.hosts,
            skew=work.skew,
            length=work.length,
            seed=compare.seed,
        )
        return synthetic_work(work.name, stream, batch=work.batch, stands_for=work.stands_for)

    def canonical(url: str) -> str:
        try:
            return reader.seed(url).canonical
        except ValueError as error:
            raise ValueError(str(error).removeprefix("seed ")) from error

    if work.urls is not None:
        links = urls_of_file(work.urls, canonical, unreadable)
    else:
        links = _links_of_crawl(work.crawl or "", reader, unreadable)
    prepared = await spool(work.name, links, unreadable, path=path, exact=ExactSet(), batch=work.batch)
    return msgspec.structs.replace(prepared, stands_for=work.stands_for)


def _links_of_crawl(directory: str, reader: UrlReader, unreadable: Unreadable) -> Iterator[str]:
    records = record_directories(Path(directory))
    if not records:
        raise WorkRefused(f"expected the directory of a crawl with records, found {directory} without any")
    recorded = False

    def pages() -> Iterator[tuple[str, list[str]]]:
        nonlocal recorded
        for record in read_records(*records):
            recorded = recorded or record.references is not None
            # A refused redirect was not followed, and its target may not even be a URL.
            followed = [record.redirect] if record.redirect and not record.refused else []
            yield record.url, [*(record.references or ()), *followed]

    yield from urls_of_pages(pages(), lambda url: reader.seed(url).canonical, unreadable)
    if not recorded:
        raise WorkRefused(f"the records in {directory} have no links; crawl with output.links = true")


def _live(config: Config, work: CompareWork) -> Work:
    """A crawl with this configuration. The worker replaces its visited set by each competitor."""
    web: str | None = None
    if work.live == "simweb":
        params = WorldParams(hosts=work.hosts, pages_per_host=work.pages)
        web = msgspec.json.encode(params).decode()
        config = msgspec.structs.replace(
            Config(),
            crawl=msgspec.structs.replace(
                config.crawl, name="compare", seeds=("http://h00000.sim.test/",), seed_files=()
            ),
            scope=msgspec.structs.replace(Config().scope, within="domain"),
            politeness=msgspec.structs.replace(Config().politeness, min_delay_s=0.0, delay_factor=0.0),
        )
    config = msgspec.structs.replace(
        config,
        output=msgspec.structs.replace(config.output, warc=False, records=True, sinks=(), sink=()),
        visited=msgspec.structs.replace(config.visited, options={}),
        compare=Config().compare,
    )
    survey = Survey(links=0, distinct=0, hosts=0, largest_host="", largest_host_urls=0, mean_length=0.0)
    return Work(name=work.name, stream=Live(configuration=render_toml(config), web=web), survey=survey)


def file_name(number: int, name: str) -> str:
    """The beginning of names of files about a work."""
    return f"{number}-" + re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:60]
