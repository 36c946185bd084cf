-- Ends leases without finishing. ARGV: for each job, the last first, its lease, its
-- delay in ms (0: to the front), 1 when it is charged, and 'k' when it has a dedupe
-- key. Answers 1 or 0 for each.
local now, out = clock(), {}
for i = 1, #ARGV, 4 do
	local lease, delay = ARGV[i], tonumber(ARGV[i + 1])
	local ok = call('ZREM', LEASE, lease)
	out[#out + 1] = ok
	if ok == 1 then
		local lane, id = sub(lease, 1, 1), sub(lease, 2, 17)
		if ARGV[i + 2] == '1' then call('HINCRBY', MARK, id, 1) end
		if delay > 0 then
			call('ZADD', DELAY, now + math.min(delay, HORIZON), lane .. id)
		else
			call('LPUSH', line(lane), id)
		end
		if ARGV[i + 3] == 'k' then endrun(lane, id) end
	end
end
return table.concat(out)
