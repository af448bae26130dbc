"""The scripts for a set as a whole, whatever its form."""

from typing import Final

JOIN: Final = """
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'id', ARGV[2], 'form', ARGV[1], unpack(ARGV, 3))
end
return redis.call('HGETALL', KEYS[1])
"""
DELETE: Final = "return redis.call('DEL', KEYS[1])"
USAGE: Final = """
local sum = 0
for _, key in ipairs(KEYS) do sum = sum + (redis.call('MEMORY', 'USAGE', key) or 0) end
return sum
"""
