#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-rooms.py SRC TABLE: fails when a file in SRC/ROOM includes a header of a room that TABLE does not allow, or a
*_int.h of another room. TABLE is read top to bottom: a room may name only rooms above it, so there are no cycles."""
import pathlib
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s+"([a-z]+)/([^"]+)"')


def read_table(path):
    allowed = {}
    for line in path.read_text().splitlines():
        if line.startswith("#") or ":" not in line:
            continue
        room, uses = line.split(":")
        for use in uses.split():
            if use not in allowed:
                sys.exit(f"{path}: {room} uses {use}, which is not above it")
        allowed[room] = set(uses.split()) | {room}
    return allowed


def complaints(root, allowed):
    for file in sorted(root.rglob("*.[ch]")):
        room = file.relative_to(root).parts[0]
        if room not in allowed:
            yield f"{file}: the room {room} is not in the table"
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            other, header = match.groups()
            if other not in allowed[room] or (header.endswith("_int.h") and other != room):
                yield f"{file}:{number}: {room} must not include {other}/{header}"


def main():
    root, table = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    found = list(complaints(root, read_table(table)))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


main()
