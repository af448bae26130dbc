"""onceover crawl"""

import os
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from config import ConfigError, Loaded, changes, load
from crawler.cli.completion import complete_preset, complete_setting
from crawler.cli.run.running import run_crawl
from crawler.disk.directory import CrawlDirectory

Options = dict[str, tuple[str, object]]
"""By key, the option that sets it, and its value."""


@click.command()
@click.argument("configuration", required=False, type=click.Path(path_type=Path))
@click.option(
    "--seed",
    "seeds",
    multiple=True,
    metavar="URL",
    help="A URL to start from: instead of the file's, or beside those of the crawl in DIR; repeat it for more.",
)
@click.option(
    "--preset", metavar="NAME", shell_complete=complete_preset, help="Settings to begin with, in place of the defaults."
)
@click.option("--dir", "directory", metavar="DIR", help="Where state and output are kept; the crawl in it is resumed.")
@click.option("--fresh", is_flag=True, help="Delete the state and output of an earlier crawl first.")
@click.option("--rebuild", is_flag=True, help="Bring stored URLs under changed urls.rules or frontier.queue_by.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=complete_setting,
    help="Set a value, as fetch.timeout_s=5.",
)
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
    options: Options = {} if directory is None else {"crawl.directory": ("--dir", directory)}
    if configuration is None and not seeds and directory is None:
        raise click.UsageError(
            "what is to be crawled? Give a configuration file, or --seed URL, or the --dir of a crawl"
        )
    if configuration is None:
        loaded = _without_file(seeds, settings, options, preset, fresh=fresh)
    else:
        options |= _in_place(seeds)
        loaded = load(configuration, overrides=settings, options=options, environ=os.environ, preset=preset)
    again = f"onceover crawl --dir {shlex.quote(loaded.config.crawl.directory)}"
    run = run_crawl(
        loaded,
        fresh=fresh,
        as_json=as_json,
        again=again,
        max_pages=max_pages,
        rebuild=rebuild,
        changed=_changed(loaded),
    )
    return run.exit_code


def _without_file(
    seeds: Sequence[str], settings: Sequence[str], options: Options, preset: str | None, *, fresh: bool
) -> Loaded:
    """What the command line gives, and for all else what the crawl in the directory was run with, if there is one.

    Seeds come beside those of the crawl. If it is begun afresh, they take their place."""
    load_given = partial(load, overrides=settings, environ=os.environ, preset=preset)
    loaded = load_given(None, options=options | _in_place(seeds), require_seeds=False)
    directory = loaded.config.crawl.directory
    earlier = CrawlDirectory(Path(directory)).earlier_configuration
    if earlier is None:
        if not seeds:
            raise click.UsageError(f"there is no crawl in {directory}: give a configuration file or --seed URL")
        return load_given(None, options=options | _in_place(seeds))
    options = options | {"crawl.directory": ("--dir", directory)}
    if fresh:
        options |= _in_place(seeds)
    elif seeds:
        known = load(earlier, require_seeds=False).config.crawl.seeds
        options |= {"crawl.seeds": ("--seed", list(dict.fromkeys([*known, *seeds])))}
    return load_given(earlier, options=options, as_run=True)


def _in_place(seeds: Sequence[str]) -> Options:
    """Settings by which these are all seeds."""
    return {"crawl.seeds": ("--seed", list(seeds)), "crawl.seed_files": ("--seed", [])} if seeds else {}


def _changed(loaded: Loaded) -> list[str]:
    """What this run changes of what the crawl in the directory was run with."""
    earlier = CrawlDirectory(Path(loaded.config.crawl.directory)).earlier_configuration
    if earlier is None:
        return []
    try:
        return changes(load(earlier, require_seeds=False).config, loaded)
    except ConfigError as error:
        return [f"what was set before can't be read, and is replaced: {error.problems[0]}"]
