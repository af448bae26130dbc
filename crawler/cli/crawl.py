"""onceover crawl"""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from config import ConfigError, Loaded, Problem, read_seeds
from crawler.cli.options import preset_option, settings_option
from crawler.cli.run.division import is_in_parts, keep_parts, parts_option
from crawler.cli.run.running import print_result, run_crawl
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.going_on import how_to_go_on, is_demo
from crawler.library.opening import changed_settings
from crawler.operate.opening import refuse_without_configuration
from crawler.operate.settings.start import GivenSeeds, Start, with_page_limit
from crawler.url.seeds import is_seed
from crawler.url.urls import without_password
from crawler.wiring.configuration import load
from crawler.wiring.parts import cores

Options = dict[str, tuple[str, object]]
"""The option that sets each key, and the value."""


@click.command()
@click.argument("configuration", required=False, type=click.Path())
@click.option(
    "--seed",
    "seeds",
    multiple=True,
    metavar="URL",
    help="A URL to start from. It replaces the seeds of the file, and adds to those of the crawl in DIR. "
    "Repeat it for more.",
)
@click.option(
    "--seed-file",
    "seed_files",
    multiple=True,
    metavar="FILE",
    help="A file of URLs to start from, one on each line, used like --seed. - is standard input.",
)
@preset_option
@click.option("--dir", "directory", metavar="DIR", help="Directory for state and output. A crawl in it is resumed.")
@click.option("--fresh", is_flag=True, help="First delete the state and output of the crawl in the directory.")
@click.option(
    "--rebuild", is_flag=True, help="Rebuild the stored URLs after a change of urls.rules or frontier.queue_by."
)
@settings_option()
@click.option(
    "--parts",
    metavar="N|auto",
    help="Share the crawl among N processes, or as many as there are cores. A crawl keeps the number that it began "
    "with.",
)
@click.option(
    "--cluster",
    metavar="URL",
    help="Run parts of a crawl on many machines. URL is its Redis server, where `onceover cluster init` has made it. "
    "It takes the parts in DIR first, then new ones.",
)
@click.option(
    "--max-parts",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --cluster: run up to N parts here. Default: as many as there are cores.",
)
@click.option("--max-pages", type=click.IntRange(min=1), metavar="N", help="Stop this run after N pages.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def crawl(  # noqa: PLR0913 - a command takes each of its options
    configuration: str | None,
    seeds: tuple[str, ...],
    seed_files: tuple[str, ...],
    preset: str | None,
    directory: str | None,
    fresh: bool,
    rebuild: bool,
    settings: tuple[str, ...],
    parts: str | None,
    cluster: str | None,
    max_parts: int | None,
    max_pages: int | None,
    as_json: bool,
) -> int:
    """Run the crawl of CONFIGURATION, a TOML file.

    A crawl that was stopped or has crashed is resumed; --dir alone is enough for that. Ctrl-C lets the pages in flight
    finish. A second Ctrl-C stops at once.

    Exit codes: 0 complete, 1 failed, or ended without a page, 2 wrong usage or configuration, 3 stopped by a limit,
    4 stopped by a signal, 5 the directory is locked, paused, of another version, not that of a crawl, or can't be
    written to, 6 a server that the configuration names can't be reached.
    """
    if cluster is not None:
        others: dict[str, object] = {"CONFIGURATION": configuration, "--seed": seeds, "--preset": preset}
        others["--seed-file"] = seed_files
        others |= {"--fresh": fresh, "--rebuild": rebuild, "--parts": parts, "--max-pages": max_pages}
        _check_alone(others)
        return _crawl_on_machine(cluster, directory, settings, max_parts, as_json=as_json)
    if max_parts is not None:
        raise click.UsageError("--max-parts belongs to --cluster; `--parts N` divides a crawl on one machine")
    options: Options = parts_option(parts)
    if directory is not None:
        options["crawl.directory"] = "--dir", directory
    given = _given_seeds(seeds, seed_files)
    if seed_files and not given and (configuration is not None or fresh):  # they would replace all seeds
        kept = "the last run" if configuration is None else "the configuration"
        raise click.UsageError(
            f"--seed-file -: expected URLs on standard input, found none; without it, the seeds of {kept} hold"
        )
    if configuration is None:
        loaded = _without_file(given, settings, options, preset, fresh=fresh)
    else:
        _refuse_others(configuration)
        options |= given.options()
        loaded = load(configuration, overrides=settings, options=options, environ=os.environ, preset=preset)
    loaded = keep_parts(loaded, fresh=fresh)
    start = Start(
        configuration=None if configuration is None else str(Path(configuration).absolute()),
        directory=directory,
        settings=[*settings, *(f"{key}={value}" for key, (_, value) in parts_option(parts).items())],
        preset=preset,
        seeds=[] if configuration is None else given.urls,
        seed_files=[] if configuration is None else given.files,
        max_pages=max_pages,
    )
    run = run_crawl
    if is_in_parts(loaded, fresh=fresh):
        from crawler.cli.run.parts import run_in_parts  # noqa: PLC0415 - most crawls have no parts

        run = run_in_parts
    result = run(
        with_page_limit(loaded, max_pages),
        fresh=fresh,
        rebuild=rebuild,
        start=start,
        changed=[] if fresh else changed_settings(loaded),
    )
    again = f"onceover crawl --dir {shlex.quote(loaded.config.crawl.directory)}"
    why: list[str] = []
    if result.has_no_page and not as_json:
        from crawler.cli.run.without_page import why_without_page  # noqa: PLC0415 - most crawls have a page

        why = why_without_page(loaded)
    print_result(result, as_json=as_json, again=again, why=why)
    return result.exit_code


def _check_alone(others: Mapping[str, object]) -> None:
    """A crawl on many machines has its configuration in Redis."""
    for name, value in others.items():
        if value:
            raise click.UsageError(
                f"{name} can't be used with --cluster: `onceover cluster init` has made the crawl with its "
                "configuration, and `onceover set` changes that on all machines"
            )


def _crawl_on_machine(
    url: str, directory: str | None, settings: Sequence[str], max_parts: int | None, *, as_json: bool
) -> int:
    try:
        from crawler.cli.run.machine import run_on_machine  # noqa: PLC0415 - an extra, which may not be installed
    except ModuleNotFoundError as error:
        raise click.UsageError("redis is not installed: pip install 'onceover-crawler[redis]'") from error
    foreign = [each for each in settings if not each.strip().startswith("exchange.")]
    if foreign:
        raise click.UsageError(
            f"--set {foreign[0]} can't be used with --cluster, as all machines share the settings: only those of "
            "[exchange] say how this machine reaches Redis. `onceover set DIR KEY=VALUE` changes the others"
        )
    options: Options = {"exchange.url": ("--cluster", url), "exchange.backend": ("--cluster", "redis")}
    reached = load(None, overrides=settings, options=options, environ=os.environ, require_seeds=False)
    path = Path(reached.config.crawl.directory if directory is None else directory)
    return run_on_machine(reached, path, max_parts=max_parts or cores(), as_json=as_json)


def _refuse_others(configuration: str) -> None:
    """Refuse a URL, a directory or a list of URLs in place of a configuration file."""
    path = Path(configuration)
    if path.is_dir():
        raise click.UsageError(
            f"expected a configuration file, found the directory {path}: if it is that of a crawl, give it as "
            f"`--dir {shlex.quote(str(path))}`"
        )
    if not path.exists() and (shown := without_password(configuration)) != configuration:
        raise click.UsageError(
            f"expected a configuration file, found {shown}: if it is a URL, give it as `--seed URL` without its login, "
            "and name the login in fetch.logins"
        )
    if not path.exists() and is_seed(configuration):
        raise click.UsageError(
            f"expected a configuration file, found the URL {configuration}: give it as "
            f"`--seed {shlex.quote(configuration)}`"
        )
    if path.is_file() and _begins_with_a_seed(path):
        raise click.UsageError(
            f"expected a configuration file, found the list of URLs {path}: give it as "
            f"`--seed-file {shlex.quote(str(path))}`"
        )


def _begins_with_a_seed(file: Path) -> bool:
    try:
        with file.open(encoding="utf-8") as lines:
            texts = (line.strip() for line in lines)
            return is_seed(next((text for text in texts if text and not text.startswith("#")), ""))
    except (OSError, UnicodeDecodeError):
        return False


def _given_seeds(seeds: Sequence[str], files: Sequence[str]) -> GivenSeeds:
    """The seeds of the options. Each URL from standard input counts like one of --seed."""
    urls = list(seeds)
    if "-" in files:
        read = read_seeds(sys.stdin.buffer.read(), name="standard input")
        if isinstance(read, Problem):
            raise ConfigError([read])
        urls += (seed.url for seed in read)
    return GivenSeeds(urls, [str(Path(file).absolute()) for file in files if file != "-"])


def _without_file(
    seeds: GivenSeeds, settings: Sequence[str], options: Options, preset: str | None, *, fresh: bool
) -> Loaded:
    """The settings of the command line and, if the directory has a crawl, of its last run.

    Seeds are added to those of the crawl, or replace them with `fresh`.
    """
    if not seeds and "crawl.directory" not in options:
        raise click.UsageError(
            "there is nothing to crawl: give a configuration file, or --seed URL, or the --dir of a crawl"
        )
    load_given = partial(load, overrides=settings, environ=os.environ, preset=preset)
    _, directory = options.get("crawl.directory", (None, None))
    if not isinstance(directory, str):
        loaded = load_given(None, options=options | seeds.options(), require_seeds=False)
        directory = loaded.config.crawl.directory
    earlier = CrawlDirectory(Path(directory)).earlier_configuration
    if earlier is None:
        if not seeds:
            refuse_without_configuration(Path(directory))
            load_given(None, options=options, require_seeds=False)  # which refuses a name that no directory may have
            instead = "give a configuration file or --seed URL"
            if CrawlDirectory(Path(directory)).is_foreign():
                instead = "it holds other files. Name the directory of a crawl, or a new or empty one"
            raise DirectoryRefused(f"there is no crawl in {directory}: {instead}")
        return load_given(None, options=options | seeds.options())
    if is_demo(Path(directory)) and not (fresh and seeds):
        raise click.UsageError(
            f"{directory} has a demo, whose web is there only while it runs: `{how_to_go_on(Path(directory))}` goes on"
        )
    options = options | {"crawl.directory": ("--dir", directory)}
    if seeds and not fresh:
        known = load(earlier, require_seeds=False, require_contact=False).config.crawl
        seeds = GivenSeeds(_joined(known.seeds, seeds.urls), _joined(known.seed_files, seeds.files))
    return load_given(earlier, options=options | seeds.options(), as_run=True)


def _joined(known: Sequence[str], more: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*known, *more]))
