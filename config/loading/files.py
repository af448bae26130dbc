"""Reads the sources of a configuration in order: presets, the file, the environment, and `--set`."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from config.loading.sources import Entry, Source, environment_source, override_source, toml_source
from config.loading.suggest import did_you_mean
from config.problems import Problem
from config.toml import toml_value

RUN_HEAD: Final = "# A crawl has written this file; its end is marked by its last comment.\n"
RUN_END: Final = "# The end of the configuration.\n"
"""Most lines are comments, so nearly every beginning of the file would be valid TOML."""
_RUN_NAME: Final = "crawl.toml"
"""Its name. A copy onto a full disk often leaves the file empty. Any other configuration may be empty."""


def read_sources(
    file: Path | None, *, overrides: Sequence[str], environ: Mapping[str, str], preset: str | None, as_run: bool
) -> list[Source]:
    """All sources but the options of a command, the weakest first.

    A file that was written `as_run` has a value for every setting, so `preset` overrides it.
    """
    sources: list[Source] = []
    named = [] if preset is None else _preset_sources(Entry(key="preset", value=preset, origin="--preset"))
    if not as_run:
        sources += named
    if file is not None:
        source = _file_source(file)
        if source.extends is not None:
            sources += _preset_sources(source.extends)
        sources.append(source)
    if as_run:
        sources += named
    return [*sources, environment_source(environ), override_source(overrides)]


def _file_source(file: Path) -> Source:
    try:
        # What a shell passes as `<(command)` is a pipe in /dev/fd.
        if file.exists() and not (file.is_file() or file.is_dir() or file.is_relative_to("/dev")):
            message = "expected a file, found a pipe or a device, whose end may never come; move it away"
            return Source(problems=[Problem(message, where=str(file))])
        data = file.read_bytes()
    except OSError as error:
        hint = "; `onceover config init` writes one" if isinstance(error, FileNotFoundError) else ""
        return Source(
            problems=[Problem(f"can't read the configuration: {error.strerror or error}{hint}", where=str(file))]
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Source(problems=[Problem("expected TOML in UTF-8; save the file as UTF-8", where=f"{file}:{line}")])
    if _is_cut(text, is_run=file.name == _RUN_NAME):
        message = (
            f'the file is cut: expected "{RUN_END.strip()}" at its end. Restore it from a copy, or give the settings '
            "of the crawl again: `onceover crawl CONFIGURATION --dir DIR`"
        )
        return Source(problems=[Problem(message, where=str(file))])
    return toml_source(text, str(file))


def _is_cut(text: str, *, is_run: bool) -> bool:
    """Whether this is only a beginning of what a crawl has written."""
    text = text.replace("\r", "")  # an editor may have saved it with other line ends
    if not text:
        return is_run
    if not text.startswith(RUN_HEAD):
        return RUN_HEAD.startswith(text)
    return RUN_END.strip() not in text


def _preset_sources(entry: Entry) -> list[Source]:
    """The preset that an entry names, after the presets that it extends."""
    source = _preset_source(entry)
    return [source] if source.extends is None else [*_preset_sources(source.extends), source]


def _preset_source(entry: Entry) -> Source:
    name = entry.value
    if isinstance(name, str) and name in presets():
        return toml_source(preset_text(name), f"preset {name}")
    hint = did_you_mean(str(name), presets())
    message = f"expected the name of a preset, one of {', '.join(presets())}, found {toml_value(name)}"
    return Source(problems=[Problem(f"{message}; {hint}" if hint else message, where=entry.origin, key=entry.key)])


def presets() -> list[str]:
    """Names of the presets, sorted."""
    names = (file.name for file in files("config").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def preset_text(name: str) -> str:
    """The TOML of a preset, with comments. Raises `KeyError` for an unknown name."""
    if name not in presets():
        raise KeyError(name)
    return files("config").joinpath(f"{name}.toml").read_text(encoding="utf-8")
