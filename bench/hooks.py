# SPDX-License-Identifier: MIT
"""Hooks: what those that do not fit cost in a turn, and how long a hundred take that do."""
import json
import pathlib
import statistics

from measure import BUILD, Modeld, Run, figure, times

TURNS = 'rule read\n  turn 1-500\n  call Read {"file_path": "turn.txt"}\nrule done\n  turn 501+\n  text Done.\n'
ONE_CALL = 'rule read\n  turn 1\n  call Read {"file_path": "small.txt"}\nrule done\n  text Done.\n'
EVENTS = ("PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse", "PostToolUseFailure")
RUNS = 30


def settings(m, hooks):
    path = pathlib.Path(m.cwd) / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": hooks}))


def hook(command, matcher):
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command}]}


def cpu_of_a_turn(hooks):
    with Modeld(TURNS) as m:
        (pathlib.Path(m.cwd) / "turn.txt").write_text("line 0\nline 1\nline 2\n")
        if hooks:
            settings(m, hooks)
        return json.loads(m.run("bench/bench_turns"))["cpu_ms_per_turn_1_50"]


def wall_of_a_run(hooks):
    with Modeld(ONE_CALL) as m:
        settings(m, hooks)
        return Run([BUILD / "cadre", "-p", "go"], m.cwd, m.env).wall_s


def bench_hooks():
    print(f"hooks: a Read turn beside 100 hooks for other tools, the medians of {RUNS} runs each, alternating")
    others = {event: [hook("true", f"Other{i}|Tool{i}") for i in range(20)] for event in EVENTS}
    without, beside = [], []
    for _ in times(RUNS):
        without.append(cpu_of_a_turn(None))
        beside.append(cpu_of_a_turn(others))
    figure("CPU of a Read turn without hooks", statistics.median(without), "ms")
    figure("CPU beside 100 hooks that do not fit", statistics.median(beside) / statistics.median(without), "x", 1.05)
    few = wall_of_a_run({"PreToolUse": [hook("true", "Read")]})
    many = wall_of_a_run({"PreToolUse": [hook(f"sleep 0.2; : {i}", "Read") for i in range(100)]})
    figure("a run with 100 hooks of 0.2 s, over one with one", (many - few) * 1000, "ms", 2000)
