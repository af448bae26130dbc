"""Writes a configuration out: as rows for people, and as TOML that loads to the same configuration."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from config.loading.blocks import BlockKind, all_values, block_kinds
from config.loading.checks import DEFAULT
from config.loading.files import RUN_END, RUN_HEAD
from config.loading.loaded import Loaded
from config.loading.values import options_of
from config.schema import Config
from config.settings import Setting, section_meaning, sections, settings, value_at
from config.toml import toml_value
from config.units import duration_text, size_text

_HEAD = """\
# A configuration of onceover: every setting with its meaning and, in brackets, its valid values.
# A setting after a # is unset.
"""
_WIDTH = 112
_LOGIN: Final = re.compile(
    r"""(?<=//)[^\s/?#]+(?=@)|(?<=["'])(?!mailto:)[^\s/?#"':@]+:[^\s/?#]+(?=@)|(?<=password=)[^\s&"']+"""
)
"""The login in a URL, also in a seed without a scheme, or the password of a server. No crawl runs with one, but people
write it, and a daemon shows what they wrote."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One setting of a loaded configuration."""

    key: str
    value: str
    """As TOML; `unset` if it has none."""
    origin: str
    """Where the value comes from: `default`, `crawl.toml:12`, `preset broad:7`, `environment ONCEOVER_…`, `--set` or
    another option."""
    meaning: str


def render_show(loaded: Loaded, *, with_secrets: bool = True) -> list[Row]:
    """A row for each setting, in the order of the schema, then one for each that a block sets. Without secrets, tables
    that may have some are lists of their names, and URLs have no login."""
    text = value_text if with_secrets else _text_without_login
    rows: list[Row] = []
    for key, setting, value in all_values(loaded.config):
        if key in settings() and isinstance(value, Mapping) and value and setting.options_of is not None:
            chooser = settings()[setting.options_of]
            rows += _options(loaded, setting, str(chooser.value_in(loaded.config)), value, text)
        else:
            origin = loaded.origins.get(key, DEFAULT)
            rows.append(Row(key=key, value=text(setting, value), origin=origin, meaning=setting.meaning))
    return rows


def _options(
    loaded: Loaded,
    table: Setting,
    backend: str,
    values: Mapping[str, object],
    text: Callable[[Setting, object], str],
) -> list[Row]:
    """A row for each option that is set."""
    known = options_of(loaded.backends.find(table.backends or "", backend), table.key)
    return [
        Row(
            key=f"{table.key}.{name}",
            value=text(known[name], value),
            origin=loaded.origins[f"{table.key}.{name}"],
            meaning=known[name].meaning,
        )
        for name, value in values.items()
    ]


def render_toml(config: Config) -> str:
    """Every setting as commented TOML. Loading it gives the same configuration."""
    texts = [_section(config, section) for section in sections()]
    return _HEAD + "".join(texts) + "".join(_blocks(config, kind) for kind in block_kinds().values())


def render_run(config: Config) -> str:
    """The same for the configuration that a crawl keeps. If it is cut, loading it is refused."""
    return f"{RUN_HEAD}{render_toml(config)}\n{RUN_END}"


def public_text(setting: Setting, value: object) -> str:
    """A value for everybody: of a table that may have secrets, the names alone."""
    return toml_value(list(value)) if setting.is_secret and isinstance(value, Mapping) else value_text(setting, value)


def _text_without_login(setting: Setting, value: object) -> str:
    return _LOGIN.sub("…", public_text(setting, value))


def value_text(setting: Setting, value: object) -> str:
    """A value as TOML, with a unit for sizes, and for durations in whole minutes; `unset` for None."""
    if value is None:
        return "unset"
    if setting.kind == "seconds" and isinstance(value, float) and value and value % 60 == 0:
        return toml_value(duration_text(value))
    if setting.kind == "bytes" and isinstance(value, int) and not size_text(value).isdigit():
        return toml_value(size_text(value))
    return toml_value(value)


def _section(config: Config, section: str) -> str:
    lines = [f"\n{_comment(section_meaning(section))}\n[{section}]\n"]
    for setting in settings().values():
        if setting.section == section:
            value = setting.value_in(config)
            written = "# " + setting.name + " =" if value is None else f"{setting.name} = {value_text(setting, value)}"
            lines.append(f"{_comment(setting.meaning + _limits(setting))}\n{written}\n")
    return "".join(lines)


def _blocks(config: Config, kind: BlockKind) -> str:
    """A commented example of a kind of block, and the blocks of this kind."""
    own = "".join(f"{_comment(s.meaning + _limits(s))}\n# {s.name} =\n" for s in kind.own)
    others = [name for name in kind.settings if "." in name]
    more = f"{_comment('It may also set ' + ', '.join(others) + '.')}\n" if others else ""
    lines = [f"\n{_comment(kind.meaning)}\n# [[{kind.key}]]\n{own}{more}"]
    for block in value_at(config, kind.key):
        values = ((name, value) for name, value in kind.values(block).items() if value is not None)
        written = (f"{name} = {value_text(kind.settings[name], value)}\n" for name, value in values)
        lines.append(f"\n[[{kind.key}]]\n" + "".join(written))
    return "".join(lines)


# A daemon renders the configurations of hundreds of crawls, whose comments are the same.
@lru_cache(maxsize=1024)
def _comment(text: str) -> str:
    # `textwrap` would take a hundredth of a crawl of one page for all of them.
    rest, room, lines = " ".join(text.split()), _WIDTH - len("# "), []
    while len(rest) > room:
        end = rest.rfind(" ", 0, room + 1)
        if end < 0 and (end := rest.find(" ")) < 0:
            break
        lines.append(f"# {rest[:end]}")
        rest = rest[end + 1 :]
    return "\n".join([*lines, f"# {rest}".rstrip()])


def _limits(setting: Setting) -> str:
    unit = "" if setting.unit in (None, "bytes", "seconds") else f" {setting.unit}"
    limits = {"bool": "", "text": "", "texts": "", "options": "", "table": f"as {setting.limits}"}.get(
        setting.kind, f"{setting.limits}{unit}" + "".join(f', or "{word}"' for word in setting.words)
    )
    return f" [{limits}]" if limits else ""
