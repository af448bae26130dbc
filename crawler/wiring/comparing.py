"""A comparison run from its configuration: works, competitors, and how trials are run."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from itertools import chain, count
from pathlib import Path

import msgspec

from config import CompareSet, CompareWork, Config, Loaded, render_toml
from crawler.compare.measure.competitor import Competitor
from crawler.compare.measure.preparing import (
    Unreadable,
    WorkRefused,
    computed,
    spooled,
    urls_of_file,
    urls_of_pages,
)
from crawler.compare.measure.running import Tell, in_process, schedule
from crawler.compare.measure.synthetic import Synthetic
from crawler.compare.measure.trial import Effort, Outcome, Trial
from crawler.compare.measure.work import Live, Survey, Work
from crawler.compare.report.expecting import Expectation
from crawler.compare.report.recommending import Wish
from crawler.disk.directory import CrawlDirectory
from crawler.simweb.params import WorldParams
from crawler.url.urls import UrlReader
from crawler.wiring.discovering import url_reader
from crawler.write.records import read_records
from visited.digests.exact import ExactSet

# -P: nothing in the current directory can pass itself off as ours.
_COMMAND = (sys.executable, "-P", "-m", "crawler.wiring.compare_worker")
_LIVE_COMMAND = (sys.executable, "-P", "-m", "crawler.cli.compare_live")

USUAL = (
    CompareSet(backend="exact"),
    CompareSet(backend="dsbf"),
    CompareSet(backend="bloom"),
    CompareSet(backend="blocked"),
    CompareSet(backend="counting"),
    CompareSet(backend="python-set"),
    CompareSet(backend="rbloom"),
    CompareSet(backend="fastbloom-rs"),
)
"""What is compared where nothing else is asked for."""


def competitors(sets: Sequence[CompareSet]) -> list[Competitor]:
    """The competitors, each with a name of its own."""
    names = own_names([each.name or each.backend for each in sets])
    return [
        Competitor(**{**msgspec.structs.asdict(each), "name": name}) for each, name in zip(sets, names, strict=True)
    ]


def own_names(names: Iterable[str]) -> list[str]:
    """The names, with a number behind those that occurred before."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name} {number}" for number in count(2))
        found.append(next(each for each in chain([name], numbered) if each not in found))
    return found


def check_comparison(loaded: Loaded) -> None:
    """Refuse blocks that do not fit together. Raises `ConfigError` for the first."""
    compare = loaded.config.compare
    works = [work.name for work in compare.work]
    sets = [each.name for each in competitors(compare.set)]
    for number, work in enumerate(compare.work, start=1):
        places = [work.urls, work.crawl, work.distinct, None if work.live == "no" else work.live]
        found = sum(place is not None for place in places)
        if found != 1:
            raise loaded.refuse(
                f"compare.work[{number}]",
                f"expected one of urls, crawl, distinct and live, found {found or 'none'} of them",
            )
        if works.index(work.name) + 1 != number:
            raise loaded.refuse(f"compare.work[{number}]", f'expected a name of its own, found "{work.name}" again')
    for number, each in enumerate(compare.set, start=1):
        for name in each.works:
            _check_known(loaded, f"compare.set[{number}]", name, works, "compare.work")
        if each.hashes is not None and each.bits is None and each.bits_per_url is None:
            raise loaded.refuse(
                f"compare.set[{number}]", f"expected bits or bits_per_url beside hashes = {each.hashes}, found neither"
            )
    for number, expected in enumerate(compare.expect, start=1):
        key = f"compare.expect[{number}]"
        _check_known(loaded, key, expected.work, works, "compare.work")
        for name in (expected.set, *([expected.over] if expected.over else [])):
            _check_known(loaded, key, name, sets, "compare.set")


def _check_known(loaded: Loaded, key: str, name: str, names: Sequence[str], kind: str) -> None:
    if name not in names:
        there_are = ", ".join(f'"{each}"' for each in names) or "none"
        raise loaded.refuse(key, f'expected the name of a [[{kind}]], found "{name}"; there are {there_are}')


async def prepared(loaded: Loaded, work: CompareWork, place: Path) -> Work:
    """A work, read once, and kept under the path `place` where it has to be. Raises `WorkRefused`."""
    compare, reader = loaded.config.compare, url_reader(loaded)
    unreadable = Unreadable()
    if work.live != "no":
        return _live(loaded.config, work)
    if work.distinct is not None:
        # Only what is a scale model already can be a smaller one.
        scale = 1.0 if work.stands_for is None else compare.scale
        stream = Synthetic(
            distinct=max(1, round(work.distinct * scale)),
            repeats=work.repeats,
            hosts=work.hosts,
            skew=work.skew,
            length=work.length,
            seed=compare.seed,
        )
        return computed(work.name, stream, batch=work.batch, stands_for=work.stands_for)

    def canonical(url: str) -> str:
        try:
            return reader.seed(url).canonical
        except ValueError as error:
            raise ValueError(str(error).removeprefix("seed ")) from error

    if work.urls is not None:
        links = urls_of_file(work.urls, canonical, unreadable)
    else:
        links = _links_of_crawl(work.crawl or "", reader, unreadable)
    made = await spooled(work.name, links, unreadable, place=place, exact=ExactSet(), batch=work.batch)
    return msgspec.structs.replace(made, stands_for=work.stands_for)


def _links_of_crawl(directory: str, reader: UrlReader, unreadable: Unreadable) -> Iterator[str]:
    records = CrawlDirectory(Path(directory)).records
    if not records.is_dir():
        raise WorkRefused(f"expected the directory of a crawl, with records in {records}, found none")
    recorded = False

    def pages() -> Iterator[tuple[str, list[str]]]:
        nonlocal recorded
        for record in read_records(records):
            recorded = recorded or record.references is not None
            # A redirect that was refused is no link that was followed, and may be written in any way.
            followed = [record.redirect] if record.redirect and not record.refused else []
            yield record.url, [*(record.references or ()), *followed]

    yield from urls_of_pages(pages(), lambda url: reader.seed(url).canonical, unreadable)
    if not recorded:
        raise WorkRefused(f"the records in {records} have no links; crawl with output.links = true")


def _live(config: Config, work: CompareWork) -> Work:
    """A crawl by the configuration as it stands, but for its visited set, of which nothing may hide the losses."""
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
        output=msgspec.structs.replace(config.output, warc=False, records=True),
        compare=Config().compare,
    )
    survey = Survey(links=0, distinct=0, hosts=0, largest_host="", largest_host_urls=0, mean_length=0.0)
    return Work(name=work.name, stream=Live(configuration=render_toml(config), web=web), survey=survey)


def trials(config: Config, works: Sequence[Work], entered: Sequence[Competitor]) -> list[Trial]:
    """All trials of a run."""
    compare = config.compare
    effort = Effort(
        probes=compare.probes, past_capacity=compare.past_capacity, memory_bytes=compare.memory_bytes, seed=compare.seed
    )
    return list(schedule(works, entered, rounds=compare.rounds, effort=effort, version=version("onceover-crawler")))


async def run_trial(config: Config, scratch: Path, trial: Trial, tell: Tell) -> Outcome:
    """Run one, in a process of its own."""
    command = _LIVE_COMMAND if trial.kind == "crawl" else _COMMAND
    return await in_process(trial, tell, command=command, scratch=scratch, timeout_s=config.compare.trial_timeout_s)


def wish(config: Config) -> Wish:
    """What a recommendation keeps to."""
    return Wish(max_loss=config.compare.max_loss, max_memory_bytes=config.compare.max_memory_bytes)


def expectations(config: Config) -> list[Expectation]:
    """The figures that are expected."""
    return [Expectation(**msgspec.structs.asdict(each)) for each in config.compare.expect]


def file_name(number: int, name: str) -> str:
    """A name for files about a work."""
    return f"{number}-" + re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:60]
