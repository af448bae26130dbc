"""The options, the cost and the making of the splitting Bloom filter."""

from typing import Annotated

import msgspec
from msgspec import Meta

from visited import sizing
from visited.descriptor import Cost, Descriptor, Parameters, Seed
from visited.splitting.leaf_plan import MIN_LEAF_BITS
from visited.splitting.splitting_set import BACKEND, LEAF_BITS, MAX_LEAF_BITS, Lists, SplitAt, SplittingSet

_SHARE_OF_BLOOM = {"fill": 1.2, "count": 1.443}
"""Mean memory relative to a Bloom filter for this count. Leaves that double have 1/ln 2."""
_LOSS = 0.55
"""Mean ratio of its rate to its bound, as `onceover compare` measures: leaves that grow are always nearly full."""
_LIST_BYTES_PER_URL = 8
_TEXT_BYTES_PER_URL = 77 + 4


class SplittingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the splitting filter."""

    leaf_bits: Annotated[
        int,
        Meta(
            ge=MIN_LEAF_BITS,
            le=MAX_LEAF_BITS,
            multiple_of=512,
            description="Size of a leaf.",
            extra={"unit": "bits"},
        ),
    ] = LEAF_BITS
    split_at: Annotated[
        SplitAt,
        Meta(
            description="When a leaf splits. With fill it grows in steps up to leaf_bits, and splits when its share of "
            "set bits reaches that of the error rate. With count it always has leaf_bits, and splits at the number of "
            "URLs that the formula gives, as in the literature."
        ),
    ] = "fill"
    lists: Annotated[
        Lists,
        Meta(
            description="What the list on disk holds of each URL: a fingerprint of 8 bytes, from which leaves are "
            "rebuilt, or also the URL itself, so that the set can list its URLs."
        ),
    ] = "fingerprints"
    seed: Seed = 0


def _make(parameters: Parameters, options: SplittingOptions) -> SplittingSet:
    return SplittingSet(
        capacity=parameters.capacity,
        error_rate=parameters.error_rate,
        seed=options.seed,
        directory=parameters.directory,
        leaf_bits=options.leaf_bits,
        split_at=options.split_at,
        lists=options.lists,
    )


def _cost(count: int, error_rate: float, options: SplittingOptions) -> Cost:
    mean_rate = _LOSS * error_rate
    if options.split_at == "count":
        mean_rate = sizing.doubling_rate(options.leaf_bits, error_rate)
    text = _TEXT_BYTES_PER_URL if options.lists == "urls" else 0
    return Cost(
        memory_bytes=sizing.bits_for(count, error_rate) / 8 * _SHARE_OF_BLOOM[options.split_at],
        disk_bytes=count * (_LIST_BYTES_PER_URL + text),
        false_positive_rate=error_rate,
        expected_lost=count * mean_rate,
    )


DESCRIPTOR = Descriptor(
    name=BACKEND,
    make=_make,
    options=SplittingOptions,
    needs=frozenset({"capacity"}),
    folder=BACKEND,
    cost=_cost,
    is_advised=True,
)
