"""Makes a visited set from its descriptor, parameters and options."""

from collections.abc import Mapping

import msgspec

from visited.descriptor import CommonOptions, Descriptor, Parameters, checked_options
from visited.protocol import LocalSet
from visited.wrappers.sharded import ShardedSet


def make_set(descriptor: Descriptor, parameters: Parameters, options: Mapping[str, object]) -> LocalSet:
    """The empty set. Options that it does not have are ignored.

    With the option `shards` it is spread over several sets, each for its share of the capacity. Raises ValueError for
    values that do not fit together, and for a set that needs a directory without one.
    """
    if "directory" in descriptor.needs and parameters.directory is None:
        raise ValueError(f"{descriptor.name} needs a directory, found none")
    own = checked_options(descriptor, options)
    shards = msgspec.convert(options, CommonOptions).shards
    if shards == 1:
        return descriptor.make(parameters, own)
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
