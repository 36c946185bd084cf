-- Leases jobs: ARGV: most, most of the slow lane, the lease in ms. First it brings
-- back what is due and what lost workers held. Answers the token, then for each job
-- its lane, id, record, charged attempts, and whether it was superseded.
local now = clock()
local most, slow, life = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

-- Deadlines that are too far away were written under another clock.
local function bring_near(set, limit)
	for _, member in ipairs(call('ZRANGEBYSCORE', set, '(' .. limit, '+inf', 'LIMIT', 0, 100)) do
		call('ZADD', set, limit, member)
	end
end
bring_near(DELAY, now + HORIZON)
bring_near(LEASE, now + MAX_LEASE)

local due = call('ZRANGEBYSCORE', DELAY, '-inf', now, 'LIMIT', 0, 200)
if #due > 0 then
	call('ZREM', DELAY, unpack(due))
	for _, member in ipairs(due) do
		call('RPUSH', line(sub(member, 1, 1)), sub(member, 2))
	end
end
local lost = call('ZRANGEBYSCORE', LEASE, '-inf', now, 'LIMIT', 0, 200)
if #lost > 0 then
	call('ZREM', LEASE, unpack(lost))
	for i = #lost, 1, -1 do
		local lane, id = sub(lost[i], 1, 1), sub(lost[i], 2, 17)
		call('HINCRBY', MARK, id, 1)
		call('LPUSH', line(lane), id)
		endrun(lane, id)
	end
end

-- The answer is bounded in bytes too, or large payloads would fill the buffers of
-- the server: as many as fit by their mean size, and those too many go back.
local m = call('HMGET', META, 'n', 'b')
local mean = tonumber(m[2] or 0) / math.max(tonumber(m[1] or 0), 1)
local room = ANSWER
local token, out, leases = nil, {}, {}

local function take(lane, want)
	want = math.min(want, math.max(floor(room / math.max(mean, 1)), 1))
	if want < 1 or room <= 0 then return 0 end
	local ids = call('LPOP', line(lane), want)
	if not ids then return 0 end
	local recs = call('HMGET', JOB, unpack(ids))
	local marks = call('EXISTS', MARK) == 1 and call('HMGET', MARK, unpack(ids)) or {}
	local taken = 0
	for i, id in ipairs(ids) do
		local rec = recs[i]
		if room <= 0 then
			for back = #ids, i, -1 do call('LPUSH', line(lane), ids[back]) end
			break
		end
		taken = taken + 1
		if rec then
			room = room - #rec
			token = token or call('HINCRBY', META, 'tok', 1)
			leases[#leases + 1] = now + life
			leases[#leases + 1] = lane .. id .. token
			local hk, superseded = keyed(rec), 0
			if hk then
				local w = call('HGET', KEY, 'w' .. hk)
				if w and sub(w, 2, 17) == id then call('HDEL', KEY, 'w' .. hk) end
				call('HSET', KEY, 'a' .. hk, (call('HGET', KEY, 'a' .. hk) or '') .. id)
				superseded = call('HEXISTS', MARK, 's' .. id)
			end
			local at = #out
			out[at + 1], out[at + 2], out[at + 3] = lane, id, rec
			out[at + 4], out[at + 5] = tonumber(marks[i] or 0), superseded
		end
	end
	return taken
end

local fast = take('f', most)
take('s', math.min(slow, most - fast))
if #leases > 0 then call('ZADD', LEASE, unpack(leases)) end
table.insert(out, 1, token or 0)
return out
