"""The frontier in memory, which ends with the process."""

from frontier.descriptor import Descriptor
from frontier.memory.store import MemoryStore
from frontier.states.store_state import StoreState

DESCRIPTOR = Descriptor(
    name="memory",
    make=lambda parameters, _options: StoreState(
        MemoryStore(parameters.terms.identity, part=parameters.terms.part), parameters
    ),
    is_persistent=False,
)
