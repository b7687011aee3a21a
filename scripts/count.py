#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""count.py [SRC]: the size of the source: lines of C, files, functions. The median function and the largest rooms show where it is
chopped too small or has grown too large (CONTRIBUTING.md)."""
import pathlib
import statistics
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "src")
sources, headers = sorted(root.rglob("*.c")), sorted(root.rglob("*.h"))
rooms, lengths, total = {}, [], 0
for path in sources + headers:
    lines = path.read_text(errors="replace").splitlines()
    total += len(lines)
    room = rooms.setdefault(str(path.parent.relative_to(root)), [0, 0])
    room[0] += 1
    room[1] += len(lines)
    start = None
    for number, line in enumerate(lines if path.suffix == ".c" else []):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            lengths.append(number - start - 1)
            start = None
lengths.sort()
print(f"{total} lines, {len(sources)} .c files, {len(headers)} .h files, {len(lengths)} functions: median "
      f"{statistics.median(lengths):.0f} lines, p90 {lengths[len(lengths) * 9 // 10]}, longest {lengths[-1]}")
print(f"{'ROOM':20} {'FILES':>5} {'LINES':>6}")
for name, (files, lines) in sorted(rooms.items(), key=lambda item: -item[1][1]):
    print(f"{name:20} {files:5} {lines:6}")
