"""What becomes of a page: extractor and sinks."""

from collections.abc import Callable
from importlib.metadata import version

from config import Config, Loaded
from crawler.directory import CrawlDirectory
from crawler.fetch.rules import product_token
from crawler.fulldisk import FullDisk, WaitingSink
from crawler.protocols import LinkExtractor, Sink
from crawler.read.bs4 import Bs4Extractor
from crawler.read.lexbor import LexborExtractor
from crawler.read.lxml import LxmlExtractor
from crawler.read.wishes import Printed, Wishes
from crawler.write.fanout import Sinks
from crawler.write.records import RecordSink
from crawler.write.warc import WarcSink


def extractor(loaded: Loaded) -> LinkExtractor:
    config = loaded.config
    agent = product_token(config.fetch.user_agent)
    wishes = Wishes(
        forms=config.scope.forms,
        scripts=config.scope.speculative,
        pdf=_pdf_reader(loaded) if config.scope.pdf else None,
    )
    match config.fetch.extractor:
        case "lexbor":
            return LexborExtractor(agent=agent, wishes=wishes)
        case "lxml":
            return LxmlExtractor(agent=agent, wishes=wishes)
        case "bs4":
            return Bs4Extractor(agent=agent, wishes=wishes)


def _pdf_reader(loaded: Loaded) -> Callable[[bytes], Printed]:
    try:
        from crawler.read.pdf import read_pdf  # noqa: PLC0415 - an extra, which may not be installed
    except ModuleNotFoundError as error:
        raise loaded.refuse("scope.pdf", "pypdf is not installed: pip install 'onceover[pdf]'") from error
    return read_pdf


def sink(config: Config, directory: CrawlDirectory, full_disk: FullDisk) -> Sink:
    sinks: list[Sink] = []
    durability = config.frontier.durability
    if config.output.warc:
        info = {
            "software": f"onceover/{version('onceover')}",
            "isPartOf": config.crawl.name,
            "http-header-user-agent": config.fetch.user_agent,
            "robots": "obey" if config.politeness.robots else "ignore",
        }
        sinks.append(WarcSink(directory.warc, max_bytes=config.output.warc_max_bytes, durability=durability, info=info))
    if config.output.records:
        # Last, so that a record promises that its page is in the archive.
        sinks.append(RecordSink(directory.records, max_bytes=config.output.records_max_bytes, durability=durability))
    return Sinks([WaitingSink(each, full_disk) for each in sinks])
