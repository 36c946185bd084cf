-- Answers the counts, and which lanes are below their low water.
local m = call('HMGET', META, 'n', 'b', 'sn', 'sb')
return {
	tonumber(m[1] or 0), tonumber(m[2] or 0), tonumber(m[3] or 0), tonumber(m[4] or 0),
	call('LLEN', FAST), call('LLEN', SLOW), call('ZCARD', LEASE), call('ZCARD', DELAY),
	below('f') and 1 or 0, below('s') and 1 or 0,
}
