#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cadre config` and `cadre trust` from outside: values, origins, errors with file and line, consent on disk."""
import json
import os
import pathlib
import re
import subprocess

from lab import ROOT, main


def put(root, name, text):
    path = pathlib.Path(root) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return str(path)


def ask(lab, *words, code=0):
    done = lab.cadre(*words, "--json")
    assert done.code == code and done.err == "", done
    return json.loads(done.out)


def settings_are_listed_with_the_file_that_won(lab):
    user = put(lab.home, ".claude/settings.json", {"model": "haiku", "permissions": {"deny": ["WebFetch"]}, "wallpaper": "dark"})
    project = put(lab.work, ".claude/settings.json", '{\n  "model": "opus",\n  "permissions": {"deny": ["Bash(rm *)"]}\n}')
    held = {s["key"]: s["value"] for s in ask(lab, "config", "list")["settings"]}
    assert held["model"] == "haiku" and held["permissions.deny"] == ["WebFetch", "Bash(rm *)"], held
    assert lab.cadre("trust").code == 0
    found = ask(lab, "config", "list")
    values = {s["key"]: s for s in found["settings"]}
    assert values["model"] == {"key": "model", "value": "opus", "layer": "project", "file": project, "line": 2}, values
    assert values["permissions.deny"]["value"] == ["WebFetch", "Bash(rm *)"], values
    assert [f["file"] for f in found["files"] if f["exists"]] == [project, user], found
    assert ["wallpaper is not known" in n["message"] for n in found["notes"]] == [True], found
    text = lab.cadre("config").out
    assert re.search(r"^model +project +\S+settings.json:2 +\"opus\"$", text, re.M), text
    assert re.search(r"^permissions.deny +project +\S+:3 and 1 more ", text, re.M), text
    assert f"{user}:1:" in text and "wallpaper is not known; it is kept" in text, text


def get_prints_the_plain_value_or_the_default(lab):
    put(lab.home, ".claude/settings.json", {"model": "haiku", "env": {"A": "1"}})
    for key, expected in (("model", "haiku"), ("env", '{"A":"1"}'), ("env.A", "1"), ("subagents.maxDepth", "3"),
                          ("durability", "process")):
        done = lab.cadre("config", "get", key)
        assert (done.code, done.out, done.err) == (0, expected + "\n", ""), done
    assert ask(lab, "config", "get", "subagents.maxTotal") == {"key": "subagents.maxTotal", "value": 10000, "layer": "default"}
    for key, expected in (("agent", "agent is not set"), ("maxDepth", "did you mean subagents.maxDepth?"), ("nothing", "cadre config keys")):
        done = lab.cadre("config", "get", key)
        assert done.code == 1 and done.out == "" and expected in done.err, done


def explain_shows_every_layer_and_who_won(lab):
    user = put(lab.home, ".claude/settings.json", '{"permissions": {"defaultMode": "plan"}}')
    project = put(lab.work, ".claude/settings.json", '{"permissions":\n {"defaultMode": "auto"}}')
    found = ask(lab, "config", "explain", "permissions.defaultMode", "--settings", '{"permissions": {"defaultMode": "acceptEdits"}}')
    layers = [(v["layer"], v["effect"], v["value"], v["line"]) for v in found["layers"]]
    assert layers[1:] == [("flag", "wins", "acceptEdits", 1), ("local", "no file", None, None),
                          ("project", "ignored", "auto", 2), ("user", "overridden", "plan", 1)], layers
    assert found["value"] == "acceptEdits" and [v["file"] for v in found["layers"][3:]] == [project, user], found
    text = lab.cadre("config", "explain", "permissions.defaultMode").out
    assert re.search(r"^user +wins +\S+:1 +\"plan\"$", text, re.M) and "in force: \"plan\"" in text, text
    assert "initial" in text and "expects one of" in text, text


def local_settings_of_the_repository_count(lab):
    subprocess.run(["git", "init", "-q", lab.work], check=True)
    put(lab.work, ".claude/settings.local.json", {"model": "root", "agents": {"loc": {"description": "d", "prompt": "p"}}})
    put(lab.work, "sub/.claude/settings.local.json", {"model": "sub"})
    sub = os.path.join(lab.work, "sub")
    assert lab.cadre("trust").code == 0  # or an archive could have brought it
    assert lab.cadre("config", "get", "model", cwd=sub).out == "root\n"
    assert '"loc"' in lab.cadre("agents", "--json", cwd=sub).out
    assert lab.cadre("config", "get", "model", "--setting-sources", "user", cwd=sub).code == 1


def a_list_without_entries_says_so(lab):
    assert "\nNo rules are set" in lab.cadre("permissions", "list").out
    assert "\nNothing is set" in lab.cadre("config").out


LOOKS = (("config",), ("config", "keys"), ("config", "explain", "model"), ("permissions", "list"), ("agents",),
         ("plugin", "list"), ("mcp", "list"))


def a_value_that_restricts_and_cannot_be_read_stops_agents_but_no_command_that_looks(lab):
    lab.model("rule\n  text hi")
    for text, where in (('{\n  "subagents": {"maxDepth": "deep"}\n}', ":2:29: subagents.maxDepth: expected a whole number from 0 to 100"),
                        ('{"permissions": {"deny": "Bash"}}', ":1:26: permissions.deny: expected an array of rules"),
                        ('{"permissions": {"ask": [7]}}', ":1:26: permissions.ask: expected an array of rules"),
                        ('{"hooks": {"PreToolUse": {}}}', ":1:26: hooks: expected an object of arrays"),
                        ('{"sandbox": {"enabled": "yes"}}', ":1:25: sandbox.enabled: expected true or false"),
                        ('{"sandbox": {"credentials": ["KEY"]}}', ":1:29: sandbox.credentials: expected files and envVars"),
                        ('{"sandbox": {"credentials": {"envVars": "KEY"}}}', ":1:41: sandbox.credentials: expected files and envVars"),
                        ('{"hooks": {"PreToolUse": [\n{"matcher": "Bash("}]}}', ":2: hooks.PreToolUse: the matcher is not a "),
                        ('{"hooks": {"PreToolUse": [\n{"type": "command"}]}}', ':2: hooks.PreToolUse: an entry without a list "hooks"'),
                        ('{"hooks": {"UserPromptSubmit": [{"hooks": [\n{}]}]}}', ":2: hooks.UserPromptSubmit: the type must be "),
                        ('{\n  "a": 1,\n}', ":3:1: ")):
        path = put(lab.home, ".claude/settings.json", text)
        done = lab.cadre("-p", "hi")
        assert done.code == 2 and done.out == "" and f"{path}{where}" in done.err, done
        assert "agents do not run until this is right (`cadre config" in done.err, done
        for words in LOOKS:
            done = lab.cadre(*words)
            assert done.code == 0 and done.out, (words, done)
        explains = [["config", "explain", "hooks"]] if ": hooks." in where else [["config"], ["permissions"]]
        for words in explains:
            assert f"{path}{where}" in lab.cadre(*words).out, lab.cadre(*words)


def every_file_that_cannot_be_read_is_listed_with_its_own_problem(lab):
    project = put(lab.work, ".claude/settings.json", '{"model": "opus",\n')
    local = put(lab.work, ".claude/settings.local.json", '{"model"')
    there = {f["file"]: f["exists"] for f in ask(lab, "config")["files"]}
    assert there[project] and there[local], there
    listed = lab.cadre("config").out
    for layer, path, where, why in (("project", project, ":2:1: ", "expected a key"), ("local", local, ":1:9: ", "expected ':'")):
        assert re.search(rf"^{layer} +refused +{re.escape(path)}$", listed, re.M), listed
        assert [line.startswith(path + where + why) for line in listed.splitlines() if line.startswith(path)] == [True], listed
        assert re.search(rf"^{layer} +refused ", lab.cadre("config", "explain", "model").out, re.M), layer
        failed = {f["path"]: f for f in ask(lab, "agents")["failedFiles"]}
        assert failed[path]["line"] == int(where.split(":")[1]) and failed[path]["error"].startswith(why), failed
        checked = lab.cadre("agents", "check").out
        assert f"\n{path}:{failed[path]['line']}: {why}" in "\n" + checked, checked


def a_value_that_only_adds_and_does_not_fit_is_left_out_and_said(lab):
    lab.model("rule\n  text hi")
    for text, where in (('{\n"permissions": {"defaultMode": "sure"}}', ':2:32: permissions.defaultMode: expected one of "bypass'),
                        ('{"sandbox": {"network": {"httpProxyPort": null}}}', ":1:43: sandbox.network.httpProxyPort: expected a whole"),
                        ('{"model": ["opus"]}', ":1:11: model: expected a string")):
        path = put(lab.home, ".claude/settings.json", text)
        done = lab.cadre("-p", "hi")
        assert done.code == 0 and done.out == "hi\n" and f"{path}{where}" in done.err, done
        key = where.split(": ")[1]
        assert f"it is left out (`cadre config explain {key}`)" in done.err, done
        told = [json.loads(line) for line in lab.cadre("-p", "hi", "--output-format", "stream-json", "--verbose").out.splitlines()]
        assert [f.get("subtype") for f in told[:2]] == ["init", "informational"] and where in told[1]["content"], told[:2]
        for words in LOOKS:
            assert lab.cadre(*words).code == 0, words
        explained = lab.cadre("config", "explain", key).out
        assert re.search(r"^user +ignored", explained, re.M) and "does not fit" in explained, explained


def a_mode_that_is_not_known_does_not_let_a_lower_file_widen(lab):
    put(lab.home, ".claude/settings.json", {"permissions": {"defaultMode": "acceptEdits"}})
    assert ask(lab, "permissions", "list")["mode"] == "acceptEdits"
    put(lab.work, ".claude/settings.local.json", {"permissions": {"defaultMode": "carefully"}})
    assert ask(lab, "permissions", "list")["mode"] == "default"


def what_settings_gives_on_the_command_line_must_be_readable(lab):
    done = lab.cadre("config", "--settings", "{,}")
    assert done.code == 2 and done.out == "" and "--settings:1:2: " in done.err, done
    done = lab.cadre("config", "--settings", "nowhere.json")
    assert done.code == 2 and "Settings file not found" in done.err, done


def every_known_key_is_in_the_documentation(lab):
    keys = ask(lab, "config", "keys")
    text = (ROOT / "docs/settings.md").read_text()
    rows = dict(re.findall(r"^\| `([^`]+)` \|(.*)\|$", text, re.M))
    assert len(keys) > 90 and {k["key"] for k in keys} == set(rows), {k["key"] for k in keys} ^ set(rows)
    for key in keys:
        assert key["summary"] in rows[key["key"]].replace("\\|", "|"), (key, rows[key["key"]])
    for word, begin in (("counts", "- always: "), ("narrows", "- if it narrows")):
        listed = set(re.findall(r"`([A-Za-z.]+)`", text[text.index(begin):].split(";", 1)[0]))
        assert listed - {"true"} == {k["key"] for k in keys if k["untrusted"] == word} - {"env"}, (word, listed)


READERS = {  # of keys whose path is not the argument of a settings_*() call
    "agents": ("src/defs/agentdef/registry.c", 'json_get(file.root, "agents")'),
    "env": ("src/defs/policy/policy.c", "settings_env_each("),
    "permissions.allow": ("src/defs/policy/permissions.c", '[RULE_ALLOW] = "permissions.allow"'),
    "permissions.ask": ("src/defs/policy/permissions.c", '[RULE_ASK] = "permissions.ask"'),
    "permissions.deny": ("src/defs/policy/permissions.c", '[RULE_DENY] = "permissions.deny"'),
}


def every_key_has_a_reader_or_says_that_it_has_none(lab):
    code = "\n".join(p.read_text() for p in sorted((ROOT / "src").rglob("*.c")) if p.name != "settings_key_table.c")
    read = set(re.findall(r'\b(?:settings_|cadre_session_setting\(|tui_setting\(|managed_says\(|read_paths\(|read_hosts\(|read_strict\(|read_opening\()[^;{}]*?"([A-Za-z.]+)"', code))
    rows = dict(re.findall(r"^\| `([^`]+)` \|(.*)\|$", (ROOT / "docs/settings.md").read_text(), re.M))
    for key in ask(lab, "config", "keys"):
        path = key["key"]
        if path in READERS:
            file, call = READERS[path]
            assert call in (ROOT / file).read_text(), path
        assert key["effect"] == (path in read or path in READERS), path
        assert ("| **no effect**: " in rows[path]) == (not key["effect"]), path


def a_key_without_effect_is_said_wherever_it_is_shown(lab):
    lab.model("rule\n  text hi")
    path = put(lab.home, ".claude/settings.json", '{\n  "language": "de",\n  "fastMode": true, "model": "opus"}')
    text = lab.cadre("config", "keys").out
    assert re.search(r"^language .*no effect: the language of answers$", text, re.M), text
    assert not re.search(r"^model .*no effect", text, re.M), text
    assert "no effect" in lab.cadre("config", "explain", "language").out
    assert ask(lab, "config", "explain", "language")["effect"] is False and ask(lab, "config", "explain", "model")["effect"] is True
    done = lab.cadre("-p", "hi")
    line = f"settings without effect in this version: language ({path}:2), fastMode ({path}:3)"
    assert done.code == 0 and done.out == "hi\n" and done.err.count("without effect") == 1 and line in done.err, done


def trust_is_recorded_for_the_repository_and_nothing_else_changes(lab):
    subprocess.run(["git", "init", "-q", lab.work], check=True)
    os.mkdir(os.path.join(lab.work, "sub"))
    work = os.path.realpath(lab.work)
    before = '{ "numStartups" : 7,\n  "projects": { "/other": {"history": [ ]} } }\n'
    state = put(lab.home, ".claude.json", before)
    done = ask(lab, "trust")
    assert done == {"folder": work, "trusted": True, "changed": True, "file": state}, done
    after = pathlib.Path(state).read_text()
    assert after.startswith('{ "numStartups" : 7,\n  "projects": { "/other": {"history": [ ]}') and after.endswith("} }\n"), after
    assert json.loads(after)["projects"][work] == {"hasTrustDialogAccepted": True}, after
    assert ask(lab, "trust")["changed"] is False and pathlib.Path(state).read_text() == after
    assert lab.cadre("trust", "--list").out == work + "\n"
    assert ask(lab, "trust", "sub")["folder"] == os.path.join(work, "sub")
    assert ask(lab, "trust", "--forget", ".")["trusted"] is False
    assert ask(lab, "trust", "--list")["folders"] == [os.path.join(work, "sub")]


def the_state_file_follows_the_configuration_directory(lab):
    config = os.path.join(lab.folder, "config")
    done = lab.cadre("trust", env={"CLAUDE_CONFIG_DIR": config})
    assert done.code == 0 and os.path.exists(os.path.join(config, ".claude.json")), done
    assert not os.path.exists(os.path.join(lab.home, ".claude.json"))


def a_broken_state_file_is_never_overwritten(lab):
    state = put(lab.home, ".claude.json", '{"oauth": 1,')
    for words in (("trust",), ("trust", "--list")):
        done = lab.cadre(*words)
        assert done.code == 2 and f"{state}:1:13: " in done.err, done
    assert pathlib.Path(state).read_text() == '{"oauth": 1,'


def a_broken_state_file_stops_agents_but_no_command_that_looks(lab):
    lab.model("rule\n  text hi")
    state = put(lab.home, ".claude.json", '{"oauth": 1,')
    done = lab.cadre("-p", "hi")
    assert done.code == 2 and f"{state}:1:13: " in done.err and "agents do not run until this is right" in done.err, done
    for words in LOOKS:
        assert lab.cadre(*words).code == 0, words
    assert f"{state}:1:13: " in lab.cadre("config").out and f"{state}:1:13: " in lab.cadre("permissions").out


def words_that_make_no_sense_are_told(lab):
    for words, expected in ((("config", "set", "a"), "expected list, explain, get or keys"), (("config", "get"), "expected: cadre config get KEY"),
                            (("trust", "a", "b"), "expected: cadre trust [DIR]"), (("trust", "nowhere"), "nowhere: No such file"),
                            (("trust", "--list", "x"), "--list takes no other word"), (("-p", "x", "--forget"), "--forget belongs to `cadre plugin` and `cadre trust`")):
        done = lab.cadre(*words)
        assert done.code == 2 and done.out == "" and expected in done.err, done
    for command in ("config", "trust"):
        assert "cadre %s" % command in lab.cadre(command, "--help").out and "cadre %s" % command in lab.cadre("--help").out


if __name__ == "__main__":
    main(a_list_without_entries_says_so, settings_are_listed_with_the_file_that_won,
         get_prints_the_plain_value_or_the_default,
         explain_shows_every_layer_and_who_won,
         local_settings_of_the_repository_count,
         a_value_that_restricts_and_cannot_be_read_stops_agents_but_no_command_that_looks,
         every_file_that_cannot_be_read_is_listed_with_its_own_problem,
         a_value_that_only_adds_and_does_not_fit_is_left_out_and_said,
         a_mode_that_is_not_known_does_not_let_a_lower_file_widen,
         what_settings_gives_on_the_command_line_must_be_readable,
         every_known_key_is_in_the_documentation,
         every_key_has_a_reader_or_says_that_it_has_none, a_key_without_effect_is_said_wherever_it_is_shown,
         trust_is_recorded_for_the_repository_and_nothing_else_changes,
         the_state_file_follows_the_configuration_directory,
         a_broken_state_file_is_never_overwritten,
         a_broken_state_file_stops_agents_but_no_command_that_looks,
         words_that_make_no_sense_are_told)
