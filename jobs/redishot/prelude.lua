-- What every script begins with. A record's layout is jobs.EncodeEntry's; the
-- offsets below are its version 1.
local JOB, FAST, SLOW, LEASE, DELAY, META, PEND, KEY, MARK =
	KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local call, byte, sub, floor = redis.call, string.byte, string.sub, math.floor

local function clock()
	local t = call('TIME')
	return t[1] * 1000 + floor(t[2] / 1000)
end

local function line(lane)
	if lane == 's' then return SLOW end
	return FAST
end

-- cost is jobs.RecordCost.
local function cost(size)
	if size < 64 then size = 64 end
	local _, bits = math.frexp(size - 1)
	local step = bits > 3 and 2 ^ (bits - 3) or 1
	return floor((size + step - 1) / step) * step + OVERHEAD
end

local function word(rec, at)
	local high, low = byte(rec, at, at + 1)
	return high * 256 + low
end

-- keyed tells the handler and dedupe key of a record, or nil when it has none.
local function keyed(rec)
	if #rec < 66 or byte(rec, 1) ~= 1 then return nil end
	local k = word(rec, 62)
	if k == 0 then return nil end
	local h = word(rec, 60)
	return sub(rec, 66, 65 + h) .. '\0' .. sub(rec, 66 + h, 65 + h + k)
end

local function group_of(rec)
	local g = word(rec, 64)
	if g == 0 then return '' end
	local from = 66 + word(rec, 60) + word(rec, 62)
	return sub(rec, from, from + g - 1)
end

-- waits is what KEY keeps of the job of a key that waits: lane, id, durable, cost
-- and group.
local function waits(lane, id, rec)
	return lane .. id .. (floor(byte(rec, 2) / 2) % 2) .. cost(#rec) .. '\0' .. group_of(rec)
end

-- endrun forgets the run of a job with a dedupe key. The job waits again, and can
-- be replaced, unless a newer one waits or has superseded it.
local function endrun(lane, id)
	local rec = call('HGET', JOB, id)
	local hk = rec and keyed(rec)
	if not hk then return end
	local runs, rest = call('HGET', KEY, 'a' .. hk) or '', {}
	for i = 1, #runs, 16 do
		local other = sub(runs, i, i + 15)
		if other ~= id then rest[#rest + 1] = other end
	end
	if #rest == 0 then
		call('HDEL', KEY, 'a' .. hk)
	else
		call('HSET', KEY, 'a' .. hk, table.concat(rest))
	end
	if call('HEXISTS', MARK, 's' .. id) == 0 then
		call('HSETNX', KEY, 'w' .. hk, waits(lane, id, rec))
	end
end

-- A flag is number:since:until:spills. One whose end is further away than its
-- life was written under another clock.
local function flag_of(text, scope, now)
	if not text then return nil end
	local number, since, till, spills = string.match(text, '^(%d+):(%d+):(%d+):(%d+)$')
	local f = { number = tonumber(number), since = tonumber(since), till = tonumber(till), spills = tonumber(spills) }
	if f.till <= now then
		call('HDEL', META, 'x' .. scope)
		return nil
	end
	if f.till > now + LIFE then f.till = now + LIFE end
	return f
end

local function flag(scope, now)
	return flag_of(call('HGET', META, 'x' .. scope), scope, now)
end

local function keep(scope, f)
	call('HSET', META, 'x' .. scope, f.number .. ':' .. f.since .. ':' .. f.till .. ':' .. f.spills)
end

local function raise(scope, now)
	local f = flag(scope, now) or { number = call('HINCRBY', META, 'num', 1), since = now, spills = 0 }
	f.till = now + LIFE
	keep(scope, f)
	return f
end

-- below tells whether a lane is below its low water.
local function below(lane)
	local m = call('HMGET', META, 'n', 'b', 'sn', 'sb')
	local n, b, sn, sb = tonumber(m[1] or 0), tonumber(m[2] or 0), tonumber(m[3] or 0), tonumber(m[4] or 0)
	if n >= JOBS * LOW or b >= BYTES * LOW then return false end
	return lane ~= 's' or (sn < SLOW_JOBS * LOW and sb < SLOW_BYTES * LOW)
end
