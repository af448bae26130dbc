"""Makes what processes a fetched page: the extractor and the sinks."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import msgspec

from config import Config, ConfigError, Loaded, OutputSink, non_defaults
from crawler import __version__
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.earlier import earlier_index, earlier_places
from crawler.disk.full_disk_retry import FullDiskRetry, FullDiskSink
from crawler.disk.layout import name_of_part
from crawler.fetch.robots.rules import product_token
from crawler.page import Fetched, PageRecord
from crawler.read.descriptor import Descriptor as ExtractorDescriptor
from crawler.read.descriptor import Parameters as ExtractorParameters
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.options import Options, ReadPdf
from crawler.read.pdf.processes import PdfProcesses
from crawler.seams import Begins, IsTold, LinkExtractor, Sink
from crawler.wiring.plugins.catalog import find
from crawler.wiring.plugins.guarded import GuardedExtractor
from crawler.wiring.plugins.kinds import EXTRACTOR, SINK
from crawler.wiring.plugins.loading import NamedBackend, PluginRefused, load
from crawler.write.dedupe.sources import check_beginnings, sources_in
from crawler.write.descriptor import Descriptor as SinkDescriptor
from crawler.write.descriptor import OutputDamaged, Refers, Written
from crawler.write.descriptor import Parameters as SinkParameters
from crawler.write.fanout import Sinks
from crawler.write.loads import WithLoads


def extractor(loaded: Loaded, pdf: ReadPdf | None = None) -> LinkExtractor:
    """The extractor of the configuration. `pdf` reads documents, as `PdfProcesses.read`. Raises `ConfigError`."""
    check_pdf(loaded)
    config = loaded.config
    agent, reads = product_token(config.fetch.user_agent), _options(loaded, pdf or PdfProcesses().read)
    parameters = ExtractorParameters(
        agent=agent, reads=reads, make_default=lambda: lexbor_extractor(agent=agent, options=reads)
    )
    backend = find(EXTRACTOR, config.fetch.extractor)
    with loaded.refusing("fetch.extractor"):
        found: ExtractorDescriptor = load(backend)
        made = found.make(parameters, msgspec.convert(config.fetch.extractor_options, found.options))
    return made if backend.is_ours else GuardedExtractor(made, backend.title)


def _options(loaded: Loaded, pdf: ReadPdf) -> Options:
    scope, duplicates = loaded.config.scope, loaded.config.duplicates
    return Options(
        forms=scope.forms,
        scripts=scope.speculative,
        preview_images=scope.preview_images,
        data_links=scope.data_links,
        amp_images=scope.amp_images,
        fingerprint_words=None if duplicates.near == "off" else duplicates.near_min_words,
        pdf=pdf if scope.pdf else None,
    )


def check_pdf(loaded: Loaded) -> None:
    """Check that PDF documents can be read, if they are to be. Raises `ConfigError`."""
    wanted = {"scope.pdf": loaded.config.scope.pdf, "output.pdf_text": loaded.config.output.pdf_text}
    for key, is_wanted in wanted.items():
        if is_wanted and find_spec("pypdf") is None:
            raise loaded.refuse(key, "pypdf is not installed: pip install 'onceover-crawler[pdf]'")


class _Chosen(msgspec.Struct, frozen=True):
    """A sink that the configuration asks for."""

    key: str
    """What asks for it."""
    backend: NamedBackend
    name: str
    folder: Path
    given: Mapping[str, object]
    """Its options, as they were given."""

    @property
    def descriptor(self) -> SinkDescriptor:
        found: SinkDescriptor = load(self.backend)
        return found

    @property
    def options(self) -> msgspec.Struct:
        return msgspec.convert(self.given, self.descriptor.options)


def check_sinks(loaded: Loaded) -> None:
    """Check that each sink beside records and archive has a name of its own, and that the archive has what it is
    compared with. Raises `ConfigError`."""
    _check_earlier(loaded)
    names: set[str] = set()
    for each in _plugin_sinks(loaded.config, Path()):
        if each.name in names:
            raise loaded.refuse(each.key, f'expected a unique name, found "{each.name}" again: give this sink a name')
        names.add(each.name)


def _check_earlier(loaded: Loaded) -> None:
    """Check that there are earlier crawls where the configuration expects them, and that their indexes can be read.
    Raises `ConfigError`."""
    output, own = loaded.config.output, Path(loaded.config.crawl.directory).resolve()
    for name in output.dedupe_against if output.warc else ():
        place = Path(name).resolve()
        if place in (own, *own.parents) or place.is_relative_to(own):
            raise loaded.refuse(
                "output.dedupe_against",
                f"expected an earlier crawl, found this one: {name}; output.warc_revisits compares with its own bodies",
            )
        with loaded.refusing("output.dedupe_against", (ValueError, OSError, DirectoryRefused)):
            check_beginnings(sources_in(earlier_places([name])))


async def check_servers_of_sinks(loaded: Loaded, directory: CrawlDirectory) -> None:
    """Check that the servers of sinks take pages, as far as that can be known before anything is opened. Raises
    `ConfigError`."""
    for each in _plugin_sinks(loaded.config, directory.sinks):
        if (check := each.descriptor.check) is not None:
            try:
                await check(_parameters(each, loaded.config), each.options)
            except ValueError as error:
                raise _refused(loaded, each, error) from error


class OpenedSinks(msgspec.Struct, frozen=True):
    sink: Sink
    """All of them as one."""
    archive: Callable[[Fetched, str], Awaitable[None]] | None
    """Writes what is asked for another purpose than a page. None if no sink takes that."""
    forget_before: Callable[[int], None]
    """Lets no sink refer any more to archives with a lower number."""
    tell: Callable[[Config], None]
    """Tells the sinks which configuration holds from now on."""


async def open_sinks(
    loaded: Loaded,
    directory: CrawlDirectory,
    full_disk: FullDiskRetry,
    *,
    before: Sequence[Sink] = (),
    after: Sequence[Sink] = (),
    keeps_loads_of: Callable[[PageRecord], bool] | None = None,
) -> OpenedSinks:
    """The sinks of the configuration, after those that a program adds. `after` get what all others have. Archives get
    what rendered pages load, and their screenshots, if `keeps_loads_of` says so of the page. If a sink can't be opened,
    those of the configuration that were opened before are closed. Raises `ConfigError`."""
    sinks = [FullDiskSink(each, full_disk, plugin=f"the sink {type(each).__name__}") for each in before]
    referring: list[Refers] = []
    told: list[IsTold] = []
    async with AsyncExitStack() as opened:
        for each in _chosen_sinks(loaded.config, directory):
            made = await _begin(loaded, each, opened, before_write=full_disk.before_write)
            if isinstance(made, IsTold):
                told.append(made)
            if isinstance(made, Refers):
                referring.append(made)
            sinks.append(FullDiskSink(made, full_disk, plugin=each.backend.title, waits=each.descriptor.waits))
        opened.pop_all()
    sinks += [FullDiskSink(each, full_disk) for each in after]
    archives = [each for each in sinks if each.takes_exchanges]
    with_loads: dict[Sink, WithLoads] = {}
    if keeps_loads_of is not None:
        with_loads = {each: WithLoads(each, keeps_loads_of=keeps_loads_of) for each in archives}
        referring += with_loads.values()

    async def archive(fetched: Fetched, purpose: str) -> None:
        for each in archives:
            await each.write_exchange(fetched, purpose)

    def forget_before(serial: int) -> None:
        for each in referring:
            each.forget_before(serial)

    def tell(config: Config) -> None:
        for each in told:
            each.tell(_about(config))

    written = [with_loads.get(each, each) for each in sinks]
    sink = written[0] if len(written) == 1 else Sinks(written)
    return OpenedSinks(sink, archive if archives else None, forget_before, tell)


class ReadableSink(msgspec.Struct, frozen=True):
    """A sink beside records and archive that can tell what it has."""

    name: str
    has_files: bool
    """Whether each directory with output has files of its own."""
    read: Callable[[], AsyncIterator[Sequence[Written]]]
    open_to_repair: Callable[[], AbstractAsyncContextManager[Sink]] | None
    """Opens it to write again what it lacks. None if records are not enough for that."""


def readable_sinks(loaded: Loaded, directory: CrawlDirectory) -> Iterator[ReadableSink]:
    """Those of the configuration, with what they have in a directory. Nothing is opened yet."""
    for each in _plugin_sinks(loaded.config, directory.sinks):
        descriptor, parameters = each.descriptor, _parameters(each, loaded.config)
        if descriptor.read is not None:
            read = partial(descriptor.read, parameters, each.options)
            opener = partial(_opened, loaded, each) if descriptor.from_records else None
            yield ReadableSink(each.name, parameters.directory is not None, read, opener)


@asynccontextmanager
async def _opened(loaded: Loaded, chosen: _Chosen) -> AsyncIterator[Sink]:
    async with AsyncExitStack() as stack:
        yield await _begin(loaded, chosen, stack)


async def _begin(
    loaded: Loaded, chosen: _Chosen, stack: AsyncExitStack, *, before_write: Callable[[], object] | None = None
) -> Sink:
    """A sink, ready to be written to, which the stack closes. Raises `ConfigError`."""
    try:
        parameters = _parameters(chosen, loaded.config, before_write=before_write)
        if parameters.directory is not None:
            parameters.directory.mkdir(parents=True, exist_ok=True)
        made = chosen.descriptor.make(parameters, chosen.options)
        stack.push_async_callback(made.aclose)
        if isinstance(made, Begins):
            await made.begin()
    except OutputDamaged:
        raise  # the configuration is right
    except ValueError as error:
        raise _refused(loaded, chosen, error) from error
    return made


def _refused(loaded: Loaded, chosen: _Chosen, error: ValueError) -> ConfigError:
    """The error of a sink that can't begin, which names that of a plug-in."""
    if not (chosen.backend.is_ours or isinstance(error, PluginRefused)):
        error = chosen.backend.refuse(error, what="can't begin")
    return loaded.refuse(chosen.key, str(error))


def _chosen_sinks(config: Config, directory: CrawlDirectory) -> list[_Chosen]:
    output = config.output
    found = list(_plugin_sinks(config, directory.sinks))
    if output.warc:
        # Parts begin at the same time, and their archives may come to lie in one folder.
        part = name_of_part(directory.path)
        warc = {
            "prefix": output.warc_prefix if part is None else f"{output.warc_prefix}-{part}",
            "max_bytes": output.warc_max_bytes,
            "level": output.warc_level,
            "index": output.warc_index,
            "revisits": output.warc_revisits,
            "dedupe_min_bytes": output.dedupe_min_bytes,
            "text": output.warc_text,
            "earlier": [str(place) for place in earlier_places(output.dedupe_against)],
            "earlier_index": str(earlier_index(directory)),
        }
        found.insert(0, _Chosen("output.warc", find(SINK, "warc"), "warc", directory.warc, warc))
    if output.records:
        # Records go last, so that a record promises that its page is in all other sinks.
        records = {"max_bytes": output.records_max_bytes}
        found.append(_Chosen("output.records", find(SINK, "records"), "records", directory.records, records))
    return found


def _plugin_sinks(config: Config, directory: Path) -> list[_Chosen]:
    output = config.output
    asked = [("output.sinks", OutputSink(backend=each)) for each in output.sinks]
    asked += [(f"output.sink[{number}]", each) for number, each in enumerate(output.sink, start=1)]
    named = ((key, each, each.name or each.backend.replace(":", "-")) for key, each in asked)
    return [_Chosen(key, find(SINK, each.backend), name, directory / name, each.options) for key, each, name in named]


def _parameters(chosen: _Chosen, config: Config, *, before_write: Callable[[], object] | None = None) -> SinkParameters:
    return SinkParameters(
        directory=chosen.folder if "directory" in chosen.descriptor.needs else None,
        durability=config.frontier.durability,
        about=_about(config),
        before_write=before_write,
    )


def _about(config: Config) -> dict[str, str]:
    """What the output says about the crawl."""
    return {
        "software": f"onceover/{__version__}",
        "isPartOf": config.crawl.name,
        "http-header-user-agent": config.fetch.user_agent,
        "robots": "obey" if config.politeness.robots else "ignore",
        "settings": "\n".join(each for each in non_defaults(config) if not each.startswith("crawl.directory ")),
    }
