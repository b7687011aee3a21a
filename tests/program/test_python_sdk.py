#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the end-to-end tests of the Python agent SDK expect, under the same names. The SDK cannot be had from a package source of
this system, so its side of the wire is played here: its command line, its `initialize`, its callbacks, its reading of sessions."""
import json
import os
import pathlib
import subprocess
import uuid

from lab import main

ECHO = "rule\n  text You said: {{last}}\n"
VERSION = "sdk-py"


def calls(*steps):
    """One answer of the model for each step, then the word DONE. A step: the name of a tool and its input."""
    rules = "".join(f"rule\n  turn {i + 1}\n  call {name} {json.dumps(value)}\n" for i, (name, value) in enumerate(steps))
    return rules + "rule\n  text DONE\n"


class Sdk:
    """One process below the SDK. Callbacks: hooks {event: function}, may_use(tool, input), tools {server: {tool: function}}."""

    def __init__(self, lab, *args, hooks=None, may_use=None, tools=None, env=None, cwd=None, **initialize):
        self.hooks, self.may_use, self.tools = hooks or {}, may_use, tools or {}
        words = ["--output-format", "stream-json", "--verbose", *args]
        if may_use:
            words += ["--permission-prompt-tool", "stdio"]
        if tools:
            servers = {name: {"type": "sdk", "name": name} for name in tools}
            words += ["--mcp-config", json.dumps({"mcpServers": servers})]
        env = {"CLAUDE_CODE_ENTRYPOINT": VERSION, **(env or {})}
        self.run = lab.start(*words, "--input-format", "stream-json", stdin=subprocess.PIPE, env=env, cwd=cwd)
        registered = {event: [{"matcher": matcher, "hookCallbackIds": [event]}] for event, (matcher, _) in self.hooks.items()}
        self.request("initialize", hooks=registered or None, **initialize)

    def send(self, message):
        self.run.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.run.process.stdin.flush()

    def request(self, subtype, **fields):
        self.send({"type": "control_request", "request_id": subtype, "request": {"subtype": subtype, **fields}})

    def say(self, text, **more):
        self.send({"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None, "session_id": "default", **more})

    def answer(self, frame):
        asked = frame["request"]
        if asked["subtype"] == "hook_callback":
            payload = self.hooks[asked["callback_id"]][1](asked["input"])
        elif asked["subtype"] == "can_use_tool":
            payload = self.may_use(asked["tool_name"], asked["input"])
        else:
            payload = {"mcp_response": self.serve(asked["server_name"], asked["message"])}
        self.send({"type": "control_response", "response": {"subtype": "success", "request_id": frame["request_id"], "response": payload}})

    def serve(self, server, message):
        tools = self.tools[server]
        params = message.get("params", {})
        if message["method"] == "initialize":
            result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": server, "version": "1"}}
        elif message["method"] == "tools/list":
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in tools]}
        elif message["method"] == "tools/call":
            result = {"content": [{"type": "text", "text": tools[params["name"]](params["arguments"])}]}
        else:
            result = {}
        return {"jsonrpc": "2.0", "id": message.get("id", 0), "result": result}

    def until(self, *types):
        """All frames up to the first of these types, which is the last."""
        seen = []
        while True:
            frame = json.loads(self.run.line())
            if frame["type"] == "control_request":
                self.answer(frame)
                continue
            seen.append(frame)
            if frame["type"] in types:
                return seen

    def turn(self, text, **more):
        self.say(text, **more)
        return [f for f in self.until("result") if f["type"] != "control_response"]

    def over(self):
        self.run.process.stdin.close()
        return self.run.wait()


def query(lab, text, *args, **more):
    """The frames of one prompt, and how the process ended."""
    sdk = Sdk(lab, *args, **more)
    frames = sdk.turn(text)
    return frames, sdk.over()


def init_of(frames):
    return next(f for f in frames if (f["type"], f.get("subtype")) == ("system", "init"))


def blocks(frames, kind, child=None):
    return [b for f in frames if f["type"] == "assistant" and (child is None or bool(f["parent_tool_use_id"]) == child)
            for b in f["message"]["content"] if b["type"] == kind]


def project(lab, files):
    folder = pathlib.Path(lab.work) / "project"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


# ---- test_agents_and_settings ----------------------------------------------------------------------------------------

def large_agents():
    return {f"large-agent-{i}": {"description": f"number {i}", "prompt": "x" * (13 << 10)} for i in range(20)}


def test_agent_definition(lab):
    lab.model(ECHO)
    agent = {"description": "for a test", "prompt": "You test.", "tools": ["Read"], "model": "sonnet"}
    frames, _ = query(lab, "What is 2 + 2?", "--max-turns", "1", agents={"test-agent": agent})
    assert "test-agent" in init_of(frames)["agents"], frames[0]


def test_agent_definition_with_query_function(lab):
    lab.model(ECHO)
    frames, done = query(lab, "What is 2 + 2?", agents={"test-agent-query": {"description": "d", "prompt": "You test."}})
    assert "test-agent-query" in init_of(frames)["agents"] and done.code == 0


def test_large_agents_with_query_function(lab):
    lab.model(ECHO)
    agents = large_agents()
    assert len(json.dumps(agents)) > 250_000
    frames, _ = query(lab, "What is 2 + 2?", agents=agents)
    assert set(agents) <= set(init_of(frames)["agents"])


def test_large_agent_definitions_via_initialize(lab):
    lab.model(ECHO)
    sdk = Sdk(lab, agents=large_agents())
    assert set(large_agents()) <= set(init_of(sdk.turn("List available agents"))["agents"])
    assert sdk.over().code == 0


def test_filesystem_agent_loading(lab):
    lab.model(ECHO)
    cwd = project(lab, {".claude/agents/fs-test-agent.md": "---\nname: fs-test-agent\ndescription: d\ntools: Read\n---\nYou test.\n"})
    frames, _ = query(lab, "Say hello", "--setting-sources=project", cwd=cwd)
    assert "fs-test-agent" in init_of(frames)["agents"]
    assert blocks(frames, "text") and frames[-1]["type"] == "result"


def style_of(lab, *args):
    lab.model(ECHO)
    cwd = project(lab, {".claude/settings.local.json": '{"outputStyle": "local-test-style"}'})
    return init_of(query(lab, "What is 2 + 2?", *args, cwd=cwd)[0])["output_style"]


def test_setting_sources_default(lab):
    assert style_of(lab) == "local-test-style"


def test_setting_sources_project_included(lab):
    assert style_of(lab, "--setting-sources=user,project,local") == "local-test-style"


def test_setting_sources_user_only(lab):
    lab.model(ECHO)
    cwd = project(lab, {".claude/commands/testcmd.md": "---\ndescription: d\n---\nA command.\n"})
    names = [init_of(query(lab, "hi", *args, cwd=cwd)[0])["slash_commands"] for args in (["--setting-sources=user"], [])]
    assert "testcmd" not in names[0] and "testcmd" in names[1], names


# ---- test_conversation_reset, test_dynamic_control, test_error_results ----------------------------------------------------------

def test_clear_emits_conversation_reset(lab):
    lab.model(ECHO, log=True)
    sdk = Sdk(lab)
    first = sdk.turn("Reply with exactly: one")[-1]
    cleared = sdk.turn("/clear")
    reset = next(f for f in cleared if f["type"] == "conversation_reset")
    assert reset["session_id"] == first["session_id"] and reset["uuid"]
    assert reset["new_conversation_id"] == cleared[-1]["session_id"] != first["session_id"]
    after = sdk.turn("two")
    assert init_of(after)["session_id"] == after[-1]["session_id"] == reset["new_conversation_id"]
    assert "one" not in json.dumps(lab.models[-1].bodies()[-1]["messages"][1:]), "the model still knows what was said before"
    assert sdk.over().code == 0
    assert lab.transcript(first["session_id"]).has_prompt("Reply with exactly: one")


def a_cleared_conversation_keeps_hooks_and_servers(lab):
    lab.model(calls(("mcp__calc__add", {"n": 1})))
    heard, added = [], []

    def hook(value):
        heard.append((value["hook_event_name"], value.get("source") or value.get("reason"), value["session_id"]))
        return {}

    def add(arguments):
        added.append(arguments["n"])
        return "added"
    hooks = {event: (None, hook) for event in ("SessionStart", "SessionEnd")}
    sdk = Sdk(lab, "--allowedTools", "mcp__calc__add", hooks=hooks, tools={"calc": {"add": add}})
    first = sdk.turn("one")[-1]["session_id"]
    second = sdk.turn("/clear")[-1]["session_id"]
    assert sdk.turn("two")[-1]["result"] == "DONE" and added == [1, 1]
    assert sorted(heard) == [("SessionEnd", "clear", first), ("SessionStart", "clear", second), ("SessionStart", "startup", first)], heard
    assert sdk.over().code == 0


def test_set_permission_mode(lab):
    lab.model(ECHO)
    sdk = Sdk(lab, "--permission-mode", "default")
    sdk.request("set_permission_mode", mode="acceptEdits")
    assert init_of(sdk.turn("2+2?"))["permissionMode"] == "acceptEdits"
    sdk.request("set_permission_mode", mode="default")
    assert init_of(sdk.turn("3+3?"))["permissionMode"] == "default"
    assert sdk.over().code == 0


def test_set_model(lab):
    lab.model(ECHO, log=True)
    sdk = Sdk(lab)
    for model in (None, "claude-3-5-haiku-20241022", None):
        sdk.request("set_model", model=model)
        assert not sdk.turn("What is 1+1?")[-1]["is_error"]
    models = [body["model"] for body in lab.models[-1].bodies()]
    assert models[1] == "claude-3-5-haiku-20241022" and models[0] == models[2] != models[1], models
    assert sdk.over().code == 0


def a_model_that_depends_on_the_mode_follows_it(lab):
    lab.model(ECHO, log=True)
    sdk = Sdk(lab, "--model", "opusplan")
    shown = []
    for mode in ("default", "plan", "acceptEdits"):
        sdk.request("set_permission_mode", mode=mode)
        shown.append(init_of(sdk.turn("What is 1+1?"))["model"])
    sdk.request("set_model", model="haiku")
    sdk.request("set_permission_mode", mode="plan")
    shown.append(init_of(sdk.turn("What is 1+1?"))["model"])
    sdk.request("set_model", model="opusplan")
    shown.append(init_of(sdk.turn("What is 1+1?"))["model"])
    models = [body["model"] for body in lab.models[-1].bodies()]
    assert [m.split("-")[1] for m in models] == ["sonnet", "opus", "sonnet", "haiku", "opus"] and shown == models, (models, shown)
    assert sdk.over().code == 0


def test_interrupt(lab):
    lab.model("rule\n  text Count\n  text on\n  stall after event 6\n")
    sdk = Sdk(lab)
    sdk.say("Count from 1 to 100 slowly.")
    sdk.until("assistant")
    sdk.request("interrupt")
    assert sdk.until("result")[-1]["is_error"]
    assert sdk.over().code == 0


def test_query_api_error_raises_result_error_with_payload(lab):
    lab.model('rule\n  status 404 not_found_error "model: claude-nonexistent"\n')
    frames, done = query(lab, "Reply with: pong", "--model", "claude-nonexistent", "--max-turns", "1")
    result = frames[-1]
    assert result["is_error"] and result["subtype"] == "success" and "claude-nonexistent" in result["result"], result
    assert result["terminal_reason"] == "api_error" and result["api_error_status"] == 404
    assert done.code == 1, done


# ---- test_forward_subagent_text, test_subagent_session_reads -------------------------------------------------------------

GREETER = {"greeter": {"description": "Greets.", "prompt": "Reply with one short sentence.", "model": "haiku", "background": False}}
GREET = """
rule
  agent main
  turn 1
  call Agent {"subagent_type": "greeter", "prompt": "say hi", "description": "greet", "run_in_background": false}
rule
  agent main
  text DONE
rule
  text Hello, friend!
"""


def greet(lab, *args, **more):
    lab.model(GREET)
    frames, _ = query(lab, "greet", "--allowedTools", "Agent,Task", "--max-turns", "4", *args, agents=GREETER, **more)
    assert not frames[-1]["is_error"], frames[-1]
    return frames, {b["id"] for b in blocks(frames, "tool_use", child=False)}


def test_forward_subagent_text_delivers_attributed_text(lab):
    frames, ids = greet(lab, forwardSubagentText=True)
    texts = [f for f in frames if f["type"] == "assistant" and f["parent_tool_use_id"] and blocks([f], "text")]
    assert texts and all(f["parent_tool_use_id"] in ids for f in texts)


def test_subagent_text_not_forwarded_by_default(lab):
    frames, _ = greet(lab)
    assert not blocks(frames, "text", child=True)


def test_subagent_messages_carry_parent_tool_use_id(lab):
    lab.model(GREET)
    sdk = Sdk(lab, "--allowedTools", "Agent,Task", "--session-mirror", agents=GREETER)
    frames = sdk.turn("greet")
    sdk.over()
    ids = {b["id"] for b in blocks(frames, "tool_use", child=False)}
    folder = pathlib.Path(lab.transcript(frames[-1]["session_id"]).path).with_suffix("") / "subagents"
    (beside,) = (json.loads(p.read_text()) for p in folder.glob("*.meta.json"))
    told = [e for f in frames if f["type"] == "transcript_mirror" and "/subagents/" in f["filePath"] for e in f["entries"]]
    mirrored = [e for e in told if e["type"] == "agent_metadata"]
    assert any(e["type"] == "assistant" for e in told) and mirrored
    for meta in (beside, *mirrored):
        assert meta["toolUseId"] in ids and meta["agentType"] == "greeter" and not meta.get("parentAgentId"), meta
        assert "parentAgentId" not in meta, "it was spawned by the session itself"


# ---- test_hook_events, test_hooks -------------------------------------------------------------------------------------

BASH = ("Bash", {"command": "echo 'hello'"})


def hooked(lab, output, events):
    """Runs one Bash call below hooks that answer with output; returns what they were given, the frames, and the requests."""
    lab.model(calls(BASH), log=True)
    given = []

    def hook(value):
        given.append(value)
        return output
    hooks = {event: (matcher, hook) for event, matcher in events.items()}
    frames, done = query(lab, "Run: echo 'hello'", "--allowedTools", "Bash,Write", hooks=hooks)
    return given, frames, lab.models[-1].bodies(), done


def says(event, **fields):
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def test_pre_tool_use_hook_with_additional_context(lab):
    output = says("PreToolUse", permissionDecision="allow", permissionDecisionReason="ok", additionalContext="a test environment")
    given, _, bodies, _ = hooked(lab, output, {"PreToolUse": "Bash"})
    assert given[0]["tool_name"] == "Bash" and given[0]["tool_use_id"]
    assert "a test environment" in json.dumps(bodies[-1]["messages"])


def test_post_tool_use_hook_with_tool_use_id(lab):
    given, frames, bodies, _ = hooked(lab, says("PostToolUse", additionalContext="monitoring"), {"PostToolUse": "Bash"})
    assert given[0]["tool_use_id"] == blocks(frames, "tool_use")[0]["id"]
    assert "monitoring" in json.dumps(bodies[-1]["messages"])


def test_notification_hook(lab):
    given, frames, _, done = hooked(lab, says("Notification", additionalContext="heard"), {"Notification": None})
    assert all(v["hook_event_name"] == "Notification" and v["notification_type"] for v in given)
    assert frames[-1]["subtype"] == "success" and done.code == 0


def test_multiple_hooks_together(lab):
    given, _, _, _ = hooked(lab, {}, {"Notification": None, "PreToolUse": "Bash", "PostToolUse": "Bash"})
    assert [v["hook_event_name"] for v in given if v["hook_event_name"] != "Notification"] == ["PreToolUse", "PostToolUse"]


def test_hook_with_permission_decision_and_reason(lab):
    output = {"reason": "blocked", "systemMessage": "\u26a0 blocked",
              **says("PreToolUse", permissionDecision="deny", permissionDecisionReason="Security policy: Bash blocked")}
    given, frames, bodies, _ = hooked(lab, output, {"PreToolUse": "Bash"})
    assert [v["tool_name"] for v in given] == ["Bash"]
    assert "Security policy: Bash blocked" in json.dumps(bodies[-1]["messages"]) and frames[-1]["permission_denials"]


def test_hook_with_continue_and_stop_reason(lab):
    output = {"continue": False, "stopReason": "halted by a test", "reason": "r", "systemMessage": "stopped"}
    given, frames, bodies, _ = hooked(lab, output, {"PostToolUse": "Bash"})
    assert [v["tool_name"] for v in given] == ["Bash"] and len(bodies) == 1
    assert frames[-1]["terminal_reason"] == "hook_stopped", frames[-1]


def test_hook_with_additional_context(lab):
    output = {"systemMessage": "more", "reason": "r", "suppressOutput": False, **says("PostToolUse", additionalContext="with monitoring")}
    given, _, bodies, _ = hooked(lab, output, {"PostToolUse": "Bash"})
    assert len(given) == 1 and "with monitoring" in json.dumps(bodies[-1]["messages"])


# ---- test_include_partial_messages, test_message_origin, test_stderr_callback --------------------------------------------------

THINK = "chunk 10\nrule\n  thinking The numbers are 2 and 2: that is four.\n  text A joke.\n"


def partial(lab, text):
    lab.model(THINK, log=True)
    cwd = project(lab, {".claude/settings.json": '{"permissions": {"allow": ["Bash(touch *)"]}}'})
    env = {"MAX_THINKING_TOKENS": "8000"}
    return query(lab, text, "--include-partial-messages", "--model", "claude-sonnet-4-5", "--max-turns", "2", env=env, cwd=cwd)[0]


def test_include_partial_messages_stream_events(lab):
    frames = partial(lab, "Think of three jokes, then tell one")
    assert (frames[0]["type"], frames[0].get("subtype")) == ("system", "init"), frames[0]
    types = {f["event"]["type"] for f in frames if f["type"] == "stream_event"}
    assert {"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_stop"} <= types
    assert blocks(frames, "thinking") and blocks(frames, "text")
    assert (frames[-1]["type"], frames[-1]["subtype"]) == ("result", "success")
    assert lab.models[-1].bodies()[0]["thinking"] == {"type": "enabled", "budget_tokens": 8000}


def test_include_partial_messages_thinking_deltas(lab):
    frames = partial(lab, "Think step by step about what 2 + 2 equals")
    deltas = [f["event"]["delta"].get("thinking", "") for f in frames if f["type"] == "stream_event" and "delta" in f["event"]]
    assert "".join(deltas) == "The numbers are 2 and 2: that is four." and len([d for d in deltas if d]) > 1


def test_partial_messages_disabled_by_default(lab):
    lab.model(THINK)
    frames, _ = query(lab, "Say hello", "--model", "claude-sonnet-4-5")
    assert {f["type"] for f in frames} == {"system", "assistant", "result"}


def test_result_origin_round_trips_host_stamp(lab):
    lab.model(ECHO)
    sdk = Sdk(lab)
    assert sdk.turn("one", origin={"kind": "human"})[-1]["origin"] == {"kind": "human"}
    assert "origin" not in sdk.turn("two")[-1]
    assert sdk.over().code == 0


def test_stderr_callback_without_debug(lab):
    lab.model(ECHO)
    _, done = query(lab, "What is 1+1?", cwd=project(lab, {"a.txt": ""}))
    assert not done.err and done.code == 0, done


# ---- test_sdk_mcp_tools ---------------------------------------------------------------------------------------------

def serve(lab, server, model, *args):
    ran = []

    def tool(name, key):
        def run(arguments):
            ran.append(name)
            return f"{name}: {arguments[key]}"
        return run
    lab.model("allow unknown-tools\n" + model)
    query(lab, "go", *args, tools={server: {"echo": tool("echo", "text"), "greet": tool("greet", "name")}})
    return ran


def test_sdk_mcp_tool_execution(lab):
    assert serve(lab, "test", calls(("mcp__test__echo", {"text": "x"})), "--allowedTools", "mcp__test__echo") == ["echo"]


def test_sdk_mcp_permission_enforcement(lab):
    model = calls(("mcp__test__greet", {"name": "Alice"}), ("mcp__test__echo", {"text": "test"}))
    assert serve(lab, "test", model, "--allowedTools", "mcp__test__greet", "--disallowedTools", "mcp__test__echo") == ["greet"]


def test_sdk_mcp_multiple_tools(lab):
    model = calls(("mcp__multi__echo", {"text": "test"}), ("mcp__multi__greet", {"name": "Bob"}))
    assert serve(lab, "multi", model, "--allowedTools", "mcp__multi__echo,mcp__multi__greet") == ["echo", "greet"]


def test_sdk_mcp_without_permissions(lab):
    assert serve(lab, "noperm", calls(("mcp__noperm__echo", {"text": "x"}))) == []


# ---- test_structured_output -------------------------------------------------------------------------------------------

def structured(lab, properties, value, *before):
    lab.model(calls(*before, ("StructuredOutput", value)))
    schema = {"type": "object", "properties": properties, "required": sorted(value)}
    frames, done = query(lab, "count", "--permission-mode", "acceptEdits", "--json-schema", json.dumps(schema))
    assert frames[-1]["subtype"] == "success" and not frames[-1]["is_error"] and done.code == 0, frames[-1]
    assert frames[-1]["structured_output"] == value, frames[-1]


NUMBER, FLAG = {"type": "number"}, {"type": "boolean"}


def test_simple_structured_output(lab):
    structured(lab, {"file_count": NUMBER, "has_tests": FLAG}, {"file_count": 3, "has_tests": True}, ("Glob", {"pattern": "**/*.py"}))


def test_nested_structured_output(lab):
    analysis = {"type": "object", "properties": {"word_count": NUMBER, "character_count": NUMBER}, "required": ["word_count"]}
    words = {"type": "array", "items": {"type": "string"}}
    value = {"analysis": {"word_count": 2, "character_count": 11}, "words": ["Hello", "world"]}
    structured(lab, {"analysis": analysis, "words": words}, value)


def test_structured_output_with_enum(lab):
    framework = {"type": "string", "enum": ["pytest", "unittest", "nose", "unknown"]}
    value = {"has_tests": True, "test_framework": "pytest"}
    structured(lab, {"has_tests": FLAG, "test_framework": framework}, value, ("Grep", {"pattern": "import pytest"}),
               ("StructuredOutput", {"has_tests": True, "test_framework": "other"}))


def test_structured_output_with_tools(lab):
    structured(lab, {"file_count": NUMBER, "has_readme": FLAG}, {"file_count": 0, "has_readme": False}, ("Glob", {"pattern": "*"}))


# ---- test_tool_permissions ----------------------------------------------------------------------------------------------

def permitted(lab, tool, value, *args):
    asked = []

    def may_use(name, given):
        asked.append(name)
        return {"behavior": "allow", "updatedInput": given}
    lab.model(calls((tool, value)))
    frames, _ = query(lab, "go", *args, may_use=may_use)
    assert not frames[-1]["is_error"]
    return asked


def test_permission_callback_gets_called(lab):
    file = os.path.join(lab.work, "made")
    assert permitted(lab, "Bash", {"command": f"touch {file}"}) == ["Bash"] and os.path.exists(file)


def written(lab):
    file = os.path.join(lab.home, "outside.txt")
    asked = permitted(lab, "Write", {"file_path": file, "content": "hello"}, "--disallowedTools", "Bash", "--max-turns", "3")
    assert asked == ["Write"] and os.path.exists(file)


def test_query_async_iterable_prompt_with_only_can_use_tool(lab):
    written(lab)


def test_query_string_prompt_with_can_use_tool(lab):
    written(lab)


# ---- test_truncating_resume, test_session_store_resume_settings ------------------------------------------------------------

def chain(lab, session):
    """The conversation as the SDK reads it out of the file: the chain of its last line, without what no person said."""
    lines = lab.transcript(session).lines
    by_id = {line["uuid"]: line for line in lines if "uuid" in line}
    parents = {line.get("parentUuid") for line in lines}
    at = [l for l in lines if l["type"] in ("user", "assistant") and l["uuid"] not in parents][-1]
    found = []
    while at:
        found.insert(0, at)
        at = by_id.get(at["parentUuid"])
    return [l for l in found if l["type"] in ("user", "assistant") and not l.get("isMeta")]


def prompts(lab, session):
    return [l["message"]["content"] for l in chain(lab, session) if l["type"] == "user" and isinstance(l["message"]["content"], str)]


def two_turns(lab):
    lab.model(ECHO, log=True)
    sdk = Sdk(lab, "--max-turns", "1")
    kept = [f for f in sdk.turn("one") if f["type"] == "assistant"][-1]["uuid"]
    session = sdk.turn("two")[-1]["session_id"]
    sdk.over()
    lines = chain(lab, session)
    at = [l["uuid"] for l in lines].index(kept)
    assert lines[at + 1]["message"]["content"] == "two", lines[at + 1]
    return session, kept, lines[at + 1]["uuid"]


def test_truncating_resume_with_matching_drops_turn_forks_cleanly(lab):
    session, kept, dropped = two_turns(lab)
    flags = [f"--resume={session}", "--fork-session", f"--resume-session-at={kept}", f"--resume-drops-turn={dropped}"]
    frames, done = query(lab, "three", *flags)
    fork = frames[-1]["session_id"]
    assert done.code == 0 and fork != session
    assert prompts(lab, fork) == ["one", "three"] and prompts(lab, session) == ["one", "two"]


def test_truncating_resume_with_wrong_drops_turn_is_refused(lab):
    session, kept, _ = two_turns(lab)
    before = len(lab.transcripts())
    sdk = Sdk(lab, f"--resume={session}", "--fork-session", f"--resume-session-at={kept}", f"--resume-drops-turn={uuid.uuid4()}")
    frames = sdk.until("result")
    assert frames[-1]["is_error"] and "Resume rejected by --resume-drops-turn:" in frames[-1]["errors"][0]
    assert not [f for f in frames if f["type"] == "control_response"]
    assert sdk.run.wait().code == 1
    assert len(lab.transcripts()) == before and prompts(lab, session) == ["one", "two"]


def test_store_resume_applies_user_settings(lab):
    """The SDK puts the lines of its store into a new configuration directory, with the settings of the usual one."""
    lab.model(ECHO)
    sdk = Sdk(lab, "--session-mirror")
    first = sdk.turn("one")
    sdk.over()
    assert init_of(first)["output_style"] == "default"
    lines = [e for f in first if f["type"] == "transcript_mirror" for e in f["entries"]]
    session = first[-1]["session_id"]
    config = pathlib.Path(lab.folder) / "other-config"
    project_key = pathlib.Path(lab.transcript(session).path).parent.name
    (config / "projects" / project_key).mkdir(parents=True)
    (config / "projects" / project_key / f"{session}.jsonl").write_text("".join(json.dumps(l) + "\n" for l in lines))
    (config / "settings.json").write_text('{"outputStyle": "Explanatory"}')
    frames, _ = query(lab, "two", f"--resume={session}", env={"CLAUDE_CONFIG_DIR": str(config)})
    assert frames[-1]["session_id"] == session and init_of(frames)["output_style"] == "Explanatory"


# ---- what the SDK does besides -------------------------------------------------------------------------------------------

def the_sdk_finds_a_version_that_it_supports(lab):
    done = lab.cadre("-v")
    assert done.out.startswith("2.1.325 (cadre "), done


def the_transcript_says_who_started_the_session(lab):
    lab.model(ECHO)
    frames, _ = query(lab, "hi")
    assert {l["entrypoint"] for l in lab.transcript(frames[-1]["session_id"]).lines if "entrypoint" in l} == {VERSION}


def an_empty_prompt_has_a_result(lab):
    lab.model(ECHO, log=True)
    frames, done = query(lab, "")
    assert frames[-1]["subtype"] == "success" and not frames[-1]["is_error"] and done.code == 0
    assert not lab.models[-1].bodies()


def commands_are_no_skills(lab):
    lab.model(ECHO)
    cwd = project(lab, {".claude/commands/cmd.md": "A command.\n", ".claude/skills/sk/SKILL.md": "---\ndescription: d\n---\nA skill.\n"})
    init = init_of(query(lab, "hi", cwd=cwd)[0])
    assert "sk" in init["skills"] and "cmd" not in init["skills"] and {"cmd", "sk"} <= set(init["slash_commands"])


if __name__ == "__main__":
    main(*[function for name, function in list(globals().items()) if name.startswith(("test_", "a_", "the_", "an_", "commands_"))])
