# SPDX-License-Identifier: MIT
"""Benchmarks of teams: many members in one process that work, talk and wait."""
import collections
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import time
import uuid

from measure import BUILD, Modeld, Run, figure

TEAMS = {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}
MAKES = """rule makes
  agent main
  prompt contains "Make a team"
  turn 1
  call TeamCreate {"team_name": "alpha"}
"""
WORK = MAKES + """rule tasks
  agent main
  prompt contains "Make a team"
  turn 2
  repeat %(count)d call TaskCreate {"subject": "task {{i}}", "description": "part of it"}
rule starts
  agent main
  prompt contains "Make a team"
  turn 3
  repeat %(count)d call Agent {"description": "M{{i}}", "prompt": "Number {{i}} of it", "name": "m{{i}}"}
rule lead
  agent main
  text Done.
rule begins
  prompt contains "Number "
  capture number prompt "Number " word
  turn 1
  latency %(latency)dms
  call TaskUpdate {"taskId": "{{number}}", "status": "in_progress"}
rule talks
  prompt contains "Number "
  turn 2
  latency %(latency)dms
  repeat 5 call SendMessage {"to": "team-lead", "message": "to the lead {{i}}"}
  repeat 5 call SendMessage {"to": "m1", "message": "to the first {{i}}"}
rule completes
  prompt contains "Number "
  capture number prompt "Number " word
  turn 3
  latency %(latency)dms
  call TaskUpdate {"taskId": "{{number}}", "status": "completed"}
rule ends
  latency %(latency)dms
  text Over.
"""
def session_files(m, session):
    lead = next(m.path.glob(f".claude/projects/*/{session}.jsonl"))
    return [lead, *m.path.glob(f".claude/projects/*/{session}/subagents/agent-*.jsonl")]


def deliveries(path):
    """Ids in lines that a model was given, each with how often."""
    ids = collections.Counter()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if '"origin"' in line and line.startswith('{"parentUuid"'):
                ids.update((json.loads(line).get("origin") or {}).get("ids", []))
    return ids


def run_work(count, latency_ms):
    session = str(uuid.uuid4())
    with Modeld(WORK % {"count": count, "latency": latency_ms}) as m:
        m.env |= TEAMS
        run = Run([BUILD / "cadre", "-p", "--session-id", session, "Make a team"], m.cwd, m.env, 900)
        heard = sum((deliveries(p) for p in session_files(m, session)), collections.Counter())
        run.messages = sum(bool(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f-]{27}", i)) for i in heard)
        run.doubled = sum(n > 1 for n in heard.values())
        tasks = m.path.glob(".claude/tasks/alpha/*.json")
        run.completed = sum(json.loads(p.read_text())["status"] == "completed" for p in tasks)
    return run


def bench_work():
    one, many = run_work(1, 1000), run_work(200, 1000)
    ideal = one.wall_s
    if many.completed != 200 or many.doubled:
        sys.exit(f"team: {many.completed} of 200 tasks, {many.doubled} messages twice")
    figure("200 members, 10 messages and a task each: wall over one member", many.wall_s / ideal, "x", 1.3)
    figure("200 members: memory above that of one", (many.peak_kb - one.peak_kb) / 1024, "MB", 45)
    figure("200 members: messages delivered once", many.messages, "", 1995, at_least=True)  # not from the first one to itself


PARKED = MAKES + """rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  repeat %(count)d call Agent {"description": "M{{i}}", "prompt": "Wait", "name": "m{{i}}"}
rule waits
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "until [ -f go ]; do sleep 0.2; done", "description": "wait", "timeout": 600000}
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
"""


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bench_parked(count=1000):
    session = str(uuid.uuid4())
    with Modeld(PARKED % {"count": count}) as m:
        settings = m.path / ".claude/settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text('{"teams": {"parkAfterMs": 500}}')
        m.env |= TEAMS
        process = subprocess.Popen([BUILD / "cadre", "-p", "--allowedTools=Bash", "--session-id", session, "Make a team"],
                                   cwd=m.cwd, env=m.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 300
        while m.stats()["requests"] < count + 3:
            if process.poll() is not None or time.monotonic() > until:
                sys.exit("team: the members do not start")
            time.sleep(0.2)
        least, since = resident_kb(process.pid), time.monotonic()
        while time.monotonic() - since < 6:  # parked, and the allocator gave back what it gives
            least = min(least, resident_kb(process.pid))
            time.sleep(0.2)
        before = cpu_s(process.pid)
        time.sleep(5)
        idle = cpu_s(process.pid) - before
        figure(f"{count} parked members: resident", least / 1024, "MB", 60)
        figure(f"{count} parked members: CPU in 5 s", idle * 1000, "ms", 50)
        (m.path / "go").touch()
        if process.wait(600):
            sys.exit(f"team: ended with {process.returncode}")
        answered = sum("Here I am." in p.read_text() for p in session_files(m, session)[1:])
        figure(f"{count} parked members: woken by one message to all", answered, "", count, at_least=True)


WAKE = MAKES + """rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "M", "prompt": "Wait", "name": "m1"}
rule waits
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "until grep -q agent-end $HOME/.claude/projects/*/*/subagents/*.jsonl; do sleep 0.05; done", "description": "wait"}
rule wakes
  agent main
  prompt contains "Make a team"
  turn 4
  call SendMessage {"to": "m1", "message": "Wake up"}
rule lead
  agent main
  text Done.
rule member
  text I am here.
"""


def bench_wake():
    waits = []
    for _ in range(5):
        session = str(uuid.uuid4())
        with Modeld(WAKE) as m:
            m.env |= TEAMS
            Run([BUILD / "cadre", "-p", "--allowedTools=Bash", "--session-id", session, "Make a team"], m.cwd, m.env, 60)
            member = session_files(m, session)[1].read_text().splitlines()
        queued = next(json.loads(line) for line in member if '"queue-operation"' in line and "Wake up" in line)
        begun = next(json.loads(line) for line in member if line.startswith('{"parentUuid"') and "Wake up" in line)
        waits.append(stamp_ms(begun["timestamp"]) - stamp_ms(queued["timestamp"]))
    figure("a message to an idle member: until its request begins", sorted(waits)[len(waits) // 2], "ms", 50)


def stamp_ms(text):
    day, clock = text.rstrip("Z").split("T")
    hours, minutes, seconds = clock.split(":")
    return (int(day[-2:]) * 86400 + int(hours) * 3600 + int(minutes) * 60 + float(seconds)) * 1000


STORM = MAKES + """rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  repeat %(members)d call Agent {"description": "S", "prompt": "Storm", "name": "m{{i}}"}
rule lead
  agent main
  text Done.
rule storm
  prompt contains "Storm"
  turn 1-%(turns)d
  repeat 10 call SendMessage {"to": "team-lead", "message": "{{agent}} {{turn}}-{{i}}."}
rule ends
  text Over.
"""


def bench_storm(count=10000, members=100, kills=5):
    """Killed from outside at random moments, and resumed."""
    session, seed, killed, prompt = str(uuid.uuid4()), random.Random(), 0, ["Make a team"]
    with Modeld(STORM % {"members": members, "turns": count // members // 10}) as m:
        m.env |= TEAMS
        started = time.perf_counter()
        while True:
            words = ["--session-id" if prompt == ["Make a team"] else "--resume", session, *prompt]
            process = subprocess.Popen([BUILD / "cadre", "-p", *words], cwd=m.cwd, env=m.env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if killed < kills:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(seed.uniform(0.5, 2.5))
                killed += process.poll() is None
                process.kill()
            _, said = process.communicate()
            if process.returncode == 0:
                break
            if process.returncode > 0 and "no interrupted turn" not in said:
                sys.exit(f"team: ended with {process.returncode}: {said}")
            if next(m.path.glob(f".claude/projects/*/{session}.jsonl"), None):
                prompt = ["Go on"] if process.returncode > 0 else []  # a turn that was not cut off needs a word
        wall = time.perf_counter() - started
        with open(session_files(m, session)[0], encoding="utf-8") as lines:
            text = "".join(line for line in lines if '"type":"user"' in line)
        heard = collections.Counter(re.findall(r"\\n(m\d+@alpha \d+-\d+)\.\\n", text))
        # An answer that a kill cut short has fewer calls: what counts is what was called.
        sent = {w for p in session_files(m, session)[1:] for w in re.findall(r'"message": ?"(m\d+@alpha \d+-\d+)\."', p.read_text())}
    figure(f"{count} messages, {killed} kill -9: sent and not delivered", len(sent - set(heard)), "", 0)
    figure(f"{count} messages, {killed} kill -9: sent", len(sent), "", count * 0.99, at_least=True)
    figure(f"{count} messages, {killed} kill -9: delivered twice", sum(n > 1 for n in heard.values()), "", 0)
    figure(f"{count} messages: wall with all restarts", wall, "s")


def bench_team():
    bench_work()
    bench_wake()
    bench_parked()
    bench_storm()
