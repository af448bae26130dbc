"""Scrapy on the same pages: `python -m tests.bench.peers.scrapy_crawl URL DIRECTORY DOMAIN`.

As its documentation advises for a crawl that can be resumed: JOBDIR on, items to a JSON Lines feed. robots.txt off, no
delay; with `--polite` after the arguments, robots.txt on and one request at a time to each host. Every name is resolved
to loopback. Prints {"pages": n, "seconds": s} as JSON.
"""

import json
import sys
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.resolver import CachingThreadedResolver
from twisted.internet import defer


class LoopbackResolver(CachingThreadedResolver):
    """Every name is this machine."""

    def getHostByName(self, name, timeout=None):  # type: ignore[no-untyped-def] # noqa: N802
        return defer.succeed("127.0.0.1")


class Spider(scrapy.Spider):
    """Follows every link, and keeps of each page what a record has."""

    name = "bench"

    def __init__(self, url: str, suffix: str) -> None:
        super().__init__()
        self.start_urls = [url]
        self.allowed_domains = [suffix]
        self.extractor = LinkExtractor(deny_extensions=[])

    def parse(self, response):  # type: ignore[no-untyped-def]
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        yield {
            "url": response.url,
            "status": response.status,
            "title": response.css("title::text").get(),
            "description": response.css("meta[name=description]::attr(content)").get(),
            "size": len(response.body),
            "depth": response.meta.get("depth", 0),
        }
        for link in self.extractor.extract_links(response):
            yield response.follow(link, callback=self.parse)


def main(url: str, directory: Path, suffix: str, *, polite: bool) -> None:
    process = CrawlerProcess(
        {
            "JOBDIR": str(directory / "job"),
            "FEEDS": {str(directory / "items.jsonl"): {"format": "jsonlines"}},
            "ROBOTSTXT_OBEY": polite,
            "DOWNLOAD_DELAY": 0,
            "CONCURRENT_REQUESTS": 64,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1 if polite else 16,
            "DNS_RESOLVER": LoopbackResolver,
            "TWISTED_DNS_RESOLVER": LoopbackResolver,
            "RETRY_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            "LOG_LEVEL": "ERROR",
        }
    )
    crawler = process.create_crawler(Spider)
    process.crawl(crawler, url=url, suffix=suffix)
    process.start()
    stats = crawler.stats.get_stats()
    sys.stdout.write(
        json.dumps({"pages": stats.get("item_scraped_count", 0), "seconds": stats["elapsed_time_seconds"]}) + "\n"
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], polite="--polite" in sys.argv[4:])
