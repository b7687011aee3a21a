#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cadre permissions` from outside: which rules hold, and what decides about a call."""
import json
import pathlib

from lab import main


def put(root, name, value):
    path = pathlib.Path(root) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def ask(lab, *words, code=0):
    done = lab.cadre("permissions", *words, "--json")
    assert done.code == code and done.err == "", done
    return json.loads(done.out)


def rules_of_all_layers_are_listed_with_file_and_line(lab):
    user = put(lab.home, ".claude/settings.json", {"permissions": {"deny": ["WebFetch"], "allow": ["Bash(git log *)"]}})
    project = put(lab.work, ".claude/settings.json",
                  '{"permissions": {\n  "ask": ["Bash(git push *)"],\n  "deny": ["Write(x)"]}}')
    found = ask(lab, "list", "--disallowedTools", "Skill(deploy, x)")
    rules = [(r["list"], r["rule"], r["file"], r["line"], r["effective"]) for r in found["rules"]]
    assert rules == [("deny", "WebFetch", user, 1, True), ("deny", "Write(x)", project, 3, True),
                     ("deny", "Skill(deploy, x)", None, None, True), ("ask", "Bash(git push *)", project, 2, True),
                     ("allow", "Bash(git log *)", user, 1, True)], rules
    assert len(found["warnings"]) == 1 and "Read(...) and Edit(...)" in found["warnings"][0], found


def the_object_form_of_a_rule_is_read(lab):
    put(lab.home, ".claude/settings.json", {"permissions": {"deny": [{"tool": "Task", "args": ["Explore", "Plan"]}, {"tool": "Skill"}]}})
    assert [r["rule"] for r in ask(lab, "list")["rules"]] == ["Task(Explore)", "Task(Plan)", "Skill"]
    assert ask(lab, "test", "Agent(plan)", code=1)["rule"] == "Task(Plan)"


def a_decision_names_rule_file_mode_and_step(lab):
    project = put(lab.work, ".claude/settings.json", {"permissions": {"ask": ["Bash(git push *)"]}})
    found = ask(lab, "test", "Bash(cd src && git push origin)", "--permission-mode", "acceptEdits")
    assert found["decision"] == "ask" and found["step"] == "ask rule" and found["mode"] == "acceptEdits", found
    assert found["rule"] == "Bash(git push *)" and found["file"] == project and found["line"] == 1, found
    text = lab.cadre("permissions", "test", "Bash(git push)").out
    assert "decided by  ask rule" in text and f"from        {project}:1" in text, text


def a_denied_call_ends_with_1(lab):
    found = ask(lab, "test", '{"tool_name": "Read", "tool_input": {"file_path": "a/.env"}}', "--disallowedTools",
                "Read(.env)", code=1)
    assert found["decision"] == "deny" and found["source"] == "cliArg", found
    assert ask(lab, "test", "Read(a/x)", "--disallowedTools", "Read(.env)")["decision"] == "allow"


def allow_rules_of_a_project_need_trust(lab):
    put(lab.work, ".claude/settings.json", {"permissions": {"allow": ["Bash(qq *)"]}})
    before = ask(lab, "test", "Bash(qq x)")
    assert before["decision"] == "ask" and "not trusted, so these have no effect: permissions.allow (" in before["warnings"][0], before
    assert lab.cadre("trust").code == 0
    after = ask(lab, "test", "Bash(qq x)")
    assert after["decision"] == "allow" and after["warnings"] == [], after


def an_agent_is_held_by_its_own_limits_and_by_the_sessions_rules(lab):
    put(lab.home, ".claude/agents/r.md", "---\nname: r\ndescription: d\ntools: Bash(git log *), Read\n---\nx\n")
    assert ask(lab, "test", "Bash(git log -1)", "r")["decision"] == "allow"
    assert ask(lab, "test", "Bash(ls)", "r", code=1)["step"] == "limit of the agent"
    assert ask(lab, "test", "Bash(ls)")["decision"] == "allow"
    denied = ask(lab, "test", "Bash(git log -1)", "r", "--disallowedTools", "Bash(git log *)", code=1)
    assert denied["step"] == "deny rule", denied


def an_agent_of_a_project_without_trust_keeps_the_narrower_mode_of_the_users_own(lab):
    put(lab.home, ".claude/settings.json", {"permissions": {"defaultMode": "acceptEdits"}})
    put(lab.home, ".claude/agents/helper.md", "---\nname: helper\ndescription: plans\npermissionMode: plan\n---\nPlan.\n")
    put(lab.work, ".claude/agents/helper.md", "---\nname: helper\ndescription: writes\n---\nWrite.\n")
    assert ask(lab, "test", "Write(x)", "--agent", "helper", code=1)["mode"] == "plan"
    assert ask(lab, "test", "Write(x)", "--agent", "helper", "--trust-project")["mode"] == "acceptEdits"


def only_managed_settings_can_make_theirs_the_only_rules(lab):
    flag = put(lab.home, "flag.json", {"allowManagedPermissionRulesOnly": True,
                                           "permissions": {"deny": ["WebSearch"]}})
    put(lab.home, ".claude/settings.json", {"permissions": {"allow": ["Bash"], "deny": ["Read"]}})
    found = ask(lab, "list", "--settings", flag)
    assert [r["rule"] for r in found["rules"]] == ["Read", "WebSearch", "Bash"], found


def a_rule_that_forbids_and_cannot_be_read_stops_agents_and_is_listed(lab):
    path = put(lab.home, ".claude/settings.json", '{"permissions": {\n"deny": ["Bash(rm", "Read"]}}')
    done = lab.cadre("permissions")
    assert done.code == 0 and f"{path}:2: permissions.deny:" in done.out and "Read" in done.out, done
    done = lab.cadre("-p", "x")
    assert done.code == 2 and f"{path}:2: permissions.deny:" in done.err, done
    done = lab.cadre("-p", "x", "--disallowedTools=Read([)")
    assert done.code == 2 and "--disallowed-tools" in done.err, done


main(rules_of_all_layers_are_listed_with_file_and_line, the_object_form_of_a_rule_is_read, a_decision_names_rule_file_mode_and_step,
     a_denied_call_ends_with_1, allow_rules_of_a_project_need_trust,
     an_agent_is_held_by_its_own_limits_and_by_the_sessions_rules,
     an_agent_of_a_project_without_trust_keeps_the_narrower_mode_of_the_users_own, only_managed_settings_can_make_theirs_the_only_rules,
     a_rule_that_forbids_and_cannot_be_read_stops_agents_and_is_listed)
