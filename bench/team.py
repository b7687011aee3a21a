# SPDX-License-Identifier: MIT
"""Benchmarks of teams: many members in one process that work, talk and wait."""
import collections
import json
import os
import pathlib
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


def work_story(count, latency_ms):
    """Each member takes a task, writes five messages to the lead and five to its neighbour, and completes the task: four turns."""
    talks = "".join(f"""rule talks {i}
  agent m{i}@alpha
  prompt contains "Number "
  turn 2
  latency {latency_ms}ms
  repeat 5 call SendMessage {{"to": "team-lead", "message": "to the lead {{{{i}}}}"}}
  repeat 5 call SendMessage {{"to": "m{i % count + 1}", "message": "to the next {{{{i}}}}"}}
""" for i in range(1, count + 1))
    return MAKES + f"""rule tasks
  agent main
  prompt contains "Make a team"
  turn 2
  repeat {count} call TaskCreate {{"subject": "task {{{{i}}}}", "description": "part of it"}}
rule starts
  agent main
  prompt contains "Make a team"
  turn 3
  repeat {count} call Agent {{"description": "M{{{{i}}}}", "prompt": "Number {{{{i}}}} of it", "name": "m{{{{i}}}}"}}
rule lead
  agent main
  text Done.
rule begins
  prompt contains "Number "
  capture number prompt "Number " word
  turn 1
  latency {latency_ms}ms
  call TaskUpdate {{"taskId": "{{{{number}}}}", "status": "in_progress"}}
{talks}rule completes
  prompt contains "Number "
  capture number prompt "Number " word
  turn 3
  latency {latency_ms}ms
  call TaskUpdate {{"taskId": "{{{{number}}}}", "status": "completed"}}
rule ends
  latency {latency_ms}ms
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
    with Modeld(work_story(count, latency_ms)) as m:
        m.env |= TEAMS
        run = Run([BUILD / "cadre", "-p", "--session-id", session, "Make a team"], m.cwd, m.env, 900)
        files = session_files(m, session)
        heard = sum((deliveries(path) for path in files), collections.Counter())
        run.messages = sum(heard[i] == 1 for path in files[1:] for _, i in sent_messages(path))
        run.doubled = sum(n > 1 for n in heard.values())
        tasks = m.path.glob(".claude/tasks/alpha/*.json")
        run.completed = sum(json.loads(p.read_text())["status"] == "completed" for p in tasks)
    return run


def bench_work(count=200, latency_ms=1000):
    one, many = run_work(1, latency_ms), run_work(count, latency_ms)
    if many.completed != count or many.doubled:
        sys.exit(f"team: {many.completed} of {count} tasks, {many.doubled} messages twice")
    figure(f"{count} members, 10 messages and a task each: wall over the ideal", many.wall_s / (4 * latency_ms / 1000), "x", 1.3)
    figure(f"{count} members: CPU", many.cpu_s, "s")
    figure(f"{count} members: memory above that of one", (many.peak_kb - one.peak_kb) / 1024, "MB", 45)
    figure(f"{count} members: messages delivered once", many.messages, "", 10 * count, at_least=True)
    figure(f"{count} members at a latency of 200 ms: wall over the ideal", run_work(count, 200).wall_s / 0.8, "x", 3)


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


def wakes(pid):
    """How often a thread of the process waited for something."""
    total = 0
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        total += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status.read_text(), re.M)[1])
    return total


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
        before, woken = cpu_s(process.pid), wakes(process.pid)
        time.sleep(5)
        idle, woken = cpu_s(process.pid) - before, wakes(process.pid) - woken
        figure(f"{count} parked members: resident", least / 1024, "MB", 60)
        figure(f"{count} parked members: CPU in 5 s", idle * 1000, "ms", 50)
        figure(f"{count} parked members: wakes of the process in 5 s", woken, "", 2)
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


def storm_story(members, receivers):
    """In its turn N each member writes to the N-th receiver, and to the lead in place of itself. An answer is one call: a kill cannot
    leave a part of it, so the number of calls is known."""
    def rule(name, who, turn, to):
        return f"""rule {name}
{who}  prompt contains "Storm"
  turn {turn}
  call SendMessage {{"to": "{to}", "message": "{{{{agent}}}} {{{{turn}}}}."}}
"""
    own = "".join(rule(f"own {n}", f"  agent m{to}@alpha\n", n, "team-lead") for n, to in enumerate(receivers, 1))
    return MAKES + f"""rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  repeat {members} call Agent {{"description": "S", "prompt": "Storm", "name": "m{{{{i}}}}"}}
rule lead
  agent main
  text Done.
{own}{"".join(rule(f"storm {n}", "", n, f"m{to}") for n, to in enumerate(receivers, 1))}rule ends
  text Over.
"""


def sent_messages(path):
    """(text, id) of each SendMessage call with its result; id None: it has none, or it was not sent."""
    calls, ids = {}, {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if '"tool_use"' not in line and '"tool_result"' not in line:
                continue
            for block in json.loads(line)["message"]["content"]:
                if block["type"] == "tool_use" and block["name"] == "SendMessage":
                    calls[block["id"]] = block["input"]["message"]
                elif block["type"] == "tool_result" and block["tool_use_id"] in calls:
                    ids.setdefault(block["tool_use_id"], []).append(re.search(r'"msg_id":"([^"]+)"', str(block["content"])))
    for call, text in calls.items():
        results = ids.get(call, [])
        yield text, results[0][1] if len(results) == 1 and results[0] else None


def bench_storm(members=100, each=100, kills=5):
    """Members that write to each other; killed from outside at random moments of the work, and resumed."""
    session, prompt = str(uuid.uuid4()), ["Make a team"]
    count = members * each
    moments = sorted(random.Random().sample(range(members, count), kills))  # requests that the server has had by then
    killed = 0
    with Modeld(storm_story(members, range(1, each + 1))) as m:
        m.env |= TEAMS
        started = time.perf_counter()
        while True:
            words = ["--session-id" if prompt == ["Make a team"] else "--resume", session, *prompt]
            process = subprocess.Popen([BUILD / "cadre", "-p", *words], cwd=m.cwd, env=m.env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            while killed < kills and process.poll() is None:
                if m.stats()["requests"] >= moments[killed]:
                    killed += 1
                    process.kill()
                    break
            _, said = process.communicate()
            if process.returncode == 0:
                break
            if process.returncode > 0 and "no interrupted turn" not in said:
                sys.exit(f"team: ended with {process.returncode}: {said}")
            if next(m.path.glob(f".claude/projects/*/{session}.jsonl"), None):
                prompt = ["Go on"] if process.returncode > 0 else []  # a turn that was not cut off needs a word
        wall = time.perf_counter() - started
        files = session_files(m, session)
        sent = [pair for path in files[1:] for pair in sent_messages(path)]
        heard = sum((deliveries(path) for path in files), collections.Counter())
    ids = {i for _, i in sent if i}
    figure(f"{count} messages between {members} members: kill -9 at random", killed, "", kills, at_least=True)
    figure("  texts sent", len({text for text, _ in sent}), "", count, at_least=True)
    figure("  calls more than that, or without one result with an id", len(sent) - count + sum(not i for _, i in sent), "", 0)
    figure("  delivered, each once", sum(heard[i] == 1 for i in ids), "", count, at_least=True)
    figure("  delivered twice or more", sum(n > 1 for n in heard.values()), "", 0)
    figure("  wall with all restarts", wall, "s")


def bench_pairs(members=200, each=50):
    """Messages between random pairs, several for each pair: what one costs, and their order."""
    session, seed = str(uuid.uuid4()), random.Random(75)
    some = seed.sample(range(1, members + 1), each // 5)
    receivers = seed.sample(some * 5, each)
    with Modeld(storm_story(members, receivers)) as m:
        m.env |= TEAMS
        run = Run([BUILD / "cadre", "-p", "--session-id", session, "Make a team"], m.cwd, m.env, 900)
        heard, wrong = 0, 0
        for path in session_files(m, session):
            last = collections.Counter()
            with open(path, encoding="utf-8") as lines:
                text = "".join(line for line in lines if '"origin"' in line and line.startswith('{"parentUuid"'))
            for sender, turn in re.findall(r"\\n(m\d+@alpha) (\d+)\.\\n", text):
                heard += 1
                wrong += int(turn) <= last[sender]
                last[sender] = int(turn)
    count = members * each
    figure(f"{count} messages between pairs of {members} members: delivered", heard, "", count, at_least=True)
    figure("  out of the order of their pair", wrong, "", 0)
    figure("  CPU a message, with its request", run.cpu_s / count * 1000, "ms", 2)


def bench_team():
    bench_work()
    bench_wake()
    bench_parked()
    bench_storm()
    bench_pairs()
