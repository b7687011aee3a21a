#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What others see of a team that runs: `cadre team`, `cadre tasks`, frames for hosts, the trace."""
import json
import pathlib
import re
import socket
import uuid

from lab import below, main, until
from test_wire import Client
from test_team_files import MAKES, TEAMS, hold, release

MODEL = MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call TaskCreate {"subject": "first", "description": "do it"}
  call TaskCreate {"subject": "second", "description": "do it later"}
  call Agent {"description": "A", "prompt": "Begin", "name": "ann"}
  call Agent {"description": "B", "prompt": "Wait", "name": "ben"}
rule blocks
  agent main
  prompt contains "Make a team"
  turn 3
  call TaskUpdate {"taskId": "2", "addBlockedBy": ["1"]}
rule holds
  agent main
  prompt contains "Make a team"
  turn 4
  call Bash {"command": "%s", "description": "hold"}
rule lists
  agent main
  prompt contains "Make a team"
  turn 5
  call ListAgents {}
rule lead
  agent main
  text Done.
rule ann begins
  agent ann@alpha
  prompt contains "Begin"
  turn 1
  call TaskUpdate {"taskId": "1", "status": "in_progress"}
rule ann works
  agent ann@alpha
  prompt contains "Begin"
  turn 2
  call Bash {"command": "%s", "description": "work"}
rule ben hears
  agent ben@alpha
  last contains "words of a person"
  text I heard the person.
rule member
  text I am here.
'''


def start(lab, *more):
    lab.model(MODEL % (hold(lab, "go"), hold(lab, "go")))
    session = str(uuid.uuid4())
    run = lab.stream("--allowedTools=Bash", "--session-id", session, *more, "Make a team", env=TEAMS)
    until(lambda: (members(lab)["ben"]["state"], members(lab)["ann"]["lastTool"], tasks(lab)[1]["blockedBy"]) == ("idle", "Bash", "#1"),
          "the team does not come to rest")
    return run, session


def members(lab):
    done = lab.cadre("team", "show", "alpha", "--json")
    return {m["name"]: m for m in json.loads(done.out)["roster"]} if done.code == 0 else {}


def tasks(lab):
    return json.loads(lab.cadre("team", "tasks", "alpha", "--json").out)["taskList"]


def the_command_shows_members_and_tasks_tells_and_stops(lab):
    run, _ = start(lab)
    ann = members(lab)["ann"]
    assert (ann["state"], ann["team"], ann["ownedTasks"].split()[0]) == ("running", "alpha", "#1"), ann
    listed = json.loads(lab.cadre("team", "--json").out)["teams"]
    assert [(t["name"], t["running"], t["members"], t["tasks"], t["openTasks"]) for t in listed] == [("alpha", True, 2, 2, 2)], listed
    shown = tasks(lab)
    assert [(t["id"], t["status"], t["owner"], t["blockedBy"]) for t in shown] == \
        [(1, "in_progress", "ann", ""), (2, "pending", "", "#1")], shown
    shown = lab.cadre("tasks").out
    assert re.search(r"^A \[ann\] .* running, owns #1  ", shown, re.M) and re.search(r"^B \[ben\] .* idle for [\d.]+ m?s  ", shown, re.M), shown
    text = lab.cadre("team", "show", "alpha").out
    assert re.search(r"ann +running +\d+ +#1 ", text), text
    assert "Team alpha, led by session" in text and "#2" in text, text
    told = lab.cadre("tell", "ben@alpha", "words of a person")
    assert told.code == 0 and told.out.startswith("ben has your message"), told
    until(lambda: "I heard the person." in everything(lab), "ben does not hear")
    stopped = lab.cadre("team", "stop", "ann")
    assert stopped.code == 0 and "ann has ended: killed" in stopped.out, stopped
    until(lambda: [t["owner"] for t in tasks(lab)] == ["", ""], "the task is not released")
    for wrong in (("team", "message", "nobody", "x"), ("team", "show", "nothing"), ("team", "stop", "nobody")):
        done = lab.cadre(*wrong)
        assert done.code == 1 and "cadre team" in done.err, done
    release(lab, "go")
    done = run.wait()
    assert done.code == 0, done
    results = [json.dumps(f) for f in done.frames() if f["type"] == "user"]
    (listing,) = [r for r in results if "leads team alpha" in r]
    assert "Teammates (1):" in listing and "ben [" in listing and "last active" in listing, listing
    assert "No teams." in lab.cadre("team").out


def everything(lab):
    return "".join(path.read_text() for path in below(pathlib.Path(lab.home, ".claude"), "*.jsonl"))


def frames_and_the_trace_show_the_life_of_members(lab):
    trace = pathlib.Path(lab.folder, "trace.json")
    run, _ = start(lab, "--trace", str(trace))
    release(lab, "go")
    done = run.wait()
    assert done.code == 0, done
    frames = [f for f in done.frames() if f["type"] == "system"]
    started = {f["task_id"]: f for f in frames if f["subtype"] == "task_started"}
    assert {f["task_type"] for f in started.values()} == {"in_process_teammate"}, started
    assert {f["team_name"] for f in started.values()} == {"alpha"}, started
    states = {}
    for f in frames:
        if f["subtype"] == "task_updated":
            states.setdefault(started[f["task_id"]]["name"], []).append(f["patch"]["status"])
    assert states == {"ann": ["idle", "completed"], "ben": ["idle", "completed"]}, states
    spoken = [f for f in done.frames() if f.get("parent_tool_use_id") and f["type"] == "assistant"]
    assert {f["teammate_name"] for f in spoken} == {"ann"} and all(f["agent_id"] in started for f in spoken), spoken
    results = [f for f in done.frames() if f["type"] == "result"]
    woken = [f["origin"] for f in results if f.get("origin", {}).get("kind") == "teammate"]
    assert woken and all(origin["ids"] for origin in woken), [f.get("origin") for f in results]
    changed = [f["tasks"] for f in frames if f["subtype"] == "background_tasks_changed"]
    assert any(t["task_type"] == "in_process_teammate" for tasks in changed for t in tasks), changed
    events = json.loads(trace.read_text())
    events = events if isinstance(events, list) else events["traceEvents"]
    names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert any(name.startswith("ann, general-purpose") for name in names), names
    assert any(e["name"] == "idle" and e["ph"] == "B" for e in events), sorted({e["name"] for e in events})
    open_slices = {}
    for e in events:
        key = (e.get("pid"), e.get("tid"))
        open_slices[key] = open_slices.get(key, 0) + {"B": 1, "E": -1}.get(e["ph"], 0)
        assert open_slices[key] >= 0, e
    assert not any(open_slices.values()), open_slices


HOSTED = MAKES + """
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Plan it", "name": "ann", "mode": "plan"}
  call Agent {"description": "B", "prompt": "Wait", "name": "ben"}
  call Agent {"description": "C", "prompt": "Fail", "name": "cid"}
  call Agent {"description": "D", "prompt": "Work", "name": "dan"}
rule tells
  agent main
  last contains "Wake ben"
  call SendMessage {"to": "ben", "message": "go"}
rule lead
  agent main
  text Done.
rule ann plans
  agent ann@alpha
  prompt contains "Plan it"
  turn 1
  call ExitPlanMode {"plan": "# A plan"}
rule cid fails
  agent cid@alpha
  status 400 invalid_request_error "no"
rule dan works
  agent dan@alpha
  call Bash {"command": "until [ -e never ]; do sleep 0.1; done", "description": "work"}
rule member
  text I am here.
"""


def a_host_sees_every_state_of_members_and_names_them_in_its_requests(lab):
    lab.model(HOSTED)
    client = Client(lab, "--allowedTools=Bash", "--settings", '{"teams": {"parkAfterMs": 1}}', env=TEAMS)
    seen, names = {}, {}

    def read_until(*wanted):
        """Up to the moment when each member had these states."""
        while not all(seen.get(name) == states for name, states in wanted):
            frame = client.run.frame("system")
            if frame["subtype"] == "task_started":
                names[frame["task_id"]] = frame["name"]
            if frame["subtype"] == "task_updated":
                seen.setdefault(names[frame["task_id"]], []).append(frame["patch"]["status"])
    client.say("Make a team")
    read_until(("ann", ["awaiting"]), ("ben", ["idle"]), ("cid", ["failed"]))
    client.say("Wake ben")
    read_until(("ben", ["idle", "running", "idle"]))
    client.request("out", "get_task_output", task_id="ben")
    assert "I am here." in client.reply("out")["response"]["output"]
    client.request("one", "stop_task", task_id="dan")  # at work
    assert client.reply("one")["subtype"] == "success"
    client.request("two", "stop_task", task_id="BEN@alpha")  # parked
    assert client.reply("two")["subtype"] == "success"
    client.request("three", "stop_task", task_id="ben")
    assert "is not running" in client.reply("three")["error"]
    done = client.over()
    assert done.code == 0, done
    frames = [f for f in done.frames() if f["type"] == "system"]
    listed = [{names[t["task_id"]]: t["status"] for t in f["tasks"]} for f in frames if f["subtype"] == "background_tasks_changed" and f["tasks"]]
    assert (listed[-1]["ann"], listed[-1]["cid"]) == ("awaiting", "failed"), listed[-1]  # parked, which is not seen
    last = {names[f["task_id"]]: f["patch"]["status"] for f in frames if f["subtype"] == "task_updated"}
    assert (last["dan"], last["ben"]) == ("stopped", "stopped"), last
    gone = {names[f["task_id"]]: f["status"] for f in frames if f["subtype"] == "task_notification"}
    assert (gone.get("dan"), gone.get("ben")) == ("stopped", "stopped"), gone


def check_parked(lab, count, settings, alive):
    """So many members of a team are in memory when all are idle, and all answer."""
    lab.model(MAKES + """
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  repeat %d call Agent {"description": "M", "prompt": "Wait", "name": "m{{i}}"}
rule waits
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "%s", "description": "wait"}
rule all
  agent main
  prompt contains "Make a team"
  turn 4
  call SendMessage {"to": "*", "message": "Answer me"}
rule lead
  agent main
  text Done.
rule answers
  last contains "Answer me"
  text Here I am.
rule member
  text I wait.
""" % (count, hold(lab, "go")))
    session = str(uuid.uuid4())
    run = lab.stream("--allowedTools=Bash", "--settings", settings, "--session-id", session, "Make a team", env=TEAMS)
    path = pathlib.Path(lab.runtime, "cadre", session + ".sock")
    until(path.exists, "there is no control socket")

    def asked():
        with socket.socket(socket.AF_UNIX) as s:  # between bind and listen it refuses
            if s.connect_ex(str(path)):
                return None
            s.sendall(b'{"request":"tasks"}\n')
            with s.makefile() as lines:
                answer = json.loads(lines.readline())["session"]
        return answer["alive"], sum(task["state"] == "idle" for task in answer["tasks"])
    until(lambda: asked() == (alive, count), asked)
    release(lab, "go")
    done = run.wait()
    assert done.code == 0, done
    assert everything(lab).count('"text":"Here I am."') == count


def of_many_idle_members_sixty_four_stay_in_memory_and_all_are_woken(lab):
    check_parked(lab, 70, "{}", 64)


def idle_members_leave_memory_after_the_time_of_the_settings(lab):
    check_parked(lab, 3, '{"teams": {"parkAfterMs": 1}}', 0)


if __name__ == "__main__":
    main(of_many_idle_members_sixty_four_stay_in_memory_and_all_are_woken, idle_members_leave_memory_after_the_time_of_the_settings,
         the_command_shows_members_and_tasks_tells_and_stops,
         frames_and_the_trace_show_the_life_of_members,
         a_host_sees_every_state_of_members_and_names_them_in_its_requests)
