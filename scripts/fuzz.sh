#!/usr/bin/env bash
# Usage: FUZZTIME=30s fuzz.sh PACKAGE...
# Runs each fuzzer of the packages for FUZZTIME. go test fuzzes one function of
# one package at a time, hence the loop.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fuzztime=${FUZZTIME:-30s}
ran=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The list is complete before the first fuzzer runs, so that a package that
# does not compile stops the run.
list=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "$@")
for package in $list; do
	names=$(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true)
	for name in $names; do
		echo "== $package $name ($fuzztime)"
		if ! go test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" "$package" 2>&1 | tee "$log"; then
			# Up to Go 1.26 the end of the time is now and then reported as a
			# failure (https://go.dev/issue/75804). A finding names its input.
			if grep -q 'Failing input written' "$log" || ! grep -qx ' *context deadline exceeded' "$log"; then
				exit 1
			fi
			echo "== the time was over while an input ran; nothing was found"
		fi
		ran=$((ran + 1))
	done
done
echo "$ran fuzzers ran"
