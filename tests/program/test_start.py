#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a run says at its start: settings that are not known, agent files that were refused, servers that did not start.
On standard error as text, behind `init` in stream-json."""
import json
import pathlib

from lab import main

NO_EFFECT = ("ultracode", "true")


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
    assert all("`cadre " in line for line in lines), lines  # the command that explains it
    return lines


def a_run_without_anything_to_tell_tells_nothing(lab):
    put(lab.home, ".claude/settings.json", {"model": "haiku"})
    assert told(lab) == []


def a_setting_that_is_not_known_is_told_in_one_line_with_what_was_meant(lab):
    path = put(lab.home, ".claude/settings.json", '{"modle": "opus",\n"permissions": {"alow": ["Bash"]},\n"wallpaper": "dark"}')
    assert told(lab) == [f"settings that are not known: modle ({path}:1; did you mean model?), permissions.alow ({path}:2; "
                         f"did you mean permissions.allow?), wallpaper ({path}:3); `cadre config keys` lists those that are"]
    assert f"{path}:1:2: modle is not known (did you mean model?); it is kept" in lab.cadre("config").out
    assert "did you mean permissions.allow?" in lab.cadre("config", "get", "permissions.alowe").err


def a_rule_that_has_no_effect_is_told_with_its_place(lab):
    path = put(lab.home, ".claude/settings.json", '{"permissions": {"allow": [\n"Bash(ls"]}}')
    lines = told(lab)
    assert len(lines) == 1 and f"{path}:2" in lines[0] and "Bash(ls" in lines[0], lines
    path = put(lab.home, ".claude/settings.json", {"permissions": {"allow": ["Nonsense(x)"], "ask": ["Nonsense"]}})
    assert told(lab) == [f'{path}:1: permissions.{which}: "{rule}" names no tool that is known (`cadre permissions list`)'
                         for which, rule in (("ask", "Nonsense"), ("allow", "Nonsense(x)"))]


def a_value_that_was_left_out_is_told_with_its_place(lab):
    path = put(lab.home, ".claude/settings.json", '{"cleanupPeriodDays": "many",\n"permissions": {"defaultMode": "odd"}}')
    lines = told(lab)
    assert len(lines) == 2, lines
    assert lines[0] == f"{path}:1:23: cleanupPeriodDays: expected a whole number from 1 to 100000000; it is left out " \
                       "(`cadre config explain cleanupPeriodDays`)", lines
    assert lines[1].startswith(f"{path}:2:32: permissions.defaultMode: expected one of "), lines


def a_setting_that_has_no_effect_or_does_not_count_there_is_told(lab):
    path = put(lab.home, ".claude/settings.json", '{"allowManagedHooksOnly": true,\n"%s": %s}' % NO_EFFECT)
    assert told(lab) == [f"settings without effect in this version: {NO_EFFECT[0]} ({path}:2); `cadre config keys` says what "
                         "they are for",
                         f"settings that do not count where they are: allowManagedHooksOnly ({path}:1); `cadre config` says why"]


def a_hook_for_no_event_is_told(lab):
    touch = [{"hooks": [{"type": "command", "command": "touch ran"}]}]
    path = put(lab.home, ".claude/settings.json", {"hooks": {"Sometimes": touch, "MessageDisplay": touch}})
    assert told(lab) == [f"{path}:1: hooks: unknown event Sometimes is ignored (`cadre config explain hooks`)",
                         f"{path}:1: hooks: the event MessageDisplay never occurs here (`cadre config explain hooks`)"]
    assert not pathlib.Path(lab.work, "ran").exists()


def a_hook_that_cannot_be_read_is_told_with_its_line(lab):
    for entry, reason in (({"matcher": "Edit(", "hooks": [{"type": "command", "command": "true"}]},
                           "the matcher is not a regular expression (missing closing parenthesis at character 5), so its hooks do not run"),
                          ({"type": "command", "command": "true"}, 'an entry without a list "hooks" is ignored'),
                          ({"hooks": [{"type": "telegram"}]},
                           "the type must be command, http, mcp_tool, prompt or agent, so this hook does not run")):
        path = put(lab.home, ".claude/settings.json", '{"hooks": {"PostToolUse": [\n%s]}}' % json.dumps(entry))
        line = f"{path}:2: hooks.PostToolUse: {reason}"
        assert told(lab) == [f"{line} (`cadre config explain hooks`)"]
        assert line in lab.cadre("config", "explain", "hooks").out
        assert json.loads(lab.cadre("config", "explain", "hooks", "--json").out)["problems"] == [line]


def an_allow_rule_of_the_command_line_that_cannot_be_read_is_told(lab):
    assert told(lab, "--allowed-tools", "Bash(ls") == ['command line: permissions.allow: "Bash(ls" is left out: "Bash(ls" has '
                                                       "no closing parenthesis at its end (`cadre permissions list`)"]


def a_plugin_that_was_refused_wholly_or_in_part_is_told(lab):
    odd = put(lab.work, "odd/.claude-plugin/plugin.json", {"name": 5})
    part = put(lab.work, "part/.claude-plugin/plugin.json", {"name": "part", "commands": ["./gone.md"]})
    assert told(lab, "--plugin-dir", "odd", "--plugin-dir", "part") == [
        f"{odd}:1: name: expected a text, not 5; this plugin is refused (`cadre plugin list`)",
        f"{part}:1: commands: ./gone.md does not exist; this part of it is refused (`cadre plugin list`)"]
    assert told(lab, "--plugin-dir", "nowhere") == [
        f"{lab.work}/nowhere: does not exist; this plugin is refused (`cadre plugin list`)"]
    put(lab.work, "named/.claude-plugin/plugin.json", {"name": "named", "hooks": "./hooks/hooks.json"})
    hooks = put(lab.work, "named/hooks/hooks.json", {"Stop": []})
    assert told(lab, "--plugin-dir", "named") == [
        f'{hooks}:1: expected an object with "hooks"; this part of it is refused (`cadre plugin list`)']


def an_agent_file_that_was_refused_is_told(lab):
    path = put(lab.home, ".claude/agents/odd.md", "---\nname: odd\ndescription: d\ntools: {a: [b}\n---\nx\n")
    put(lab.home, ".claude/agents/notes.md", "no agent at all\n")
    lines = told(lab)
    assert len(lines) == 1 and lines[0].startswith(f"{path}:4: "), lines
    assert lines[0].endswith("; this agent is refused (`cadre agents check`)"), lines


def a_restriction_of_an_agent_that_has_no_effect_is_told(lab):
    path = put(lab.home, ".claude/agents/a.md", "---\nname: a\ndescription: d\ndisallowedTools: Read, Shovel\n---\nx\n")
    other = put(lab.home, ".claude/agents/b.md", "---\nname: b\ndescription: d\nmaxTurns: many\ntools: Shovel\n---\nx\n")
    assert told(lab) == [
        f"{path}:4: disallowedTools: not the name of a tool, takes nothing away: Shovel (`cadre agents check`)",
        f"{other}:4: maxTurns: expected a number above 0; the field is ignored (`cadre agents check`)"]


def many_refused_files_are_counted(lab):
    for i in range(9):
        put(lab.home, f".claude/agents/odd{i}.md", "---\nname: odd\ndescription: d\ntools: {a: [b}\n---\nx\n")
    lines = told(lab)
    assert len(lines) == 6 and lines[5] == "4 more agents are refused (`cadre agents check`)", lines


def a_server_that_did_not_start_is_told(lab):
    config = json.dumps({"mcpServers": {"gone": {"command": "/nowhere/at-all"}}})
    lines = told(lab, "--mcp-config", config)
    assert len(lines) == 1 and lines[0].startswith("MCP server gone: not connected: "), lines
    assert "/nowhere/at-all" in lines[0] and lines[0].endswith(" (`cadre mcp test gone`)"), lines


def a_server_that_is_not_described_well_is_told(lab):
    path = put(lab.work, ".mcp.json", {"mcpServers": {"odd": {"type": "telegraph"}}})
    assert told(lab, "--trust-project") == [
        f"{path}:1: server 'odd': type: expected stdio, http or sse, not \"telegraph\"; this MCP server is refused "
        "(`cadre mcp list`)"]


def a_file_of_servers_that_cannot_be_read_is_told_and_the_run_goes_on(lab):
    for text, where in (("{", ":1:2: expected a key or '}', but the text ends here"),
                        ('{"a": {"command": "true"}}', ':1:1: expected {"mcpServers": {NAME: {...}}}')):
        path = put(lab.work, ".mcp.json", text)
        assert told(lab) == [f"{path}{where}; none of its servers runs (`cadre mcp list`)"]
        listed = lab.cadre("mcp", "list")
        assert listed.code == 0 and f"{path}{where}; none of its servers runs" in listed.out, listed


if __name__ == "__main__":
    main(a_run_without_anything_to_tell_tells_nothing,
         a_setting_that_is_not_known_is_told_in_one_line_with_what_was_meant,
         a_rule_that_has_no_effect_is_told_with_its_place,
         a_value_that_was_left_out_is_told_with_its_place,
         a_setting_that_has_no_effect_or_does_not_count_there_is_told,
         a_hook_for_no_event_is_told,
         a_hook_that_cannot_be_read_is_told_with_its_line,
         an_allow_rule_of_the_command_line_that_cannot_be_read_is_told,
         a_plugin_that_was_refused_wholly_or_in_part_is_told,
         an_agent_file_that_was_refused_is_told,
         a_restriction_of_an_agent_that_has_no_effect_is_told,
         many_refused_files_are_counted,
         a_server_that_did_not_start_is_told,
         a_server_that_is_not_described_well_is_told,
         a_file_of_servers_that_cannot_be_read_is_told_and_the_run_goes_on)
