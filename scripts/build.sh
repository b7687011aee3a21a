#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh DIR [objects]: builds in DIR, all of it or only what is compiled. Sources and tests are found by their folders, so meson
# looks again when files came or went.
set -eu
list="$1/files.txt"
find src tests/unit tests/program tests/scenarios fuzz -name '*.c' -o -name '*.json' -o -name 'test_*.py' -o -type d | sort >"$list.new"
if [ -f "$list" ] && ! cmp -s "$list" "$list.new"; then
	meson setup --reconfigure "$1" >/dev/null
	ninja -C "$1" -t cleandead >/dev/null
fi
mv "$list.new" "$list"
[ "${2-}" != objects ] || targets=$(ninja -C "$1" -t targets rule c_COMPILER)
# shellcheck disable=SC2086
exec ninja -C "$1" ${targets-}
