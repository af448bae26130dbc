"""The backends of this package: a name for each, and the place of its descriptor.

To add one, write its file, with a descriptor beside what opens it, and add a line here. Configuration, documentation,
crawl, commands and tests read this list.

A descriptor is imported when it is asked for. So a program that only needs the names does not import LevelDB.
"""

from functools import cache
from importlib import import_module
from typing import Final

from frontier.descriptor import Descriptor

BACKENDS: Final = {
    "memory": "frontier.states.memory:DESCRIPTOR",
    "leveldb": "frontier.states.leveldb:DESCRIPTOR",
}
"""The module and the name of each descriptor."""


@cache
def descriptor(name: str) -> Descriptor:
    """The descriptor of a backend. Raises KeyError if there is none of that name."""
    module, _, attribute = BACKENDS[name].partition(":")
    found = getattr(import_module(module), attribute)
    assert isinstance(found, Descriptor)
    return found
