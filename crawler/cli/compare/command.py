"""onceover compare"""

import asyncio
import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
import msgspec
from click.shell_completion import CompletionItem
from rich.console import Console

from config import COMPARE_BACKENDS, CompareSet, CompareWork, Loaded
from crawler.cli.compare.advice import advise_on
from crawler.cli.compare.measuring import Plan, compare_sets
from crawler.cli.options import NumberRange, preset_option, settings_option, size_of
from crawler.cli.run.streams import say_result, while_read
from crawler.cli.run.terminal import results_console
from crawler.codes.exit_codes import COMPLETE, FAILED, STOPPED
from crawler.compare.measure.folder import Folder
from crawler.compare.measure.preparing import STDIN
from crawler.compare.report.page import page
from crawler.compare.report.table import render
from crawler.compare.report.value import Report
from crawler.wiring.comparing.blocks import DEFAULT_SETS, check_comparison, file_name, unique_names
from crawler.wiring.configuration import load
from crawler.wiring.plugins.catalog import Catalog

_MIN_COLUMNS = 150
"""Width of a table that is not shown on a terminal."""
_LOSS = 1e-4
"""The share of URLs that may be lost if nobody says it."""


def check_backends(context: click.Context, option: click.Parameter, names: Sequence[str]) -> Sequence[str]:
    """The names, if each is that of a visited set that can be compared, or the name or the path of a plug-in."""
    for name in names:
        try:
            is_known = Catalog().is_plugin("visited", name) or name in COMPARE_BACKENDS
        except ValueError as error:
            raise click.BadParameter(str(error), context, option) from error
        if not is_known:
            known = _known()
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            raise click.BadParameter(f'expected a visited set, found "{name}"; {hint}', context, option)
    return names


def complete_backend(_context: click.Context, _option: click.Parameter, begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in _known() if name.startswith(begun)]


def _known() -> Sequence[str]:
    return (*COMPARE_BACKENDS, *Catalog().plugins("visited"))


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    configuration: Path | None
    urls: tuple[str, ...]
    crawls: tuple[str, ...]
    backends: tuple[str, ...]
    preset: str | None
    directory: str | None
    fresh: bool
    settings: tuple[str, ...]
    as_json: bool
    advise: bool
    urls_expected: str | None
    loss: float | None
    memory: int | None


@click.command()
@click.argument("configuration", required=False, type=click.Path(path_type=Path))
@click.option(
    "--urls",
    multiple=True,
    metavar="FILE",
    help="A file of URLs, one per line; it may be .gz or .zst. - is standard input.",
)
@click.option(
    "--crawl", "crawls", multiple=True, metavar="DIR", help="The directory of a crawl with output.links: its links."
)
@click.option(
    "--backend",
    "backends",
    multiple=True,
    callback=check_backends,
    shell_complete=complete_backend,
    metavar="NAME",
    help="A visited set to compare, instead of those in the file; with --advise, to choose from. Repeat it for more.",
)
@preset_option
@click.option("--dir", "directory", metavar="DIR", help="Directory for the report. An unfinished run in it is resumed.")
@click.option("--fresh", is_flag=True, help="Measure everything again.")
@settings_option("compare.rounds=5")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--advise", is_flag=True, help="Measure nothing. Show by the formulas which sets fit.")
@click.option("--urls-expected", metavar="N", help="With --advise: the expected number of URLs, for example 2e8.")
@click.option(
    "--loss",
    type=NumberRange(min=1e-12, max=0.5),  # as visited.error_rate
    help=f"With --advise: the share of URLs that may be lost; {_LOSS:g} by default.",
)
@click.option(
    "--memory",
    callback=size_of,
    metavar="SIZE",
    help='With --advise: the available memory, for example "1 GiB". The default is a quarter of what this machine has.',
)
def compare(**given: Any) -> int:
    """Compare speed, memory and losses of visited sets.

    Each set is measured in its own process, in several rounds. After Ctrl-C there is a report of what was measured so
    far. Run the same command again to continue.

    Exit codes: 0 complete, 1 nothing could be measured or a figure is not as expected, 2 wrong usage or configuration,
    4 stopped by a signal, 5 the directory is in use or is not the directory of a comparison.
    """
    asked = _Asked(**given)
    if not asked.advise:
        if (asked.urls_expected, asked.loss, asked.memory) != (None, None, None):
            raise click.UsageError(
                "--urls-expected, --loss and --memory go with --advise, which measures nothing; to measure, set "
                "compare.max_loss and compare.max_memory_bytes"
            )
        return _run(asked)
    _refuse_what_measures(asked)
    if asked.urls_expected is None:
        raise click.UsageError("--advise needs the expected number of URLs: --urls-expected 2e8, for example")
    return advise_on(
        asked.urls_expected,
        loss=_LOSS if asked.loss is None else asked.loss,
        memory_bytes=asked.memory,
        backends=asked.backends,
        as_json=asked.as_json,
    )


def _refuse_what_measures(asked: _Asked) -> None:
    given = {
        "a configuration": asked.configuration is not None,
        "--urls": asked.urls,
        "--crawl": asked.crawls,
        "--preset": asked.preset is not None,
        "--dir": asked.directory is not None,
        "--fresh": asked.fresh,
        "--set": asked.settings,
    }
    if names := [name for name, is_given in given.items() if is_given]:
        raise click.UsageError(
            f"--advise measures nothing, so it can't use {', '.join(names)}: leave out one or the other"
        )


def _run(asked: _Asked) -> int:
    loaded = load(
        asked.configuration, overrides=asked.settings, environ=os.environ, preset=asked.preset, require_seeds=False
    )
    check_comparison(loaded)
    plan = _plan(asked, loaded)
    _check_paths(asked, loaded)
    path = asked.directory or f"{loaded.config.compare.directory}/{loaded.config.crawl.name}"
    console = Console(stderr=True)
    with Folder(Path(path)) as folder:
        if asked.fresh:
            folder.clear()
        report = asyncio.run(compare_sets(plan, folder, console))
        _write(report, folder)
    if asked.as_json:
        say_result(msgspec.json.encode(report))
    else:
        stdout = results_console()
        stdout = stdout if stdout.is_terminal else results_console(width=_MIN_COLUMNS)
        with while_read():
            stdout.print(render(report, stdout.width))
    click.echo(f"{'Report' if report.complete else 'Stopped; a partial report is'} in {path}", err=True)
    return _exit_code(report)


def _plan(asked: _Asked, loaded: Loaded) -> Plan:
    """Raises `UsageError` if there is nothing to measure on."""
    configured = loaded.config.compare
    works = [
        *configured.work,
        *(
            CompareWork(name="standard input" if path == "-" else Path(path).name or path, urls=path)
            for path in asked.urls
        ),
        *(CompareWork(name=Path(path).name or path, crawl=path) for path in asked.crawls),
    ]
    if not works:
        raise click.UsageError(
            "there is nothing to measure on: give --urls FILE, --crawl DIR, or a configuration with [[compare.work]]"
        )
    sets: Sequence[CompareSet] = [CompareSet(backend=each) for each in asked.backends]
    names = unique_names([work.name for work in works])
    return Plan(
        loaded=loaded,
        works=[msgspec.structs.replace(work, name=name) for work, name in zip(works, names, strict=True)],
        sets=sets or configured.set or DEFAULT_SETS,
    )


def _check_paths(asked: _Asked, loaded: Loaded) -> None:
    """Refuse paths that do not exist, before anything is written. The report tells of files that can't be read."""
    for option, paths, kind in (("--urls", asked.urls, "file"), ("--crawl", asked.crawls, "directory")):
        for path in paths:
            if path != STDIN and not Path(path).exists():
                raise click.UsageError(f"{option}: can't read {path}: no such {kind}")
    for number, work in enumerate(loaded.config.compare.work, start=1):
        for path_, kind in ((work.urls, "file"), (work.crawl, "directory")):
            if path_ is not None and path_ != STDIN and not Path(path_).exists():
                raise loaded.refuse(f"compare.work[{number}]", f"can't read {path_}: no such {kind}")


def _write(report: Report, folder: Folder) -> None:
    (folder.path / "report.json").write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    drawn: dict[str, list[str]] = {}
    try:
        from crawler.compare.report.plots import plots  # noqa: PLC0415 - an extra, which may not be installed
    except ModuleNotFoundError as error:
        message = f"because {error.name} is not installed: pip install 'onceover-crawler[compare]'"
        click.echo(f"The report has no plots, {message}", err=True)
    else:
        numbers = {work.name: number for number, work in enumerate(report.works)}
        for plot in plots(report):
            drawn.setdefault(plot.work, []).append(plot.svg)
            name = f"{file_name(numbers[plot.work], plot.work)}-{plot.name}.png"
            (folder.path / name).write_bytes(plot.png)
    (folder.path / "report.html").write_text(page(report, drawn), encoding="utf-8")


def _exit_code(report: Report) -> int:
    if not report.complete:
        return STOPPED
    measured = any(row.bytes is not None or row.pages is not None for row in report.rows)
    return COMPLETE if measured and all(each.met for each in report.findings) else FAILED
