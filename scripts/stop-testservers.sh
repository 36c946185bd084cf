#!/usr/bin/env bash
# Stops the PostgreSQL, Redis and MariaDB servers that the tests of this checkout
# share, at once instead of after their idle time. A server that another run
# still uses goes on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The same name as internal/testserver gives its directory.
hash=$(pwd -P | tr -d "\n" | sha256sum | cut -c1-12)
dir=${TMPDIR:-/tmp}/postledger-test-$(id -u)-$hash
for dir in "$dir" "$dir/redis" "$dir/mariadb"; do
	[ -f "$dir/watch.pid" ] || continue
	# The watcher holds this lock while it lives; if it is free, the process id
	# is stale and may belong to anyone.
	if ! flock -n "$dir/watch.lock" true; then
		kill -TERM "$(cat "$dir/watch.pid")" 2>/dev/null || true
	fi
done
