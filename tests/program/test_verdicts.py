#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cadre permissions test CALL [AGENT]` says of a call what a run does with it: for each row below, the answers of the command beside
what an agent that makes these calls meets."""
import json
import os
import subprocess

from lab import below, content, main, no_cell, replace
from test_wire import Client

ACCEPT = ("--permission-mode", "acceptEdits")
PROMPT = "Make the calls."
REFUSALS = ("No such tool available", "This agent may start")


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    replace(path, text if isinstance(text, str) else json.dumps(text))


def definition(*lines):
    return "\n".join(("---", "name: a", "description: d", *lines, "---", "Work.", ""))


def bash(command):
    return "Bash", {"command": command}


def write(path):
    return "Write", {"file_path": path, "content": "x"}


def read(path):
    return "Read", {"file_path": path}


USUAL = (bash("ls"), bash("qq x"), write("new.txt"), read("here.txt"), read("/etc/hostname"))


def said(lab, agent, call, args):
    """The command's verdict."""
    text = json.dumps({"tool_name": call[0], "tool_input": call[1]})
    done = lab.cadre("permissions", "test", text, *([agent] if agent else []), "--json", *args)
    found = json.loads(done.out)
    assert done.code == (found["decision"] == "deny") and done.err == "", done
    return found["decision"]


def met(lab, agent, calls, args, turns):
    """What each of these calls meets in a run, whose questions are answered with no; turns: of the main agent."""
    made = "".join("  call %s %s\n" % (name, json.dumps(value)) for name, value in calls)
    start = 'rule\n  agent main\n  last contains "%s"\n  call Agent {"description": "d", "prompt": "Go.", "subagent_type": "%s"}\n' % (PROMPT, agent) if agent else ""
    end = "rule\n  agent main\n  text Over.\n" if agent else ""
    lab.model("allow unknown-tools\n%s%srule\n  turn 1\n%srule\n  text Over.\n" % (start, end, made))
    client = Client(lab, "-p", "--permission-prompt-tool", "stdio", *args)
    client.say(PROMPT)
    asked = set()
    while turns:
        frame = json.loads(client.run.line())
        turns -= frame["type"] == "result"
        if frame["type"] == "control_request" and frame["request"]["subtype"] == "can_use_tool":
            asked.add(frame["request"]["tool_use_id"])
            client.answer(frame, {"behavior": "deny", "message": "no"})
    done = client.over()
    assert frame["subtype"] == "success" and done.code == 0, done
    denied = {denial["tool_use_id"] for denial in frame["permission_denials"]}
    config = lab.env.get("CLAUDE_CONFIG_DIR", os.path.join(lab.home, ".claude"))
    files = [p for p in below(config, "*.jsonl") if ("subagents" in p.parts) == bool(agent) and "projects" in p.parts]
    if agent and not files:
        return ["deny"] * len(calls)  # it was not started
    assert len(files) == 1, files
    blocks = [block for line in files[0].read_text().splitlines() for block in content(json.loads(line))]
    results = {b["tool_use_id"]: json.dumps(b["content"]) for b in blocks if b["type"] == "tool_result"}
    uses = [b for b in blocks if b["type"] == "tool_use"]
    assert [(b["name"], b["input"]) for b in uses] == [tuple(call) for call in calls], uses
    return ["ask" if b["id"] in asked else "deny" if b["id"] in denied or any(no in results[b["id"]] for no in REFUSALS) else "allow"
            for b in uses]


def agree(lab, agent, calls, *args, turns=1):
    """The two, side by side; returns them."""
    put(os.path.join(lab.work, "here.txt"), "x")
    before = [said(lab, agent, call, args) for call in calls]
    after = met(lab, agent, calls, args, turns)
    assert before == after, "\n".join("%s: the command says %s, the run %s" % (call, one, other)
                                      for call, one, other in zip(calls, before, after) if one != other)
    return before


def of_user(lab, *lines):
    put(os.path.join(lab.home, ".claude", "agents", "a.md"), definition(*lines))


def of_project(lab, *lines):
    put(os.path.join(lab.work, ".claude", "agents", "a.md"), definition(*lines))


def user_settings(lab, **values):
    put(os.path.join(lab.home, ".claude", "settings.json"), values)


def for_an_agent_without_limits(lab):
    of_user(lab)
    assert agree(lab, "a", USUAL) == ["allow", "ask", "ask", "allow", "ask"]


def for_rules_of_the_settings(lab):
    of_user(lab)
    user_settings(lab, permissions={"deny": ["Read(here.txt)", "WebFetch"], "ask": ["Bash(ls)"], "allow": ["Bash(qq *)"]})
    assert agree(lab, "a", (*USUAL, ("WebFetch", {"url": "http://127.0.0.1:1/", "prompt": "p"}))) == ["ask", "allow", "ask", "deny", "ask", "deny"]


def for_tools_that_the_agent_does_not_have(lab):
    of_user(lab, "tools: Read")
    assert agree(lab, "a", USUAL, *ACCEPT) == ["deny", "deny", "deny", "allow", "ask"]


def for_limits_of_its_tools(lab):
    of_user(lab, "tools: Bash(ls *), Bash(ls), Read, Agent(Explore)")
    other = "Agent", {"description": "d", "prompt": "p", "subagent_type": "Plan"}
    assert agree(lab, "a", (bash("ls"), bash("qq x"), read("here.txt"), other)) == ["allow", "deny", "allow", "deny"]


def for_disallowed_tools(lab):
    of_user(lab, "disallowedTools: Bash(qq *), Write")
    assert agree(lab, "a", USUAL, *ACCEPT) == ["allow", "deny", "deny", "allow", "ask"]


def for_tools_that_there_are_not(lab):
    of_user(lab)
    agree(lab, "a", (("Nonsense", {}), ("EnterPlanMode", {}), ("SendMessage", {"to": "x", "message": "y"})))


def for_an_agent_that_is_not_started(lab):
    of_user(lab, "tools: Nonsense")
    assert agree(lab, "a", USUAL) == ["deny"] * len(USUAL)


def for_an_agent_in_the_background(lab):
    of_user(lab, "background: true")
    assert agree(lab, "a", (*USUAL, ("EnterPlanMode", {})), turns=2) == ["allow", "ask", "ask", "allow", "ask", "deny"]


def for_a_mode_of_the_user(lab):
    of_user(lab, "permissionMode: acceptEdits")
    assert agree(lab, "a", USUAL) == ["allow", "ask", "allow", "allow", "ask"]


def for_a_mode_of_a_project(lab):
    of_project(lab, "permissionMode: acceptEdits")
    assert agree(lab, "a", (write("new.txt"),)) == ["ask"]


def for_a_mode_of_a_trusted_project(lab):
    of_project(lab, "permissionMode: acceptEdits")
    assert agree(lab, "a", (write("new.txt"),), "--trust-project") == ["allow"]


def for_plan_mode(lab):
    of_user(lab, "permissionMode: plan")
    agree(lab, "a", (*USUAL, ("ExitPlanMode", {"plan": "p"})), *ACCEPT)


def for_a_mode_that_cannot_be_read(lab):
    of_user(lab, "permissionMode: everything")
    agree(lab, "a", USUAL, *ACCEPT)


def for_a_session_that_asks_nothing(lab):
    of_user(lab)
    agree(lab, "a", USUAL, "--permission-mode", "dontAsk")


def for_memory_of_the_user(lab):
    of_user(lab, "tools: Bash", "memory: user")
    own = os.path.join(lab.home, ".claude", "agent-memory", "a", "MEMORY.md")
    assert agree(lab, "a", (write(own), write("new.txt"), bash("qq x"))) == ["allow", "deny", "ask"]


def for_memory_that_is_off(lab):
    of_user(lab, "tools: Bash", "memory: user")
    user_settings(lab, autoMemoryEnabled=False)
    own = os.path.join(lab.home, ".claude", "agent-memory", "a", "MEMORY.md")
    assert agree(lab, "a", (write(own), bash("qq x"))) == ["deny", "ask"]


def for_memory_of_the_user_in_a_project(lab):
    of_project(lab, "memory: user")
    own = os.path.join(lab.home, ".claude", "agent-memory", "a", "MEMORY.md")
    agree(lab, "a", (write(own), write("new.txt")), *ACCEPT)


def for_a_worktree(lab):
    of_user(lab, "isolation: worktree", "permissionMode: acceptEdits")
    git = ("git", "-c", "user.name=n", "-c", "user.email=e@localhost", "-C", lab.work)
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x")):
        subprocess.run((*git, *words), env=lab.env, check=True)
    assert agree(lab, "a", (write("new.txt"), write(os.path.join(lab.work, "new.txt")), bash("ls"), bash("qq x"))) == [
        "allow", "deny", "allow", "ask"]


def for_commands_in_a_sandbox(lab):
    of_user(lab)
    user_settings(lab, sandbox={"enabled": True, "autoAllowBashIfSandboxed": True})
    outside = "Bash", {"command": "qq x", "dangerouslyDisableSandbox": True}
    assert agree(lab, "a", (bash("qq x"), outside)) == ["ask" if no_cell() else "allow", "ask"]


def for_directories_of_the_settings(lab):
    of_user(lab)
    more = os.path.join(lab.folder, "more")
    os.makedirs(more)
    user_settings(lab, permissions={"additionalDirectories": [more]})
    assert agree(lab, "a", (write(os.path.join(more, "x")), write(os.path.join(lab.folder, "x"))), *ACCEPT) == ["allow", "ask"]


def for_the_configuration_of_cadre_itself(lab):
    lab.env["CLAUDE_CONFIG_DIR"] = os.path.join(lab.work, "config")
    put(os.path.join(lab.work, "config", "agents", "a.md"), definition())
    assert agree(lab, "a", (write(os.path.join(lab.work, "config", "x")), write("new.txt")), *ACCEPT) == ["ask", "allow"]


def for_an_agent_that_is_built_in(lab):
    agree(lab, "Explore", USUAL, *ACCEPT)


def for_the_guide(lab):
    lab.env["CLAUDE_CODE_ENTRYPOINT"] = "cli"
    config = os.path.join(lab.home, ".claude")
    put(os.path.join(config, "x"), "x")
    put(os.path.join(config, ".credentials.json"), "{}")
    assert agree(lab, "claude-code-guide", (read(os.path.join(config, "x")), read(os.path.join(config, ".credentials.json")),
                                            write("new.txt")), *ACCEPT) == ["allow", "deny", "deny"]


def for_the_main_agent(lab):
    agree(lab, None, (*USUAL, ("Nonsense", {})))


def for_the_main_agent_as_an_agent_of_the_settings(lab):
    of_user(lab, "tools: Read, Bash(ls), Write", "permissionMode: acceptEdits")
    user_settings(lab, agent="a")
    assert agree(lab, None, USUAL) == ["allow", "deny", "allow", "allow", "ask"]


def for_the_main_agent_as_an_agent_of_the_command_line(lab):
    of_user(lab, "tools: Read")
    assert agree(lab, None, (read("here.txt"), write("new.txt")), "--agent", "a") == ["allow", "deny"]


def for_the_memory_of_the_conversation(lab):
    notes = os.path.join(lab.folder, "notes")
    user_settings(lab, autoMemoryDirectory=notes)
    assert agree(lab, None, (write(os.path.join(notes, "x.md")), write(os.path.join(lab.folder, "x.md")))) == ["allow", "ask"]


main(for_an_agent_without_limits, for_rules_of_the_settings, for_tools_that_the_agent_does_not_have, for_limits_of_its_tools,
     for_disallowed_tools, for_tools_that_there_are_not, for_an_agent_that_is_not_started, for_an_agent_in_the_background,
     for_a_mode_of_the_user, for_a_mode_of_a_project, for_a_mode_of_a_trusted_project, for_plan_mode, for_a_mode_that_cannot_be_read,
     for_a_session_that_asks_nothing, for_memory_of_the_user, for_memory_that_is_off, for_memory_of_the_user_in_a_project, for_a_worktree,
     for_commands_in_a_sandbox, for_directories_of_the_settings, for_the_configuration_of_cadre_itself, for_an_agent_that_is_built_in,
     for_the_guide, for_the_main_agent, for_the_main_agent_as_an_agent_of_the_settings,
     for_the_main_agent_as_an_agent_of_the_command_line, for_the_memory_of_the_conversation)
