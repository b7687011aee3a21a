#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cadre mcp serve` and `cadre mcp test` from outside, without anybody else's program: messages, rules, ends, exit codes."""
import json
import os
import pathlib
import signal
import subprocess

from lab import main
from mcp_server import entry

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
SCENARIO = 'rule wait\n  turn 1\n  prompt contains "Wait"\n  call Bash {"command": "echo up > up; exec sleep 600"}\n' \
           'rule report\n  text I am done.\n'


class Client:
    """A client that says what it likes."""

    def __init__(self, lab, *flags):
        self.run = lab.start("mcp", "serve", *flags, stdin=subprocess.PIPE)
        self.number = 0
        assert self.ask("initialize", HELLO)["result"]["protocolVersion"] == "2025-06-18"
        self.tell("notifications/initialized")

    def write(self, message):
        self.run.process.stdin.write((json.dumps(message) + "\n").encode())
        self.run.process.stdin.flush()

    def tell(self, method, params=None):
        self.write({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def send(self, method, params):
        self.number += 1
        self.write({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def answer(self):
        return json.loads(self.run.line())

    def ask(self, method, params):
        number = self.send(method, params)
        answer = self.answer()
        assert answer["id"] == number, answer
        return answer

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        return result["content"][0]["text"], result["isError"]

    def leave(self):
        self.run.process.stdin.close()
        return self.run.wait()


def serving(lab, *flags):
    lab.model(SCENARIO)
    return Client(lab, *flags)


def tools_follow_the_rules_and_nobody_is_asked(lab):
    client = serving(lab, "--allowed-tools", "Bash(echo *)")
    text, failed = client.call("Bash", command="echo hello")
    assert text == "hello" and not failed, text
    text, failed = client.call("Write", file_path=os.path.join(lab.work, "x"), content="x")
    assert failed and not os.path.exists(os.path.join(lab.work, "x")), text
    done = client.leave()
    assert done.code == 0 and done.err == "", done


def a_hook_and_a_deny_rule_hold_for_a_served_call(lab):
    hook = {"type": "command", "command": "grep -q secret && { echo not this one >&2; exit 2; }; exit 0"}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Read", "hooks": [hook]}]}, "permissions": {"deny": ["Read(./log.txt)"]}}
    for name in ("secret.txt", "log.txt", "notes.txt"):
        with open(os.path.join(lab.work, name), "w") as f:
            f.write("42\n")
    client = serving(lab, "--settings", json.dumps(settings))
    text, failed = client.call("Read", file_path=os.path.join(lab.work, "secret.txt"))
    assert failed and text == "A PreToolUse hook refused this call: not this one", text
    text, failed = client.call("Read", file_path=os.path.join(lab.work, "log.txt"))
    assert failed and "denied by the rule" in text, text
    text, failed = client.call("Read", file_path=os.path.join(lab.work, "notes.txt"))
    assert not failed and "42" in text, text
    client.leave()


def an_agent_reports_and_has_a_transcript(lab):
    client = serving(lab)
    text, failed = client.call("agent", description="Some work", prompt="Work")
    assert text.startswith("I am done.") and not failed, text
    client.leave()
    found = list(pathlib.Path(lab.home, ".claude").glob("projects/*/*/subagents/agent-*.jsonl"))
    assert len(found) == 1, found


def what_was_asked_for_before_the_end_of_the_input_is_answered(lab):
    client = serving(lab, "--allowed-tools", "Bash")
    fifo = lab.fifo("go")
    number = client.send("tools/call", {"name": "Bash", "arguments": {"command": "head -n 1 go"}})
    client.run.process.stdin.close()
    os.write(fifo.keep, b"went on\n")
    answer = client.answer()
    assert answer["id"] == number and answer["result"]["content"][0]["text"] == "went on", answer
    assert client.run.wait().code == 0


def a_signal_ends_calls_agents_and_processes(lab):
    client = serving(lab, "--allowed-tools", "Bash")
    up = lab.fifo("up")
    client.send("tools/call", {"name": "agent", "arguments": {"description": "Wait", "prompt": "Wait"}})
    assert up.line() == "up"
    client.run.kill(signal.SIGTERM)
    client.run.wait()
    lab.wait_for_nobody()


def a_call_that_is_withdrawn_is_not_answered(lab):
    client = serving(lab, "--allowed-tools", "Bash")
    up = lab.fifo("up")
    number = client.send("tools/call", {"name": "Bash", "arguments": {"command": "echo up > up; exec sleep 600"}})
    assert up.line() == "up"
    client.tell("notifications/cancelled", {"requestId": number})
    assert client.ask("ping", {})["result"] == {}
    text, _ = client.call("Bash", command="echo next")  # it waits for the end of the one before it
    assert text == "next", text
    assert client.leave().code == 0


def a_server_that_is_configured_here_is_not_started(lab):
    pathlib.Path(lab.work, ".mcp.json").write_text(json.dumps(
        {"mcpServers": {"again": {"command": "sh", "args": ["-c", "touch started; cat"]}}}))
    client = serving(lab)
    client.call("agent", description="Some work", prompt="Work")
    client.leave()
    assert not os.path.exists(os.path.join(lab.work, "started"))


def tools_need_no_key_and_an_agent_says_that_it_does(lab):
    del lab.env["ANTHROPIC_API_KEY"]
    client = Client(lab, "--allowed-tools", "Bash")
    text, failed = client.call("Bash", command="echo hello")
    assert text == "hello" and not failed, text
    text, failed = client.call("agent", description="Some work", prompt="Work")
    assert failed and "ANTHROPIC_API_KEY" in text, text
    done = client.leave()
    assert done.code == 0 and done.err == "", done


def a_configured_server_is_tested_by_its_name(lab):
    config = {"mcpServers": {"squares": entry(os.path.join(lab.folder, "diary"), "squares")}}
    pathlib.Path(lab.work, ".mcp.json").write_text(json.dumps(config))
    done = lab.cadre("mcp", "test", "squares", "--json")
    assert done.code == 0 and done.err == "", done
    told = json.loads(done.out)
    assert told["state"] == "connected" and told["serverInfo"] == {"name": "squares", "version": "1"}, told
    assert [tool["name"] for tool in told["tools"]] == ["square"], told
    text = lab.cadre("mcp", "test", "squares").out
    assert "connected" in text and "square" in text, text


def a_server_that_cannot_be_had_is_told_with_its_last_words(lab):
    done = lab.cadre("mcp", "test", "--", "sh", "-c", "echo no coffee >&2; exit 3")
    assert done.code == 1 and "failed" in done.out and "status 3" in done.out and "no coffee" in done.out, done
    assert lab.cadre("mcp", "test", "nobody").code == 1
    assert lab.cadre("mcp", "test").code == 2


if __name__ == "__main__":
    main(tools_follow_the_rules_and_nobody_is_asked, a_hook_and_a_deny_rule_hold_for_a_served_call, an_agent_reports_and_has_a_transcript,
         what_was_asked_for_before_the_end_of_the_input_is_answered, a_signal_ends_calls_agents_and_processes,
         a_call_that_is_withdrawn_is_not_answered, a_server_that_is_configured_here_is_not_started,
         tools_need_no_key_and_an_agent_says_that_it_does,
         a_configured_server_is_tested_by_its_name, a_server_that_cannot_be_had_is_told_with_its_last_words)
