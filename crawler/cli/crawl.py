"""onceover crawl"""

import os
import shlex
from pathlib import Path

import click

from config import load, toml_value
from crawler.cli.running import run_crawl
from crawler.directory import CrawlDirectory


@click.command()
@click.argument("configuration", required=False, type=click.Path(path_type=Path))
@click.option(
    "--seed",
    "seeds",
    multiple=True,
    metavar="URL",
    help="A URL to start from, instead of the file's; repeat it for more.",
)
@click.option("--preset", metavar="NAME", help="Settings to begin with, in place of the defaults.")
@click.option("--dir", "directory", metavar="DIR", help="Where state and output are kept; the crawl in it is resumed.")
@click.option("--fresh", is_flag=True, help="Delete the state and output of an earlier crawl first.")
@click.option("--rebuild", is_flag=True, help="Bring stored URLs under changed urls.rules or frontier.queue_by.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set a value, as fetch.timeout_s=5.")
@click.option("--max-pages", type=click.IntRange(min=1), metavar="N", help="Stop this run after N pages.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def crawl(
    configuration: Path | None,
    seeds: tuple[str, ...],
    preset: str | None,
    directory: str | None,
    fresh: bool,
    rebuild: bool,
    settings: tuple[str, ...],
    max_pages: int | None,
    as_json: bool,
) -> int:
    """Crawl until done, as CONFIGURATION (a TOML file) says.

    A crawl that was stopped, or died, goes on where it was: --dir alone is enough for that. Ctrl-C lets the pages in
    flight finish; a second one stops at once.

    Exit codes: 0 complete, 1 failed, 2 wrong usage or configuration, 3 stopped by a limit, 4 stopped by a signal,
    5 the directory is locked, held, of another version, or not a crawl's.
    """
    overrides = list(settings)
    if seeds:
        overrides += [f"crawl.seeds={toml_value(list(seeds))}", "crawl.seed_files=[]"]
    if directory is not None:
        overrides.append(f"crawl.directory={toml_value(directory)}")
    if configuration is None and not seeds:
        configuration = _earlier(directory)
    loaded = load(configuration, overrides=overrides, environ=os.environ, preset=preset)
    again = f"onceover crawl --dir {shlex.quote(loaded.config.crawl.directory)}"
    run = run_crawl(loaded, fresh=fresh, as_json=as_json, again=again, max_pages=max_pages, rebuild=rebuild)
    return run.exit_code


def _earlier(directory: str | None) -> Path:
    """The configuration that a crawl directory was run with."""
    if directory is None:
        raise click.UsageError(
            "what is to be crawled? Give a configuration file, or --seed URL, or the --dir of a crawl"
        )
    path = CrawlDirectory(Path(directory)).configuration
    if not path.exists():
        raise click.UsageError(f"there is no crawl in {directory}: give a configuration file or --seed URL")
    return path
