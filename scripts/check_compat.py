#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_compat.py CADRE DIR|FILE...: what this program makes of the agent files, plugins, marketplaces and settings files below folders.

    agents        *.md below a folder `agents`, as `cadre agents check` reads them
    plugins       folders with .claude-plugin/plugin.json, and .claude-plugin/marketplace.json: `cadre plugin validate`
    settings      .claude/settings.json, settings.local.json, managed-settings.json: `cadre config`, `cadre permissions`
    expectations  folders with files/*.md and expected/*.json of the same stem: what each agent file means. An expectation has
                  is_agent, name (or null and fallback_name), description or description_ws_sha256, model, tools,
                  disallowedTools, body_sha256, and refused if the file must not load

A single .md is an agent file, a single .json a settings file. Prints one JSON object: a list for each kind, with a verdict and the reasons for each item, and the counts. Standard error has
a summary for people. Nothing of what is found is run, and the user's own settings are not read. Ends with 1 if an expectation is
not met or the program failed on something."""
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BATCH = 200
SKIPPED = {".git", "node_modules"}
SETTINGS = ("settings.json", "settings.local.json", "managed-settings.json")


class Failed(Exception):
    """The program ended in a way that is no verdict."""


class Program:
    """cadre with a home of its own, so that nothing of the user's counts."""

    def __init__(self, path, home):
        self.path, self.home = os.path.abspath(path), pathlib.Path(home)

    def json(self, *words, config=None):
        env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.home),
               "CLAUDE_CONFIG_DIR": str(config or self.home / ".claude")}
        done = subprocess.run([self.path, *words, "--json"], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              cwd=self.home, env=env, timeout=120)
        try:
            if done.returncode in (0, 1):
                return json.loads(done.stdout)
        except ValueError:
            pass
        text = done.stderr.decode(errors="replace").strip()
        raise Failed(f"cadre {' '.join(words[:2])} ended with {done.returncode}: {text or 'no JSON'}")


# ---- what there is -------------------------------------------------------------------------------------------------

class Found:
    def __init__(self):
        self.agents, self.plugins, self.settings, self.expected = [], [], [], []

    def look(self, top):
        if not top.exists():
            sys.exit(f"check_compat: {top} does not exist")
        if top.is_file():
            (self.settings if top.suffix == ".json" else self.agents).append(top)
        for folder, inner, names in os.walk(top):
            inner[:] = sorted(set(inner) - SKIPPED)
            here = pathlib.Path(folder)
            if {"files", "expected"} <= set(inner):
                self.expected.append(here)
                inner[:] = [name for name in inner if name not in ("files", "expected")]
            if here.name == ".claude-plugin":
                self.plugins += [here.parent] * ("plugin.json" in names)
                self.plugins += [here / "marketplace.json"] * ("marketplace.json" in names)
            if here.name == ".claude":
                self.settings += [here / name for name in SETTINGS if name in names]
            if "agents" in here.relative_to(top.parent).parts:
                self.agents += [here / name for name in sorted(names) if name.endswith(".md") and name != "README.md"]


# ---- verdicts ------------------------------------------------------------------------------------------------------

def check_agents(program, files):
    """One result of the program for each file, in order; an exception stands for those that it failed on."""
    try:
        results = program.json("agents", "check", *map(str, files))
        if len(results) != len(files):
            raise Failed(f"{len(files)} files, but {len(results)} results")
        return results
    except (Failed, subprocess.TimeoutExpired) as why:
        if len(files) == 1:
            return [why]
        return [result for file in files for result in check_agents(program, [file])]


def agent_verdict(file, got):
    item = {"file": str(file)}
    if isinstance(got, Exception):
        return {**item, "verdict": "failed", "reasons": [str(got)]}
    verdict = "not an agent" if not got["is_agent"] else "loads" if got["loaded"] else "refused"
    return {**item, "verdict": verdict, "name": got["name"],
            "reasons": [f"line {d['line']}: {d['message']}" if d.get("line") else d["message"] for d in got["diagnostics"]]}


def check_plugin(program, path):
    item = {"path": str(path), "kind": "marketplace" if path.name == "marketplace.json" else "plugin"}
    try:
        plugins = program.json("plugin", "validate", str(path))
    except (Failed, subprocess.TimeoutExpired) as why:
        return {**item, "verdict": "failed", "reasons": [str(why)]}
    errors = [f"{e['file']}: {e['message']}" if e.get("file") else e["message"] for p in plugins for e in p.get("errors", [])]
    notes = [note["message"] for p in plugins for note in p.get("notes", [])]
    return {**item, "verdict": "invalid" if errors else "valid", "reasons": errors, "notes": notes}


def check_settings(program, path):
    item = {"file": str(path)}
    with tempfile.TemporaryDirectory() as config:
        try:
            (pathlib.Path(config) / "settings.json").write_bytes(path.read_bytes())
            notes = program.json("config", "list", config=config)["notes"]
            policy = program.json("permissions", "list", config=config)
        except (OSError, Failed, subprocess.TimeoutExpired) as why:
            return {**item, "verdict": "failed", "reasons": [str(why)]}
        at = str(pathlib.Path(config) / "settings.json")
    left_out = [n for n in notes if n["kind"] == "left out"]
    verdict = "refused" if policy["refusal"] else "loads in part" if left_out else "loads"
    reasons = [f"line {n['line']}: {n['message']}" if n.get("line") else n["message"] for n in notes]
    if policy["refusal"] and not any(n["kind"] == "refused" for n in notes):
        reasons.append(policy["refusal"])
    return {**item, "verdict": verdict, "reasons": [text.replace(at, "settings.json") for text in reasons]}


# ---- expectations ----------------------------------------------------------------------------------------------------

def folded(text):
    return None if text is None else re.sub(r"\s+", " ", text).strip()


def names(expected, source):
    """A file without a name is called by its stem, which a collection may have prefixed with a number."""
    if expected["name"] is not None:
        return {expected["name"]}
    return {expected["fallback_name"], source.stem}


def differences(source, expected, got):
    if isinstance(got, Exception):
        yield "the program", "a verdict", str(got)
        return
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


def expectations(folder):
    for path in sorted((folder / "expected").glob("*.json")):
        source = folder / "files" / (path.stem + ".md")
        if source.exists():
            yield source, json.loads(path.read_text())


# ---- all of it -------------------------------------------------------------------------------------------------------

def batches(items):
    return [items[at:at + BATCH] for at in range(0, len(items), BATCH)]


def check(program, found):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        def agents_of(files):
            return [r for part in pool.map(lambda b: check_agents(program, b), batches(files)) for r in part]

        pairs = [pair for folder in found.expected for pair in expectations(folder)]
        compared = [{"file": str(source), "verdict": "differs" if wrong else "agrees",
                     "reasons": [f"{key}: expected {wanted!r}, got {had!r}" for key, wanted, had in wrong]}
                    for (source, expected), got in zip(pairs, agents_of([source for source, _ in pairs]))
                    for wrong in [list(differences(source, expected, got))]]
        return {"agents": [agent_verdict(*pair) for pair in zip(found.agents, agents_of(found.agents))],
                "plugins": list(pool.map(lambda path: check_plugin(program, path), found.plugins)),
                "settings": list(pool.map(lambda path: check_settings(program, path), found.settings)),
                "expectations": compared}


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: check_compat.py CADRE DIR|FILE...")
    found = Found()
    for top in sys.argv[2:]:
        found.look(pathlib.Path(top).resolve())
    with tempfile.TemporaryDirectory() as home:
        result = check(Program(sys.argv[1], home), found)
    counts = {kind: dict(collections.Counter(item["verdict"] for item in items)) for kind, items in result.items()}
    print(json.dumps({**result, "counts": counts}, indent=1, ensure_ascii=False))
    wrong = [item for items in result.values() for item in items if item["verdict"] in ("failed", "differs")]
    for kind, items in result.items():
        parts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts[kind].items(), key=lambda c: -c[1]))
        print(f"{kind:13} {len(items):5}{': ' + parts if items else ''}", file=sys.stderr)
    for item in wrong:
        print(f"{item['verdict']}: {item.get('file') or item.get('path')}", *item["reasons"], sep="\n    ", file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
