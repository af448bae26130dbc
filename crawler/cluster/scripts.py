"""What the register does in one step, in Lua. Scripts declare all keys that they use, and these have one hash tag."""

from typing import Final

from crawler.cluster.values import COORDINATOR

_RUN_ID: Final = "string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')"

CREATE: Final = f"""
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[2], 'configuration', ARGV[1], 'suffixes', ARGV[2])
for at = 4, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end
local server = ARGV[3] == '1' and {_RUN_ID} or ''
redis.call('HSET', KEYS[1], 'server', server, 'configuration_digest', redis.sha1hex(ARGV[1]))
return 1
"""
RAISE: Final = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
for at = 1, #ARGV, 2 do
  if tonumber(redis.call('HGET', KEYS[1], ARGV[at]) or '0') < tonumber(ARGV[at + 1]) then
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
  end
end
return 1
"""
CONFIGURE: Final = """
local version = redis.call('HGET', KEYS[1], 'configuration_version')
if not version or tonumber(version) > tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[2], 'configuration', ARGV[2])
redis.call('HSET', KEYS[1], 'configuration_version', ARGV[1], 'configuration_digest', redis.sha1hex(ARGV[2]))
return 1
"""
READ: Final = f"""
local longest = math.floor((tonumber(redis.call('HGET', KEYS[1], 'lease_s') or '') or 0) * 1000)
local leases = {{}}
for at = 3, #KEYS do
  local lease = redis.call('HMGET', KEYS[at], 'holder', 'claim', 'epoch', 'stored', 'stands')
  if lease[1] then
    lease[6] = redis.call('PTTL', KEYS[at])
    -- Redis keeps the moment of its end. After its clock was set back, or a failover to a server whose clock is behind,
    -- that of a dead holder would come much later.
    if longest > 0 and (lease[6] < 0 or lease[6] > longest) then
      redis.pcall('PEXPIRE', KEYS[at], longest)
      lease[6] = longest
    end
    leases[#leases + 1] = {{at - 4, lease}}
  end
end
return {{{_RUN_ID}, redis.call('TIME'), redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2]), leases}}
"""
CLAIM: Final = f"""
local part, holder, claim, stored, makes, ms = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5] == '1', ARGV[6]
if redis.call('EXISTS', KEYS[1]) == 0 then return {{'forgotten'}} end
local retired = redis.call('HGET', KEYS[1], 'retired')
if retired then return {{'retired', retired}} end
local opened = tonumber(redis.call('HGET', KEYS[1], 'opened:' .. part) or '0')
-- First, because an older copy never gets the lease, whether somebody holds it now or not.
if not makes and part ~= '{COORDINATOR}' and stored < opened then return {{'old', opened}} end
local lease = redis.call('HMGET', KEYS[2], 'holder', 'stored', 'stands')
if lease[1] and (lease[3] == '1' or tonumber(lease[2]) >= stored) then return {{'held', lease[1]}} end
local claimed = tonumber(redis.call('HGET', KEYS[1], 'claimed:' .. part) or '0')
if makes and redis.call('HEXISTS', KEYS[1], 'make:' .. part) == 0 then
  if opened > 0 then return {{'exists', opened}} end
  if redis.call('HGET', KEYS[1], 'server') ~= {_RUN_ID} then return {{'unsure'}} end
end
local epoch = math.max(opened, claimed, stored) + 1
redis.call('HSET', KEYS[1], 'claimed:' .. part, epoch)
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[2], 'holder', holder, 'claim', claim, 'epoch', epoch, 'stored', stored, 'stands', '0')
redis.call('PEXPIRE', KEYS[2], ms)
return {{'granted', epoch, tonumber(redis.call('HGET', KEYS[1], 'lineage:' .. part) or '0')}}
"""
CONFIRM: Final = """
local part, claim, epoch, ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('HGET', KEYS[2], 'claim') ~= claim or redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'opened:' .. part, epoch)
redis.call('HSET', KEYS[1], 'last:' .. part, redis.call('HGET', KEYS[2], 'holder'))
redis.call('HDEL', KEYS[1], 'make:' .. part)
redis.call('HSET', KEYS[2], 'stands', '1')
return redis.call('PEXPIRE', KEYS[2], ms)
"""
RENEW: Final = """
local answers = {}
for at = 1, #KEYS do
  -- A key that is no lease any more must not keep others from being renewed.
  if redis.pcall('HGET', KEYS[at], 'claim') == ARGV[at + 1] then
    answers[at] = redis.call('PEXPIRE', KEYS[at], ARGV[1])
  else
    answers[at] = 0
  end
end
return answers
"""
RELEASE: Final = """
if redis.call('HGET', KEYS[1], 'claim') == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""
END: Final = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if ARGV[2] ~= '' and redis.call('HGET', KEYS[2], 'claim') ~= ARGV[2] then return 0 end
-- Once a script has written, Redis lets it write on, though its memory be full. A deletion is always permitted.
redis.call('HDEL', KEYS[1], 'ending')
redis.call('HSET', KEYS[1], 'ending', ARGV[1])
return 1
"""
TELL: Final = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local agent = cjson.decode(ARGV[2])
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  local known, other = pcall(cjson.decode, all[at + 1])
  known = known and type(other) == 'table' and type(other['told_at']) == 'number'
  local is_old = not known or now - other['told_at'] > tonumber(ARGV[3])
  -- A directory has one process at a time: another one there has died.
  if is_old or (other['host'] == agent['host'] and other['directory'] == agent['directory']) then
    redis.call('HDEL', KEYS[1], all[at])
  end
end
agent['told_at'] = now
-- What is damaged there keeps no machine from saying how it is.
agent['epochs'] = {}
for part in pairs(agent['parts']) do
  agent['epochs'][part] = tonumber(redis.pcall('HGET', KEYS[2], 'opened:' .. part)) or 0
end
local is_read, ending = pcall(cjson.decode, redis.pcall('HGET', KEYS[2], 'ending') or '')
agent['ending'] = is_read and type(ending) == 'table' and ending['mark'] or ''
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(agent))
"""
ADOPT: Final = """
local part, is_made = ARGV[1], ARGV[2] == '1'
if redis.call('EXISTS', KEYS[1]) == 0 then return {'forgotten'} end
local holder = redis.call('HGET', KEYS[2], 'holder')
if holder then return {'held', holder} end
local lineage = tonumber(redis.call('HGET', KEYS[1], 'next_lineage'))
if lineage > tonumber(redis.call('HGET', KEYS[1], 'last_lineage') or ARGV[3]) then return {'used up'} end
local opened = tonumber(redis.call('HGET', KEYS[1], 'opened:' .. part) or '0')
local claimed = tonumber(redis.call('HGET', KEYS[1], 'claimed:' .. part) or '0')
local epoch = math.max(opened, claimed) + 1
redis.call('HSET', KEYS[1], 'next_lineage', lineage + 1, 'lineage:' .. part, lineage)
redis.call('HSET', KEYS[1], 'opened:' .. part, epoch, 'claimed:' .. part, epoch)
if is_made then redis.call('HDEL', KEYS[1], 'make:' .. part) else redis.call('HSET', KEYS[1], 'make:' .. part, '1') end
return {'adopted', epoch, lineage}
"""
FREE: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""
REMOVE: Final = """
for at = 4, #KEYS do
  local holder = redis.call('HGET', KEYS[at], 'holder')
  if holder then return holder end
end
redis.call('DEL', unpack(KEYS))
return ''
"""
RETIRE: Final = """
if redis.call('EXISTS', KEYS[1]) == 0 then return {'forgotten'} end
local retired = redis.call('HGET', KEYS[1], 'retired')
if retired and cjson.decode(retired)['generation'] ~= ARGV[1] then return {'retired', retired} end
for at = 2, #KEYS do
  local holder = redis.call('HGET', KEYS[at], 'holder')
  if holder then return {'held', holder} end
end
for at = 3, #ARGV do
  local opened = tonumber(redis.call('HGET', KEYS[1], 'opened:' .. (at - 3)) or '0')
  if tonumber(ARGV[at]) < opened then return {'old', at - 3, opened, ARGV[at]} end
end
redis.call('HSET', KEYS[1], 'retired', ARGV[2])
return {'done'}
"""
REVIVE: Final = """
local retired = redis.call('HGET', KEYS[1], 'retired')
if retired and cjson.decode(retired)['generation'] == ARGV[1] then redis.call('HDEL', KEYS[1], 'retired') end
"""
SUCCEED: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) end
"""
DEPOSE: Final = """
if redis.call('EXISTS', KEYS[1]) == 0 then return end
redis.call('HSET', KEYS[1], 'retired', ARGV[1])
for at = 2, #KEYS do redis.call('DEL', KEYS[at]) end
"""
