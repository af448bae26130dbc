"""Makes what processes a fetched page: the extractor and the sinks."""

from collections.abc import Callable, Sequence
from importlib.metadata import version

from config import Config, Loaded
from crawler.disk.directory import CrawlDirectory
from crawler.disk.full_disk_retry import FullDiskRetry, FullDiskSink
from crawler.fetch.robots.rules import product_token
from crawler.protocols import LinkExtractor, Sink
from crawler.read.html.bs4 import Bs4Extractor
from crawler.read.html.lexbor import LexborExtractor
from crawler.read.html.lxml import LxmlExtractor
from crawler.read.options import Options, PdfContent
from crawler.write.fanout import Sinks
from crawler.write.records import RecordSink
from crawler.write.warc import WarcSink


def extractor(loaded: Loaded) -> LinkExtractor:
    config = loaded.config
    agent = product_token(config.fetch.user_agent)
    options = Options(
        forms=config.scope.forms,
        scripts=config.scope.speculative,
        preview_images=config.scope.preview_images,
        data_links=config.scope.data_links,
        amp_images=config.scope.amp_images,
        pdf=_pdf_reader(loaded) if config.scope.pdf else None,
    )
    match config.fetch.extractor:
        case "lexbor":
            return LexborExtractor(agent=agent, options=options)
        case "lxml":
            return LxmlExtractor(agent=agent, options=options)
        case "bs4":
            return Bs4Extractor(agent=agent, options=options)


def _pdf_reader(loaded: Loaded) -> Callable[[bytes], PdfContent]:
    try:
        from crawler.read.pdf import read_pdf  # noqa: PLC0415 - an extra, which may not be installed
    except ModuleNotFoundError as error:
        raise loaded.refuse("scope.pdf", "pypdf is not installed: pip install 'onceover-crawler[pdf]'") from error
    return read_pdf


def sink(config: Config, directory: CrawlDirectory, full_disk: FullDiskRetry, *, before: Sequence[Sink] = ()) -> Sink:
    """The sinks of the configuration as one, after those that a program adds."""
    sinks = list(before)
    durability = config.frontier.durability
    if config.output.warc:
        sinks.append(_warc_sink(config, directory))
    if config.output.records:
        # Records go last, so that a record promises that its page is in the archive.
        sinks.append(RecordSink(directory.records, max_bytes=config.output.records_max_bytes, durability=durability))
    return Sinks([FullDiskSink(each, full_disk) for each in sinks])


def _warc_sink(config: Config, directory: CrawlDirectory) -> WarcSink:
    output = config.output
    return WarcSink(
        directory.warc,
        prefix=output.warc_prefix,
        max_bytes=output.warc_max_bytes,
        durability=config.frontier.durability,
        level=output.warc_level,
        duplicates=output.warc_revisits,
        info={
            "software": f"onceover/{version('onceover-crawler')}",
            "isPartOf": config.crawl.name,
            "http-header-user-agent": config.fetch.user_agent,
            "robots": "obey" if config.politeness.robots else "ignore",
        },
    )
