# SPDX-License-Identifier: MIT
"""Temporary folders have numbers as names: by chance, letters are a word that a rule of a scenario looks for in a prompt, where the
working directory is named."""
import pathlib
import tempfile

tempfile._RandomNameSequence.characters = "0123456789"
assert pathlib.Path(tempfile.mktemp(prefix="")).name.isdigit()
