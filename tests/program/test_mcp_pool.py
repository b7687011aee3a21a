#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MCP servers of many children: one connection for each configuration, however many use it, and nothing left behind."""
import json
import pathlib
import re

from lab import main
from mcp_server import Diary, entry

CHILD = """
rule child calls
  prompt contains "You are worker"
  turn 1
  capture number prompt "You are worker " word
  call mcp__%s__square {"number": "{{number}}"}
rule child reports
  prompt contains "You are worker"
  capture number prompt "You are worker " word
  text Report {{number}}: {{last_result}}.
"""
REPORT = re.compile(r"Report (\d+): ([^.]*)\.")
MAIN = """
rule delegate
  agent main
  turn 1
%s
rule answer
  agent main
  text All reports are here.
"""


def delegate(count, agent):
    """One answer with so many calls of Agent; agent: the type of the i-th worker."""
    calls = [{"description": "Work", "prompt": "You are worker %d" % i, "subagent_type": agent(i)} for i in range(count)]
    return MAIN % "\n".join("  call Agent " + json.dumps(call) for call in calls)


def worker(*servers):
    return {"description": "works", "prompt": "You work.", "mcpServers": list(servers)}


def run(lab, server, agents, scenario, *args):
    """The results of the calls, and the diary of the servers."""
    lab.model(CHILD % server + scenario)
    done = lab.stream("--agents", json.dumps(agents), "--allowedTools=mcp__" + server, *args, "--", "Have it done.").wait()
    assert done.code == 0, done
    frames = done.frames()
    assert frames[-1]["result"] == "All reports are here.", frames[-1]
    results = [block for frame in frames if frame["type"] == "user" and not frame.get("parent_tool_use_id")
               for block in frame["message"]["content"] if block["type"] == "tool_result"]
    lab.wait_for_nobody()
    return [json.dumps(block["content"]) for block in results], Diary(diary_of(lab))


def diary_of(lab):
    return pathlib.Path(lab.folder, "diary")


def check_reports(reports, count, name):
    found = sorted((int(number), said) for report in reports for number, said in REPORT.findall(report))
    assert found == [(i, "%s says %d" % (name(i), i * i)) for i in range(count)], (found[:5], reports[0])


def two_hundred_children_share_the_server_of_the_session(lab):
    config = {"mcpServers": {"shared": entry(diary_of(lab), "shared")}}
    reports, diary = run(lab, "shared", {"worker": worker("shared")}, delegate(200, lambda i: "worker"),
                         "--mcp-config", json.dumps(config))
    check_reports(reports, 200, lambda i: "shared")
    assert diary.count("start") == 1 and diary.count("end") == 1, diary.words[:5]
    assert list(diary.calls_by_server().values()) == [200], diary.calls_by_server()


def two_hundred_children_with_the_same_inline_server_share_it(lab):
    agents = {"worker": worker({"own": entry(diary_of(lab), "own")})}
    reports, diary = run(lab, "own", agents, delegate(200, lambda i: "worker"))
    check_reports(reports, 200, lambda i: "own")
    assert diary.count("start") == 1 and diary.count("end") == 1, diary.words[:5]


def fifty_children_with_an_inline_server_each_have_fifty_and_leave_none(lab):
    agents = {"worker%d" % i: worker({"own": entry(diary_of(lab), "own%d" % i)}) for i in range(50)}
    reports, diary = run(lab, "own", agents, delegate(50, lambda i: "worker%d" % i))
    check_reports(reports, 50, lambda i: "own%d" % i)
    assert diary.count("start") == diary.count("end") == 50, (diary.count("start"), diary.count("end"))
    assert diary.most_alive() <= 50, diary.most_alive()
    assert sorted(diary.calls_by_server().values()) == [1] * 50, diary.calls_by_server()


def children_without_a_server_start_none(lab):
    diary_of(lab).touch()
    agents = {"worker": worker({"own": entry(diary_of(lab), "own")}), "plain": {"description": "p", "prompt": "p"}}
    lab.model("rule child\n  prompt contains \"You are worker\"\n  text Nothing.\n" + delegate(20, lambda i: "plain"))
    done = lab.cadre("-p", "--agents", json.dumps(agents), "--", "Have it done.")
    assert done.code == 0 and done.out == "All reports are here.\n", done
    assert Diary(diary_of(lab)).words == [], Diary(diary_of(lab)).words


def servers_of_children_die_with_a_run_that_is_killed(lab):
    lab.model("rule child\n  prompt contains \"You are worker\"\n  latency 600s\n  text Never.\n"
              + delegate(5, lambda i: "worker%d" % i))
    agents = {"worker%d" % i: worker({"own": entry(diary_of(lab), "own%d" % i)}) for i in range(5)}
    fifo = lab.fifo("started")
    for agent in agents.values():
        own = agent["mcpServers"][0]["own"]
        own.update(command="sh", args=["-c", "echo up > \"$1\"; exec python3 \"$0\"", *own["args"], fifo.path])
    run = lab.stream("--agents", json.dumps(agents), "--", "Have it done.")
    up = 0
    while up < 5:
        up += fifo.line().count("up")
    run.kill()
    run.wait()
    lab.wait_for_nobody()


if __name__ == "__main__":
    main(two_hundred_children_share_the_server_of_the_session, two_hundred_children_with_the_same_inline_server_share_it,
         fifty_children_with_an_inline_server_each_have_fifty_and_leave_none, children_without_a_server_start_none,
         servers_of_children_die_with_a_run_that_is_killed)
