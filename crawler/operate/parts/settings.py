"""set, reload: the settings of a crawl in parts that nobody watches over. Its parts get them when they start."""

from crawler.codes.exit_codes import FAILED
from crawler.control.replies import Reconfigured
from crawler.control.requests import Reload, Set
from crawler.disk.directory import CrawlDirectory
from crawler.operate.actions.settings import change_settings
from crawler.operate.parts.crawl import CrawlInParts
from crawler.operate.refused import Refused
from crawler.operate.settings.changing import StoredSettings


async def reconfigure(crawl: CrawlInParts, request: Set | Reload) -> Reconfigured:
    """All parts work with one configuration, and only their supervisor can give them another one together."""
    if crawl.parts.is_running:
        raise Refused(
            f"the process that watched over {crawl.directory} has died, and some of its parts still finish what is in "
            "flight. They end within half a minute: repeat the command then",
            FAILED,
        )
    directory = CrawlDirectory(crawl.directory)
    return await change_settings(StoredSettings(crawl.loaded, directory), directory, request, is_running=False)
