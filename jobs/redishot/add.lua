-- Adds jobs or says that they have to wait, in one step. ARGV: 'd' for the drain;
-- the spill's id or ''; how many scopes to raise, and these; then for each job its
-- record and its delay in ms. Answers a letter for each job.
local now = clock()
local drain, spill = ARGV[1] == 'd', ARGV[2]
local first = 4 + ARGV[3]
for i = 4, first - 1 do raise(ARGV[i], now) end

local m = call('HMGET', META, 'n', 'b', 'sn', 'sb', 'xf', 'xs')
local n, b, sn, sb = tonumber(m[1] or 0), tonumber(m[2] or 0), tonumber(m[3] or 0), tonumber(m[4] or 0)
local n0, b0, sn0, sb0 = n, b, sn, sb
local flags, members, shares = { f = flag_of(m[5], 'f', now) or false, s = flag_of(m[6], 's', now) or false }, {}, {}
local stopped, spilled = {}, {}
local out, ends = {}, { f = {}, s = {} }

local function scope_flag(scope)
	local f = flags[scope]
	if f == nil then
		f = flag(scope, now) or false
		flags[scope] = f
	end
	return f
end

-- may_grow reads a group's count, and tells whether it may have one more.
local function may_grow(group)
	if group == '' then return true end
	if members[group] == nil then
		local g = call('HMGET', META, 'g' .. group, 'h' .. group)
		members[group] = tonumber(g[1] or 0)
		shares[group] = not (g[2] and tonumber(g[2]) > now)
	end
	return shares[group] and members[group] < SHARE
end

local function join(lane)
	local ids = ends[lane]
	if #ids > 0 then
		call('RPUSH', line(lane), unpack(ids))
		ends[lane] = {}
	end
end

-- known answers for a job whose id the set holds: behind, when it is another
-- revision.
local function known(id, rec, behind)
	local old = call('HGET', JOB, id)
	if not old then return nil end
	if sub(old, 20, 27) == sub(rec, 20, 27) then return 'D' end
	return behind
end

-- replace takes out the job that waits under a key, for a newer one. It tells
-- whether the newer one has its place.
local function replace(old, lane, id, later)
	local old_lane, old_id = sub(old, 1, 1), sub(old, 2, 17)
	local old_cost, old_group = string.match(old, '^(%d+)%z(.*)$', 19)
	n, b = n - 1, b - old_cost
	if old_lane == 's' then sn, sb = sn - 1, sb - old_cost end
	if old_group ~= '' then
		may_grow(old_group)
		members[old_group] = members[old_group] - 1
	end
	call('HDEL', JOB, old_id)
	call('HDEL', MARK, old_id)
	if call('ZREM', DELAY, old_lane .. old_id) == 1 then return false end
	join(old_lane)
	if old_lane == lane and not later then
		local place = call('LPOS', line(lane), old_id)
		if place then
			call('LSET', line(lane), place, id)
			return true
		end
	end
	call('LREM', line(old_lane), 1, old_id)
	return false
end

for i = first, #ARGV, 2 do
	local rec, delay = ARGV[i], tonumber(ARGV[i + 1])
	local bits, id, size = byte(rec, 2), sub(rec, 4, 19), cost(#rec)
	local lane = floor(bits / 4) % 2 == 1 and 's' or 'f'
	local durable = floor(bits / 2) % 2 == 1
	local group, hk = group_of(rec), keyed(rec)
	local scope = lane .. group
	-- Without a row of its own a job gets one, to wait there.
	local behind = (drain or durable) and 'W' or 'S'
	local v, old

	if hk then
		v = known(id, rec, behind)
		if not v then
			old = call('HGET', KEY, 'w' .. hk)
			if old and (durable or sub(old, 18, 18) == '1') then v = behind end
		end
	end
	if not v then
		local cause
		if byte(rec, 3) ~= 0 or bits % 2 == 1 then
			v = (n + 1 > RESERVE_JOBS or b + size > RESERVE_BYTES) and 'F' or 'A'
		else
			local fits = n + 1 <= JOBS and b + size <= BYTES and
				(lane == 'f' or (sn + 1 <= SLOW_JOBS and sb + size <= SLOW_BYTES))
			local share = may_grow(group)
			if drain then
				if stopped[lane] or not fits then
					v, cause = 'F', lane
				elseif stopped[scope] or not share then
					v, cause = 'W', scope
				else
					v = 'A'
				end
			elseif scope_flag(lane) or (group ~= '' and scope_flag(scope)) then
				v = 'S'
			elseif not fits then
				v, cause = 'S', lane
			elseif not share then
				v, cause = 'S', scope
			else
				v = 'A'
			end
		end
		if v ~= 'A' then
			local there = known(id, rec, behind)
			if there then
				v = there
			elseif cause and drain then
				stopped[cause] = true
			elseif cause then
				flags[cause] = raise(cause, now)
			end
		elseif call('HSETNX', JOB, id, rec) == 0 then
			v = known(id, rec, behind)
		end
	end

	if v == 'A' then
		local placed = old and replace(old, lane, id, delay > 0)
		n, b = n + 1, b + size
		if lane == 's' then sn, sb = sn + 1, sb + size end
		if group ~= '' then
			may_grow(group)
			members[group] = members[group] + 1
		end
		if delay > 0 then
			call('ZADD', DELAY, now + math.min(delay, HORIZON), lane .. id)
		elseif not placed then
			local ids = ends[lane]
			ids[#ids + 1] = id
		end
		if hk then call('HSET', KEY, 'w' .. hk, waits(lane, id, rec)) end
	elseif v == 'S' then
		local scopes = group == '' and { lane } or { lane, scope }
		for _, s in ipairs(scopes) do
			local f = scope_flag(s)
			if f then f.spills = f.spills + 1 end
			spilled[s] = true
		end
	end
	if hk and (v == 'A' or v == 'W') then
		local runs = call('HGET', KEY, 'a' .. hk) or ''
		for r = 1, #runs, 16 do
			local run = sub(runs, r, r + 15)
			if run ~= id or v == 'W' then call('HSET', MARK, 's' .. run, 1) end
		end
	end
	out[#out + 1] = v
end

join('f')
join('s')
if sn ~= sn0 or sb ~= sb0 then
	call('HSET', META, 'n', n, 'b', b, 'sn', sn, 'sb', sb)
elseif n ~= n0 or b ~= b0 then
	call('HSET', META, 'n', n, 'b', b)
end
for group, count in pairs(members) do
	if count > 0 then
		call('HSET', META, 'g' .. group, count)
	else
		call('HDEL', META, 'g' .. group)
	end
end
local names = {}
for s in pairs(spilled) do
	names[#names + 1] = s
	if flags[s] then keep(s, flags[s]) end
end
if spill ~= '' and #names > 0 then
	call('HSET', PEND, spill, (now + LIFE) .. '\0' .. table.concat(names, '\0'))
end
return table.concat(out)
