#!/usr/bin/env bash
# Installs the programs that the tests start, as far as they are missing:
#
#   PostgreSQL 15 or newer   the ledger        apt (not started, no cluster is used)
#   Redis 7 (or Valkey)      the hot jobs      apt (redis-server; not started)
#   MariaDB 10.6 or newer    an outbox of jobs apt (mariadb-server; not started)
#   smtp-sink                a hostile SMTP    from the postfix package, unpacked
#                            server            into .deps; no mail server is installed
#   dkimpy                   independent DKIM  apt (python3-dkim)
#                            verifier
#   Mailpit                  a friendly SMTP   go install, into .deps/bin
#                            server with API
#   EMPLOYEE                 a sample database from the package firebird*-examples,
#                            for lenses        unpacked into .deps; no Firebird is installed
#
# DEPS=all also installs Chromium. Environment:
#
#   POSTLEDGER_TEST_POSTGRES_URL                  use this server, install none
#   POSTLEDGER_TEST_REDIS_URL                     use this server, install none
#   POSTLEDGER_TEST_MARIADB_URL                   use this server, install none
#   POSTLEDGER_TEST_MAILPIT_SMTP and _HTTP        use this server, install none
#
# apt-get runs as root, else through `sudo -n`. Nothing is changed, and no
# network is used, when all is there. What could not be had is named at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

POSTGRES_OLDEST=15
REDIS_OLDEST=7
MARIADB_OLDEST=10.6
MAILPIT_VERSION=v1.33.1

missing=()
lack() { missing+=("$1"); }

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -y -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 "$@" </dev/null
}

# apt_install PACKAGE...: packages without their recommendations. The package
# lists of a new machine are empty or old, so a failure is tried again after an
# update.
apt_install() {
	command -v apt-get >/dev/null || return 1
	echo "installing $*"
	deny_services
	local status=0
	apt_get install --no-install-recommends "$@" || {
		apt_get update && apt_get install --no-install-recommends "$@"
	} || status=$?
	allow_services
	return "$status"
}

# Packages start their servers when they are installed, unless policy-rc.d says
# no. The tests start their own, and a build machine wants no others.
policy=/usr/sbin/policy-rc.d
policy_is_ours=
deny_services() {
	[ -e "$policy" ] && return
	printf '#!/bin/sh\n# Put here by postledger scripts/deps.sh for the time of one apt-get run.\nexit 101\n' |
		as_root tee "$policy" >/dev/null
	as_root chmod 755 "$policy"
	policy_is_ours=yes
}
allow_services() {
	[ -z "$policy_is_ours" ] && return
	as_root rm -f "$policy"
	policy_is_ours=
}
trap allow_services EXIT

# The directory with the newest PostgreSQL server programs, if new enough.
postgres_bin() {
	local dir newest='' version best=0
	for dir in /usr/lib/postgresql/*/bin "$(dirname "$(command -v postgres || echo /nonexistent/postgres)")"; do
		if ! { [ -x "$dir/postgres" ] && [ -x "$dir/initdb" ] && [ -x "$dir/pg_ctl" ]; }; then continue; fi
		version=$("$dir/postgres" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/')
		if [ "$version" -gt "$best" ]; then best=$version newest=$dir; fi
	done
	[ "$best" -ge "$POSTGRES_OLDEST" ] && echo "$newest"
}

need_postgres() {
	[ -n "${POSTLEDGER_TEST_POSTGRES_URL:-}" ] && return
	postgres_bin >/dev/null && return
	apt_install postgresql || true
	postgres_bin >/dev/null || lack "PostgreSQL $POSTGRES_OLDEST or newer (server programs postgres, initdb, pg_ctl; the package postgresql of this system is older or cannot be installed)"
}

smtp_sink_works() {
	local program=$1
	# Without arguments it prints its usage and fails; when it cannot load its
	# libraries it prints no usage.
	("$program" 2>&1 || true) | grep -q 'usage:'
}

# Installing postfix would put a mail server on the machine and remove the one
# it has, so only the package's files are taken, and the libraries they need.
need_smtp_sink() {
	local program
	for program in .deps/bin/smtp-sink "$(command -v smtp-sink || true)" /usr/sbin/smtp-sink; do
		[ -n "$program" ] && [ -x "$program" ] && smtp_sink_works "$program" && return
	done
	unpack_smtp_sink || true
	if ! { [ -x .deps/bin/smtp-sink ] && smtp_sink_works .deps/bin/smtp-sink; }; then
		lack "smtp-sink (package postfix)"
	fi
}

unpack_smtp_sink() {
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
	echo "unpacking smtp-sink from the package postfix"
	local download
	download=$(mktemp -d)
	# apt downloads as a user of its own, who must be able to write here.
	chmod 777 "$download"
	(cd "$download" && apt-get -q download postfix) ||
		{ apt_get update && (cd "$download" && apt-get -q download postfix); } ||
		{ rm -rf "$download"; return 1; }
	rm -rf .deps/postfix
	mkdir -p .deps/bin .deps/postfix
	dpkg-deb -x "$download"/postfix_*.deb .deps/postfix
	rm -rf "$download"

	cat >.deps/bin/smtp-sink <<-'WRAPPER'
		#!/bin/sh
		# Written by scripts/deps.sh.
		postfix=$(dirname "$0")/../postfix
		LD_LIBRARY_PATH=$postfix/usr/lib/postfix exec "$postfix/usr/sbin/smtp-sink" "$@"
	WRAPPER
	chmod 755 .deps/bin/smtp-sink

	smtp_sink_works .deps/bin/smtp-sink && return
	local libraries
	libraries=$(apt-cache depends --important postfix | awk '/^ +Depends: lib/ { print $2 }')
	# shellcheck disable=SC2086 # a list of package names
	apt_install $libraries
}

# The verifier runs under the system's own Python, which is where the package
# puts its module; a Python of the user's may come first in PATH.
dkim_works() { /usr/bin/python3 -c 'import dkim, nacl' 2>/dev/null; }

need_dkim() {
	dkim_works && return
	apt_install python3 python3-dkim || true
	dkim_works || lack "dkimpy (package python3-dkim, for /usr/bin/python3)"
}

need_mailpit() {
	[ -n "${POSTLEDGER_TEST_MAILPIT_SMTP:-}" ] && [ -n "${POSTLEDGER_TEST_MAILPIT_HTTP:-}" ] && return
	scripts/gotool.sh mailpit github.com/axllent/mailpit "$MAILPIT_VERSION" ||
		lack "Mailpit $MAILPIT_VERSION (go install github.com/axllent/mailpit@$MAILPIT_VERSION)"
}

# Only the script of the sample database is taken, under the licence it carries (the
# InterBase Public License); the package's other files are left out. Its name has
# Firebird's version in it, which differs between releases of the system.
need_employee() {
	[ -s .deps/employee.sql ] && return
	unpack_employee || true
	[ -s .deps/employee.sql ] || lack "Firebird's sample database EMPLOYEE (package firebird3.0-examples or firebird4.0-examples)"
}

unpack_employee() {
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
	local download package script
	download=$(mktemp -d)
	# apt downloads as a user of its own, who must be able to write here.
	chmod 777 "$download"
	for package in firebird3.0-examples firebird4.0-examples; do
		echo "unpacking the sample database from the package $package"
		(cd "$download" && apt-get -q download "$package") ||
			{ apt_get update && (cd "$download" && apt-get -q download "$package"); } ||
			continue
		dpkg-deb -x "$download/$package"_*.deb "$download/files"
		script=$(find "$download/files" -name 'employee.sql*' | head -n 1)
		[ -n "$script" ] || continue
		mkdir -p .deps
		case $script in
		*.gz) gzip -dc "$script" >.deps/employee.sql.new ;;
		*) cp "$script" .deps/employee.sql.new ;;
		esac
		mv .deps/employee.sql.new .deps/employee.sql
		break
	done
	rm -rf "$download"
}

# It guards the server that test processes share.
need_flock() {
	command -v flock >/dev/null && return
	apt_install util-linux || true
	command -v flock >/dev/null || lack "flock (package util-linux)"
}

# system_program NAME: its path, also where a user's PATH does not reach.
system_program() {
	PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v "$1"
}

# at_least WANTED FOUND: compares dotted versions.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# Valkey is Redis under another name and counts its versions on from 7.2.
redis_works() {
	local name version
	for name in redis-server valkey-server; do
		system_program "$name" >/dev/null || continue
		version=$("$(system_program "$name")" --version | sed -nE 's/.*v=([0-9.]+).*/\1/p')
		if at_least "$REDIS_OLDEST" "${version:-0}"; then return; fi
	done
	return 1
}

need_redis() {
	[ -n "${POSTLEDGER_TEST_REDIS_URL:-}" ] && return
	redis_works && return
	apt_install redis-server || apt_install valkey-server || true
	redis_works || lack "Redis $REDIS_OLDEST or newer, or Valkey (package redis-server or valkey-server)"
}

mariadb_works() {
	local version
	system_program mariadbd >/dev/null && system_program mariadb-install-db >/dev/null || return 1
	version=$("$(system_program mariadbd)" --no-defaults --version | sed -nE 's/.*Ver ([0-9.]+).*/\1/p')
	at_least "$MARIADB_OLDEST" "${version:-0}"
}

need_mariadb() {
	[ -n "${POSTLEDGER_TEST_MARIADB_URL:-}" ] && return
	mariadb_works && return
	apt_install mariadb-server || true
	mariadb_works || lack "MariaDB $MARIADB_OLDEST or newer (programs mariadbd, mariadb-install-db; package mariadb-server)"
}

need_chromium() {
	local program
	for program in chromium chromium-browser google-chrome; do
		command -v "$program" >/dev/null && return
	done
	apt_install chromium || true
	command -v chromium >/dev/null || lack "chromium (package chromium)"
}

need_flock
need_postgres
need_smtp_sink
need_dkim
need_mailpit
need_redis
need_mariadb
need_employee
if [ "${DEPS:-}" = all ]; then
	need_chromium
fi

if [ "${#missing[@]}" -gt 0 ]; then
	echo "missing, and could not be installed:" >&2
	printf '  - %s\n' "${missing[@]}" >&2
	exit 1
fi
