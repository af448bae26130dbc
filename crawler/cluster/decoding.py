"""What Redis has of a crawl, as values. What this program does not write there raises `RegisterDamaged`."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from crawler.cluster.values import (
    COORDINATOR,
    Agent,
    Cluster,
    Denied,
    EndingMark,
    Forgotten,
    Granted,
    Identity,
    Lease,
    PartState,
    RegisterDamaged,
    Retirement,
)
from crawler.codes.unreadable import UNREADABLE
from frontier import MAX_LINEAGE

_MAX_EPOCH = 1 << 53
"""Scripts count in floats."""
_Value = TypeVar("_Value")
_Number = TypeVar("_Number", int, float)


def damaged(keys: Sequence[str], expected: str, found: object) -> RegisterDamaged:
    """What is wrong at the first key, and what to do: all of these keys are written again together."""
    aside = " and ".join(f"`redis-cli RENAME '{key}' '{key}:damaged'`" for key in keys)
    return RegisterDamaged(
        f"what Redis has of the crawl is damaged: expected {expected} at the key {keys[0]}, found {found!r:.100}. "
        f"Nothing was changed. Move it aside by {aside}; machines of the crawl write it again while they run"
    )


def text_of(key: str, value: bytes) -> str:
    """A value that is a name."""
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise damaged([key], "UTF-8", value) from error


def holder_of(found: bytes) -> str:
    """Who holds a lease, for people."""
    return found.decode(errors="replace")


class Fields:
    """The fields of a hash."""

    def __init__(self, pairs: Mapping[bytes, bytes], *keys: str) -> None:
        """`keys` are that of the hash, and those that have to be written again with it."""
        self._pairs = pairs
        self._keys = keys

    def __contains__(self, name: str) -> bool:
        return name.encode() in self._pairs

    def text(self, name: str) -> str:
        return self._read(name, "UTF-8", bytes.decode)

    def raw(self, name: str) -> bytes:
        return self._read(name, "bytes", bytes)

    def number(self, name: str, *, default: int | None = None, least: int = 0, most: int = _MAX_EPOCH) -> int:
        if default is not None and name not in self:
            return default
        return self._read(name, f"a number from {least} to {most}", lambda text: _within(int(text), least, most))

    def parts(self) -> int:
        parts = self.number("parts", least=1, most=MAX_LINEAGE)
        if f"lineage:{parts}" in self:
            raise damaged(self._keys, "the number of lineages in the field parts", parts)
        return parts

    def seconds(self, name: str) -> float:
        return self._read(name, "a number of seconds", lambda text: _within(float(text), 0.001, 1e9))

    def value(self, name: str, kind: type[_Value]) -> _Value | None:
        """What is stored as JSON; None if nothing is."""
        if name not in self:
            return None
        return self._read(name, f"JSON of {kind.__name__}", lambda text: msgspec.json.decode(text, type=kind))

    def _read(self, name: str, expected: str, decode: Callable[[bytes], _Value]) -> _Value:
        text = self._pairs.get(name.encode())
        if text is None:
            raise damaged(self._keys, f"the field {name}", sorted(self._pairs))
        try:
            return decode(text)
        except (*UNREADABLE, ValueError) as error:
            raise damaged(self._keys, f"{expected} in the field {name}", text) from error


def _within(found: _Number, least: float, most: float) -> _Number:
    if not least <= found <= most:
        raise ValueError(found)
    return found


def answer_of_claim(answer: Sequence[Any], *, stored: int) -> Granted | Denied:
    """What the script `CLAIM` says. Raises `Forgotten`."""
    match answer:
        case [b"granted", epoch, lineage]:
            return Granted(epoch=epoch, lineage=lineage)
        case [b"held", by]:
            return Denied(why=f"{holder_of(by)} holds it", holder=holder_of(by))
        case [b"retired", by]:
            return Denied(why=why_denied(by))
        case [b"exists", opened]:
            return Denied(why=f"it was made already, and is in its epoch {opened}")
        case [b"unsure"]:
            return Denied(
                why="Redis may have forgotten that it was made: the server is not the process in which the crawl "
                "was made. `onceover cluster adopt` permits to make it"
            )
        case [b"old", opened]:
            return Denied(
                why=f"its directory is older than the part: expected epoch {opened}, found {stored}. Another "
                "machine has the newer one: start it; if that is lost, let `onceover cluster adopt` take this one"
            )
    raise Forgotten


def why_denied(by: bytes) -> str:
    """Why a retired generation is refused, by what the register has stored."""
    try:
        return why_retired(msgspec.json.decode(by, type=Retirement))
    except UNREADABLE:
        return f"the crawl is being divided anew, or was, but where is damaged in Redis: found {by!r:.100}"


def why_retired(retirement: Retirement) -> str:
    """Say to people why the crawl is retired."""
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


def flat_of(fields: Mapping[str, object]) -> list[object]:
    """Keys and values for a hash."""
    return [each for pair in fields.items() for each in pair]


def pairs_of(flat: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    """Keys and values of a hash."""
    return list(zip(flat[::2], flat[1::2], strict=True))


def agents_of(flat: Sequence[bytes]) -> dict[str, Agent]:
    """What machines say of themselves, for people. What is damaged is left out: machines say it again in seconds."""
    agents = {}
    for holder, text in pairs_of(flat):
        with suppress(*UNREADABLE):
            agents[holder.decode()] = msgspec.json.decode(text, type=Agent)
    return agents


def lease_of(key: str, values: Sequence[Any]) -> Lease:
    """What the script `READ` says of a lease."""
    *texts, left_ms = values
    names = (b"holder", b"claim", b"epoch", b"stored", b"stands")
    fields = Fields({name: text for name, text in zip(names, texts, strict=True) if text is not None}, key)
    return Lease(
        holder=fields.text("holder"),
        claim=fields.text("claim"),
        epoch=fields.number("epoch"),
        stored=fields.number("stored"),
        stands=fields.text("stands") == "1",
        left_s=max(0, left_ms) / 1000,
    )


def identity_of(generation: str, fields: Fields, large: Fields) -> Identity:
    """Read the identity from the fields of both hashes."""
    return Identity(
        crawl=fields.text("crawl"),
        generation=generation,
        lineages=tuple(fields.number(f"lineage:{part}", most=MAX_LINEAGE) for part in range(fields.parts())),
        next_lineage=fields.number("next_lineage", most=MAX_LINEAGE + 1),
        lease_s=fields.seconds("lease_s"),
        configuration=large.text("configuration"),
        configuration_version=fields.number("configuration_version"),
        suffixes=large.raw("suffixes"),
        replaces=tuple(filter(None, fields.text("replaces").split(","))) if "replaces" in fields else (),
        last_lineage=fields.number("last_lineage", most=MAX_LINEAGE) if "last_lineage" in fields else None,
        drawn=fields.value("drawn", tuple[tuple[int, int], ...]) or (),
    )


def cluster_of(
    identity: Identity,
    fields: Fields,
    leases: Mapping[int, Lease],
    agents: Mapping[str, Agent],
    *,
    run_id: str,
    now: float,
) -> Cluster:
    """The register at one moment, by its fields, and the process of the server that has it."""
    parts = tuple(
        PartState(
            number=number,
            lineage=lineage,
            opened=fields.number(f"opened:{number}", default=0),
            claimed=fields.number(f"claimed:{number}", default=0),
            may_be_made=f"make:{number}" in fields,
            last_holder=fields.text(f"last:{number}") if f"last:{number}" in fields else None,
            lease=leases.get(number),
        )
        for number, lineage in enumerate(identity.lineages)
    )
    return Cluster(
        identity=identity,
        is_whole=fields.text("server") != "",
        is_first_server=fields.text("server") == run_id,
        parts=parts,
        coordinator=leases.get(COORDINATOR),
        agents={holder: _without_moved(agent, holder, parts) for holder, agent in agents.items()},
        now=now,
        ending=fields.value("ending", EndingMark),
        retired=fields.value("retired", Retirement),
    )


def _without_moved(agent: Agent, holder: str, parts: Sequence[PartState]) -> Agent:
    """What a machine says, without the parts that another one has opened since. A machine that has died goes on to say
    that it has the directory of such a part; one that lives says again in seconds what it has."""
    moved = {
        part.number
        for part in parts
        if part.opened > agent.epochs.get(part.number, part.opened) and part.last_holder != holder
    }
    return replace(agent, parts={part: said for part, said in agent.parts.items() if part not in moved})
