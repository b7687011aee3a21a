#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Agents seen from other processes: cadre tasks, logs, stop, the socket behind them, and --trace."""
import json
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import sys

from lab import Skip, main

# Outer starts Inner, which tells a pipe that it is there and waits for another one.
NESTED = r"""
rule main asks
  agent main
  turn 1
  call Agent {"description": "Outer work", "prompt": "outer task", "name": "outer"}
rule main answers
  agent main
  text The main agent is done.
rule outer asks
  prompt contains "outer task"
  turn 1
  call Agent {"description": "Inner work", "prompt": "inner task", "name": "inner"}
rule outer answers
  prompt contains "outer task"
  text Outer is done.
rule inner waits
  prompt contains "inner task"
  turn 1
  thinking I wait.
  call Bash {"command": "echo here > up; cat gate", "description": "wait"}
rule inner answers
  prompt contains "inner task"
  text Inner is done.
"""

TWINS = r"""
rule main asks
  agent main
  turn 1
  call Agent {"description": "First twin", "prompt": "twin", "name": "twin"}
  call Agent {"description": "Second twin", "prompt": "twin", "name": "twin"}
rule main answers
  agent main
  text done
rule twin waits
  turn 1
  call Bash {"command": "echo here > up; cat gate", "description": "wait"}
rule twin answers
  text done
"""


def runtime(lab):
    """The directory of the sockets."""
    return pathlib.Path(lab.runtime, "cadre")


def waiting(lab, scenario=NESTED, times=1, *args):
    """A run whose innermost agents wait at the gate."""
    lab.model(scenario)
    up = lab.fifo("up")
    os.mkfifo(os.path.join(lab.work, "gate"))
    run = lab.stream("go", "--allowed-tools", "Bash", *args)
    while times > 0:
        times -= up.line().count("here")
    return run


def open_gate(lab):
    with open(os.path.join(lab.work, "gate"), "w", encoding="utf-8") as gate:
        gate.write("open\n")


def tasks(lab, *words):
    done = lab.cadre("tasks", "--json", *words)
    assert done.code == 0 and not done.err, done
    return json.loads(done.out)["sessions"]


def ask(path, *lines):
    """What the socket answers to each line."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(str(path))
        s.sendall(b"".join(lines))
        with s.makefile("rb") as answers:
            return [json.loads(answers.readline()) for _ in lines]


def is_sent_away(s):
    try:
        return s.recv(1) == b""
    except ConnectionResetError:  # with bytes that it had not read
        return True


def a_tree_that_runs_is_listed_by_another_process(lab):
    run = waiting(lab)
    (session,) = tasks(lab)
    outer, inner = session["tasks"]
    assert session["running"] and session["pid"] == run.pid, session
    assert outer["state"] == inner["state"] == "running", session
    assert outer["parentAgentId"] == "" and inner["parentAgentId"] == outer["agentId"] and inner["depth"] == 2, session
    assert inner["lastTool"] == "Bash" and inner["turns"] == 1 and inner["totalTokens"] > 0, inner
    text = lab.cadre("tasks").out
    assert "\nOuter work [outer]" in text and "\n  Inner work [inner]" in text and inner["agentId"][:8] in text, text
    open_gate(lab)
    assert run.wait().code == 0


def a_tree_of_the_past_is_read_from_disk(lab):
    run = waiting(lab)
    open_gate(lab)
    assert run.wait().code == 0
    (session,) = tasks(lab)
    assert not session["running"] and [t["state"] for t in session["tasks"]] == ["completed"] * 2, session
    assert [(t["turns"], t["lastTool"], t["costUSD"] > 0) for t in session["tasks"]] == [(2, "Agent", True), (2, "Bash", True)], session
    assert tasks(lab, session["sessionId"][:8]) == tasks(lab, "--all") == [session]


def the_past_of_another_project_is_found_too(lab):
    run = waiting(lab)
    open_gate(lab)
    assert run.wait().code == 0
    (session,) = tasks(lab)
    here, lab.work = lab.work, os.path.join(lab.folder, "elsewhere")
    os.mkdir(lab.work)
    assert tasks(lab) == [] and tasks(lab, session["sessionId"][:8]) == [session]
    assert "Inner is done." in lab.cadre("logs", "inner").out
    lab.work = here


def one_that_was_killed_with_its_process_is_interrupted(lab):
    run = waiting(lab)
    run.kill()
    run.wait()
    (session,) = tasks(lab)
    assert not session["running"] and {t["state"] for t in session["tasks"]} == {"interrupted"}, session
    done = [(t["turns"], t["toolUses"], t["lastTool"], t["totalTokens"] > 0, t["costUSD"] > 0) for t in session["tasks"]]
    assert done == [(1, 1, "Agent", True, True), (1, 1, "Bash", True, True)], session


def one_whose_session_was_closed_is_suspended(lab):
    run = waiting(lab, NESTED.replace('"name": "outer"', '"run_in_background": true').replace("The main agent", "I rest. It"))
    while "I rest." not in run.line():
        pass
    run.kill(signal.SIGTERM)
    run.wait()
    (session,) = tasks(lab)
    assert [t["state"] for t in session["tasks"]] == ["suspended"] * 2, session


def a_session_that_is_not_there_is_an_error(lab):
    done = lab.cadre("tasks", "abc")
    assert done.code == 1 and "abc is not known" in done.err, done


def without_agents_the_list_is_empty(lab):
    done = lab.cadre("tasks")
    assert done.code == 0 and done.out == "no session of this directory had agents\n", done
    assert json.loads(lab.cadre("tasks", "--json").out) == {"sessions": []}


def an_agent_is_stopped_by_its_name_and_its_parent_goes_on(lab):
    run = waiting(lab)
    done = lab.cadre("stop", "inner")
    assert done.code == 0 and "(Inner work) has ended: killed" in done.out, done
    frames = run.wait().frames()
    assert frames[-1]["result"] == "The main agent is done.", frames[-1]
    (session,) = tasks(lab)
    assert [t["state"] for t in session["tasks"]] == ["completed", "killed"], session
    meta = [json.loads(pathlib.Path(t["transcript"][:-len("jsonl")] + "meta.json").read_text()) for t in session["tasks"]]
    assert [m.get("stoppedByUser") for m in meta] == [None, True], meta
    again = lab.cadre("stop", session["tasks"][1]["agentId"])
    assert again.code == 1 and "does not run: killed" in again.err, again


def all_agents_are_stopped_together(lab):
    run = waiting(lab)
    done = lab.cadre("stop", "--all", "--json")
    assert done.code == 0 and {t["state"] for t in json.loads(done.out)["stopped"]} == {"killed"}, done
    assert len(json.loads(done.out)["stopped"]) == 2, done
    assert run.wait().code == 0


def who_is_meant_must_be_clear(lab):
    run = waiting(lab, TWINS, 2)
    one, two = (t["agentId"] for t in tasks(lab)[0]["tasks"])
    for words, code, text in ((["stop", "nobody"], 1, "no such agent: nobody"), (["logs", "nobody"], 1, "cadre tasks --all"),
                              (["stop", "twin"], 2, "several agents match 'twin': %s (First twin), %s" % (one, two)),
                              (["stop", "a"], 2, "several agents match"), (["stop"], 2, "expected one agent"),
                              (["logs"], 2, "expected: cadre logs AGENT"), (["stop", "--all", "x"], 2, "expected one agent")):
        done = lab.cadre(*words)
        assert done.code == code and text in done.err, (words, done)
    assert lab.cadre("stop", "--all").code == 0
    assert run.wait().code == 0


def without_times(text):
    """What `cadre logs` prints, without "  DATE TIME" behind who spoke and "TIME " before a call."""
    return re.sub(r"  20\d\d-\d\d-\d\d \d\d:\d\d:\d\d$", "", re.sub(r"^\* \d\d:\d\d:\d\d ", "* ", text, flags=re.M), flags=re.M)


def a_transcript_is_shown_for_people_and_as_it_is(lab):
    run = waiting(lab)
    open_gate(lab)
    assert run.wait().code == 0
    text = lab.cadre("logs", "inner").out
    times = re.findall(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", text)
    assert len(times) == 3 and times == sorted(times), text
    plain = without_times(text).split("\n")
    assert plain == ["user", "inner task", "  I wait.", "* Bash echo here > up; cat gate", "  | open", "assistant",
                     "Inner is done.", plain[7], ""], text
    assert plain[7].startswith("Ended: completed (2 turns, 1 tool calls, $"), text
    raw = lab.cadre("logs", "inner", "--json").out
    assert raw.encode() == pathlib.Path(tasks(lab)[0]["tasks"][1]["transcript"]).read_bytes()


def a_transcript_is_followed_until_the_agent_ends(lab):
    run = waiting(lab)
    follower = lab.start("logs", "-f", "inner")
    while without_times(follower.line()) != "* Bash echo here > up; cat gate":
        pass
    open_gate(lab)
    done = follower.wait()
    assert done.code == 0 and "Inner is done.\nEnded: completed" in without_times(done.out), done
    assert run.wait().code == 0


def a_follower_ends_with_a_process_that_was_killed(lab):
    run = waiting(lab)
    follower = lab.start("logs", "-f", "inner")
    while without_times(follower.line()) != "* Bash echo here > up; cat gate":
        pass
    run.kill()
    run.wait()
    assert follower.wait().code == 0


def a_run_without_children_opens_nothing(lab):
    place = runtime(lab)
    lab.model("rule\n  text hello\n")
    assert lab.cadre("-p", "hi").code == 0
    assert not place.exists()


def the_socket_is_private_and_gone_with_its_session(lab):
    run = waiting(lab)
    place = runtime(lab)
    (found,) = place.iterdir()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700 and stat.S_ISSOCK(found.stat().st_mode)
    open_gate(lab)
    assert run.wait().code == 0
    assert not list(place.iterdir())


def a_socket_that_nobody_listens_on_is_swept(lab):
    place = runtime(lab)
    place.mkdir(mode=0o700)
    stale, young = place / "11111111-1111-4111-8111-111111111111.sock", place / "22222222-2222-4222-8222-222222222222.sock"
    for path in (stale, young):
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(str(path))
    os.utime(stale, (1, 1))
    run = waiting(lab)
    assert not stale.exists() and young.exists()
    assert len(tasks(lab)) == 1
    open_gate(lab)
    assert run.wait().code == 0


def a_session_that_accepts_nobody_holds_nobody_up(lab):
    """A stopped process: its queue of visitors is full, so connecting to it would wait."""
    folder = runtime(lab)
    folder.mkdir(mode=0o700)
    path = folder / "11111111-2222-4333-8444-555555555555.sock"
    visitors = []
    with socket.socket(socket.AF_UNIX) as stopped:
        stopped.bind(str(path))
        stopped.listen(0)
        os.utime(path, (0, 0))
        while len(visitors) < 8:
            s = socket.socket(socket.AF_UNIX)
            s.setblocking(False)
            visitors.append(s)
            if s.connect_ex(str(path)) != 0:
                break
        lab.model('rule\n  agent main\n  turn 1\n  call Agent {"description": "d", "prompt": "child"}\nrule\n  text Done.\n')
        done = lab.cadre("-p", "go")
        assert done.code == 0 and done.out == "Done.\n", done
        assert path.exists()
        done = lab.cadre("tasks")
        assert done.code == 0, done
        for s in visitors:
            s.close()


def a_directory_that_is_open_to_others_is_not_used(lab):
    place = runtime(lab)
    place.mkdir()
    place.chmod(0o777)
    run = waiting(lab)
    open_gate(lab)
    done = run.wait()
    assert done.code == 0 and "must be your own directory with mode 0700" in done.err, done
    assert not list(place.iterdir())
    assert lab.cadre("tasks").code == 1


def requests_that_make_no_sense_are_answered_or_sent_away(lab):
    run = waiting(lab)
    (path,) = runtime(lab).iterdir()
    answers = ask(path, b"{]\n", b'{"request":"dance"}\n', b'{"request":"stop","agents":["a0"]}\n', b'{"request":"tasks"}\n')
    assert [("error" in a) for a in answers] == [True, True, True, False], answers
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(str(path))
        s.sendall(b"x" * 20000)
        assert is_sent_away(s)
    many = [socket.socket(socket.AF_UNIX) for _ in range(16)]
    for s in many:
        s.connect(str(path))
    for s in many:  # all of them are in: each has an answer
        s.settimeout(30)
        s.sendall(b'{"request":"tasks"}\n')
        assert s.recv(1) == b"{"
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(str(path))
        assert is_sent_away(s)
    for s in many:
        s.close()
    open_gate(lab)
    assert run.wait().code == 0


def a_visitor_of_another_user_is_sent_away(lab):
    if os.getuid() != 0:
        raise Skip("only root can become somebody else")
    run = waiting(lab)
    (path,) = runtime(lab).iterdir()
    for part in (lab.folder, lab.runtime, path.parent, path):
        os.chmod(part, 0o777)
    code = ("import os, socket; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.settimeout(30); s.connect(%r);"
            "print(s.recv(1))" % str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "b''\n", done
    open_gate(lab)
    assert run.wait().code == 0


def a_visitor_that_leaves_while_it_waits_harms_nothing(lab):
    run = waiting(lab)
    (path,) = runtime(lab).iterdir()
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        s.sendall(b'{"request":"stop"}\n')
    assert run.wait().code == 0
    assert {t["state"] for t in tasks(lab)[0]["tasks"]} == {"killed"}


# ---- traces


def check_trace(events):
    """Slices nest on each thread; every thread that is used has a name. Returns the slices that were closed, by thread name."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    open_slices, closed, last = {}, {}, 0
    for e in events:
        assert e["ts"] >= last, "time goes back: %s" % e
        last = e["ts"]
        key = (e["pid"], e["tid"])
        assert e["ph"] in "MC" or key in names, e
        if e["ph"] == "B":
            open_slices.setdefault(key, []).append(e["name"])
        elif e["ph"] == "E":
            closed.setdefault(names[key], []).append(open_slices[key].pop())
    return closed, {names[k]: v for k, v in open_slices.items() if v}


def a_trace_has_a_track_for_each_agent_and_slices_that_nest(lab):
    trace = os.path.join(lab.folder, "trace.json")
    run = waiting(lab, NESTED, 1, "--trace", trace)
    open_gate(lab)
    assert run.wait().code == 0
    events = json.loads(pathlib.Path(trace).read_text(encoding="utf-8"))
    closed, left = check_trace(events)
    assert closed == {"main": ["model", "Agent", "model", "turn"],
                      "outer, general-purpose: Outer work": ["model", "Agent", "model", "Outer work"],
                      "inner, general-purpose: Inner work": ["model", "Bash", "model", "Inner work"]} and not left, (closed, left)
    assert [e["args"]["alive"] for e in events if e["ph"] == "C"] == [1, 2, 1, 0]
    assert sorted(e["ph"] for e in events if e["ph"] in "sf") == ["f", "f", "s", "s"]


def calls_beside_each_other_have_lanes(lab):
    trace = os.path.join(lab.folder, "trace.json")
    run = waiting(lab, TWINS, 2, "--trace", trace)
    assert lab.cadre("stop", "--all").code == 0
    assert run.wait().code == 0
    closed, left = check_trace(json.loads(pathlib.Path(trace).read_text(encoding="utf-8")))
    assert closed["main (beside, 1)"] == ["Agent"] and not left, (closed, left)


def a_trace_of_a_killed_run_lacks_only_its_end(lab):
    trace = os.path.join(lab.folder, "trace.json")
    run = waiting(lab, NESTED, 1, "--trace", trace)
    run.kill(signal.SIGKILL)
    run.wait()
    closed, left = check_trace(json.loads(pathlib.Path(trace).read_text(encoding="utf-8") + "]"))
    assert closed["main"] == ["model"] and left["main"] == ["turn", "Agent"], (closed, left)


def a_trace_that_cannot_be_written_is_told(lab):
    lab.model("rule\n  text hello\n")
    done = lab.cadre("-p", "hi", "--trace", "/nonexistent/trace.json")
    assert done.code == 2 and "--trace /nonexistent/trace.json: No such file" in done.err, done
    done = lab.cadre("-p", "hi", "--trace", "/dev/full")
    assert done.code == 0 and "the trace cannot be written: No space left" in done.err, done


# ---- what -p tells about children


def children_are_told_on_standard_error_only_if_wanted(lab):
    lab.model("rule\n  agent main\n  turn 1\n  call Agent {\"description\": \"Short \\u001bwork\", \"prompt\": \"go\"}\n"
              "rule\n  text done\n")
    assert lab.cadre("-p", "hi").err == ""
    lines = lab.cadre("-p", "hi", "--verbose").err.splitlines()
    assert lines[1] == 'cadre: agent: Agent "Short \\x1bwork" begins (general-purpose)', lines
    assert lines[2].startswith('cadre: agent: Agent "Short \\x1bwork" finished (1 turn, ') and len(lines) == 3, lines


if __name__ == "__main__":
    main(a_tree_that_runs_is_listed_by_another_process,
         a_tree_of_the_past_is_read_from_disk,
         the_past_of_another_project_is_found_too,
         one_that_was_killed_with_its_process_is_interrupted,
         one_whose_session_was_closed_is_suspended,
         a_session_that_is_not_there_is_an_error,
         without_agents_the_list_is_empty,
         an_agent_is_stopped_by_its_name_and_its_parent_goes_on,
         all_agents_are_stopped_together,
         who_is_meant_must_be_clear,
         a_transcript_is_shown_for_people_and_as_it_is,
         a_transcript_is_followed_until_the_agent_ends,
         a_follower_ends_with_a_process_that_was_killed,
         a_run_without_children_opens_nothing,
         the_socket_is_private_and_gone_with_its_session,
         a_socket_that_nobody_listens_on_is_swept,
         a_session_that_accepts_nobody_holds_nobody_up, a_directory_that_is_open_to_others_is_not_used,
         requests_that_make_no_sense_are_answered_or_sent_away,
         a_visitor_of_another_user_is_sent_away,
         a_visitor_that_leaves_while_it_waits_harms_nothing,
         a_trace_has_a_track_for_each_agent_and_slices_that_nest,
         calls_beside_each_other_have_lanes,
         a_trace_of_a_killed_run_lacks_only_its_end,
         a_trace_that_cannot_be_written_is_told,
         children_are_told_on_standard_error_only_if_wanted)
