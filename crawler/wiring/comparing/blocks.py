"""What the blocks of a comparison name: the visited sets that are compared, and the works, which are read once so that
all sets get the same links. Also whether the blocks fit together."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from pathlib import Path

import msgspec

from config import CompareSet, CompareWork, Config, Loaded, render_toml
from crawler.compare.measure.preparing import (
    Unreadable,
    WorkRefused,
    spool,
    synthetic_work,
    urls_of_file,
    urls_of_pages,
)
from crawler.compare.measure.synthetic import Synthetic
from crawler.compare.measure.trial import Competitor
from crawler.compare.measure.work import Live, Survey, Work
from crawler.disk.layout import record_directories
from crawler.simweb.params import WorldParams
from crawler.url.urls import UrlReader
from crawler.wiring.components.discovering import url_reader
from crawler.wiring.plugins.catalog import descriptor, find
from crawler.wiring.plugins.kinds import VISITED
from crawler.wiring.plugins.loading import load
from crawler.write.records import read_records
from visited.descriptor import checked_options
from visited.digests.exact import ExactSet

DEFAULT_SETS = tuple(
    CompareSet(backend=each) for each in "exact dsbf bloom blocked counting python-set rbloom fastbloom-rs".split()
)
"""The sets that are compared by default."""


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
        crawl=msgspec.structs.replace(config.crawl, parts=1),
        recrawl=Config().recrawl,
        output=msgspec.structs.replace(config.output, warc=False, records=True, sinks=(), sink=()),
        visited=msgspec.structs.replace(config.visited, options={}),
        compare=Config().compare,
    )
    survey = Survey(links=0, distinct=0, hosts=0, largest_host="", largest_host_urls=0, mean_length=0.0)
    return Work(name=work.name, stream=Live(configuration=render_toml(config), web=web), survey=survey)


def file_name(number: int, name: str) -> str:
    """The beginning of names of files about a work."""
    return f"{number}-" + re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:60]


def competitors(sets: Sequence[CompareSet]) -> list[Competitor]:
    """The competitors, each with a unique name."""
    names = unique_names([each.name or each.backend for each in sets])
    return [_competitor(each, name) for each, name in zip(sets, names, strict=True)]


def _competitor(each: CompareSet, name: str) -> Competitor:
    found = find(VISITED, each.backend)
    described = load(found)
    return Competitor(
        **{**msgspec.structs.asdict(each), "name": name},
        package="" if found.package is None else str(found.package),
        has_estimates=described.has_estimates,
        is_exact=described.is_exact,
    )


def unique_names(names: Iterable[str]) -> list[str]:
    """The names; a number is appended to those that occurred before."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name} {number}" for number in count(2))
        found.append(next(each for each in chain([name], numbered) if each not in found))
    return found


def check_comparison(loaded: Loaded) -> None:
    """Check that the blocks fit together. Raises `ConfigError` for the first that do not."""
    compare = loaded.config.compare
    works = [work.name for work in compare.work]
    sets = [each.name for each in competitors(compare.set)]
    for number, work in enumerate(compare.work, start=1):
        sources = [work.urls, work.crawl, work.distinct, None if work.live == "no" else work.live]
        found = sum(source is not None for source in sources)
        if found != 1:
            raise loaded.refuse(
                f"compare.work[{number}]",
                f"expected one of urls, crawl, distinct and live, found {found or 'none'} of them",
            )
        if works.index(work.name) + 1 != number:
            raise loaded.refuse(f"compare.work[{number}]", f'expected a unique name, found "{work.name}" again')
    for number, each in enumerate(competitors(compare.set), start=1):
        for name in each.works:
            _check_known(loaded, f"compare.set[{number}]", name, works, "compare.work")
        with loaded.refusing(f"compare.set[{number}]"):
            _check_is_own(checked_options(descriptor(VISITED, each.backend).options, each.all_options))
    for number, expected in enumerate(compare.expect, start=1):
        key = f"compare.expect[{number}]"
        _check_known(loaded, key, expected.work, works, "compare.work")
        for name in (expected.set, *([expected.over] if expected.over else [])):
            _check_known(loaded, key, name, sets, "compare.set")


def _check_is_own(options: object) -> None:
    """Raise ValueError for options of a set that crawls share: they would never fetch the URLs of the comparison."""
    share = getattr(options, "share", None)
    if share is not None:
        raise ValueError(
            f'expected a set for the comparison alone, found share = "{share}": the crawls that share it would never '
            "fetch what the comparison adds. Leave it out"
        )


def _check_known(loaded: Loaded, key: str, name: str, names: Sequence[str], kind: str) -> None:
    if name not in names:
        there_are = ", ".join(f'"{each}"' for each in names) or "none"
        raise loaded.refuse(key, f'expected the name of a [[{kind}]], found "{name}"; there are {there_are}')
