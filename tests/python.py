#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""python.py FOLDER: makes the interpreter of the tests there, and prints its path. It starts without what the packages of this machine
do at each start (.pth files: up to 30 ms of 40), and can import these packages all the same."""
import pathlib
import site
import sys
import venv

folder = pathlib.Path(sys.argv[1])
venv.create(folder, symlinks=True)
own = next(folder.glob("lib/python*/site-packages"))
(own / "packages.pth").write_text("".join(place + "\n" for place in site.getsitepackages()))
print(folder / "bin" / "python3")
