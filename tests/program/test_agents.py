#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cadre agents` from outside: list, show, check, memory, new; text and JSON; exit codes."""
import json
import os
import pathlib
import pty
import re

from lab import CADRE, below, main

REVIEWER = """---
name: reviewer
description: Reviews changes
tools: Read, Bash(git diff:*), Teleport
model: HAIKU
---

You review.
"""
REFUSED = "---\nname: broken\ndescription: d\nisolation: sometimes\n---\nbody\n"


def put(root, name, text):
    path = pathlib.Path(root) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def ask(lab, *words, code=0, **more):
    done = lab.cadre("agents", *words, "--json", **more)
    assert done.code == code and done.err == "", done
    return json.loads(done.out)


def agents_are_listed_with_source_model_and_tools(lab):
    put(lab.work, ".claude/agents/reviewer.md", REVIEWER)
    done = lab.cadre("agents")
    assert done.code == 0 and done.err == "", done
    rows = [re.split(r"  +", line) for line in done.out.splitlines()]
    assert rows[0] == ["NAME", "SOURCE", "MODEL", "TOOLS"], rows
    assert ["reviewer", "projectSettings", "HAIKU", "Read, Bash(git diff:*), Teleport"] in rows, rows
    assert ["general-purpose", "built-in", "inherit", "All tools"] in rows, rows
    columns = {line.index(word) for line in done.out.splitlines() for word in ("built-in", "projectSettings") if word in line}
    assert len(columns) == 1 and "\x1b" not in done.out, done


def the_list_says_what_overrides_what(lab):
    user = put(lab.home, ".claude/agents/r.md", REVIEWER)
    project = put(lab.work, ".claude/agents/r.md", REVIEWER)
    put(lab.work, ".claude/agents/e.md", "---\nname: Explore\ndescription: ours\n---\n")
    found = ask(lab)
    active = {a["name"]: a for a in found["activeAgents"]}
    assert active["reviewer"]["file"] == project, active
    assert active["reviewer"]["overrides"] == [{"source": "userSettings", "file": user}], active
    assert active["Explore"]["overrides"] == [{"source": "built-in", "file": "built-in"}], active
    hidden = [a for a in found["allAgents"] if a["overriddenBy"]]
    assert {a["file"] for a in hidden} == {user, "built-in"}, hidden
    text = lab.cadre("agents").out
    assert re.search(r"OVERRIDDEN +SOURCE +FILE +BY\n", text) and re.search("reviewer +userSettings", text), text


def all_sources_of_the_command_line_count(lab):
    plugin = os.path.join(lab.folder, "plug")
    put(plugin, ".claude-plugin/plugin.json", '{"name": "tools"}')
    put(plugin, "agents/deep/helper.md", "---\ndescription: helps\n---\nx\n")
    extra = os.path.join(lab.folder, "extra")
    put(extra, ".claude/agents/x.md", "---\nname: added\ndescription: d\n---\n")
    put(lab.home, ".claude/agents/u.md", "---\nname: mine\ndescription: d\n---\n")
    flag = '{"flagged": {"description": "d", "prompt": "p"}}'

    def names(*words):
        found = ask(lab, *words)
        return {a["name"] for a in found["activeAgents"] if a["source"] != "built-in"}

    assert names("--plugin-dir", plugin, "--agents", flag, "--add-dir", extra) == {"tools:deep:helper", "flagged", "added", "mine"}
    assert names("--setting-sources", "project", "--agents", put(lab.work, "a.json", flag)) == {"flagged"}
    assert names("--setting-sources", "") == set()
    settings = '{"agents": {"set": {"description": "d", "prompt": "p"}}}'
    assert names("--setting-sources", "", "--settings", settings) == {"set"}
    assert names("--setting-sources", "", "--settings", put(lab.work, "s.json", settings)) == {"set"}
    done = lab.cadre("agents", "--settings", "nowhere.json")
    assert done.code == 2 and "Settings file not found" in done.err, done


def show_tells_where_each_field_comes_from_and_what_it_comes_to(lab):
    path = put(lab.work, ".claude/agents/reviewer.md", REVIEWER)
    shown = ask(lab, "show", "Reviewer")
    fields = {f["field"]: f for f in shown["fields"]}
    assert fields["tools"] == {"field": "tools", "value": ["Read", "Bash(git diff:*)", "Teleport"], "from": path, "line": 4}, fields
    assert fields["maxTurns"] == {"field": "maxTurns", "value": None, "from": None, "line": None}, fields
    assert shown["resolvedTools"] == ["Read", "Bash"] and shown["unknownTools"] == ["Teleport"], shown
    assert shown["onlyWith"] == [{"tool": "Bash", "specifier": "git diff:*"}], shown
    assert shown["resolvedModel"]["from"] == "definition" and "haiku" in shown["resolvedModel"]["id"], shown
    assert shown["prompt"] == "You review.", shown
    text = lab.cadre("agents", "show", "reviewer").out
    assert re.search(r"^tools +line 4 +Read, ", text, re.M) and re.search(r"^unknown tools +Teleport$", text, re.M), text


def show_prefers_the_exact_name(lab):
    put(lab.work, ".claude/agents/a.md", "---\nname: code-reviewer\ndescription: lower\n---\n")
    put(lab.work, ".claude/agents/b.md", "---\nname: Code-Reviewer\ndescription: upper\n---\n")
    assert ask(lab, "show", "Code-Reviewer")["name"] == "Code-Reviewer"
    assert ask(lab, "show", "code-reviewer")["name"] == "code-reviewer"
    assert ask(lab, "show", "claude-code-guide")["name"] == "cadre-guide"
    done = lab.cadre("agents", "show", "nobody")
    assert done.code == 1 and done.out == "" and "no such agent: nobody" in done.err, done


def the_guide_is_shown_what_is_configured(lab):
    put(lab.work, ".claude/agents/reviewer.md", REVIEWER)
    assert "- reviewer (projectSettings): Reviews changes" in ask(lab, "show", "cadre-guide")["prompt"]


def check_reports_every_file_with_its_lines(lab):
    good = put(lab.work, "pack/good.md", REVIEWER)
    bad = put(lab.work, "pack/sub/bad.md", REFUSED)
    readme = put(lab.work, "pack/README.md", "# Agents\n")
    put(lab.work, "pack/other.txt", "x")
    found = {c["file"]: c for c in ask(lab, "check", os.path.join(lab.work, "pack"), code=1)}
    assert set(found) == {good, bad, readme}, found
    assert found[good]["loaded"] and found[good]["name"] == "reviewer" and found[good]["model"] == "HAIKU", found
    assert not found[bad]["loaded"] and any(d["level"] == "error" and d["line"] == 4 for d in found[bad]["diagnostics"]), found
    assert not found[readme]["is_agent"], found
    done = lab.cadre("agents", "check", "pack")
    assert done.code == 1 and "pack/sub/bad.md:4: error: " in done.out, done
    assert done.out.endswith("1 loaded, 1 not agents, 1 refused\n"), done
    assert lab.cadre("agents", "check", "pack/good.md").code == 0


def check_without_a_path_checks_all_places(lab):
    user = put(lab.home, ".claude/agents/u.md", REVIEWER)
    put(lab.home, ".claude/settings.json", '{"agents": {"set": {"description": "d", "prompt": "p"}, "half": {"prompt": "p"}}}')
    put(lab.work, ".claude/agents/same.md", "---\nname: twin\ndescription: d\n---\n")
    put(lab.work, ".claude/agents/twin.md", "---\nname: twin\ndescription: d\n---\n")
    found = {c["file"].replace(lab.home, "~").replace(lab.work, "."): c for c in ask(lab, "check", code=1)}
    assert found["~/.claude/agents/u.md"]["loaded"], found
    assert found["~/.claude/settings.json#agents.set"]["loaded"], found
    assert not found["~/.claude/settings.json#agents.half"]["loaded"], found
    os.remove(user)
    assert "twin.md: not used: " in lab.cadre("agents", "check").out


def a_path_that_is_not_there_is_a_usage_error(lab):
    done = lab.cadre("agents", "check", "nowhere")
    assert done.code == 2 and done.out == "" and "nowhere" in done.err, done


def new_writes_a_file_without_complaints_and_never_over_another(lab):
    done = lab.cadre("agents", "new", "my-helper")
    path = pathlib.Path(lab.work) / ".claude/agents/my-helper.md"
    assert done.code == 0 and str(path) in done.out, done
    (checked,) = ask(lab, "check", str(path))
    assert checked["loaded"] and checked["name"] == "my-helper" and checked["diagnostics"] == [], checked
    path.write_text(REVIEWER)
    again = lab.cadre("agents", "new", "my-helper")
    assert again.code == 2 and "exists already" in again.err and path.read_text() == REVIEWER, again


def a_name_never_becomes_a_path(lab):
    for name in ("../x", "a/b", "..", ".hidden", "", "-x", "x" * 4096, "日本", "a b", "a:b", "/etc/x"):
        done = lab.cadre("agents", "new", "--", name)
        assert done.code == 2 and done.out == "" and "cannot be the name" in done.err, (name[:20], done)
    left = below(lab.folder, "*.md")
    assert not left, left


def memory_is_copied_into_the_project(lab):
    put(lab.work, ".git/HEAD", "ref: refs/heads/main\n")
    put(lab.work, ".claude/agents/a.md", "---\nname: keeper\ndescription: d\nmemory: user\n---\nbody\n")
    put(lab.work, ".claude/agents/b.md", "---\nname: local\ndescription: d\nmemory: local\n---\nbody\n")
    put(lab.home, ".claude/agent-memory/keeper/MEMORY.md", "remember the milk\n")
    put(lab.home, ".claude/agent-memory/keeper/other.md", "more\n")
    assert ask(lab, "memory", "keeper") == {"name": "keeper", "files": 2}
    shared = pathlib.Path(lab.work) / ".claude/agent-memory-snapshots/keeper"
    assert (shared / "MEMORY.md").read_text() == "remember the milk\n" and (shared / "snapshot.json").exists()
    done = lab.cadre("agents", "memory", "keeper")
    assert done.code == 0 and "2 file(s)" in done.out, done
    for name, expected in (("local", "has no user memory"), ("nobody", "no such agent: nobody")):
        done = lab.cadre("agents", "memory", name)
        assert done.code != 0 and done.out == "" and expected in done.err, done


def broken_configuration_is_told_with_file_and_line(lab):
    path = put(lab.home, ".claude/settings.json", '{\n  "agents": {,}\n}')
    done = lab.cadre("agents")
    assert done.code == 0 and "Explore" in done.out and f"{path}:2:" in done.out + done.err, done
    os.remove(path)
    for flag, expected in (('{"x": {"prompt": "p"}}', "x: description: "), ("{", "--agents:1:"), ("no-such-file", "no such file")):
        done = lab.cadre("agents", "--agents", flag)
        assert done.code == 2 and done.out == "" and "Invalid --agents configuration: " in done.err and expected in done.err, done
    done = lab.cadre("agents", "--setting-sources", "user,all")
    assert done.code == 2 and "'all' is not known" in done.err, done


def denied_agents_are_marked(lab):
    put(lab.work, ".claude/settings.json", '{"permissions": {"deny": ["Task(Explore)"]}}')
    active = {a["name"]: a for a in ask(lab)["activeAgents"]}
    assert active["Explore"]["deniedBy"] == "Agent(Explore)" and active["Plan"]["deniedBy"] is None, active


def a_hostile_name_or_description_cannot_act_on_the_terminal(lab):
    put(lab.work, ".claude/agents/a.md", '---\nname: "a\\e[2Jb"\ndescription: "x\\e]0;title\\a"\n---\n\x1b[31mred\n')
    for words in ((), ("show", "a\x1b[2Jb"), ("check",)):
        done = lab.cadre("agents", *words)
        assert "\x1b" not in done.out and "\x07" not in done.out and done.out, done


def colours_are_for_terminals_only(lab):
    put(lab.work, ".claude/agents/a.md", REFUSED)
    env = {**lab.env, "TERM": "xterm"}
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(lab.work)
        os.execve(CADRE, [CADRE, "agents", "check"], env)
    seen = b""
    try:
        while piece := os.read(fd, 4096):
            seen += piece
    except OSError:  # the other end was closed
        pass
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    assert b"\x1b[31m" in seen and os.waitstatus_to_exitcode(status) == 1, seen
    assert "\x1b" not in lab.cadre("agents", "check", env={"TERM": "xterm"}).out


def help_is_there_for_the_command(lab):
    done = lab.cadre("agents", "--help")
    assert done.code == 0 and "cadre agents check [PATH...]" in done.out and "--plugin-dir" in done.out, done
    assert "cadre agents" in lab.cadre("--help").out
    done = lab.cadre("agents", "remove", "x")
    assert done.code == 2 and "expected list, check, memory, new or show" in done.err, done
    done = lab.cadre("agents", "--max-turns", "3")
    assert done.code == 2 and "unknown option '--max-turns' (cadre agents --help lists them)" in done.err, done


if __name__ == "__main__":
    main(agents_are_listed_with_source_model_and_tools,
         the_list_says_what_overrides_what,
         all_sources_of_the_command_line_count,
         show_tells_where_each_field_comes_from_and_what_it_comes_to,
         show_prefers_the_exact_name,
         the_guide_is_shown_what_is_configured,
         check_reports_every_file_with_its_lines,
         check_without_a_path_checks_all_places,
         a_path_that_is_not_there_is_a_usage_error,
         new_writes_a_file_without_complaints_and_never_over_another,
         a_name_never_becomes_a_path,
         memory_is_copied_into_the_project,
         broken_configuration_is_told_with_file_and_line,
         denied_agents_are_marked,
         a_hostile_name_or_description_cannot_act_on_the_terminal,
         colours_are_for_terminals_only,
         help_is_there_for_the_command)
