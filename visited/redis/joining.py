"""Finds a set on its server or begins it, and sees to it that nobody asks it who must not."""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from visited.protocol import Unavailable
from visited.redis.form import GONE, Form, Place
from visited.redis.holders import Holder, Holders, base_of, describe_missing, holders_of, register_step
from visited.redis.notes import Notes
from visited.redis.server import Channel, Step
from visited.shared import Forgotten, Incomplete, Member, Unanswered, Unreachable

_JOIN: Final = """
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'id', ARGV[2], 'form', ARGV[1], unpack(ARGV, 3))
end
return redis.call('HGETALL', KEYS[1])
"""
_ENTER: Final = """
local paces = {}
for each = 3, #ARGV do paces[ARGV[each]] = true end
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  local is_in_pace = all[at] == ARGV[1]
  for line in string.gmatch(all[at + 1], '[^\\n]+') do is_in_pace = is_in_pace or paces[line] == true end
  if not is_in_pace then return {all[at], all[at + 1]} end
end
redis.call('HSET', KEYS[1], ARGV[1], table.concat(ARGV, '\\n', 2))
return {}
"""
_LEAVE: Final = "return redis.call('HDEL', KEYS[1], ARGV[1])"


class Joining:
    """A form, the channel to its server, and a place there."""

    def __init__(self, form: Form, channel: Channel, place: Place, *, notes: Notes | None = None) -> None:
        """With `notes`, the crawl is one of the holders of the set."""
        self._form = form
        self._channel = channel
        self._place = place
        self._notes = notes
        self._complete: tuple[str, str] | None = None
        """The memory that has the ledgers of all holders, and the set's id by which they are known."""
        self._registered_in: str | None = None
        """The memory in which this crawl was last said to be a holder."""
        self._member: Member | None = None
        """While this crawl is one of those who have the set open."""
        self.memory: str | None = None
        """None while there is no connection."""
        self.set_id = ""
        self.count = 0
        """URLs in the set when it was joined."""

    async def connect(self) -> str:
        """See `SharedSet.connect`."""
        if self.memory is not None and self._channel.is_connected:
            return self.memory
        self.memory = None
        server = await self._channel.connect()
        try:
            if (probe := self._form.probe()) is not None:
                step, check = probe
                check(await self._channel.run(step))
            await self._join()
        except Unanswered as error:
            raise Unreachable(str(error)) from error  # to join twice does no harm
        if self._member is not None:
            await self._enter(self._member)
        self.memory = f"{server}/{base_of(self.set_id)}"
        return self.memory

    async def _join(self) -> None:
        first = [str(each) for pair in self._form.first_layout().items() for each in pair]
        found: list[bytes] = await self._channel.run(
            Step(_JOIN, [self._place.head], [self._form.name, secrets.token_hex(8), "count", 0, *first])
        )
        try:
            self._adopt(_fields(found))
        except (KeyError, ValueError) as error:
            raise Unavailable(
                f"what Redis has in {self._place.head} is damaged ({error!r}); delete the set, and each crawl adds its "
                f"URLs again: redis-cli --scan --pattern '{self._place.tag}:*' | xargs redis-cli UNLINK"
            ) from error

    def _adopt(self, head: Mapping[str, str]) -> None:
        """Raises KeyError and ValueError for a head that is damaged."""
        form = head.get("form")
        if form is None:
            raise Unavailable(
                f"expected a set of {self._form.name} in {self._place.head}, found something else, as of another "
                "program; choose another name (visited.options.share or prefix)"
            )
        if form != self._form.name:
            raise Unavailable(
                f"expected a set of {self._form.name} in {self._place.head}, found one of {form}; give it "
                "another name (visited.options.share), or use that backend"
            )
        self._form.adopt(head)
        self.count = int(head["count"])
        self.set_id = head["id"]

    async def is_there(self) -> bool:
        """Whether the set is still there, after a script has found another id. Raises `Unreachable`."""
        try:
            found = await self._register(None, Holders())
        except Forgotten:
            return False
        if self.memory is not None and found.missing(self.memory, found):
            # They may know another memory of the same server: to be a replica for a while ends no connection.
            self.lose()
        return True

    def lose(self) -> None:
        """The connection may lead elsewhere when it is made again."""
        self.memory = None

    async def check_holders(self) -> None:
        """Make this crawl one of the holders: its ledger is in the memory that is connected. Raises `Incomplete` while
        that of another one is not."""
        notes, memory = self._notes, self.memory
        if notes is None or memory is None or self._complete == (memory, self.set_id):
            return
        while True:
            try:
                me, noted = notes.open(), notes.read()
                if me in noted.gone:
                    notes.renew()
                    me = notes.open()
                holders = await self._register((me, notes.own(memory)), noted)
                self._registered_in = memory
                notes.note(holders)
            except OSError as error:
                raise Unreachable(f"the crawls that share it can't be noted: {error}") from error
            if me not in holders.gone:
                break
        if missing := holders.missing(memory, noted):
            raise Incomplete(describe_missing(missing, notes.directory))
        self._complete = (memory, self.set_id)

    async def _register(self, holder: tuple[str, Holder] | None, others: Holders) -> Holders:
        try:
            found = await self._channel.run(register_step(self._place.head, base_of(self.set_id), holder, others))
        except (Unreachable, Unanswered) as error:
            if not self._channel.is_connected:
                self.lose()
            raise Unreachable(str(error)) from error  # to register twice does no harm
        if found == GONE:
            self.lose()
            await self._channel.aclose()
            raise Forgotten("its data was deleted")
        head = _fields(found)
        self.set_id = head["id"]
        return holders_of(head)

    async def close(self) -> None:
        """Say that this crawl asks nothing more, if it has asked. Raises what a `SharedSet` raises."""
        notes, memory = self._notes, self.memory
        if notes is None or memory is None or self._registered_in != memory or not self._channel.is_connected:
            return
        self._registered_in = self._complete = None
        await self._register((notes.own_id(), notes.own(memory, is_closed=True)), Holders())

    async def holders(self, gone: frozenset[str] = frozenset()) -> tuple[Holders, frozenset[str]]:
        """Those that share the set, after some are said to be gone, and the ids of those whose ledgers its server may
        lack. Raises what a `SharedSet` raises."""
        memory = await self.connect()
        noted = Holders() if self._notes is None else self._notes.read()
        found = await self._register(None, noted.unite(Holders(gone=gone)))
        return found, frozenset(found.missing(memory, noted))

    async def withdraw(self) -> None:
        """Say that the crawl is gone. Raises what a `SharedSet` raises."""
        if self._notes is None or not self._notes.has_begun:
            return
        me = self._notes.own_id()
        try:
            await self.holders(frozenset({me}))
        except (Unreachable, Unavailable) as error:
            raise Unreachable(
                f"{error}; other crawls that share its set may wait for this one some day. To say later that it is "
                f"gone: onceover sharing DIRECTORY_OF_ANOTHER --gone {me}"
            ) from error

    async def enter(self, member: Member) -> None:
        """See `SharedSet.enter`."""
        await self.connect()
        await self._enter(member)
        self._member = member

    async def _enter(self, member: Member) -> None:
        try:
            step = Step(_ENTER, [self._members], [member.id, member.name, *member.paces])
            _check_entered(self._members, await self._channel.run(step))
        except Unanswered as error:
            raise Unreachable(str(error)) from error  # to enter twice does no harm

    async def leave(self) -> None:
        """See `SharedSet.leave`."""
        member, self._member = self._member, None
        if member is not None and self._channel.is_connected:
            with suppress(Unanswered, Unreachable):  # it replaces its entry when it starts again
                await self._channel.run(Step(_LEAVE, [self._members], [member.id]))

    @property
    def _members(self) -> str:
        """The key of a hash with a field for each crawl that has the set open. A crawl that was killed replaces its
        own when it starts again."""
        return self._place.key("members")


def _fields(found: list[bytes]) -> Mapping[str, str]:
    return dict(zip(map(bytes.decode, found[::2]), map(bytes.decode, found[1::2]), strict=True))


def _check_entered(key: str, answer: Any) -> None:
    """Raise `Unavailable` if the answer to `_ENTER` names a member that keeps another pace."""
    if answer:
        other, (name, *_) = answer[0].decode(), answer[1].decode("utf-8", "replace").split("\n")
        raise Unavailable(
            f"{name} shares the set and does not keep the pace of hosts together with this crawl, so both could ask a "
            "host at once. Run both in one daemon, or on one machine with one file named by ONCEOVER_PACE, or as parts "
            f"of one crawl. If that crawl is gone for good: redis-cli HDEL '{key}' {other}"
        )
