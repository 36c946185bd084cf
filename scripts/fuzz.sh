#!/usr/bin/env bash
# Usage: FUZZTIME=30s fuzz.sh PACKAGE...
# Runs each fuzzer of the packages for FUZZTIME. go test fuzzes one function of
# one package at a time, hence the loop.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fuzztime=${FUZZTIME:-30s}
ran=0
# The list is complete before the first fuzzer runs, so that a package that
# does not compile stops the run.
list=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "$@")
for package in $list; do
	names=$(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true)
	for name in $names; do
		echo "== $package $name ($fuzztime)"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" "$package"
		ran=$((ran + 1))
	done
done
echo "$ran fuzzers ran"
