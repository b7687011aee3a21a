#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`make check-compat`, and docs/COMPATIBILITY.md: each row names tests that exist."""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

from lab import CADRE, ROOT, main

SCRIPT = ROOT / "scripts" / "check_compat.py"


def put(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def check(lab, *folders, code=0):
    done = subprocess.run([sys.executable, SCRIPT, CADRE, *folders], env=lab.env, cwd=lab.work, capture_output=True, text=True,
                          check=False)
    assert done.returncode == code, done
    return json.loads(done.stdout) if done.stdout else None, done.stderr


def verdicts(items):
    return {pathlib.Path(i.get("file") or i["path"]).name: i["verdict"] for i in items}


def agents_plugins_marketplaces_and_settings_of_a_folder_get_verdicts(lab):
    top = pathlib.Path(lab.folder) / "public"
    put(top / "one/.claude/agents/good.md", "---\nname: good\ndescription: d\n---\nDo.\n")
    put(top / "one/.claude/agents/open.md", "---\nname: open\ndescription: a: b\ntools : [Read\n---\nDo.\n")
    put(top / "one/.claude/agents/notes.md", "Only words.\n")
    put(top / "one/docs/other.md", "---\nname: x\ndescription: not in a folder of agents\n---\n")
    put(top / "two/.claude-plugin/plugin.json", {"name": "two"})
    put(top / "two/agents/helper.md", "---\nname: helper\ndescription: d\n---\nDo.\n")
    put(top / "three/.claude-plugin/plugin.json", {"name": "three", "author": 5})
    put(top / ".claude-plugin/marketplace.json", {"name": "shop", "plugins": [{"name": "two", "source": "./two"}]})
    put(top / "a/.claude/settings.json", {"model": "opus", "permissions": {"deny": ["Bash"]}})
    put(top / "b/.claude/settings.local.json", {"cleanupPeriodDays": "many", "modle": "x"})
    put(top / "c/.claude/settings.json", {"permissions": {"deny": "Bash"}})
    put(top / "node_modules/p/.claude/settings.json", "not looked at")
    canary = pathlib.Path(lab.folder) / "canary"
    put(top / "d/.claude/settings.json", {"apiKeyHelper": f"touch {canary}", "hooks": {"SessionStart": [
        {"hooks": [{"type": "command", "command": f"touch {canary}"}]}]}})
    got, text = check(lab, top)
    assert verdicts(got["agents"]) == {"good.md": "loads", "open.md": "refused", "notes.md": "not an agent",
                                       "helper.md": "loads"}, got
    assert [(p["kind"], p["verdict"]) for p in got["plugins"]] == [
        ("marketplace", "valid"), ("plugin", "invalid"), ("plugin", "valid")], got
    assert {pathlib.Path(s["file"]).parent.parent.name: s["verdict"] for s in got["settings"]} == {
        "a": "loads", "b": "loads in part", "c": "refused", "d": "loads"}, got
    every = {i.get("file") or i["path"]: " ".join(i["reasons"]) for kind in ("agents", "plugins", "settings") for i in got[kind]}
    for part, reason in (("open.md", "tools"), ("notes.md", "frontmatter"), ("three", "author: expected"),
                         ("/b/", "line 1: cleanupPeriodDays: expected"), ("/b/", "did you mean model?"),
                         ("/c/", "permissions.deny: expected")):
        assert any(part in name and reason in reasons for name, reasons in every.items()), (part, reason, every)
    assert got["counts"]["agents"] == {"loads": 2, "refused": 1, "not an agent": 1}, got["counts"]
    assert "settings          4: 2 loads, " in text and not canary.exists(), text
    alone, _ = check(lab, top / "c/.claude/settings.json", top / "one/docs/other.md")
    assert verdicts(alone["settings"]) == {"settings.json": "refused"} and verdicts(alone["agents"]) == {"other.md": "loads"}


def what_an_expectation_says_is_compared_field_by_field(lab):
    top = pathlib.Path(lab.folder) / "corpus"
    text = "---\nname: one\ndescription: Looks\ntools: Read, Grep\nmodel: haiku\n---\nLook.\n"
    meant = {"is_agent": True, "name": "one", "fallback_name": "one", "description": "Looks", "model": "haiku",
             "tools": ["Read", "Grep"], "disallowedTools": None, "body_sha256": hashlib.sha256(b"Look.").hexdigest()}
    put(top / "files/one.md", text)
    put(top / "expected/one.json", meant)
    got, _ = check(lab, top)
    assert got["counts"]["expectations"] == {"agrees": 1} and not got["agents"], got
    for field, other in (("is_agent", False), ("refused", True), ("name", "two"), ("description", "Other"), ("model", None),
                         ("tools", ["Read"]), ("disallowedTools", []), ("body_sha256", "0")):
        put(top / "expected/one.json", {**meant, field: other})
        got, text = check(lab, top, code=1)
        assert got["counts"]["expectations"] == {"differs": 1} and "differs: " in text, (field, got)


def a_folder_that_is_not_there_is_an_error(lab):
    got, text = check(lab, os.path.join(lab.folder, "gone"), code=1)
    assert got is None and "does not exist" in text, text


def missing_tests(text):
    """Rows of the tables without a test, and tests that are not there."""
    tests, wrong = ROOT / "tests", []
    for row in re.findall(r"^\| (?!-)(.*) \|$", text, re.M):
        cells = row.split(" | ")
        if cells[-1] == "tests":
            continue
        names = re.findall(r"`([^`]+)`", cells[-1])
        if not names:
            wrong.append(row)
        for name in names:
            kind, _, rest = name.partition("/")
            rest, _, case = rest.partition(":")
            path = {"program": tests / "program" / f"test_{rest}.py", "peers": tests / "peers" / f"{rest}.mjs",
                    "unit": tests / "unit" / rest}.get(kind, tests / "scenarios" / kind / (rest and rest + ".test"))
            if not path.exists() or (case and f"\ndef {case}" not in path.read_text()):
                wrong.append(name)
    return wrong


def every_row_of_the_page_names_tests_that_exist(lab):
    text = (ROOT / "docs" / "COMPATIBILITY.md").read_text()
    assert len(re.findall(r"^\| .* `[^|]*` \|$", text, re.M)) > 35, "the tables are not found"
    assert not missing_tests(text), missing_tests(text)
    for row, name in (("| x | y |", "x | y"), ("| x | `hooks/no_such` |", "hooks/no_such"), ("| x | `program/gone` |", "program/gone"),
                      ("| x | `program/compat:no_such_case` |", "program/compat:no_such_case"), ("| x | `nothing/` |", "nothing/")):
        assert missing_tests(row) == [name], row


if __name__ == "__main__":
    main(agents_plugins_marketplaces_and_settings_of_a_folder_get_verdicts,
         what_an_expectation_says_is_compared_field_by_field,
         a_folder_that_is_not_there_is_an_error,
         every_row_of_the_page_names_tests_that_exist)
