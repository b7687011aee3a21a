#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs of others against ours, as TAP. usage: run.sh [MODELD [CADRE]] (the programs; default: those of the build folders)
# Packages come from npm into node_modules here; where npm cannot be reached each test is skipped, visibly.
set -u
cd "$(dirname "$0")" || exit 1
modeld=${1:-../../build/modeld/modeld}
cadre=${2:-../../build-test/cadre}
peers="modeld_sdk.mjs modeld_openai.mjs"
cadre_peers="mcp_conformance.mjs mcp_auth.mjs mcp_servers.mjs mcp_changes.mjs mcp_serve.mjs usage.mjs"
agent_peers="agent_sdk.mjs agent_sdk_control.mjs agent_sdk_hooks.mjs agent_sdk_request.mjs agent_sdk_session.mjs acp.mjs"

# Every package of package.json is here, in the version that it names.
installed() {
	sed -n 's/^    "\(.*\)": "\(.*\)",*$/\1 \2/p' package.json | while read -r name version; do
		grep -qs "\"version\": \"$version\"" "node_modules/$name/package.json" || exit 1
	done
}

skip_all() {
	number=0
	sed -n 's/^  async "\(.*\)"(client).*/\1/p' $peers | while read -r name; do
		number=$((number + 1))
		echo "ok $number - $name # SKIP $1"
	done
	number=$(cat $peers | grep -c '^  async "')
	for peer in $cadre_peers $agent_peers; do
		number=$((number + 1))
		echo "ok $number - $peer # SKIP $1"
	done
	echo "1..$number"
	exit 0
}

command -v node >/dev/null || skip_all "node is not installed"
if ! installed; then
	# without the native programs that some packages bring: ours takes their place
	npm install --omit=optional --silent --no-audit --no-fund --no-package-lock >/dev/null 2>&1 || {
		npm ping >/dev/null 2>&1 || skip_all "npm cannot be reached"
		echo "not ok 1 - npm install of the peers"
		echo "1..1"
		exit 1
	}
fi
status=0
for peer in $peers; do
	node "$peer" "$modeld" || status=1
done
for peer in $cadre_peers; do
	node "$peer" "$cadre" || status=1
done
for peer in $agent_peers; do
	node "$peer" "$modeld" "$cadre" || status=1
done
exit $status
