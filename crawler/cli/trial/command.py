"""onceover try"""

import asyncio
import os

import click
import msgspec

from config import Loaded
from crawler.cli.options import settings_option
from crawler.cli.run.diagnostics import diagnostics
from crawler.cli.run.interrupts import interrupts
from crawler.cli.run.logs import warning_on
from crawler.cli.run.running import in_event_loop
from crawler.cli.run.streams import say, say_result
from crawler.cli.trial.text import lines
from crawler.codes.exit_codes import COMPLETE, FAILED
from crawler.library.trial.forms import Tried
from crawler.library.trial.trying import try_urls
from crawler.progress import ReadStatus, why
from crawler.wiring.configuration import load
from crawler.wiring.plugins.blame import blaming, plugins_of


@click.command("try")
@click.argument("configuration", type=click.Path())
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@settings_option()
@click.option("--links", "all_links", is_flag=True, help="Show all links of each page, not only some of each kind.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines: an object for each URL.")
def try_(configuration: str, urls: tuple[str, ...], settings: tuple[str, ...], all_links: bool, as_json: bool) -> int:
    """Show what a crawl would make of each URL.

    It fetches the URL once, as the crawl of CONFIGURATION would: it asks robots.txt, follows redirects, and rests
    between requests. It shows the record, and which links would be enqueued. There need be no crawl, and one that
    exists is not touched. If CONFIGURATION has no seeds, the URLs are its seeds. Exits with 1 if the crawl would not
    have the page of a URL.
    """
    if "://" in configuration:
        raise click.UsageError(f"expected a configuration file, found the URL {configuration}: name the file first")
    loaded = load(configuration, overrides=settings, environ=os.environ, require_seeds=False)
    if not loaded.seeds:
        options: dict[str, tuple[str, object]] = {"crawl.seeds": ("URL", list(urls))}
        loaded = load(configuration, overrides=settings, options=options, environ=os.environ)
    with warning_on(diagnostics()), blaming(plugins_of(loaded.config)):
        tried = in_event_loop(_try(loaded, urls))
    for number, each in enumerate(tried):
        if as_json:
            say_result(msgspec.json.encode(each))
        else:
            text = "\n".join(lines(each, loaded.config, all_links=all_links))
            say_result(f"\n{text}" if number else text)
    return COMPLETE if all(each.fetched for each in tried) else FAILED


async def _try(loaded: Loaded, urls: tuple[str, ...]) -> list[Tried]:
    async def show(read: ReadStatus) -> None:
        while True:
            await asyncio.sleep(loaded.config.progress.interval_s)
            for reason in why(read()):
                say(reason, to_stderr=True)

    this = asyncio.current_task()
    assert this is not None
    with interrupts() as acting:
        acting.act = this.cancel
        return await try_urls(loaded, urls, show=show)
