"""The crawls that have URLs of a set in their ledgers, its *holders*. Pure but for the names of keys.

The head of the set names them, each with the memory to which it has last added its ledger. So if the server loses the
head, it loses the names, and if it loses nothing else, the memories are those of earlier days. Each crawl also notes
the names itself (`notes`), and writes what the head lacks into it.

A crawl that is *closed* has written so after its last question. A server that restarts, and a replica that takes over,
may lack what was last written, but nothing before that. So if the head of the set still says that a crawl is closed,
the server has all that the crawl has asked, unless the crawl has been opened since, which it tells the others first:
each holder counts how often it was opened.

The rule: a set may be asked in a memory once that has the ledgers of all its holders, except those that are *gone*,
which an operator says of a crawl that will never come again. Nobody takes that back: a crawl that does come again takes
another id. So names and gone ids only become more, whoever tells them to whom, and in whatever order.

The id by which scripts know the set ends with a number that grows whenever a name or a gone id comes to the head. So a
crawl that has not read them yet is refused by the first script, and asks nothing without knowing all holders.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from visited.redis.server import Step

_HOLDER: Final = "crawl:"
_GONE: Final = "gone:"

_REGISTER: Final = """
local id = redis.call('HGET', KEYS[1], 'id')
if not id or string.match(id, '^[^:]*') ~= ARGV[1] then return -1 end
local more = 0
if ARGV[2] ~= '' then more = redis.call('HSET', KEYS[1], ARGV[2], ARGV[3]) end
for at = 4, #ARGV, 2 do more = more + redis.call('HSETNX', KEYS[1], ARGV[at], ARGV[at + 1]) end
if more > 0 then
  local times = tonumber(string.match(id, ':(%d+)$') or 0) + 1
  redis.call('HSET', KEYS[1], 'id', string.format('%s:%d', ARGV[1], times))
end
return redis.call('HGETALL', KEYS[1])
"""


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """One crawl."""

    name: str
    """For people: where it is."""
    directory: str
    """That of the crawl, as a command takes it."""
    notes: str
    """The folder of what it has noted about this set."""
    memory: str = ""
    """To which it has last added its ledger; empty if nobody knows."""
    opened: int = 0
    """How often it was opened to ask the set."""
    is_closed: bool = False
    """Whether it has asked nothing more after this was written."""

    def is_in(self, memory: str, opened: int) -> bool:
        """Whether a memory has its ledger, if it is known to have been opened so often."""
        if self.memory == memory:
            return True
        is_same_set = self.memory.rpartition("/")[2] == memory.rpartition("/")[2]
        return self.is_closed and is_same_set and self.opened >= opened


class Holders(msgspec.Struct, frozen=True, kw_only=True):
    """All that are known, by their ids."""

    known: Mapping[str, Holder] = {}
    gone: frozenset[str] = frozenset()

    def missing(self, memory: str, noted: "Holders") -> dict[str, Holder]:
        """Those whose ledgers a memory may lack, and that are not gone. `noted` knows how often they were opened."""
        return {
            name: each
            for name, each in self.known.items()
            if name not in self.gone and not each.is_in(memory, noted.known.get(name, each).opened)
        }

    def unite(self, others: "Holders") -> "Holders":
        """These and the others. Of a holder that both know, the one that was opened more often counts."""
        known = dict(others.known)
        for name, each in self.known.items():
            if name not in known or known[name].opened < each.opened:
                known[name] = each
        return Holders(known=known, gone=self.gone | others.gone)


def holders_of(head: Mapping[str, str]) -> Holders:
    """Those that the head of a set names."""
    known, gone = {}, set()
    for field, value in head.items():
        if field.startswith(_GONE):
            gone.add(field.removeprefix(_GONE))
        elif field.startswith(_HOLDER):
            known[field.removeprefix(_HOLDER)] = decode_holder(value.encode())
    return Holders(known=known, gone=frozenset(gone))


def register_step(key: str, base: str, holder: tuple[str, Holder] | None, others: Holders) -> Step:
    """Writes a holder into the head of a set, and what the head lacks of the others. Returns the head, or `GONE` if the
    head is that of another set."""
    own = ("", b"") if holder is None else (f"{_HOLDER}{holder[0]}", encode_holder(holder[1]))
    lacking = list(_fields(others))
    return Step(_REGISTER, [key], [base, *own, *(each for pair in lacking for each in pair)])


def base_of(set_id: str) -> str:
    """The id of a set without the number that grows."""
    return set_id.partition(":")[0]


def encode_holder(holder: Holder) -> bytes:
    return msgspec.json.encode(holder)


def decode_holder(text: bytes) -> Holder:
    """A text that is damaged stands for a crawl of which nothing is known but its id."""
    try:
        return msgspec.json.decode(text, type=Holder)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Holder(name="a crawl whose note is damaged", directory="", notes="")


def describe_missing(missing: Mapping[str, Holder], directory: str) -> str:
    """Who is missing, and what to do about it. `directory` is that of a crawl that waits."""
    names = sorted(f"{each.name} (id {name})" for name, each in missing.items())
    one, *_ = sorted(missing, key=lambda name: missing[name].name)
    where = missing[one].directory or "ITS_DIRECTORY"
    return (
        f"its server has lost URLs, and {_listed(names)} not added its own again yet. A crawl that runs does so soon, "
        f"and one that is started. If it has ended: onceover sharing {where} --refill. If it is gone for good: "
        f"onceover sharing {directory} --gone {one}"
    )


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} has"
    return f"{', '.join(names[:-1])} and {names[-1]} have each"


def _fields(holders: Holders) -> Iterator[tuple[str, bytes]]:
    yield from ((f"{_GONE}{name}", b"") for name in sorted(holders.gone))
    for name, each in sorted(holders.known.items()):
        yield f"{_HOLDER}{name}", encode_holder(msgspec.structs.replace(each, memory="", is_closed=False))
