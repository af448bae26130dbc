from config import Config as Config
from config import ConfigError as ConfigError
from crawler.disk.directory import DirectoryRefused as DirectoryRefused
from crawler.engine import Ending as Ending
from crawler.library.crawl import Crawl as Crawl
from crawler.library.page import CrawledPage as CrawledPage
from crawler.library.page import PageLink as PageLink
from crawler.library.records import record_directories as record_directories
from crawler.library.result import CrawlResult as CrawlResult
from crawler.library.sync import SyncCrawl as SyncCrawl
from crawler.library.sync import crawl_sync as crawl_sync
from crawler.page import Extract as Extract
from crawler.page import Failure as Failure
from crawler.page import Fetched as Fetched
from crawler.page import Link as Link
from crawler.page import LinkKind as LinkKind
from crawler.page import NotModified as NotModified
from crawler.page import Page as Page
from crawler.page import PageRecord as PageRecord
from crawler.page import Redirect as Redirect
from crawler.seams import LinkExtractor as LinkExtractor
from crawler.seams import NotTaken as NotTaken
from crawler.seams import Sink as Sink
from crawler.status import Status as Status
from crawler.write.records import read_records as read_records
from frontier import StoreFailed as StoreFailed
from frontier import StoreRefused as StoreRefused
from visited import VisitedSet as VisitedSet

__version__: str

__all__ = [
    "Config",
    "ConfigError",
    "Crawl",
    "CrawlResult",
    "CrawledPage",
    "DirectoryRefused",
    "Ending",
    "Extract",
    "Failure",
    "Fetched",
    "Link",
    "LinkExtractor",
    "LinkKind",
    "NotModified",
    "NotTaken",
    "Page",
    "PageLink",
    "PageRecord",
    "Redirect",
    "Sink",
    "Status",
    "StoreFailed",
    "StoreRefused",
    "SyncCrawl",
    "VisitedSet",
    "crawl_sync",
    "read_records",
    "record_directories",
]
