#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MCP servers that hang, flood, speak nonsense, die or are late: a clear error for the call, and nothing else is disturbed.

Each test has a good server beside the bad one; it must answer in the same turn."""
import json
import pathlib

from lab import main
from mcp_server import Diary, entry

BAD = r'''
import json, os, sys, time
KIND = sys.argv[1]

def say(value):
    print(json.dumps({"jsonrpc": "2.0", **value}), flush=True)

if KIND == "hangs":
    sys.stdin.read()
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m or "method" not in m:
        continue
    if m["method"] == "initialize":
        say({"id": m["id"], "result": {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}},
             "serverInfo": {"name": "bad", "version": "1"}, "instructions": "talk " * 400000 if KIND == "talks" else ""}})
    elif m["method"] == "tools/list":
        say({"id": m["id"], "result": {"tools": [{"name": "go", "description": "g", "inputSchema": {"type": "object"}}]}})
    elif m["method"] != "tools/call":
        say({"id": m["id"], "result": {}})
    elif KIND == "dies":
        sys.stderr.write("out of cheese\n")
        sys.stderr.flush()
        os._exit(7)
    elif KIND == "nonsense":
        print("{this is no JSON", flush=True)
        print(json.dumps({"jsonrpc": "2.0", "id": 424242, "result": {}}), flush=True)
        print("[1, 2", flush=True)
        say({"id": m["id"], "result": {"content": "no list"}})
    elif KIND == "garbage":
        for _ in range(100):
            sys.stdout.write("\x00\x01" * 50000 + "\n")
        sys.stdout.flush()
    elif KIND == "floods":
        for i in range(50000):
            say({"method": "notifications/message", "params": {"level": "error", "data": "flood %d" % i}})
        say({"id": m["id"], "result": {"content": [{"type": "text", "text": "x" * 3000000}]}})
    elif KIND == "late":
        sys.stdin.readline()  # that we do not want the answer any more
        say({"id": m["id"], "result": {"content": [{"type": "text", "text": "too late"}]}})
    elif KIND == "huge":
        sys.stdout.write("x" * (65 << 20) + "\n")
        sys.stdout.flush()
    elif KIND == "refuses":
        say({"id": m["id"], "error": {"code": -32000, "message": "not today"}})
'''
SCENARIO = """
rule call both
  turn 1
%s
  call mcp__good__square {"number": "12"}
rule again
  turn 2
  call mcp__good__square {"number": "13"}
rule answer
  text Done.
"""


def diary_of(lab):
    return pathlib.Path(lab.folder, "diary")


def play(lab, kind, calls_bad=True, more=None, env=None):
    """The results of the calls by their tool, and the frames."""
    server = pathlib.Path(lab.work, "bad.py")
    server.write_text(BAD)
    bad = {"command": "python3", "args": [str(server), kind], **(more or {})}
    lab.model(SCENARIO % ("  call mcp__bad__go {}" if calls_bad else ""))
    config = {"mcpServers": {"bad": bad, "good": entry(diary_of(lab), "good")}}
    done = lab.stream("--mcp-config", json.dumps(config), "--allowedTools=mcp__good,mcp__bad", "--", "Go", env=env).wait()
    frames = done.frames()
    assert done.code == 0 and frames[-1]["result"] == "Done.", done
    blocks = [block for frame in frames if frame["type"] in ("user", "assistant")
              for block in frame["message"]["content"] if isinstance(block, dict)]
    names = {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
    results = [(names[b["tool_use_id"]], b) for b in blocks if b["type"] == "tool_result"]
    good = [json.dumps(b["content"]) for name, b in results if name == "mcp__good__square"]
    assert len(good) == 2 and "good says 144" in good[0] and "good says 169" in good[1], good
    assert Diary(diary_of(lab)).count("start") == 1, "the good server was disturbed"
    return [b for name, b in results if name == "mcp__bad__go"], frames


def names_of_two_servers_that_meet_are_one_tool(lab):
    """A tool b__c of the server a, and c of a__b: the API refuses every request that has a name twice."""
    source = pathlib.Path(lab.work, "named.py")
    source.write_text(BAD.replace('"name": "go"', '"name": sys.argv[2]'))
    servers = {name: {"command": "python3", "args": [str(source), "refuses", tool]} for name, tool in (("a", "b__c"), ("a__b", "c"))}
    model = lab.model("rule\n  turn 1\n  call mcp__a__b__c {}\nrule\n  text {{last_result}}", log=True)
    done = lab.cadre("-p", "--mcp-config", json.dumps({"mcpServers": servers}), "--allowedTools=mcp__a,mcp__a__b", "--", "Go")
    names = [tool["name"] for tool in model.bodies()[0]["tools"]]
    assert names.count("mcp__a__b__c") == 1 and done.code == 0 and "of the server a failed" in done.out, (names, done)


def what_a_server_tells_about_itself_costs_no_more_than_16_kb_of_each_request(lab):
    source = pathlib.Path(lab.work, "bad.py")
    source.write_text(BAD)
    model = lab.model("rule\n  text ok", log=True)
    assert lab.cadre("-p", "--mcp-config", json.dumps({"mcpServers": {"bad": {"command": "python3", "args": [str(source), "talks"]}}}), "--", "Go").code == 0
    sent = json.dumps(model.bodies()[0])
    assert 3000 < sent.count("talk ") < 4000 and "[...]" in sent, (sent.count("talk "), len(sent))


def error_of(results):
    assert len(results) == 1 and results[0].get("is_error"), results
    return json.dumps(results[0]["content"])


def a_server_that_hangs_at_its_start_is_given_up_and_others_work(lab):
    results, frames = play(lab, "hangs", calls_bad=False, env={"MCP_TIMEOUT": "6000"})  # the good one is given no more
    states = {server["name"]: server["status"] for server in frames[0]["mcp_servers"]}
    assert states["good"] == "connected" and states["bad"] != "connected", states
    assert results == [], results


def a_server_that_dies_in_a_call_is_said_so_with_its_last_words(lab):
    text = error_of(play(lab, "dies")[0])
    assert "the server bad died during the call: the server exited with status 7: out of cheese" in text, text


def lines_that_are_no_messages_and_an_answer_of_the_wrong_form_do_no_harm(lab):
    results, _ = play(lab, "nonsense")
    assert len(results) == 1 and "no list" in json.dumps(results[0]["content"]), results


def a_server_that_says_only_garbage_is_ended_with_a_clear_error(lab):
    text = error_of(play(lab, "garbage")[0])
    assert "the server floods its output with lines that are not messages" in text, text


def a_flood_of_notices_and_a_huge_answer_are_survived(lab):
    results, frames = play(lab, "floods")
    assert len(results) == 1 and not results[0].get("is_error"), str(results)[:500]
    assert len(json.dumps(results[0]["content"])) < 200000, "the conversation was flooded"
    assert len(frames) < 2000, "the flood of notices was passed on: %d frames" % len(frames)


def an_answer_after_the_time_limit_is_too_late(lab):
    text = error_of(play(lab, "late", more={"timeout": 1000})[0])
    assert "the server bad timed out after 1 s" in text, text


def a_message_above_the_limit_ends_the_connection_with_a_clear_error(lab):
    text = error_of(play(lab, "huge")[0])
    assert "the server sent a message above 64 MB" in text, text


def an_error_of_the_server_is_told_with_its_words(lab):
    text = error_of(play(lab, "refuses")[0])
    assert "not today" in text, text


if __name__ == "__main__":
    main(names_of_two_servers_that_meet_are_one_tool, what_a_server_tells_about_itself_costs_no_more_than_16_kb_of_each_request,
         a_server_that_hangs_at_its_start_is_given_up_and_others_work,
         a_server_that_dies_in_a_call_is_said_so_with_its_last_words,
         lines_that_are_no_messages_and_an_answer_of_the_wrong_form_do_no_harm,
         a_server_that_says_only_garbage_is_ended_with_a_clear_error, a_flood_of_notices_and_a_huge_answer_are_survived,
         an_answer_after_the_time_limit_is_too_late, a_message_above_the_limit_ends_the_connection_with_a_clear_error,
         an_error_of_the_server_is_told_with_its_words)
