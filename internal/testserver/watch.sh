# watch.sh DIR DATA IDLE SIGNAL PROGRAM ARGUMENT...
#
# Runs a shared test server and stops it with SIGNAL when no test has used it
# for IDLE seconds. A test that uses it holds users.lock shared; the server is
# stopped only while this script holds that lock exclusively. SIGTERM makes IDLE 0.
dir=$1 data=$2 idle=$3 ask=$4
shift 4

exec 8<"$dir/watch.lock" 9<"$dir/users.lock" || exit 1
flock -n -x 8 || exit 1
trap 'idle=0' TERM INT HUP

# The server must not inherit the locks: it would keep them after a kill of
# this script.
"$@" 8<&- 9<&- </dev/null &
server=$!

unused=0
while kill -0 "$server" 2>/dev/null; do
	sleep 1 8<&- 9<&-
	if flock -n -x 9; then
		unused=$((unused + 1))
		[ "$unused" -gt "$idle" ] && break
		flock -u 9
	else
		unused=0
	fi
done

kill -s "$ask" "$server" 2>/dev/null
while kill -0 "$server" 2>/dev/null; do wait "$server"; done
rm -rf "$data" "$data".*
# Without a user there is nobody whose private servers these could be; the test
# processes that left them were killed.
if flock -n -x 9; then
	rm -rf "$dir"/private-* "$dir"/template "$dir"/template-new
fi
