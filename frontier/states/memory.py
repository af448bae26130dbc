"""The frontier in memory, which ends with the process."""

from frontier.descriptor import Descriptor, NoOptions, Parameters
from frontier.memory.store import MemoryStore
from frontier.states.store_state import StoreState


def open_memory_state(parameters: Parameters, _: NoOptions) -> StoreState[MemoryStore]:
    return StoreState(MemoryStore(parameters.terms.identity, part=parameters.terms.part), parameters)


DESCRIPTOR = Descriptor(name="memory", make=open_memory_state, is_persistent=False)
