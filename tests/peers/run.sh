#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh PEER.mjs PROGRAM...: a program of others against ours, as TAP. Packages come from npm into node_modules here; where npm
# cannot be reached the test is skipped, visibly.
set -u
here=$(dirname "$0")
peer=$1
shift

end_with() {
	printf '1..1\n%s\n' "$1"
	exit "$2"
}

# Every package of package.json is here, in the version that it names.
installed() {
	sed -n 's/^    "\(.*\)": "\(.*\)",*$/\1 \2/p' "$here/package.json" | while read -r name version; do
		grep -qs "\"version\": \"$version\"" "$here/node_modules/$name/package.json" || exit 1
	done
}

command -v node >/dev/null || end_with "ok 1 - $peer # SKIP node is not installed" 0
exec 9<"$here/package.json"
flock 9 # one test installs the packages, the others wait for it
if ! installed; then
	npm ping --fetch-retries=0 >/dev/null 2>&1 || end_with "ok 1 - $peer # SKIP npm cannot be reached" 0
	# without the native programs that some packages bring: ours takes their place
	(cd "$here" && npm install --omit=optional --silent --no-audit --no-fund --no-package-lock) >&2 ||
		end_with "not ok 1 - npm install of the peers" 1
fi
exec 9<&-
exec node "$here/$peer" "$@"
