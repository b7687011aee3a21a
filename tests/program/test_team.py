#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A team dies at named write points and goes on: each message arrives exactly once, each call has one result.

TEAM_RUNS is the number of passings of each point that are tried (4)."""
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import uuid

from lab import Lab, Transcript, main

RUNS = int(os.environ.get("TEAM_RUNS", "4"))
POINTS = ("team_recorded", "agent_recorded", "agent_prompted", "mail_queued", "call_started", "call_ended", "result_recorded",
          "answer_closed", "agent_end_recorded", "notice_delivered", "config_written", "member_gone", "request_before_send",
          "line_written")
TEAMS = {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}
PROMPT = "Make a team"
MODEL = r'''
rule makes
  agent main
  prompt contains "Make a team"
  turn 1
  call TeamCreate {"team_name": "alpha"}
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Ask ben", "name": "ann"}
  call Agent {"description": "B", "prompt": "Wait", "name": "ben"}
rule lead
  agent main
  text Done.
rule ann asks
  agent ann@alpha
  prompt contains "Ask ben"
  turn 1
  call SendMessage {"to": "ben", "message": "word-one"}
rule ann
  agent ann@alpha
  text I am ann.
rule ben answers
  agent ben@alpha
  prompt contains "\nword-one\n"
  turn 1
  call SendMessage {"to": "ann", "message": "word-two"}
  call SendMessage {"to": "team-lead", "message": "word-three"}
rule ben
  agent ben@alpha
  text I am ben.
'''


def start(lab, session, **env):
    return lab.stream("--session-id", session, PROMPT, env={**TEAMS, **env})


def go_on(lab, session, **env):
    """A session whose turn was cut off goes on by itself; another one needs a word."""
    lab.wait_for_nobody()
    done = lab.cadre("-p", "--output-format", "json", "--resume", session, env={**TEAMS, **env})
    if done.code == 2 and "no interrupted turn" in done.err:
        done = lab.cadre("-p", "--output-format", "json", "--resume", session, "Go on", env={**TEAMS, **env})
    return done


def all_transcripts(lab, session):
    folder = pathlib.Path(lab.home, ".claude")
    members = folder.glob("projects/*/%s/subagents/agent-*.jsonl" % session)
    return [lab.transcript(session)] + [Transcript(path) for path in members]


def deliveries(transcripts):
    """How often each word stands in a message that a model was given."""
    count = collections.Counter()
    for transcript in transcripts:
        for line in transcript.lines:
            text = json.dumps(line["message"]) if line["type"] == "user" else ""
            for word in ("word-one", "word-two", "word-three"):
                count[word] += text.count("\\n%s\\n</teammate-message>" % word)
    return {word: n for word, n in count.items() if n}


def check(lab, session, where):
    transcripts = all_transcripts(lab, session)
    assert len(transcripts) == 3, (where, [t.path for t in transcripts])
    sent = collections.Counter(call["input"]["message"] for t in transcripts for call in t.calls().values()
                               if call["name"] == "SendMessage")
    # An answer that was cut between its two calls has only the first of them.
    assert set(sent.values()) == {1} and len(sent) >= (3 if where == "undisturbed" else 2), (where, sent)
    assert deliveries(transcripts) == dict(sent), (where, deliveries(transcripts), sent)
    for transcript in transcripts:
        transcript.check_complete()
        transcript.results()
    assert not pathlib.Path(lab.home, ".claude", "teams", "alpha").exists(), where
    assert not list(pathlib.Path(lab.home, ".claude").rglob("*.lock.lock")), where


def passings(lab):
    log, session = os.path.join(lab.folder, "points"), str(uuid.uuid4())
    done = start(lab, session, CADRE_CRASH_LOG=log).wait()
    assert done.code == 0, done
    check(lab, session, "undisturbed")
    count = collections.Counter(pathlib.Path(log).read_text().split())
    for name in POINTS:
        numbers = range(1, count[name] + 1)
        step = max(1, len(numbers) // RUNS)
        for number in list(numbers)[::-step][:RUNS]:
            yield name, number


def die_and_go_on(point):
    where = "%s:%d" % point
    with contextlib.closing(Lab()) as lab:
        lab.model(MODEL)
        session = str(uuid.uuid4())
        died = start(lab, session, CADRE_CRASH_AT=where).wait()
        if died.code == 0:
            return None  # the order was another one this time
        assert died.code == -signal.SIGKILL, (where, died)
        lab.wait_for_nobody()
        if lab.transcript(session, torn=True) is None:
            return None
        done = go_on(lab, session)
        assert done.code == 0, (where, done)
        check(lab, session, where)
    return where


def a_team_that_was_killed_at_any_point_goes_on_and_each_message_arrives_once(lab):
    lab.model(MODEL)
    points, wrong, killed = list(passings(lab)), [], 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(die_and_go_on, point) for point in points]:
            try:
                killed += future.result() is not None
            except AssertionError as e:
                wrong.append(str(e)[:600])
    assert not wrong, "\n".join(wrong)
    assert killed >= len(points) // 2, (killed, len(points))


def an_idle_member_is_parked_and_woken_with_its_history(lab):
    model = MODEL.replace("rule lead\n", '''rule asks again
  agent main
  prompt contains "Go on"
  turn 1
  call SendMessage {"to": "ann", "message": "word-four"}
rule lead
''').replace("rule ann\n", '''rule ann knows
  agent ann@alpha
  prompt contains "word-four"
  text I remember.
rule ann
''')
    lab.model(model)
    session = str(uuid.uuid4())
    died = start(lab, session, CADRE_CRASH_AT="turn_ended:2").wait()
    assert died.code == -signal.SIGKILL, died
    lab.wait_for_nobody()
    done = lab.cadre("-p", "--output-format", "json", "--resume", session, "Go on", env=TEAMS)
    assert done.code == 0, done
    ann = [t for t in all_transcripts(lab, session)[1:] if any("Ask ben" in json.dumps(line) for line in t.lines)][0]
    assert "I remember." in json.dumps(ann.lines[-3:]), ann.lines[-3:]
    states = [line["end"]["state"] for line in ann.lines if line["type"] == "agent-end"]
    assert states[-2:] == ["idle", "completed"] or states[-1] == "idle", states


FOREIGN = r'''
import json, os, sys, time
inbox, task, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
def change(path, how):
    """As the members of other programs do it."""
    for _ in range(2000):
        try:
            os.mkdir(path + ".lock")
            break
        except FileExistsError:
            time.sleep(0.005)
    else:
        sys.exit("locked for ever: " + path)
    try:
        value = json.load(open(path)) if os.path.exists(path) else []
        how(value)
        with open(path + ".tmp.f", "w") as f:
            json.dump(value, f)
        os.rename(path + ".tmp.f", path)
    finally:
        os.rmdir(path + ".lock")
while not os.path.isdir(os.path.dirname(inbox)):
    time.sleep(0.01)
for i in range(count):
    entry = {"from": "stranger", "text": "foreign %d" % i, "timestamp": "2026-11-16T08:39:52.017Z", "msg_id": "f-%d" % i}
    change(inbox, lambda value: value.append(entry))
    change(task, lambda value: value.setdefault("metadata", {}).update({"f%d" % i: 1}))
while json.load(open(inbox)):
    time.sleep(0.01)
'''


def messages_and_task_changes_of_a_foreign_program_are_neither_lost_nor_doubled(lab):
    config, count = pathlib.Path(lab.home, ".claude"), 300
    script = pathlib.Path(lab.work, "foreign.py")
    script.write_text(FOREIGN)
    command = "python3 %s %s %s %d" % (script, config / "teams/alpha/inboxes/ann.json", config / "tasks/alpha/1.json", count)
    lab.model(r'''
rule makes
  agent main
  prompt contains "Make a team"
  turn 1
  call TeamCreate {"team_name": "alpha"}
  call TaskCreate {"subject": "one", "description": "shared"}
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Change it", "name": "ann"}
rule runs
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "%s", "description": "foreign"}
rule lead
  agent main
  text Done.
rule ann changes
  agent ann@alpha
  prompt contains "Change it"
  turn 1-20
  call TaskUpdate {"taskId": "1", "metadata": {"o{{turn}}": 1}}
rule ann
  agent ann@alpha
  text I am ann.
''' % command)
    session = str(uuid.uuid4())
    done = lab.stream("--allowedTools=Bash", "--session-id", session, PROMPT, env=TEAMS).wait()
    assert done.code == 0, done
    taken = collections.Counter(i for t in all_transcripts(lab, session) for line in t.lines
                                for i in (line.get("origin") or {}).get("ids", []) if i.startswith("f-"))
    assert len(taken) == count and set(taken.values()) == {1}, (len(taken), taken.most_common(3))
    kept = json.loads((config / "tasks/alpha/1.json").read_text())["metadata"]
    assert all("f%d" % i in kept for i in range(count)), len(kept)
    failed = [r for t in all_transcripts(lab, session) for r in t.results().values() if r.get("is_error")]
    assert sum(key.startswith("o") for key in kept) + len(failed) >= 20, (len(kept), failed)


if __name__ == "__main__":
    main(a_team_that_was_killed_at_any_point_goes_on_and_each_message_arrives_once,
         an_idle_member_is_parked_and_woken_with_its_history,
         messages_and_task_changes_of_a_foreign_program_are_neither_lost_nor_doubled)
