#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns a file into a C constant: embed.py [--json] INPUT OUTPUT.c NAME [HEADER]

OUTPUT.c defines `const char NAME[]`, which ends with a NUL that is not part of the file. It includes HEADER, which declares
it, or declares it itself. With --json the input is parsed, so that a mistake stops
the build, and written on one line in its own key order."""
import json
import pathlib
import sys


def main(args):
    is_json = args[:1] == ["--json"]
    if len(args) - is_json not in (3, 4):
        sys.exit(__doc__)
    source, target, name, *header = args[is_json:]
    data = pathlib.Path(source).read_bytes()
    if is_json:
        data = json.dumps(json.loads(data), ensure_ascii=False, separators=(",", ":")).encode()
    data += b"\0"
    rows = [", ".join(str(b if b < 128 else b - 256) for b in data[i : i + 24]) for i in range(0, len(data), 24)]
    head = [f'#include "{h}"' for h in header] or [f"extern const char {name}[];"]
    pathlib.Path(target).write_text(
        f"/* Made from {pathlib.Path(source).name} by {pathlib.Path(__file__).name}. */\n"
        + "\n".join(head)
        + f"\n\nconst char {name}[] = {{\n\t"
        + ",\n\t".join(rows)
        + "\n};\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
