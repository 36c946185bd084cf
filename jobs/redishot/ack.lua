-- Removes finished jobs. ARGV: for each job its lease, cost, group, and 'k' when it
-- has a dedupe key. Answers 1 or 0 for each.
local out, ids, counts = {}, {}, {}
local n, b, sn, sb = 0, 0, 0, 0
local marks = call('EXISTS', MARK) == 1
for i = 1, #ARGV, 4 do
	local lease, size, group = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2]
	local ok = call('ZREM', LEASE, lease)
	out[#out + 1] = ok
	if ok == 1 then
		local lane, id = sub(lease, 1, 1), sub(lease, 2, 17)
		n, b = n + 1, b + size
		if lane == 's' then sn, sb = sn + 1, sb + size end
		if group ~= '' then counts[group] = (counts[group] or 0) + 1 end
		if ARGV[i + 3] == 'k' then
			call('HSET', MARK, 's' .. id, 1) -- it does not wait again
			endrun(lane, id)
			call('HDEL', MARK, 's' .. id)
		end
		ids[#ids + 1] = id
	end
end
if n > 0 then
	call('HDEL', JOB, unpack(ids))
	if marks then call('HDEL', MARK, unpack(ids)) end
	call('HINCRBY', META, 'n', -n)
	call('HINCRBY', META, 'b', -b)
	if sn > 0 then
		call('HINCRBY', META, 'sn', -sn)
		call('HINCRBY', META, 'sb', -sb)
	end
	for group, count in pairs(counts) do
		if call('HINCRBY', META, 'g' .. group, -count) <= 0 then call('HDEL', META, 'g' .. group) end
	end
end
return table.concat(out)
