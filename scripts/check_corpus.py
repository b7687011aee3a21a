#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_corpus.py CADRE DIR...: compares `cadre agents check --json` with what a folder of agent files says they mean.

DIR has files/*.md and expected/*.json of the same stem (or subfolders that have them). An expectation has is_agent, name (or
null and fallback_name), description or description_ws_sha256, model, tools, disallowedTools, body_sha256, and refused if the
file must not load. Prints each difference; exit 1 if there is one."""
import hashlib
import json
import pathlib
import re
import subprocess
import sys

BATCH = 500


def folders(top):
    found = [p.parent for p in sorted(top.rglob("expected")) if (p.parent / "files").is_dir()]
    return found or sys.exit(f"check_corpus: no files/ and expected/ below {top}")


def cases(folder):
    for expected in sorted((folder / "expected").glob("*.json")):
        source = folder / "files" / (expected.stem + ".md")
        if source.exists():
            yield source, json.loads(expected.read_text())


def run(cadre, files):
    """One object for each file, in order. Exit 1 only says that some file is refused."""
    results = []
    for at in range(0, len(files), BATCH):
        command = [cadre, "agents", "check", "--json", *map(str, files[at:at + BATCH])]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"check_corpus: {cadre} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
        results += json.loads(done.stdout)
    return results


def folded(text):
    return None if text is None else re.sub(r"\s+", " ", text).strip()


def names(expected, source):
    """A file without a name is called by its stem, which a collection may have prefixed with a number."""
    if expected["name"] is not None:
        return {expected["name"]}
    return {expected["fallback_name"], source.stem}


def differences(source, expected, got):
    loaded = expected["is_agent"] and not expected.get("refused", False)
    for key, wanted in (("is_agent", expected["is_agent"]), ("loaded", loaded)):
        if got[key] != wanted:
            yield key, wanted, got[key]
    if expected["is_agent"] and got["name"] not in names(expected, source):
        yield "name", expected["name"] or expected["fallback_name"], got["name"]
    digest = expected.get("description_ws_sha256")
    described = folded(got["description"])
    if folded(expected["description"]) != described and \
            hashlib.sha256((described or "").encode()).hexdigest() != digest:
        yield "description", folded(expected["description"]), described
    for key in ("model", "tools", "disallowedTools", "body_sha256"):
        if got[key] != expected[key]:
            yield key, expected[key], got[key]


def compare(cadre, folder):
    wrong = 0
    pairs = list(cases(folder))
    results = run(cadre, [source for source, _ in pairs])
    if len(results) != len(pairs):
        sys.exit(f"check_corpus: {len(pairs)} files, but {len(results)} results")
    for (source, expected), got in zip(pairs, results):
        found = list(differences(source, expected, got))
        wrong += bool(found)
        for key, wanted, had in found:
            print(f"{source}: {key}:\n    expected {wanted!r}\n    got      {had!r}")
    print(f"{folder}: {len(pairs) - wrong} of {len(pairs)} files agree")
    return wrong


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: check_corpus.py CADRE DIR...")
    wrong = sum(compare(sys.argv[1], folder) for top in sys.argv[2:] for folder in folders(pathlib.Path(top)))
    sys.exit(1 if wrong else 0)


main()
