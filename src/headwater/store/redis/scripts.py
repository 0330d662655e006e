"""The steps that must be one: each is a script, which Redis runs from its start to its end without anything between.

A script checks first and writes then, because Redis does not undo what a script has written before it fails. All of
them take the view's tag as their only key; every other key starts with it. They answer with a list whose first element
says what became of it.

Many texts travel and are kept as one, a *parcel*, with the character 31 between them, which JSON never has as it is: a
command with a thousand arguments takes ten times as long as one with a thousand texts in a parcel.
"""

SEPARATOR = "\x1f"

OPEN = """
local tag, version, description, holder, at = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local known = redis.call('HGET', tag .. ':versions', version)
if known and known ~= description then return {'other', known} end
local v = tag .. ':v' .. version
if known then
  local rows = tonumber(redis.call('HGET', v .. ':state', 'rows') or '-1')
  if rows ~= redis.call('HLEN', v .. ':rows') then return {'altered'} end
else
  redis.call('HSET', tag .. ':versions', version, description)
  redis.call('HSET', v .. ':state', 'rows', 0, 'sequence', 0, 'trimmed', -1)
end
local epoch = redis.call('HINCRBY', tag .. ':epochs', version, 1)
redis.call('HSET', tag .. ':epochs', version .. ':holder', holder, version .. ':at', at)
return {'opened', epoch}
"""
"""Take the next epoch of a version, and create it if it isn't there."""

APPLY = r"""
local tag, version, epoch, batch, commits, watermark = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local at, keep_after, mode, layout, ttl = ARGV[6], tonumber(ARGV[7]), ARGV[8], ARGV[9], tonumber(ARGV[10])
local v = tag .. ':v' .. version
local rows, state, stage, changes = v .. ':rows', v .. ':state', v .. ':stage:' .. epoch, v .. ':changes:' .. batch
local newest_epoch = redis.call('HGET', tag .. ':epochs', version) or '0'
if newest_epoch ~= epoch then
  redis.call('UNLINK', stage)
  local told = redis.call('HMGET', tag .. ':epochs', version .. ':holder', version .. ':at')
  return {'fenced', newest_epoch, told[1] or '', told[2] or ''}
end
if redis.call('HEXISTS', tag .. ':versions', version) == 0 then return {'dropped'} end
local newest = redis.call('HGET', state, 'newest')
if newest and tonumber(newest) >= tonumber(batch) then
  redis.call('UNLINK', stage)
  local known = redis.call('HGET', v .. ':batches', batch)
  if known and cjson.decode(known)[1] ~= commits then return {'commits', cjson.decode(known)[1]} end
  return {'repeated'}
end
if tonumber(redis.call('HGET', state, 'rows') or '-1') ~= redis.call('HLEN', rows) then return {'altered'} end
local staged, counts = tonumber(ARGV[11]), tonumber(ARGV[12])
if redis.call('LLEN', stage) ~= staged then return {'lost'} end
local added = tonumber(ARGV[13])
local given = 13 + counts
local width = (layout == 'hash' or layout == 'sorted set') and 3 or 2
local parcels = staged > 0 and staged or #ARGV - given

local function unpacked(place)
  local part, keys = {}, {}
  local parcel = staged > 0 and redis.call('LINDEX', stage, place - 1) or ARGV[given + place]
  local size = 0
  for text in string.gmatch(parcel .. '\31', '([^\31]*)\31') do
    if size % width == 0 then keys[size / width + 1] = text end
    size = size + 1
    part[size] = text
  end
  return part, keys
end

if mode == 'final' then
  local seen = {}
  for place = 1, parcels do
    local _, keys = unpacked(place)
    local known = redis.call('HMGET', rows, unpack(keys))
    for i, key in ipairs(keys) do
      if seen[key] or known[i] then
        redis.call('UNLINK', stage)
        return {'twice', key}
      end
      seen[key] = true
    end
  end
end

if added >= 0 and mode == 'changes' then
  local inserted = 0
  for place = 1, parcels do
    local part, keys = unpacked(place)
    local known = redis.call('HMGET', rows, unpack(keys))
    for i = 1, #keys do
      if part[(i - 1) * width + 2] ~= '' and not known[i] then inserted = inserted + 1 end
    end
  end
  if inserted < added then
    redis.call('UNLINK', stage)
    return {'taken', inserted}
  end
end

local function show(key, row, extra)
  if layout == 'hash' then
    local name = v .. ':row:' .. key
    redis.call('UNLINK', name)
    if row then
      redis.call('HSET', name, unpack(cjson.decode(extra)))
      if ttl > 0 then redis.call('PEXPIRE', name, ttl) end
    end
  elseif layout == 'sorted set' then
    local told = cjson.decode(extra)
    local name = v .. ':top:' .. told[1]
    if row and told[3] ~= '' then
      redis.call('ZADD', name, told[3], told[2])
      redis.call('SADD', v .. ':groups', told[1])
      if ttl > 0 then redis.call('PEXPIRE', name, ttl) end
    else
      redis.call('ZREM', name, told[2])
    end
  end
end

local changed, count = 0, redis.call('HLEN', rows)
local sequence = tonumber(redis.call('HGET', state, 'sequence'))
local logged, put, gone = {}, {}, {}
local noted = 0
local function log(op, key, before, after)
  changed = changed + 1
  logged[noted + 1], logged[noted + 2], logged[noted + 3] = op, before or '', after or ''
  noted = noted + 3
  if layout == 'stream' then
    redis.call('XADD', v .. ':stream', '*', 'op', op, 'key', key, 'before', before or '', 'after', after or '',
      'batch', batch, 'commit', commits)
  end
end

for place = 1, parcels do
  local part, keys = unpacked(place)
  local known = mode == 'changes' and redis.call('HMGET', rows, unpack(keys)) or {}
  logged, put, gone, noted = {}, {}, {}, 0
  local placed = 0
  for i = 1, #part, width do
    local key, row = part[i], part[i + 1]
    if mode == 'added' then
      sequence = sequence + 1
      key = string.format('%d', sequence)
    end
    local before = known[(i - 1) / width + 1]
    if row == '' then
      if before then
        gone[#gone + 1] = key
        count = count - 1
        log('delete', key, before, nil)
        if width == 3 then show(key, nil, part[i + 2]) end
      end
    elseif before ~= row then
      put[placed + 1], put[placed + 2] = key, row
      placed = placed + 2
      if before then log('update', key, before, row) else
        count = count + 1
        log('insert', key, nil, row)
      end
      if width == 3 then show(key, row, part[i + 2]) end
    end
  end
  if #gone > 0 then redis.call('HDEL', rows, unpack(gone)) end
  if #put > 0 then redis.call('HSET', rows, unpack(put)) end
  if #logged > 0 then redis.call('RPUSH', changes, table.concat(logged, '\31')) end
end

local reached = newest and cjson.decode(redis.call('HGET', v .. ':batches', newest))[2] or ''
redis.call('UNLINK', stage)
redis.call('HSET', state, 'newest', batch, 'rows', count, 'sequence', string.format('%d', sequence))
redis.call('HSET', v .. ':batches', batch, cjson.encode({commits, watermark, at, changed, reached}))
redis.call('ZADD', v .. ':log', batch, batch)
if changed > 0 then redis.call('ZADD', v .. ':changed', batch, batch) end
for i = 14, given, 2 do redis.call('HINCRBY', v .. ':ledger', ARGV[i], ARGV[i + 1]) end

while true do
  local oldest = redis.call('ZRANGE', v .. ':log', 0, 0)[1]
  if oldest == batch then break end
  local told = cjson.decode(redis.call('HGET', v .. ':batches', oldest))
  if tonumber(told[3]) >= keep_after then break end
  redis.call('ZREM', v .. ':log', oldest)
  redis.call('HDEL', v .. ':batches', oldest)
  redis.call('ZREM', v .. ':changed', oldest)
  redis.call('UNLINK', v .. ':changes:' .. oldest)
  if told[4] > 0 then redis.call('HSET', state, 'trimmed', oldest) end
end
if layout == 'stream' and keep_after > 0 then
  redis.call('XTRIM', v .. ':stream', 'MINID', '~', string.format('%d', keep_after / 1000))
end
return {'applied', changed}
"""
"""Write a batch, given or staged: parcels of keys, rows (nothing: a delete) and, for some layouts, what they need."""

PROMOTE = """
local tag, version = KEYS[1], ARGV[1]
if redis.call('HEXISTS', tag .. ':versions', version) == 0 then return {'unknown'} end
redis.call('SET', tag .. ':promoted', version)
return {'promoted'}
"""

DROP = """
local tag, version = KEYS[1], ARGV[1]
local known = redis.call('HGET', tag .. ':versions', version)
if not known then return {'unknown'} end
if redis.call('GET', tag .. ':promoted') == version then return {'promoted'} end
local v = tag .. ':v' .. version
for _, batch in ipairs(redis.call('ZRANGE', v .. ':log', 0, -1)) do redis.call('UNLINK', v .. ':changes:' .. batch) end
for _, group in ipairs(redis.call('SMEMBERS', v .. ':groups')) do redis.call('UNLINK', v .. ':top:' .. group) end
if cjson.decode(known).layout[1] == 'hash' then
  for _, key in ipairs(redis.call('HKEYS', v .. ':rows')) do redis.call('UNLINK', v .. ':row:' .. key) end
end
for _, name in ipairs({'rows', 'state', 'ledger', 'batches', 'log', 'changed', 'groups', 'stream'}) do
  redis.call('UNLINK', v .. ':' .. name)
end
redis.call('HDEL', tag .. ':versions', version)
return {'dropped'}
"""
"""Remove a version. Its epoch stays: who held it stays fenced."""

CHANGES = """
local v, since = KEYS[1] .. ':v' .. ARGV[1], ARGV[2]
if redis.call('HEXISTS', KEYS[1] .. ':versions', ARGV[1]) == 0 then return {'unknown'} end
local trimmed = tonumber(redis.call('HGET', v .. ':state', 'trimmed') or '-1')
if since ~= '' and trimmed > tonumber(since) then return {'trimmed', trimmed} end
local after = since == '' and '-inf' or '(' .. since
local batch = redis.call('ZRANGEBYSCORE', v .. ':changed', after, '+inf', 'LIMIT', 0, 1)[1]
if not batch then return {'none'} end
return {'changed', batch, redis.call('HGET', v .. ':batches', batch),
  redis.call('LRANGE', v .. ':changes:' .. batch, 0, -1)}
"""
"""The first batch after one that changed something."""
