#!/usr/bin/env bash
# Format, vet, staticcheck and the rules of go.mod. Prints each fault found by
# a check before it fails, so that one run shows all faults of a kind.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/gotool.sh gofumpt mvdan.cc/gofumpt v0.12.0
scripts/gotool.sh staticcheck honnef.co/go/tools/cmd/staticcheck v0.8.2

unformatted=$(git ls-files -z --cached --others --exclude-standard -- '*.go' |
	while IFS= read -r -d '' file; do
		# A file that is deleted but not yet committed is still listed.
		if [ -f "$file" ]; then printf '%s\0' "$file"; fi
	done |
	xargs -0 --no-run-if-empty .deps/bin/gofumpt -l)
if [ -n "$unformatted" ]; then
	echo "not formatted (run .deps/bin/gofumpt -w on them):" >&2
	printf '%s\n' "$unformatted" | sed 's/^/  /' >&2
	exit 1
fi

go vet ./...
.deps/bin/staticcheck ./...
go mod tidy -diff

# The queues that the bench compares with are a module of their own. Where its
# modules are neither cached nor to be had, it is left out, and a line says so.
(
	cd internal/bench/rivals
	if missing=$(go mod download 2>&1); then
		go vet ./...
		"$OLDPWD"/.deps/bin/staticcheck ./...
		go mod tidy -diff
	else
		echo "internal/bench/rivals is not checked: its modules cannot be had: ${missing%%$'\n'*}" >&2
	fi
)

# modernc.org/sqlite works with the one modernc.org/libc that its own go.mod
# names; other modules raise the version, so go.mod pins it by a replace.
sqlite=$(go list -m -f '{{.GoMod}}' modernc.org/sqlite)
if [ -z "$sqlite" ]; then
	go mod download modernc.org/sqlite
	sqlite=$(go list -m -f '{{.GoMod}}' modernc.org/sqlite)
fi
want=$(awk '{ for (i = 1; i < NF; i++) if ($i == "modernc.org/libc") { print $(i + 1); exit } }' "$sqlite")
have=$(go list -m -f '{{with .Replace}}{{.Version}}{{end}}' modernc.org/libc)
if [ -z "$want" ] || [ "$want" != "$have" ]; then
	echo "go.mod: replace modernc.org/libc => modernc.org/libc ${have:-(absent)}, but modernc.org/sqlite requires ${want:-(not found)}" >&2
	exit 1
fi
