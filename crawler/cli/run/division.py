"""Whether a crawl is run in parts. What runs them is not loaded for that."""

from pathlib import Path

import msgspec

from config import Loaded, with_values
from crawler.disk.layout import read_layout
from crawler.wiring.parts import number_of_parts


def parts_option(parts: str | None) -> dict[str, tuple[str, object]]:
    """The setting that `--parts` gives, as an option of `load`."""
    if parts is None:
        return {}
    try:
        return {"crawl.parts": ("--parts", int(parts))}
    except ValueError:
        return {"crawl.parts": ("--parts", parts)}


def keep_parts(loaded: Loaded, *, fresh: bool) -> Loaded:
    """Unless somebody has said a number, a crawl in parts goes on in as many as it has."""
    parts = None if fresh or loaded.origins["crawl.parts"] != "default" else _stored_parts(loaded)
    if parts is None:
        return loaded
    origins = loaded.origins | {"crawl.parts": "the crawl in the directory"}
    return msgspec.structs.replace(loaded, config=with_values(loaded.config, {"crawl.parts": parts}), origins=origins)


def is_in_parts(loaded: Loaded, *, fresh: bool) -> bool:
    """Whether a crawl with this configuration is run in parts. Raises `DirectoryRefused`."""
    parts = _stored_parts(loaded)
    return number_of_parts(loaded.config) > 1 if parts is None or fresh else True


def _stored_parts(loaded: Loaded) -> int | None:
    """How many parts the crawl in the configured directory has; None if it is not in parts. Raises
    `DirectoryRefused`."""
    layout = read_layout(Path(loaded.config.crawl.directory))
    return None if layout is None else len(layout.parts)
