-- Answers 1 or 0 for each id in ARGV.
local out = {}
for i = 1, #ARGV do out[i] = call('HEXISTS', JOB, ARGV[i]) end
return table.concat(out)
