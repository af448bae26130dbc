"""Suggests what an unknown name was probably meant to be."""

from collections.abc import Iterable
from typing import Final

from config.loading.blocks import BlockKind, block_kinds
from config.settings import sections, settings

_LEAST_LIKENESS: Final = 0.7
"""Words of five letters of which three agree, as bogus and hours, have 0.6, and nobody mistypes one for the other."""


def did_you_mean(name: str, known: Iterable[str], *, written: str = "{}") -> str | None:
    """A question that suggests the closest known name; None if none is close."""
    close = _close_matches(name.lower().replace("-", "_"), known)
    return f"did you mean {written.format(close[0])}?" if close else None


def unknown_key(key: str) -> str:
    """The message for an unknown key, with the closest known one."""
    block = next((kind for kind in block_kinds() if f"{key}.".startswith((f"{kind}.", f"{kind}["))), None)
    if block is not None:
        return f"[[{block}]] is a block, which only a configuration file can have"
    section, _, field = key.rpartition(".")
    names = [setting.name for setting in settings().values() if setting.section == section]
    meant = [f"{section}.{name}" for name in _close_matches(field.lower().replace("-", "_"), names)]
    meant += [setting.key for setting in settings().values() if setting.name == field]
    if meant:
        return f"unknown key; did you mean {' or '.join(meant)}?"
    if section in sections():
        return f"unknown key; [{section}] has {', '.join(names)}"
    return f"unknown key; {_closest(key) or '`onceover config show` lists all keys'}"


def unknown_in_block(kind: BlockKind, name: str) -> str:
    """The message for a name that a block of that kind can't have."""
    if name in settings() and kind.overrides is not None:
        return f"this setting is the same for the whole crawl; [[{kind.key}]] can set {', '.join(kind.settings)}"
    field = name.rpartition(".")[2]
    same = " or ".join(known for known in kind.settings if known.rpartition(".")[2] == field)
    hint = f"did you mean {same}?" if same else did_you_mean(name, kind.settings)
    return f"unknown key; {hint or f'[[{kind.key}]] can set ' + ', '.join(kind.settings)}"


def _closest(key: str) -> str | None:
    if "." in key:
        return did_you_mean(key, settings())
    names = {setting.name: setting.key for setting in settings().values()} | {name: f"[{name}]" for name in sections()}
    close = _close_matches(key.lower().replace("-", "_"), names)
    return f"did you mean {names[close[0]]}?" if close else None


def _close_matches(word: str, known: Iterable[str]) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415 - most configurations have no mistakes

    return get_close_matches(word, list(known), n=1, cutoff=_LEAST_LIKENESS)
