#!/usr/bin/env bash
# Usage: gotool.sh NAME PACKAGE VERSION
# Installs a Go command at exactly VERSION into .deps/bin, unless the binary
# there already reports that version.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

name=$1 package=$2 version=$3
bin=$PWD/.deps/bin

installed() {
	[ -x "$bin/$name" ] &&
		go version -m "$bin/$name" 2>/dev/null |
		awk '$1 == "mod" { print $3; exit }' | grep -qxF "$version"
}

if ! installed; then
	echo "installing $name $version"
	mkdir -p "$bin"
	# A tool must not be built with flags that are meant for the project.
	GOBIN=$bin GOFLAGS='' CGO_ENABLED=0 go install "$package@$version"
	installed || { echo "$name: the installed binary does not report version $version" >&2; exit 1; }
fi
