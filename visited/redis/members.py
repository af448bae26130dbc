"""Those who share a set: a hash in Redis, with a field for each crawl that has it open.

An entry stands until its crawl ends: one that was killed replaces its own when it starts again.
"""

from typing import Any, Final

from visited.protocol import Unavailable
from visited.redis.server import Step
from visited.shared import Member

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


def enter_step(key: str, member: Member) -> Step:
    """Lets a member in, unless another one keeps another pace: then the answer is that one."""
    return Step(_ENTER, [key], [member.id, member.name, *member.paces])


def leave_step(key: str, member: Member) -> Step:
    """Takes a member out."""
    return Step(_LEAVE, [key], [member.id])


def check_entered(key: str, answer: Any) -> None:
    """Raise `Unavailable` if the answer to `enter_step` names a member that keeps another pace."""
    if answer:
        other, (name, *_) = answer[0].decode(), answer[1].decode("utf-8", "replace").split("\n")
        raise Unavailable(
            f"{name} shares the set and does not keep the pace of hosts together with this crawl, so both could ask a "
            "host at once. Run both in one daemon, or on one machine with one file named by ONCEOVER_PACE, or as parts "
            f"of one crawl. If that crawl is gone for good: redis-cli HDEL '{key}' {other}"
        )
