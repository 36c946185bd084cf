-- Everything about flags. ARGV: what to do, and its arguments.
local now, what = clock(), ARGV[1]

-- pending counts the spills of a scope whose rows are not committed, and forgets
-- those of producers that died.
local function pending()
	local counts, all = {}, call('HGETALL', PEND)
	for i = 1, #all, 2 do
		local till, scopes = string.match(all[i + 1], '^(%d+)%z(.*)$')
		if tonumber(till) <= now then
			call('HDEL', PEND, all[i])
		else
			if tonumber(till) > now + LIFE then
				call('HSET', PEND, all[i], (now + LIFE) .. '\0' .. scopes)
			end
			for scope in string.gmatch(scopes, '[^%z]+') do
				counts[scope] = (counts[scope] or 0) + 1
			end
		end
	end
	return counts
end

if what == 'list' then
	local out, counts, all = {}, pending(), call('HGETALL', META)
	for i = 1, #all, 2 do
		local field = all[i]
		local kind, name = sub(field, 1, 1), sub(field, 2)
		if kind == 'x' then
			local f = flag(name, now)
			if f then
				keep(name, f)
				out[#out + 1] = { name, f.number, f.since, f.spills, counts[name] or 0 }
			end
		elseif kind == 'h' and tonumber(all[i + 1]) <= now then
			call('HDEL', META, field)
		end
	end
	return out
elseif what == 'raise' then
	for i = 2, #ARGV do raise(ARGV[i], now) end
elseif what == 'renew' then
	for i = 2, #ARGV, 2 do
		local f = flag(ARGV[i], now)
		if f and f.number == tonumber(ARGV[i + 1]) then
			f.till = now + LIFE
			keep(ARGV[i], f)
		end
	end
elseif what == 'hold' then
	local ms = tonumber(ARGV[3])
	if ms > 0 then
		call('HSET', META, 'h' .. ARGV[2], now + ms)
	else
		call('HDEL', META, 'h' .. ARGV[2])
	end
elseif what == 'clear' then
	local scope = ARGV[2]
	local f = flag(scope, now)
	if not f then return 1 end
	if f.number ~= tonumber(ARGV[3]) or f.spills ~= tonumber(ARGV[4]) or
		pending()[scope] or not below(sub(scope, 1, 1)) then
		return 0
	end
	call('HDEL', META, 'x' .. scope)
	for i = 5, #ARGV do raise(ARGV[i], now) end
	return 1
end
return 1
