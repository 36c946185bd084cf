-- Keeps leases. ARGV: the life in ms, then the leases. Answers K, L or S for each.
local till, out = clock() + ARGV[1], {}
local marks = call('EXISTS', MARK) == 1
for i = 2, #ARGV do
	local lease = ARGV[i]
	if not call('ZSCORE', LEASE, lease) then
		out[#out + 1] = 'L'
	else
		call('ZADD', LEASE, till, lease)
		out[#out + 1] = marks and call('HEXISTS', MARK, 's' .. sub(lease, 2, 17)) == 1 and 'S' or 'K'
	end
end
return table.concat(out)
