#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs of others against ours, as TAP. usage: run.sh MODELD (the program; default: that of the build folder)
# Packages come from npm into node_modules here; where npm cannot be reached each test is skipped, visibly.
set -u
cd "$(dirname "$0")" || exit 1
modeld=${1:-../../build/modeld/modeld}
peer=modeld_sdk.mjs
wanted=$(sed -n 's/.*"@anthropic-ai\/sdk": "\(.*\)".*/\1/p' package.json)
package=node_modules/@anthropic-ai/sdk/package.json

skip_all() {
	number=0
	sed -n 's/^  async "\(.*\)"(client).*/\1/p' "$peer" | while read -r name; do
		number=$((number + 1))
		echo "ok $number - $name # SKIP $1"
	done
	echo "1..$(grep -c '^  async "' "$peer")"
	exit 0
}

command -v node >/dev/null || skip_all "node is not installed"
if ! grep -qs "\"version\": \"$wanted\"" "$package"; then
	npm install --silent --no-audit --no-fund --no-package-lock >/dev/null 2>&1 || {
		npm ping >/dev/null 2>&1 || skip_all "npm cannot be reached"
		echo "not ok 1 - npm install of the peers"
		echo "1..1"
		exit 1
	}
fi
exec node "$peer" "$modeld"
