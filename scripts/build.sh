#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh DIR: builds in DIR. Sources and tests are found by their folders, so meson looks again when files came or went.
set -eu
list="$1/files.txt"
find src tests/unit tests/program tests/scenarios fuzz -name '*.c' -o -name '*.json' -o -name 'test_*.py' -o -type d | sort >"$list.new"
if [ -f "$list" ] && ! cmp -s "$list" "$list.new"; then
	meson setup --reconfigure "$1" >/dev/null
	ninja -C "$1" -t cleandead >/dev/null
fi
mv "$list.new" "$list"
exec ninja -C "$1"
