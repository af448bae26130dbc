"""Which backends a configuration names."""

from collections.abc import Iterable, Iterator

from config.loading.blocks import block_kinds
from config.schema import Config
from config.settings import Setting, settings, value_at


def named_backends(config: Config) -> Iterator[tuple[str, str]]:
    """The kind and the name or path of each backend that a configuration names, plug-ins included."""
    for setting in settings().values():
        yield from _named(setting, setting.value_in(config))
    for kind in block_kinds().values():
        for block in value_at(config, kind.key):
            for setting in kind.own:
                yield from _named(setting, getattr(block, setting.name))


def _named(setting: Setting, value: object) -> Iterable[tuple[str, str]]:
    if setting.backends is None or not setting.names_backends or value is None:
        return []
    names = value if isinstance(value, tuple) else (value,)
    return [(setting.backends, str(name)) for name in names]
