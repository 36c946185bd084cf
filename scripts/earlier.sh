#!/usr/bin/env bash
# Prints the commit of the version that an upgrade to this one comes from: the
# last before the newest migration of the ledger. A shallow clone and an archive
# do not have it; then this says so and fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

newest=$(git log -1 --diff-filter=A --format=%H -- internal/ledger/migrations/postgres) || newest=
if [ -z "$newest" ] || ! git rev-parse --verify --quiet "$newest^^{commit}"; then
	echo "the version before the newest migration is not in this clone's history: git fetch --unshallow" >&2
	exit 1
fi
