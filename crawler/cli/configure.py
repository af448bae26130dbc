"""onceover config"""

import json
import os
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import click
import msgspec

from config import Config, ConfigError, Loaded, Problem, json_schema, preset_text, presets, render_show, render_toml
from crawler.cli.options import preset_option, settings_option
from crawler.cli.run.current_directory import working_in
from crawler.cli.run.streams import say, say_result
from crawler.codes.exit_codes import COMPLETE, USAGE
from crawler.serve.folder import check_kind, overlaps, read_names
from crawler.status import number_of
from crawler.wiring.auto_backend import filter_warnings
from crawler.wiring.components import signing
from crawler.wiring.components.discovering import loaded_for
from crawler.wiring.configuration import load
from crawler.wiring.crawl import check_configuration
from crawler.wiring.plugins.catalog import Catalog

MAX_VALUE_WIDTH = 24
"""In characters. A longer value moves the rest of its line to the right."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a configuration, as `config check --json` prints it."""

    valid: bool
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    """What the user should know about a valid configuration."""
    seeds: int | None = None
    """The number of seeds; None if the configuration is invalid, like `directory`."""
    directory: str | None = None
    purpose: Sequence[str] | None = None
    """What the crawl says it is for; None if it does not say so."""
    respects_preferences: bool = True


class CheckedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What `check --json` prints of several files."""

    valid: bool
    files: dict[str, Checked]


@click.group()
def config() -> None:
    """Write, check and explain configurations."""


@config.command()
@click.argument("files", metavar="CONFIGURATION...", nargs=-1, required=True, type=click.Path(path_type=Path))
@settings_option()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(files: tuple[Path, ...], settings: tuple[str, ...], as_json: bool) -> int:
    """Report all problems of each CONFIGURATION, or that it has none. A folder stands for the files NAME.toml in it, as
    for `onceover daemon`. No crawl may have the directory of another, nor one within it."""
    checked = check_all(list(places(files)), settings)
    is_valid = all(each.valid for each in checked.values())
    if as_json:
        is_one = len(files) == 1 and not files[0].is_dir()
        say_result(
            msgspec.json.encode(checked[str(files[0])] if is_one else CheckedFiles(valid=is_valid, files=checked))
        )
        return COMPLETE if is_valid else USAGE
    for path, each in checked.items():
        for warning in each.warnings:
            say(f"warning: {warning}", to_stderr=True)
        if each.valid:
            say_result(f"{path} is valid: {number_of(each.seeds or 0, 'seed')}, into {each.directory}")
            if each.purpose:
                does = "does not keep" if each.respects_preferences else "keeps also"
                say_result(f"its purpose is {', '.join(each.purpose)}; it {does} what sites refuse for that")
    if not is_valid:
        raise ConfigError(_placed(checked))
    return COMPLETE


def _placed(checked: Mapping[str, Checked]) -> Iterator[Problem]:
    """The problems of all files. If there are several, each tells of which file it is."""
    for path, each in checked.items():
        for problem in each.problems:
            is_clear = problem.where is not None or len(checked) == 1
            yield problem if is_clear else msgspec.structs.replace(problem, where=path)


@config.command()
@click.argument("configuration", required=False, type=click.Path(path_type=Path))
@preset_option
@settings_option()
@click.option(
    "--for", "url", metavar="URL", help="Show the settings for a URL, with the blocks [[site]] that match it."
)
@click.option("--meanings", is_flag=True, help="Show also what each setting means.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(
    configuration: Path | None,
    preset: str | None,
    settings: tuple[str, ...],
    url: str | None,
    meanings: bool,
    as_json: bool,
) -> None:
    """Show each setting, its value, and where the value comes from."""
    loaded = load(configuration, overrides=settings, environ=os.environ, preset=preset, require_seeds=False)
    if url is not None:
        try:
            loaded = loaded_for(loaded, url)
        except ValueError as error:
            raise click.UsageError(f"--for: {error}") from error
    rows = render_show(loaded)
    if as_json:
        click.echo(msgspec.json.encode(rows))
        return
    keys = max(len(row.key) for row in rows)
    values = min(max(len(row.value) for row in rows), MAX_VALUE_WIDTH)
    for row in rows:
        # Lines are not wrapped, so that grep finds them.
        click.echo(f"{row.key:<{keys}}  {row.value:<{values}}  {row.origin}")
        if meanings:
            click.echo(textwrap.fill(row.meaning, 80, initial_indent="    ", subsequent_indent="    "))


@config.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--preset",
    type=click.Choice(presets()),
    help="Write this preset, a short configuration for one purpose, instead of all settings.",
)
def init(file: Path | None, preset: str | None) -> None:
    """Write a configuration to start from, to FILE or stdout."""
    text = render_toml(Config()) if preset is None else preset_text(preset)
    if file is None:
        click.echo(text, nl=False)
        return
    try:
        stream = file.open("x", encoding="utf-8")
    except FileExistsError:
        raise click.UsageError(f"{file} exists and was not changed; name another file") from None
    try:
        with stream:
            stream.write(text)
    except OSError as error:
        file.unlink()  # an incomplete file would refuse the next attempt
        raise OSError(error.errno, error.strerror, str(file)) from error
    click.echo(f"wrote {file}; set its seeds, then: onceover crawl {file}", err=True)


@config.command()
def schema() -> None:
    """Print the JSON Schema of a configuration, for editors."""
    click.echo(json.dumps(json_schema(Catalog()), indent=2))


class Place(msgspec.Struct, frozen=True):
    path: Path
    home: Path | None
    """The folder that was given, in which a daemon would start the crawl; None if the file was given."""


def places(given: Iterable[Path]) -> Iterator[Place]:
    """The files that are given, and those in folders that are given, as `onceover daemon` reads them. Raises
    `ConfigError` for a folder without any."""
    for path in given:
        if not path.is_dir():
            yield Place(path, None)
            continue
        names = read_names(path)
        if not names:
            raise ConfigError(
                [Problem("expected files NAME.toml, each the configuration of a crawl; found none", str(path))]
            )
        yield from (Place(path / name, path) for name in names)


def check_all(found: Sequence[Place], settings: Sequence[str]) -> dict[str, Checked]:
    """Check each file. The result says what is wrong with it, or that nothing is."""
    checked = {str(place.path): _check(place, settings) for place in found}
    directories = {
        path: str((place.home or Path()) / directory)
        for place in found
        if (directory := checked[path := str(place.path)].directory) is not None
    }
    homes = {place.home for place in found if place.home is not None}
    for path, problem in overlaps(directories, homes=homes).items():
        checked[path] = Checked(valid=False, problems=(Problem(problem, path),))
    return checked


def _check(place: Place, settings: Sequence[str]) -> Checked:
    if place.home is None:
        return _check_file(place.path, settings, is_in_folder=False)
    path = place.path.absolute()
    with working_in(place.home):  # where relative paths start for the crawls of a daemon
        checked = _check_file(path, settings, is_in_folder=True)

    def as_given(problem: Problem) -> Problem:
        where = problem.where and problem.where.replace(str(path), str(place.path))
        return msgspec.structs.replace(problem, where=where)

    problems, warnings = (tuple(map(as_given, each)) for each in (checked.problems, checked.warnings))
    return msgspec.structs.replace(checked, problems=problems, warnings=warnings)


def _check_file(path: Path, settings: Sequence[str], *, is_in_folder: bool) -> Checked:
    try:
        if is_in_folder:
            check_kind(path)
        loaded = load(path, overrides=settings, environ=os.environ)
        check_configuration(loaded)
    except ConfigError as error:
        return Checked(valid=False, problems=error.problems)
    return Checked(
        valid=True,
        warnings=(
            *filter_warnings(loaded),
            *signing.warnings(loaded),
            *_secret_headers(loaded),
            *_unfindable_patterns(loaded),
        ),
        seeds=len(loaded.seeds),
        directory=loaded.config.crawl.directory,
        purpose=loaded.config.crawl.purpose or None,
        respects_preferences=loaded.config.crawl.respect_preferences,
    )


def _secret_headers(loaded: Loaded) -> Iterator[Problem]:
    """Logins that every host would get to see."""
    for name in loaded.config.fetch.headers:
        if name.lower() in ("authorization", "cookie"):
            instead = "in a block [[site]]" if name.lower() == "cookie" else "in fetch.logins, or in a block [[site]],"
            yield loaded.problem(
                "fetch.headers",
                f"{name} is sent to every host that the crawl asks: give it {instead} to the hosts that need it",
            )


def _unfindable_patterns(loaded: Loaded) -> Iterator[Problem]:
    """Patterns with what no URL has, because it is escaped there."""
    for key, patterns in _patterns(loaded.config):
        for pattern in patterns:
            strange = next((each for each in pattern if each == " " or not each.isascii()), None)
            if strange is not None:
                written = quote(strange, errors="replace")
                yield loaded.problem(
                    key,
                    f"{pattern!r} has {strange!r}, which is in no URL: patterns are searched in URLs as they are sent, "
                    f"with {written} in paths, and with the form xn--… in hosts",
                )


def _patterns(config: Config) -> Iterator[tuple[str, Sequence[str]]]:
    """The patterns that are searched for in URLs, by key."""
    scope, render = config.scope, config.render
    yield from (("scope.include", scope.include), ("scope.exclude", scope.exclude))
    yield from (("render.patterns", render.patterns), ("render.block_urls", render.block_urls))
    for number, site in enumerate(config.site, 1):
        for key in ("scope.include", "scope.exclude"):
            yield f"site[{number}].{key}", site.overrides.get(key, ())
    for number, pattern in enumerate(config.recrawl.pattern, 1):
        yield f"recrawl.pattern[{number}].matching", (pattern.matching,)
