#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-rooms.py SRC TABLE: fails when a file includes a header of a room that TABLE does not allow, or a *_int.h of another
room. A room is a folder (lib/base, tools). TABLE is read top to bottom: a room may name only rooms above it, so there are no
cycles, and the rooms of a band stand together, so bands have one direction too. `together:` names rooms that may include each
other."""
import pathlib
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')


def read_table(path):
    allowed, together, bands = {}, set(), []
    for line in path.read_text().splitlines():
        if line.startswith("#") or ":" not in line:
            continue
        room, uses = line.split(":")
        if room == "together":
            together = set(uses.split())
            continue
        for use in uses.split():
            if use not in allowed:
                sys.exit(f"{path}: {room} uses {use}, which is not above it")
        band = room.split("/")[0]
        if band in bands[:-1]:
            sys.exit(f"{path}: the rooms of the band {band} do not stand together")
        if band not in bands:
            bands.append(band)
        allowed[room] = set(uses.split()) | {room}
    for room in together:
        allowed[room] |= together
    return allowed, together


def complaints(root, allowed, together):
    for file in sorted(root.rglob("*.[ch]")):
        room = str(file.parent.relative_to(root))
        if room not in allowed:
            yield f"{file}: the room {room} is not in the table"
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            other, _, header = match.group(1).rpartition("/")
            if other not in allowed[room] or (header.endswith("_int.h") and other != room and not {other, room} <= together):
                yield f"{file}:{number}: {room} must not include {match.group(1)}"


def main():
    root, table = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    found = list(complaints(root, *read_table(table)))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


main()
