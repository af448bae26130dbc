#!/usr/bin/env python3
"""The tables of docs/configuration.md. `python -m tools.tabulate_settings docs/configuration.md` updates them."""

import sys
from pathlib import Path

from config.backends import OwnBackends
from config.loading.blocks import BlockKind, block_kinds
from config.loading.values import options_of
from config.settings import Setting, section_meaning, sections, settings
from config.show.render import value_text
from visited.backends import BACKENDS, REMOTE

BEGIN = "<!-- settings: made by `python -m tools.tabulate_settings docs/configuration.md` from config/schema/ -->"
END = "<!-- end of settings -->"
_OPTIONS = "visited.options"
_OPTIONS_HEAD = "| backend | key | default | may be | meaning |\n| --- | --- | --- | --- | --- |"
_HEAD = "| key | default | may be | meaning |\n| --- | --- | --- | --- |"


def render_markdown() -> str:
    """A table of settings for each section, and for each kind of block."""
    tables = [_section(section) for section in sections()]
    return "\n\n".join(tables + [_blocks(kind) for kind in block_kinds().values()])


def with_tables(text: str) -> str:
    """The text with new tables between the two marks. Raises `ValueError` if a mark is missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"expected the lines {BEGIN!r} and {END!r}, in this order")
    return f"{before}{begin}\n\n{render_markdown()}\n\n{end}{after}"


def _section(section: str) -> str:
    rows = "\n".join(_row(setting) for setting in settings().values() if setting.section == section)
    options = f"\n\n{_options()}" if _OPTIONS.startswith(f"{section}.") else ""
    return f"### [{section}]\n\n{section_meaning(section)}\n\n{_HEAD}\n{rows}{options}"


def _options() -> str:
    rows: dict[str, list[str]] = {}
    backends = (*BACKENDS, *REMOTE)
    for backend in backends:
        for setting in options_of(OwnBackends().find("visited", backend), _OPTIONS).values():
            rows.setdefault(_row(setting), []).append(backend)
    written = "\n".join(
        f"| {'all' if len(having) == len(backends) else ', '.join(having)} {row}" for row, having in rows.items()
    )
    return f"### [{_OPTIONS}]\n\nThe options of each backend.\n\n{_OPTIONS_HEAD}\n{written}"


def _blocks(kind: BlockKind) -> str:
    rows = "\n".join(_row(setting) for setting in kind.own)
    others = ", ".join(f"`{name}`" for name in kind.settings if "." in name)
    more = f"\n\nEach may also set: {others}." if others else ""
    return f"### [[{kind.key}]]\n\n{kind.meaning}\n\n{_HEAD}\n{rows}{more}"


def _row(setting: Setting) -> str:
    default = "required" if setting.required else _code(value_text(setting, setting.default))
    cells = [f"`{setting.name}`", default, _may_be(setting), setting.meaning]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _may_be(setting: Setting) -> str:
    match setting.kind:
        case "bool":
            return "`true` or `false`"
        case "choice":
            plugin = ["a plug-in"] if setting.names_backends else []
            return ", ".join([*(f"`{choice}`" for choice in setting.choices), *plugin])
        case "options":
            return "options of the backend"
        case "texts":
            return f"texts, each {setting.limits}"
        case "ints":
            return f"whole numbers, each {setting.limits}"
        case "text" | "table":
            return f"{setting.kind}, {setting.limits}"
        case _:
            unit = f" {setting.unit}" if setting.unit not in (None, "bytes", "seconds") else ""
            return setting.limits + unit + "".join(f", or `{word}`" for word in setting.words)


def _code(text: str) -> str:
    return text if text == "unset" else f"`{text}`"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
