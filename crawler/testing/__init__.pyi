from crawler.testing.fetch.contract import FetcherContract as FetcherContract
from crawler.testing.fetch.robots import RobotsContract as RobotsContract
from crawler.testing.frontier.contract import FrontierContract as FrontierContract
from crawler.testing.read.contract import HtmlExtractorContract as HtmlExtractorContract
from crawler.testing.read.contract import LinkExtractorContract as LinkExtractorContract
from crawler.testing.sink.contract import SinkContract as SinkContract
from crawler.testing.url.contract import CanonicalRuleContract as CanonicalRuleContract
from crawler.testing.visited.contract import VisitedSetContract as VisitedSetContract
