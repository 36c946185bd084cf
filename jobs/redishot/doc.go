// Package redishot is the hot set in Redis (7 or newer) or Valkey: one for a fleet
// of processes.
//
// Every step is one Lua script, so that what a set holds and what it says it
// holds never differ. All keys have one hash tag, so the set lies on one node of
// a Redis Cluster:
//
//	{name}:job    hash    id → record (jobs.EncodeEntry)
//	{name}:fast   list    ids that wait; slow likewise
//	{name}:lease  zset    lane, id and token of a run → when its lease ends
//	{name}:delay  zset    lane and id → when it is due
//	{name}:meta   hash    counts, flags, groups' counts and holds, the epoch
//	{name}:pend   hash    spills whose rows are not committed
//	{name}:key    hash    dedupe keys: who waits, who runs
//	{name}:mark   hash    attempts beside the record's, and who is superseded
//
// The server must not evict: maxmemory-policy noeviction, which is the default.
// When it is full it refuses to add, jobs spill, and nothing is lost. How durable
// the set is is the server's affair; what it loses of jobs that have rows comes
// back (see package jobs).
//
// Calls are small (256 KiB) whatever the payloads are, so that the server's
// buffers stay small too: 64 MiB of the largest payloads take less than 80 MB.
package redishot
