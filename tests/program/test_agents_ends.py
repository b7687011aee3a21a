#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every way in which a child can end: one SubagentStop for each SubagentStart, one end for each beginning in the frames."""
import collections
import json
import os
import pathlib
import re
import signal

from lab import ROOT, main
from twenty import call

STALL = "  text I begin\n  stall after event 3\n"
MAIN = """
rule is told
  agent main
  prompt contains "<task-notification>"
  text I was told.
rule delegate
  agent main
  turn 1
%s
%s
rule rest
  agent main
  text I rest.
rule child
%s
"""
STOP = "rule stop it\n  agent main\n  turn 2\n" + call("TaskStop", task_id="bob")


def names():
    """All end states, from the source."""
    table = (ROOT / "src" / "agents" / "agent" / "record.c").read_text()
    found = re.findall(r"\[AGENT_\w+\] = \{\s*\"(\w+)\"", table)
    assert len(found) >= 8, found
    return set(found) - {"running"}


class Case:
    """How a child ends. until: a frame after which a signal is sent, or the name of a pipe on which the moment is told."""

    def __init__(self, state, child, background, more="", until=None, number=None, refuse=False, **given):
        self.state, self.child, self.background, self.more = state, child, background, more
        self.until, self.number, self.refuse, self.given = until, number, refuse, given

    def scenario(self):
        given = {"description": "Some work", "prompt": "Work", "name": "bob", "run_in_background": self.background}
        return MAIN % (call("Agent", **given, **self.given), self.more, self.child)


def both(state, child, **more):
    return [Case(state, child, False, **more), Case(state, child, True, **more)]


CASES = [
    *both("completed", "  text Done.\n"),
    *both("turn_limit", call("Bash", command="true", description="work"), max_turns=1),
    *both("failed", "  status 400 invalid_request_error \"no\"\n"),
    *both("failed", "  text Done.\n", refuse=True),
    *both("refused", "  text I\n  stop refusal cyber \"no\"\n"),
    *both("budget", "  usage input=3000000 output=9\n" + call("Bash", command="true", description="work")),
    Case("killed", STALL, True, more=STOP),
    Case("killed", STALL, False, until="task_started", number=signal.SIGINT),
    Case("killed", "  text Done.\n", False, until="pipe", number=signal.SIGINT),
    Case("suspended", STALL, True, until="I rest.", number=signal.SIGTERM),
]


def hook(command):
    return [{"hooks": [{"type": "command", "command": command}]}]


def write_settings(lab, case):
    start = "cat >> %s/starts" % lab.folder
    if case.refuse:
        start += "; echo '{\"continue\": false, \"stopReason\": \"not today\"}'"
    if case.until == "pipe":
        start += "; echo now > %s/pipe; exec sleep 1000" % lab.work
    settings = {"hooks": {"SubagentStart": hook(start), "SubagentStop": hook("cat >> %s/stops" % lab.folder)}}
    if case.state == "budget":
        settings["subagents"] = {"maxBudgetUsd": 0.5}
    path = pathlib.Path(lab.home, ".claude", "settings.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(settings))


def told(lab, name):
    """Who the hooks of an event were told of."""
    path = pathlib.Path(lab.folder, name)
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return collections.Counter(json.loads(line)["agent_id"] for line in lines)


def wait_for_moment(lab, run, case):
    if case.until == "pipe":
        lab.fifos[-1].line()
        return
    while case.until not in (line := run.line()):
        assert line is not None


def play(lab, case):
    write_settings(lab, case)
    lab.model(case.scenario())
    if case.until == "pipe":
        lab.fifo("pipe")
    run = lab.stream("--allowedTools=Bash", "Begin")
    if case.until:
        wait_for_moment(lab, run, case)
        run.kill(case.number)
    done = run.wait()
    assert done.code == (128 + case.number if case.number else 0), done
    return done.frames()


def check(lab, case, frames):
    starts, stops = told(lab, "starts"), told(lab, "stops")
    assert len(starts) == 1 and starts == stops, "starts %s, stops %s" % (starts, stops)
    begun = [f["task_id"] for f in frames if f.get("subtype") == "task_started"]
    ends = [(f["task_id"], f["patch"]["end_state"]) for f in frames if f.get("subtype") == "task_updated"]
    assert [task for task, _ in ends] == begun, "begun %s, ended %s" % (begun, ends)
    meta, = pathlib.Path(lab.home, ".claude").glob("projects/*/*/subagents/*.meta.json")
    state = json.loads(meta.read_text())
    assert state.get("endState", "suspended") == case.state, state
    assert not ends or ends[0][1] == case.state, ends


def every_end_state_has_one_stop_for_its_start(lab):
    never = names() - {case.state for case in CASES} - {"idle"}  # the end of a run of a member, not of an agent (test_team.py)
    assert not never, "no case ends as %s" % never
    for number, case in enumerate(CASES):
        lab.home, lab.work = (os.path.join(lab.folder, "%s%d" % (kind, number)) for kind in ("home", "work"))
        os.makedirs(lab.home)
        os.makedirs(lab.work)
        lab.env["HOME"] = lab.home
        try:
            check(lab, case, play(lab, case))
        except AssertionError as why:
            place = "background" if case.background else "foreground"
            raise AssertionError("%s, %s, number %d: %s" % (case.state, place, number, why)) from None


if __name__ == "__main__":
    main(every_end_state_has_one_stop_for_its_start)
