"""onceover config"""

import json
import os
import textwrap
from pathlib import Path

import click
import msgspec

from config import Config, ConfigError, Problem, json_schema, preset_text, presets, render_show, render_toml
from crawler.cli.codes import COMPLETE, USAGE
from crawler.cli.options import preset_option, settings_option
from crawler.status import number_of
from crawler.wiring.components.discovering import loaded_for
from crawler.wiring.configuration import load
from crawler.wiring.crawl import check_configuration
from crawler.wiring.filter_size import filter_warnings
from crawler.wiring.plugins.catalog import Catalog

MAX_VALUE_WIDTH = 24
"""In characters. A longer value moves the rest of its line to the right."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What `check --json` prints."""

    valid: bool
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    """What the user should know about a valid configuration."""
    seeds: int | None = None
    """The number of seeds; None if the configuration is invalid, like `directory`."""
    directory: str | None = None


@click.group()
def config() -> None:
    """Write, check and explain configurations."""


@config.command()
@click.argument("configuration", type=click.Path(path_type=Path))
@settings_option()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(configuration: Path, settings: tuple[str, ...], as_json: bool) -> int:
    """Report all problems of CONFIGURATION, or that it has none."""
    try:
        loaded = load(configuration, overrides=settings, environ=os.environ)
        check_configuration(loaded)
    except ConfigError as error:
        if not as_json:
            raise
        click.echo(msgspec.json.encode(Checked(valid=False, problems=error.problems)))
        return USAGE
    warnings = tuple(filter_warnings(loaded))
    if as_json:
        checked = Checked(
            valid=True, warnings=warnings, seeds=len(loaded.seeds), directory=loaded.config.crawl.directory
        )
        click.echo(msgspec.json.encode(checked))
        return COMPLETE
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    click.echo(
        f"{configuration} is valid: {number_of(len(loaded.seeds), 'seed')}, into {loaded.config.crawl.directory}"
    )
    return COMPLETE


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
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise click.UsageError(f"{file} exists and was not changed; name another file") from None
    click.echo(f"wrote {file}; set its seeds, then: onceover crawl {file}", err=True)


@config.command()
def schema() -> None:
    """Print the JSON Schema of a configuration, for editors."""
    click.echo(json.dumps(json_schema(Catalog()), indent=2))
