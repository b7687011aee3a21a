#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sources.py SRC: a line `ROOM: FILE.c ...` for each room of SRC/rooms.txt, in its order. Files are relative to SRC."""
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
for line in (root / "rooms.txt").read_text().splitlines():
    room = line.split(":")[0]
    if line.startswith("#") or not (root / room).is_dir():
        continue
    files = sorted(str(p.relative_to(root)) for p in (root / room).glob("*.c"))
    if files:
        print(f"{room}: {' '.join(files)}")
