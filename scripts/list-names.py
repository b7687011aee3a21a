#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""list-names.py FOLDER PATTERN: the names in FOLDER that match, without their ending, for meson.build files."""
import pathlib
import sys

print(*sorted(p.stem for p in pathlib.Path(sys.argv[1]).glob(sys.argv[2]) if not p.name.startswith((".", "__"))))
