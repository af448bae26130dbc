"""Counts that go on when a process counts anew. Pure."""

import msgspec

from crawler.serve.measure.values import Counts, PartSample


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """What a part has counted over all of its processes, and what its last one had counted."""

    total: Counts = Counts()
    run: Counts = Counts()
    pid: int = 0
    elapsed_s: float = 0.0


def advance(before: Total, sample: PartSample) -> Total:
    """The total with a new sample. What a process has counted between its last sample and its end is not known."""
    is_same = (
        before.pid == sample.pid
        and before.elapsed_s <= sample.elapsed_s
        and all(getattr(before.run, name) <= getattr(sample.counts, name) for name in Counts.__struct_fields__)
    )
    counted = before.run if is_same else Counts()
    total = Counts(
        **{
            name: getattr(before.total, name) + getattr(sample.counts, name) - getattr(counted, name)
            for name in Counts.__struct_fields__
        }
    )
    return Total(total=total, run=sample.counts, pid=sample.pid, elapsed_s=sample.elapsed_s)
