"""Makes a visited set from its descriptor, parameters and options, and computes its cost."""

from collections.abc import Mapping

import msgspec

from visited.descriptor import CommonOptions, Cost, Descriptor, Parameters, checked_options
from visited.protocol import LocalSet
from visited.wrappers.sharded import ShardedSet


def make_set(descriptor: Descriptor, parameters: Parameters, options: Mapping[str, object]) -> LocalSet:
    """The empty set. Options that it does not have are ignored.

    With the option `shards` it is spread over several sets, each for its share of the capacity. Raises ValueError for
    values that do not fit together, and for a set that needs a directory without one.
    """
    if "directory" in descriptor.needs and parameters.directory is None:
        raise ValueError(f"{descriptor.name} needs a directory, found none")
    if "server" in descriptor.needs and parameters.connect is None:
        raise ValueError(f"{descriptor.name} needs a server, and nothing here can connect to one")
    own = checked_options(descriptor.options, options)
    shards = msgspec.convert(options, CommonOptions).shards
    if shards == 1:
        return descriptor.make(parameters, own)
    if "server" in descriptor.needs:
        raise ValueError(f"expected shards = 1 for {descriptor.name}, which lies on a server, found {shards}")
    capacity = -(-parameters.capacity // shards)
    folder = parameters.directory
    return ShardedSet(
        [
            descriptor.make(
                msgspec.structs.replace(
                    parameters, capacity=capacity, directory=None if folder is None else folder / str(number)
                ),
                own,
            )
            for number in range(shards)
        ]
    )


def cost_of_set(descriptor: Descriptor, capacity: int, error_rate: float, options: Mapping[str, object]) -> Cost | None:
    """The cost of the set with these options, once it holds its capacity; None if there is no formula."""
    if descriptor.cost is None:
        return None
    shards = msgspec.convert(options, CommonOptions).shards
    each = descriptor.cost(-(-capacity // shards), error_rate, checked_options(descriptor.options, options))
    return msgspec.structs.replace(
        each,
        memory_bytes=each.memory_bytes * shards,
        disk_bytes=each.disk_bytes * shards,
        expected_lost=each.expected_lost * shards,
    )
