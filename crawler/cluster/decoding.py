"""What the scripts answer, as values."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from crawler.cluster.values import Identity, Lease, Retirement


def why_denied(by: bytes) -> str:
    """Why a retired generation is refused, by what the register has stored."""
    return why_retired(msgspec.json.decode(by, type=Retirement))


def why_retired(retirement: Retirement) -> str:
    """For people."""
    return (
        f"the crawl is being divided anew in {retirement.where}, or was (generation {retirement.generation}): these "
        "directories can't be run any more. Finish `onceover parts` there, then `onceover cluster init --from`"
    )


def why_old(part: int, opened: int, stored: int) -> str:
    """Why a crawl is not retired by who has an older directory of a part."""
    return (
        f"the directory of part {part} is older than the part: expected epoch {opened}, found {stored}. Bring the "
        "newer one"
    )


def pairs_of(flat: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    """Keys and values of a hash."""
    return list(zip(flat[::2], flat[1::2], strict=True))


def lease_of(values: Sequence[Any]) -> Lease:
    """What the script `READ` says of a lease."""
    holder, claim, epoch, stored, stands, left_ms = values
    return Lease(
        holder=holder.decode(),
        claim=claim.decode(),
        epoch=int(epoch),
        stored=int(stored),
        stands=stands == b"1",
        left_s=max(0, left_ms) / 1000,
    )


def identity_of(generation: str, fields: Mapping[str, str], large: Mapping[bytes, bytes]) -> Identity:
    """From the fields of both hashes."""
    return Identity(
        crawl=fields["crawl"],
        generation=generation,
        lineages=tuple(int(fields[f"lineage:{part}"]) for part in range(int(fields["parts"]))),
        next_lineage=int(fields["next_lineage"]),
        lease_s=float(fields["lease_s"]),
        configuration=large[b"configuration"].decode(),
        configuration_version=int(fields["configuration_version"]),
        suffixes=large[b"suffixes"],
        replaces=tuple(filter(None, fields.get("replaces", "").split(","))),
        last_lineage=int(fields["last_lineage"]) if "last_lineage" in fields else None,
    )
