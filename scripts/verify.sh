#!/usr/bin/env bash
# What is generated or written down must agree with the code: the OpenAPI
# document, and whatever the tests named TestVerify… compare.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go test -run 'TestVerify' ./...

if [ -f docs/openapi.json ]; then
	fresh=$(mktemp)
	trap 'rm -f "$fresh"' EXIT
	go run ./cmd/postledger openapi >"$fresh"
	diff -u docs/openapi.json "$fresh" || {
		echo "docs/openapi.json is out of date: go run ./cmd/postledger openapi > docs/openapi.json" >&2
		exit 1
	}
fi
