#!/bin/sh
# SPDX-License-Identifier: MIT
# localize.sh IN.a OUT.a: one object out of all of IN, with every symbol hidden that is not public, so that json_parse or
# query_init of the library cannot collide with those of a host program.
set -eu
object="$2.o"
"${LD:-ld}" -r --whole-archive "$1" -o "$object"
"${OBJCOPY:-objcopy}" --localize-hidden "$object"
rm -f "$2"
"${AR:-ar}" rcs "$2" "$object"
rm -f "$object"
