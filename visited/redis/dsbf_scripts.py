"""The scripts of the splitting filter.

Their keys are the head, the list of splits, the hash of what is known of each leaf, and the bits and the list of each
leaf that they name. The hash has two fields for each leaf: `NODE` is how many of its bits are set, `NODE:listed` how
many fingerprints its list has.
"""

from typing import Final

_BEGIN: Final = """
local head = redis.call('HMGET', KEYS[1], 'id', 'count', 'rate', 'lost', 'ones')
if head[1] ~= ARGV[1] then return -1 end
"""
_BEGIN_URLS: Final = (
    _BEGIN
    + """
local splits, known = redis.call('LLEN', KEYS[2]), tonumber(ARGV[2])
if splits > known then return {redis.call('LRANGE', KEYS[2], known, known + 9999)} end
local hashes, bytes, leaves = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local fields = {}
for leaf = 1, leaves do
  local node = ARGV[9 + 3 * leaf - 2]
  fields[2 * leaf - 1], fields[2 * leaf] = node, node .. ':listed'
end
local counts = redis.call('HMGET', KEYS[3], unpack(fields))
-- Whoever finds only a part of the keys must not take it for the set.
local is_whole = splits == known and (tonumber(head[5]) == 0 or redis.call('EXISTS', KEYS[3]) == 1)
for leaf = 1, leaves do
  is_whole = is_whole and (not counts[2 * leaf - 1] or redis.call('STRLEN', KEYS[2 + 2 * leaf]) == bytes)
end
if not is_whole then
  redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
  return -1
end
-- Bits and lists of which nothing is known are left from a set that was lost in part.
for leaf = 1, leaves do
  if not counts[2 * leaf - 1] then redis.call('DEL', KEYS[2 + 2 * leaf], KEYS[3 + 2 * leaf]) end
end
local found, at, urls = {}, 9 + 3 * leaves, 0
for leaf = 1, leaves do urls = urls + tonumber(ARGV[9 + 3 * leaf - 1]) end
for each = 1, urls do found[each] = '0' end
local test = {'BITFIELD', ''}
for hash = 1, hashes do test[3 * hash], test[3 * hash + 1] = 'GET', 'u1' end
"""
)
# Known URLs are many, and only read: nothing of them goes to replicas and to the file of commands. A leaf that is full
# takes nothing more, and answers '2', so its list stands still until somebody has split it.
ADD: Final = (
    _BEGIN_URLS
    + """
local is_filling, most_listed = ARGV[6] == '1', tonumber(ARGV[7])
local full, last_split, bits = tonumber(ARGV[8]), tonumber(ARGV[9]), bytes * 8
local added, set, rate, lost, due = 0, 0, 0, 0, {}
for leaf = 1, leaves do
  local node, share = ARGV[9 + 3 * leaf - 2], tonumber(ARGV[9 + 3 * leaf])
  local key, before = KEYS[2 + 2 * leaf], tonumber(counts[2 * leaf - 1] or 0)
  local ones, listed, added_here = before, {}, 0
  local may_split = tonumber(node) < last_split
  if not counts[2 * leaf - 1] then
    redis.call('SETRANGE', key, bytes - 1, '\\0')
    redis.call('HSET', KEYS[3], node, 0)
  end
  test[2] = key
  for _ = 1, tonumber(ARGV[9 + 3 * leaf - 1]) do
    local place = tonumber(ARGV[at + 1])
    if may_split and ones >= full then
      found[place] = '2'
    else
      for hash = 1, hashes do test[3 * hash + 2] = ARGV[at + 2 + hash] end
      local was, missing = redis.call(unpack(test)), {'BITFIELD', key}
      for hash = 1, hashes do
        if was[hash] == 0 then
          local next = #missing
          missing[next + 1], missing[next + 2] = 'SET', 'u1'
          missing[next + 3], missing[next + 4] = ARGV[at + 2 + hash], '1'
        end
      end
      local is_new = #missing > 2
      if is_new then
        -- Two hashes of a URL may name the same bit.
        for _, bit in ipairs(redis.call(unpack(missing))) do ones = ones + 1 - bit end
        added_here = added_here + 1
      end
      if is_new or is_filling then listed[#listed + 1] = ARGV[at + 2] end
      if is_new then found[place] = '1' end
    end
    at = at + 2 + hashes
  end
  local all_listed = tonumber(counts[2 * leaf] or 0)
  if #listed > 0 then
    redis.call('RPUSH', KEYS[3 + 2 * leaf], table.concat(listed))
    all_listed = redis.call('HINCRBY', KEYS[3], node .. ':listed', #listed)
  end
  if ones > before then
    redis.call('HSET', KEYS[3], node, ones)
    set, added = set + ones - before, added + added_here
    rate = rate + share * ((ones / bits) ^ hashes - (before / bits) ^ hashes)
    lost = lost + added_here * (ones / bits) ^ hashes
  end
  if may_split and (ones >= full or all_listed > most_listed) then due[#due + 1] = tonumber(node) end
end
if added > 0 then
  head[2] = redis.call('HINCRBY', KEYS[1], 'count', added)
  -- HINCRBYFLOAT would round to 17 digits after the point.
  head[3] = string.format('%.17g', tonumber(head[3]) + rate)
  head[4] = string.format('%.17g', tonumber(head[4]) + lost)
  redis.call('HSET', KEYS[1], 'rate', head[3], 'lost', head[4])
  head[5] = redis.call('HINCRBY', KEYS[1], 'ones', set)
end
return {table.concat(found), tonumber(head[2]), due, head[3], head[4], tonumber(head[5])}
"""
)
ASK: Final = (
    _BEGIN_URLS
    + """
for leaf = 1, leaves do
  test[2] = KEYS[2 + 2 * leaf]
  for _ = 1, tonumber(ARGV[9 + 3 * leaf - 1]) do
    for hash = 1, hashes do test[3 * hash + 2] = ARGV[at + 2 + hash] end
    local is_known = '1'
    for _, bit in ipairs(redis.call(unpack(test))) do if bit == 0 then is_known = '0' end end
    found[tonumber(ARGV[at + 1])] = is_known
    at = at + 2 + hashes
  end
end
return {table.concat(found), tonumber(head[2]), {}, head[3], head[4], tonumber(head[5])}
"""
)
READ: Final = (
    _BEGIN
    + """
local ones = redis.call('HGET', KEYS[2], ARGV[2])
if not ones then return {} end
return {
  tonumber(ones), redis.call('LLEN', KEYS[3]),
  table.concat(redis.call('LRANGE', KEYS[3], ARGV[3], tonumber(ARGV[3]) + tonumber(ARGV[4]) - 1))}
"""
)
"""Reads elements of a leaf's list; nothing if it is no leaf any more."""
_UNCHANGED: Final = """
if redis.call('HGET', KEYS[2], ARGV[2]) ~= ARGV[3] or redis.call('LLEN', KEYS[3]) ~= tonumber(ARGV[4]) then
  return 0
end
local function write(key, first, last)
  for each = first, last, 1000 do redis.call('RPUSH', key, unpack(ARGV, each, math.min(each + 999, last))) end
end
"""
SPLIT: Final = (
    _BEGIN
    + _UNCHANGED
    + """
local node, lower = tonumber(ARGV[2]), tonumber(ARGV[9])
redis.call('DEL', KEYS[3], KEYS[4])
redis.call('HDEL', KEYS[2], ARGV[2], ARGV[2] .. ':listed')
for half = 0, 1 do
  local name = string.format('%d', 2 * node + half)
  redis.call('SET', KEYS[6 + 2 * half], ARGV[12 + half])
  redis.call('HSET', KEYS[2], name, ARGV[5 + 2 * half], name .. ':listed', ARGV[6 + 2 * half])
end
write(KEYS[7], 14, 13 + lower)
write(KEYS[9], 14 + lower, #ARGV)
local splits = redis.call('RPUSH', KEYS[5], ARGV[2])
redis.call('HSET', KEYS[1], 'rate', string.format('%.17g', tonumber(head[3]) + tonumber(ARGV[10])))
redis.call('HINCRBY', KEYS[1], 'ones', ARGV[11])
return splits
"""
)
"""Puts two halves in the place of a leaf, unless it has changed since it was read. Returns the number of splits."""
TIDY: Final = (
    _BEGIN
    + _UNCHANGED
    + """
redis.call('DEL', KEYS[3])
write(KEYS[3], 6, #ARGV)
redis.call('HSET', KEYS[2], ARGV[2] .. ':listed', ARGV[5])
return 1
"""
)
"""Puts another list in the place of a leaf's, unless it has changed since it was read."""
