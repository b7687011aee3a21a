#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a run says at its start: settings that are not known, agent files that were refused, servers that did not start.
On standard error as text, behind `init` in stream-json."""
import json
import pathlib

from lab import main


def put(root, name, text):
    path = pathlib.Path(root) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return str(path)


def told(lab, *words):
    """The same lines in both formats; those of the text format."""
    lab.model("rule\n  text hi")
    done = lab.cadre("-p", "hi", *words)
    assert done.code == 0 and done.out == "hi\n", done
    lines = [line.removeprefix("cadre: error: ") for line in done.err.splitlines()]
    done = lab.cadre("-p", "hi", "--output-format", "stream-json", "--verbose", *words)
    frames = [json.loads(line) for line in done.out.splitlines()]
    assert frames[0]["subtype"] == "init" and done.err == "", done
    found = [f["content"] for f in frames if f.get("subtype") == "informational"]
    assert found == lines and [f.get("subtype") for f in frames[1:1 + len(lines)]] == ["informational"] * len(lines), (found, lines)
    return lines


def a_run_without_anything_to_tell_tells_nothing(lab):
    put(lab.home, ".claude/settings.json", {"model": "haiku"})
    assert told(lab) == []


def a_setting_that_is_not_known_is_told_in_one_line_with_what_was_meant(lab):
    path = put(lab.home, ".claude/settings.json", '{"modle": "opus",\n"permissions": {"alow": ["Bash"]},\n"theme": "dark"}')
    assert told(lab) == [f"settings that are not known: modle ({path}:1; did you mean model?), permissions.alow ({path}:2; "
                         f"did you mean permissions.allow?), theme ({path}:3); `cadre config keys` lists those that are"]
    assert f"{path}:1:2: modle is not known (did you mean model?); it is kept" in lab.cadre("config").out
    assert "did you mean permissions.allow?" in lab.cadre("config", "get", "permissions.alowe").err


def a_rule_that_has_no_effect_is_told_with_its_place(lab):
    path = put(lab.home, ".claude/settings.json", '{"permissions": {"allow": [\n"Bash(ls"]}}')
    lines = told(lab)
    assert len(lines) == 1 and f"{path}:2" in lines[0] and "Bash(ls" in lines[0], lines


def an_agent_file_that_was_refused_is_told(lab):
    path = put(lab.home, ".claude/agents/odd.md", "---\nname: odd\ndescription: d\ntools: {a: [b}\n---\nx\n")
    put(lab.home, ".claude/agents/notes.md", "no agent at all\n")
    lines = told(lab)
    assert len(lines) == 1 and lines[0].startswith(f"{path}:4: "), lines
    assert lines[0].endswith("; this agent is refused (`cadre agents check`)"), lines


def many_refused_files_are_counted(lab):
    for i in range(9):
        put(lab.home, f".claude/agents/odd{i}.md", "---\nname: odd\ndescription: d\ntools: {a: [b}\n---\nx\n")
    lines = told(lab)
    assert len(lines) == 6 and lines[5] == "4 more agent files are refused (`cadre agents check`)", lines


def a_server_that_did_not_start_is_told(lab):
    config = json.dumps({"mcpServers": {"gone": {"command": "/nowhere/at-all"}}})
    lines = told(lab, "--mcp-config", config)
    assert len(lines) == 1 and lines[0].startswith("MCP server gone: not connected: "), lines
    assert "/nowhere/at-all" in lines[0] and lines[0].endswith(" (`cadre mcp test gone`)"), lines


if __name__ == "__main__":
    main(a_run_without_anything_to_tell_tells_nothing,
         a_setting_that_is_not_known_is_told_in_one_line_with_what_was_meant,
         a_rule_that_has_no_effect_is_told_with_its_place,
         an_agent_file_that_was_refused_is_told,
         many_refused_files_are_counted,
         a_server_that_did_not_start_is_told)
