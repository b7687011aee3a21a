#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Members that talk, ask, wait, and outlive their process.

TEAM_STORM is the number of messages of the storm with kills (400), TEAM_PAIRS that between random pairs (400)."""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import uuid

from lab import DEADLINE_S, Transcript, below, main, read_json, until
from test_team import go_on, put_settings
from test_team_files import MAKES, TEAMS, config, hold, mail, release, transcripts
from test_wire import Client

STORM = int(os.environ.get("TEAM_STORM", "400"))
PAIRS = int(os.environ.get("TEAM_PAIRS", "400"))
PROMPT = "Make a team"


def run_team(lab, model, *args, settings=None, env=None, **more):
    if settings:
        put_settings(lab, settings)
    lab.model(model, **more)
    session = str(uuid.uuid4())
    done = lab.stream("--allowedTools=Bash", *args, "--session-id", session, PROMPT, env={**TEAMS, **(env or {})}).wait()
    return done, session


def words(transcript, pattern):
    """What of this pattern stands in messages that a model was given, in order."""
    text = "\n".join(json.dumps(line["message"]) for line in transcript.lines if line["type"] == "user" and line.get("origin"))
    return re.findall(pattern, text)


def member(lab, session, prompt, torn=False):
    return next(t for t in transcripts(lab, session, torn)[1:] if prompt in json.dumps(t.lines[:4]))


# ---- order, idle notices, limits (rows 24, 27, 33) -----------------------------------------------------------------------

def two_members_that_write_to_each_other_at_once_lose_nothing_and_keep_the_order(lab):
    done, session = run_team(lab, MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "I am ann", "name": "ann"}
  call Agent {"description": "B", "prompt": "I am ben", "name": "ben"}
rule lead
  agent main
  text Done.
rule ann
  agent ann@alpha
  nth 1-100
  call SendMessage {"to": "ben", "message": "from ann {{n}}."}
rule ben
  agent ben@alpha
  nth 1-100
  call SendMessage {"to": "ann", "message": "from ben {{n}}."}
rule ends
  text Over.
''')
    assert done.code == 0, done
    for who, other in (("ann", "ben"), ("ben", "ann")):
        heard = words(member(lab, session, "I am " + who), r"\\nfrom %s (\d+)\.\\n" % other)
        assert heard == [str(i) for i in range(1, 101)], (who, heard)


# The first words of the lead to all of them are answered before the ring begins: m1 waits for the end of the lead's turn.
RING = MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  repeat 5 call Agent {"description": "R", "prompt": "Ring", "name": "m{{i}}"}
rule lets them end
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "until [ $(cat %(below)s/*/subagents/*.jsonl | grep -c agent-end) = 4 ]; do sleep 0.1; done", "description": "wait"}
rule lead
  agent main
  text Done.
rule m1 waits
  agent m1@alpha
  turn 1
  prompt contains "Ring"
  call Bash {"command": "until grep -qs Done. %(below)s/*.jsonl; do sleep 0.1; done", "description": "wait"}
''' + "".join('''
rule m%d hears
  agent m%d@alpha
  turn 1
  last contains "hop %d."
  call SendMessage {"to": "m%d", "message": "hop %d."}
''' % (hop % 5 + 1, hop % 5 + 1, hop, (hop + 1) % 5 + 1, hop + 1) for hop in range(20)) + '''
rule m1 begins
  agent m1@alpha
  turn 2
  prompt contains "Ring"
  call SendMessage {"to": "m2", "message": "hop 1."}
rule ends
  text I said it.
'''


def idle_members_that_only_spoke_among_themselves_do_not_start_turns_of_the_lead(lab):
    """Of the 20 runs that members started, none begins a turn by itself; the last one, when nobody works, brings at most one
    notice of each."""
    for how in ("useful", "all"):
        done, session = run_team(lab, RING.replace("%(below)s", str(config(lab) / "projects/*")), settings='{"teams": {"idleNotifications": "%s"}}' % how)
        assert done.code == 0, done
        lead = transcripts(lab, session)[0]
        notices = [[i for i in line["origin"]["ids"] if i.endswith(".idle")] for line in lead.lines if line["type"] == "user" and line.get("origin")]
        inits = sum(f["type"] == "system" and f["subtype"] == "init" for f in done.frames())
        assert sum(len(words(t, r"\\nhop \d+\.\\n")) for t in transcripts(lab, session)[1:]) == 20, how
        if how == "useful":
            # the prompt (with the answers of four), m1's answer to the lead, nobody works, the closing turn
            assert inits <= 4 and max(map(len, notices)) <= 5 and sum(map(len, notices)) <= 10, (inits, notices)
        else:
            assert sum(map(len, notices)) == 25 and inits > 4, (inits, notices)
        shutil.rmtree(config(lab) / "projects")


def a_receiver_with_too_much_waiting_says_so_and_takes_more_later(lab):
    model = MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Work", "name": "ann"}
rule waits
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "%s", "description": "wait"}
rule sends
  agent main
  prompt contains "Make a team"
  turn 4
  call SendMessage {"to": "ann", "message": "too much"}
rule frees
  agent main
  prompt contains "Make a team"
  turn 5
  call Bash {"command": "touch %s/free; until grep -qs agent-end %s/projects/*/*/subagents/*.jsonl; do sleep 0.1; done", "description": "free"}
rule sends again
  agent main
  prompt contains "Make a team"
  turn 6
  call SendMessage {"to": "ann", "message": "not too much"}
rule lead
  agent main
  text Done.
rule ann works
  agent ann@alpha
  prompt contains "Work"
  turn 1
  call Bash {"command": "touch %s/begun; %s", "description": "work"}
rule ann
  agent ann@alpha
  text I am ann.
''' % (hold(lab, "full"), lab.work, config(lab), lab.work, hold(lab, "free"))
    lab.model(model)
    session = str(uuid.uuid4())
    run = lab.stream("--allowedTools=Bash", "--session-id", session, PROMPT, env=TEAMS)
    inbox = config(lab) / "teams/alpha/inboxes/ann.json"
    until(lambda: inbox.parent.is_dir() and pathlib.Path(lab.work, "begun").exists(), "ann does not work")
    mail(inbox, [{"from": "x", "text": "m%d" % i, "timestamp": "t", "msg_id": "q-%d" % i} for i in range(10010)])
    until(lambda: len(read_json(inbox) or [1] * 99) == 10, "what does not fit must stay in the file", 3 * DEADLINE_S)
    release(lab, "full")
    done = run.wait()
    assert done.code == 0, done
    results = [r["content"] for r in transcripts(lab, session)[0].results().values() if '"success"' in r["content"]]
    assert '"success":false,"message":"10000 messages wait there already' in results[0], results
    assert "Message sent to ann" in results[1], results
    ids = [i for t in transcripts(lab, session) for line in t.lines for i in (line.get("origin") or {}).get("ids", [])]
    assert [i for i in ids if i.startswith("q-")] == ["q-%d" % i for i in range(10010)]


def a_receiver_with_too_many_bytes_waiting_says_so(lab):
    lab.model(MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Work", "name": "ann"}
rule waits
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "%s", "description": "wait", "timeout": 300000}
rule sends
  agent main
  prompt contains "Make a team"
  turn 4
  call SendMessage {"to": "ann", "message": "%s"}
rule lead
  agent main
  call Bash {"command": "%s", "description": "stay", "timeout": 300000}
rule ann works
  agent ann@alpha
  call Bash {"command": "touch begun; %s", "description": "work", "timeout": 300000}
''' % (hold(lab, "full"), "x" * 200000, hold(lab, "never"), hold(lab, "never")))
    session = str(uuid.uuid4())
    run = lab.stream("--allowedTools=Bash", "--session-id", session, PROMPT, env=TEAMS)
    inbox = config(lab) / "teams/alpha/inboxes/ann.json"
    until(lambda: inbox.parent.is_dir() and pathlib.Path(lab.work, "begun").exists(), "ann does not work")
    for part, left in ((0, 0), (1, 10)):  # 67,108,864 bytes: 320 entries fit, with their tags
        entries = [{"from": "x", "text": "%d " % i + "y" * 209500, "timestamp": "t", "msg_id": "b-%d-%d" % (part, i)} for i in range(165)]
        mail(inbox, entries)
        until(lambda: len(read_json(inbox)) == left, "part %d" % part, 3 * DEADLINE_S)
    release(lab, "full")
    lead = next(config(lab).glob("projects/*/%s.jsonl" % session))
    until(lambda: "messages wait there already" in lead.read_text(), "it is not refused")
    assert re.search(r"320 messages wait there already \(6\d+ KB\); the limit is 10000 or 64 MB", lead.read_text())
    run.kill()
    run.wait()


# ---- a storm of messages and kills (rows 28, 32) ---------------------------------------------------------------------------

def storm(members, each):
    """In turn N each member writes to member N, and to the lead in place of itself. An answer is one call: of an answer with
    several calls a kill may leave a part, and the rest is never called."""
    own = "".join('''
rule own %d
  agent m%d@alpha
  prompt contains "Storm"
  turn %d
  call SendMessage {"to": "team-lead", "message": "{{agent}} {{turn}}."}
''' % (i, i, i) for i in range(1, each + 1))
    return MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  repeat %d call Agent {"description": "S", "prompt": "Storm", "name": "m{{i}}"}
rule lead
  agent main
  text Done.
%s
rule storm
  prompt contains "Storm"
  turn 1-%d
  call SendMessage {"to": "m{{turn}}", "message": "{{agent}} {{turn}}."}
rule ends
  text Over.
''' % (members, own, each)


def each_message_of_a_storm_arrives_once_although_the_process_is_killed_again_and_again(lab, count=STORM, members=20, kills=5):
    lab.model(storm(members, count // members))
    session, seed = str(uuid.uuid4()), random.Random(17)
    points = ["result_recorded", "mail_queued", "call_started", "notice_delivered", "line_written"]
    where = "%s:%d" % (points[0], seed.randrange(20, 60))
    died = lab.stream("--session-id", session, PROMPT, env={**TEAMS, "CADRE_CRASH_AT": where}).wait()
    killed = [died.code]
    for point in points[1:kills]:
        lab.wait_for_nobody()
        killed.append(go_on(lab, session, CADRE_CRASH_AT="%s:%d" % (point, seed.randrange(10, 60))).code)
    assert killed.count(-signal.SIGKILL) >= 3, killed
    done = go_on(lab, session)
    assert done.code == 0, done
    heard, sent = collections.Counter(), {}
    for t in transcripts(lab, session):
        t.check_complete()
        heard.update(i for line in t.lines for i in (line.get("origin") or {}).get("ids", []))
        results = t.results()
        for call in t.calls().values():
            if call["name"] == "SendMessage":
                assert call["input"]["message"] not in sent, call
                sent[call["input"]["message"]] = json.loads(results[call["id"]]["content"])["msg_id"]
    assert len(sent) == count and len(set(sent.values())) == count, (len(sent), len(set(sent.values())))
    wrong = {text: heard[i] for text, i in sent.items() if heard[i] != 1}
    assert not wrong and set(heard.values()) == {1}, (wrong, heard.most_common(3))


def pairs(lab, members, count, seed):
    """A scenario in which members write to each other at random, and what each pair has to hear, in order."""
    choose = random.Random(seed)
    names = ["m%d" % i for i in range(1, members + 1)]
    wanted, model = collections.defaultdict(list), [MAKES, '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  repeat %d call Agent {"description": "A", "prompt": "Talk", "name": "m{{i}}"}
rule all are there
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "touch %s/go", "description": "go"}
rule lead
  agent main
  text Done.''' % (members, lab.work)]
    for name in names:
        calls = []
        for i in range(count // members):
            to = choose.choice([other for other in names if other != name])
            wanted[name, to].append("%s-%s-%d." % (name, to, i))
            calls.append('  call SendMessage {"to": "%s", "message": "%s"}' % (to, wanted[name, to][-1]))
        model.append('rule %s waits\n  agent %s@alpha\n  prompt contains "Talk"\n  turn 1\n  call Bash {"command": "%s", "description": "wait"}\n'
                     'rule %s talks\n  agent %s@alpha\n  turn 2\n%s' % (name, name, hold(lab, "go"), name, name, "\n".join(calls)))
    model.append("rule member\n  text Heard.\n")
    return "\n".join(model), wanted


def messages_of_random_pairs_arrive_once_and_in_the_order_of_their_pair(lab):
    model, wanted = pairs(lab, 20, PAIRS, 75)
    done, session = run_team(lab, model)
    assert done.code == 0, done
    heard = collections.defaultdict(list)
    for transcript in transcripts(lab, session)[1:]:
        for word in words(transcript, r">\\n(m\d+-m\d+-\d+\.)\\n<"):  # the text, not the summary
            heard[tuple(word.split("-")[:2])].append(word)
    assert heard == wanted, [(pair, heard[pair], wanted[pair]) for pair in wanted if heard[pair] != wanted[pair]][:3]


# ---- a crash of the whole team, forks (rows 69, 71) ---------------------------------------------------------------------------

CRASH = MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "W", "prompt": "Work in bash", "name": "worker"}
  call Agent {"description": "I", "prompt": "Idle", "name": "idler"}
  call Agent {"description": "P", "prompt": "Plan it", "name": "planner", "mode": "plan"}
  call Agent {"description": "S", "prompt": "Stopped", "name": "stopped"}
rule writes
  agent main
  prompt contains "Make a team"
  turn 3
  call SendMessage {"to": "worker", "message": "waiting-one"}
  call SendMessage {"to": "worker", "message": "waiting-two"}
rule holds
  agent main
  prompt contains "Make a team"
  turn 4
  call Bash {"command": "%(hold)s", "description": "hold"}
rule after the crash
  agent main
  last contains "Go on"
  call SendMessage {"to": "idler", "message": "are you there?"}
  call SendMessage {"to": "stopped", "message": "come back"}
rule looks
  agent main
  last_result contains "come back"
  call ListAgents {}
rule looks when it is refused
  agent main
  last_result contains "stays stopped"
  call ListAgents {}
rule looks in a fork
  agent main
  last_result contains "reachable"
  call ListAgents {}
rule closes
  agent main
  last contains "No member of team alpha works"
  text Closed.
rule lead
  agent main
  text Done.
rule worker
  agent worker@alpha
  prompt contains "Work in bash"
  turn 1
  call Bash {"command": "touch begun; %(hold)s", "description": "work"}
rule planner
  agent planner@alpha
  prompt contains "Plan it"
  turn 1
  call ExitPlanMode {"plan": "# A plan"}
rule stopped
  agent stopped@alpha
  turn 1
  call Bash {"command": "touch begun2; %(hold)s", "description": "work"}
rule member
  text I am here.
'''


def after_a_kill_the_team_is_as_it_was(lab):
    lab.model(CRASH % {"hold": hold(lab, "never")})
    session = str(uuid.uuid4())
    run = lab.stream("--allowedTools=Bash", "--session-id", session, PROMPT, env=TEAMS)
    until(lambda: pathlib.Path(lab.work, "begun").exists() and pathlib.Path(lab.work, "begun2").exists(), "no work")

    def states():
        done = lab.cadre("team", "show", "alpha", "--json")
        return {m["name"]: m["state"] for m in json.loads(done.out)["roster"]} if done.code == 0 else {}
    until(lambda: [states()[name] for name in ("idler", "planner")] == ["idle", "awaiting"], "they do not wait")
    worker = until(lambda: member(lab, session, "Work in bash", torn=True), "the worker has no transcript")
    until(lambda: "waiting-two" in worker.path.read_text(), "the messages are not sent")
    assert words(Transcript(worker.path, torn=True), "waiting-") == []  # queued, not read
    assert lab.cadre("team", "stop", "stopped").code == 0
    run.kill()
    run.wait()
    release(lab, "never")
    lab.wait_for_nobody()
    done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--allowedTools=Bash", "--resume", session, "Go on", env=TEAMS)
    assert done.code == 0, done
    worker = member(lab, session, "Work in bash")
    (result,) = worker.results().values()
    assert result["is_error"] and "may or may not have run" in result["content"], result
    assert words(worker, r">\\n(waiting-\w+)\\n<") == ["waiting-one", "waiting-two"], worker.lines[-4:]
    assert words(member(lab, session, "Idle"), "are you there") == ["are you there"] * 2  # the summary and the text
    lead = transcripts(lab, session)[0]
    sent = [r["content"] for r in lead.results().values() if "stays stopped" in r["content"]]
    assert len(sent) == 1, [r["content"][:100] for r in lead.results().values()]
    (listing,) = [r["content"] for r in lead.results().values() if "Teammates (" in r["content"]]
    assert re.search(r"planner \[\w+\]  ·  awaiting", listing), listing
    plans = [i for line in lead.lines for i in (line.get("origin") or {}).get("ids", []) if i.startswith("plan_approval-")]
    assert len(plans) == 1, plans


def a_transcript_of_a_member_that_takes_long_to_read_does_not_hold_up_its_lead(lab):
    """After a kill it is a named pipe, which only the lead's own command fills."""
    subagents = str(config(lab) / "projects" / "*" / "*" / "subagents")
    lab.model(MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Work", "name": "ann"}
rule waits
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "until grep -qs agent-end %(below)s/*.jsonl; do sleep 0.1; done", "description": "wait"}
rule fills
  agent main
  last contains "Go on"
  call Bash {"command": "f=$(find %(below)s -type p); cat kept > $f && mv kept $f; echo filled", "description": "fill"}
rule asks
  agent main
  last_result contains "filled"
  call SendMessage {"to": "ann", "message": "are you there?"}
rule lead
  agent main
  text Done.
rule ann
  agent ann@alpha
  text I am ann.
''' % {"below": subagents})
    session = str(uuid.uuid4())
    died = lab.stream("--allowedTools=Bash", "--session-id", session, PROMPT, env={**TEAMS, "CADRE_CRASH_AT": "turn_ended:1"}).wait()
    assert died.code == -signal.SIGKILL, died
    lab.wait_for_nobody()
    (path,) = config(lab).glob("projects/*/*/subagents/*.jsonl")
    path.rename(pathlib.Path(lab.work, "kept"))
    os.mkfifo(path)
    done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--allowedTools=Bash", "--resume", session, "Go on", env=TEAMS)
    assert done.code == 0, done
    assert "cannot read again" in json.dumps(transcripts(lab, session)[0].lines)  # the lead was told
    ann = member(lab, session, "Work")
    assert words(ann, "are you there") == ["are you there"] * 2, ann.lines  # it was tried again; the summary and the text
    answers = [line for line in ann.lines if line["type"] == "assistant"]
    assert len(answers) == 2, answers  # its task, and the message: it was idle


def a_fork_of_the_session_has_no_team_and_the_team_stays_with_its_origin(lab):
    lab.model(CRASH % {"hold": "true"})
    session = str(uuid.uuid4())
    died = lab.stream("--allowedTools=Bash", "--session-id", session, PROMPT, env={**TEAMS, "CADRE_CRASH_AT": "turn_ended:1"}).wait()
    assert died.code == -signal.SIGKILL, died
    lab.wait_for_nobody()
    fork = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--resume", session, "--fork-session", "Go on", env=TEAMS)
    assert fork.code == 0, fork
    results = [b["content"] for f in fork.frames() if f["type"] == "user" for b in f["message"]["content"] if b["type"] == "tool_result"]
    assert "No agent named 'idler' is reachable" in results[0] and not any("Teammates" in r for r in results), results
    done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--allowedTools=Bash", "--resume", session, "Go on", env=TEAMS)
    assert done.code == 0 and "Teammates (" in done.out, done


CLEARED = MAKES + r"""
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Say it", "name": "ann"}
  call Agent {"description": "B", "prompt": "Be busy", "name": "ben"}
rule tells
  agent main
  prompt contains "Tell ann"
  turn 1
  call SendMessage {"to": "ann", "message": "second-task"}
rule lead
  agent main
  text Noted.
rule ann again
  agent ann@alpha
  last contains "second-task"
  text The second report.
rule ann
  agent ann@alpha
  text The first report.
rule ben
  agent ben@alpha
  turn 1
  call Bash {"command": "echo x >> ran; until [ -f never ]; do sleep 0.1; done", "description": "work", "timeout": 600000}
"""


def a_session_that_is_cleared_leaves_its_team_suspended_and_the_new_one_has_none(lab):
    lab.model(CLEARED)
    old = str(uuid.uuid4())
    client = Client(lab, "--session-id", old, "--allowedTools=Bash", env=TEAMS)
    client.say(PROMPT)
    lead = lambda: next(config(lab).glob("projects/*/%s.jsonl" % old), None)
    ran = pathlib.Path(lab.work, "ran")
    until(lambda: "The first report." in lead().read_text() and ran.read_text() == "x\n", "the team does not work")
    client.say("/clear")
    client.say("Tell ann")
    while not (said := client.run.frame("user")) or "No agent named 'ann' is reachable" not in json.dumps(said):
        pass  # results of the session before
    done = client.over()
    assert done.code == 0, done
    new = [f["new_conversation_id"] for f in done.frames() if f["type"] == "conversation_reset"]
    assert len(new) == 1 and new[0] != old, new
    metas = {m["name"]: m for m in map(read_json, config(lab).glob("projects/*/%s/subagents/*.meta.json" % old))}
    assert set(metas) == {"ann", "ben"} and not any(m["team"]["gone"] for m in metas.values()), metas
    done = lab.cadre("-p", "--resume", old, "--allowedTools=Bash", "--output-format", "json", "Tell ann",
                     env={**TEAMS, "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS": "20000"})
    given = "".join(json.dumps(line["message"]) for line in Transcript(lead()).lines if line["type"] == "user")
    assert [given.count("The %s report." % n) for n in ("first", "second")] == [1, 1], (given, done)
    assert ran.read_text() == "x\n"  # what was cut off is not begun again


SET_BACK = r"""
rule looks
  agent main
  last contains "Who is there"
  call ListAgents {}
  call SendMessage {"to": "ben", "message": "come back"}
""" + MAKES + r"""
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Say it", "name": "ann"}
  call TaskCreate {"subject": "first", "description": "do it"}
rule adds
  agent main
  last contains "Add ben"
  call Agent {"description": "B", "prompt": "Be busy", "name": "ben"}
  call Agent {"description": "C", "prompt": "Be busy", "run_in_background": true}
rule lead
  agent main
  text Noted.
rule ben claims
  agent ben@alpha
  turn 1
  call TaskUpdate {"taskId": "1", "status": "in_progress"}
rule busy
  prompt contains "Be busy"
  call Bash {"command": "echo x >> ran; until [ -f never ]; do sleep 0.1; done", "description": "work", "timeout": 600000}
rule member
  text I am here.
"""


def a_conversation_that_is_set_back_stops_who_came_later_and_keeps_who_was_there(lab):
    lab.model(SET_BACK)
    session = str(uuid.uuid4())
    client = Client(lab, "--session-id", session, "--allowedTools=Bash", env=TEAMS)
    for prompt in ("Hello", PROMPT):
        client.say(prompt)
        client.run.frame("result")
    client.say("Add ben")
    ran, task = pathlib.Path(lab.work, "ran"), config(lab) / "tasks/alpha/1.json"
    until(lambda: ran.read_text() == "x\nx\n", "they do not work")
    client.run.kill()
    client.run.wait()
    lab.wait_for_nobody()
    lines = transcripts(lab, session)[0].lines
    assert read_json(task)["owner"] == "ben"
    said = [line["uuid"] for line in lines if line["type"] == "assistant" and line["message"]["content"][0]["type"] == "text"]

    def resumed(*more):
        done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--allowedTools=Bash", "--resume", session, *more,
                         "Who is there", env=TEAMS)
        assert done.code == 0, done
        return done, [b["content"] for f in done.frames() if f["type"] == "user" and not f.get("parent_tool_use_id")
                      for b in f["message"]["content"] if b["type"] == "tool_result"]
    done, (listed, sent) = resumed("--resume-session-at", said[1])
    notes = [f["content"] for f in done.frames() if f.get("subtype") == "informational"]
    assert len(notes) == 1 and re.fullmatch(r"the conversation was set back: agents that were started later are stopped: (ben, C|C, ben)", notes[0]), notes
    assert "ann [" in listed and "ben [" not in listed and "stays stopped" in sent, (listed, sent)
    stopped = [f["summary"] for f in done.frames() if f.get("subtype") == "task_notification" and f["status"] == "stopped"]
    assert len(stopped) == 1, stopped
    assert "owner" not in read_json(task) and read_json(task)["status"] == "pending", read_json(task)
    assert ran.read_text() == "x\nx\n", "what was stopped worked again"
    again, (listed, sent) = resumed()  # and for good
    assert "ben [" not in listed and "Subagents" not in listed and "stays stopped" in sent and ran.read_text() == "x\nx\n", (listed, sent)
    done, (listed, sent) = resumed("--resume-session-at", said[0])
    notes = [f["content"] for f in done.frames() if f.get("subtype") == "informational"]
    assert len(notes) == 1 and re.match(r"the conversation was set back: team alpha, .* is deleted; its open tasks are in ", notes[0]), notes
    assert "leads team" not in listed and not (config(lab) / "teams/alpha").exists() and not task.exists(), listed
    assert "leads team" not in resumed()[1][0]


# ---- questions and interrupts (rows 47, 59, 60) ------------------------------------------------------------------------------------

def questions_of_members_reach_the_host_with_their_ids_and_each_gets_its_own_answer(lab):
    lab.model(MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  repeat 20 call Agent {"description": "Q", "prompt": "Ask", "name": "m{{i}}"}
  call Agent {"description": "F", "prompt": "Be free", "name": "free"}
rule lead
  agent main
  text Done.
rule asks
  prompt contains "Ask"
  turn 1
  call Write {"file_path": "%s/{{agent}}.txt", "content": "x"}
rule ends
  text {{last_result|60}}
''' % lab.work)
    client = Client(lab, "--permission-prompt-tool", "stdio", env=TEAMS)
    client.say(PROMPT)
    asked = [client.asked("can_use_tool") for _ in range(20)]

    def ids():
        found = config(lab).glob("projects/*/*/subagents/*.meta.json")
        return {read_json(path)["name"]: path.name[len("agent-"):-len(".meta.json")] for path in found}
    metas = until(lambda: len(ids()) == 21 and ids(), "some of them are not there")
    assert {a["request"]["input"]["file_path"]: a["request"]["agent_id"] for a in asked} == {
        "%s/%s@alpha.txt" % (lab.work, name): i for name, i in metas.items() if name != "free"}, asked
    free = "projects/*/*/subagents/agent-%s.jsonl" % metas["free"]
    until(lambda: "agent-end" in next(config(lab).glob(free)).read_text(), "one that asks nothing waits for the others")
    denied = set()
    for i, a in enumerate(asked):
        if i % 2:
            denied.add(a["request"]["input"]["file_path"])
            client.answer(a, {"behavior": "deny", "message": "not this one"})
        else:
            client.answer(a, {"behavior": "allow", "updatedInput": a["request"]["input"]})
    wanted = {a["request"]["input"]["file_path"] for a in asked} - denied
    until(lambda: {str(p) for p in pathlib.Path(lab.work).glob("m*.txt")} == wanted, "the wrong files")
    done = client.over()
    errors = [b for f in done.frames() if f["type"] == "user" for b in f["message"]["content"]
              if b["type"] == "tool_result" and b.get("is_error")]
    assert len(errors) == 10 and all("not this one" in json.dumps(b) for b in errors), len(errors)
    visible = [f["agent_id"] for f in done.frames() if f["type"] == "system" and f["subtype"] == "permission_denied"]
    assert sorted(visible) == sorted(a["request"]["agent_id"] for a in asked if a["request"]["input"]["file_path"] in denied), visible


def a_question_of_a_coordinators_worker_reaches_the_host_with_its_id(lab):
    lab.model('''
rule directs
  agent main
  prompt contains "Go now"
  turn 1
  call Agent {"description": "W", "prompt": "Write it", "subagent_type": "worker"}
rule coordinator
  agent main
  text Done.
rule worker writes
  prompt contains "Write it"
  turn 1
  call Write {"file_path": "%s/made.txt", "content": "x"}
rule worker
  text Written.
''' % lab.work)
    client = Client(lab, "--permission-prompt-tool", "stdio", env={"CLAUDE_CODE_COORDINATOR_MODE": "1"})
    client.say("Go now")
    question = client.asked("can_use_tool")
    asked = question["request"]
    assert asked["tool_name"] == "Write", asked
    (worker,) = below(lab.home, "agent-*.meta.json")
    assert asked["agent_id"] == worker.name[len("agent-"):-len(".meta.json")], (asked, worker)
    client.answer(question, {"behavior": "allow", "updatedInput": asked["input"]})
    until(lambda: pathlib.Path(lab.work, "made.txt").exists(), "the worker does not write")
    done = client.over()
    assert done.code == 0, done


def a_plan_waits_on_although_the_lead_is_interrupted(lab):
    lab.model(MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "P", "prompt": "Plan it", "name": "ann", "mode": "plan"}
rule holds
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "until grep -qs agent-end %s/projects/*/*/subagents/*.jsonl; do sleep 0.1; done; echo ready > %s; sleep 60", "description": "hold"}
rule looks
  agent main
  last contains "And now?"
  call ListAgents {}
rule lead
  agent main
  text Done.
rule ann plans
  agent ann@alpha
  prompt contains "Plan it"
  turn 1
  call ExitPlanMode {"plan": "# A plan"}
rule ann
  text I am ann.
''' % (config(lab), lab.fifo("ready").path))
    client = Client(lab, "--allowedTools=Bash", env=TEAMS)
    client.say(PROMPT)
    assert lab.fifos[-1].line() == "ready"
    client.request("stop", "interrupt")
    client.run.frame("result")
    client.say("And now?")
    while True:
        frame = client.run.frame("user")
        text = json.dumps(frame["message"], ensure_ascii=False)
        if "Teammates (" in text:
            break
    assert re.search(r"ann \[\w+\]  ·  awaiting", text), text
    client.over()


# ---- the end of -p, compaction (rows 72, 34) ------------------------------------------------------------------------------------

def a_member_that_never_ends_meets_the_ceiling_and_can_be_resumed(lab):
    model = MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Work", "name": "ann"}
rule lead
  agent main
  text Done.
rule ann works
  agent ann@alpha
  prompt contains "Work"
  turn 1
  call Bash {"command": "%s", "description": "work"}
rule ann
  text I am ann.
''' % hold(lab, "free")
    done, session = run_team(lab, model, env={"CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS": "500"})
    assert done.code != 0, done
    release(lab, "free")
    again = go_on(lab, session)
    assert again.code == 0, again
    assert "I am ann." in json.dumps(member(lab, session, "Work").lines[-3:])
    assert not (config(lab) / "teams/alpha").exists()


def a_lead_that_is_summed_up_is_told_its_members_and_open_requests_again(lab):
    model = MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Wait", "name": "ann"}
  call Agent {"description": "B", "prompt": "Wait", "name": "ben"}
  call Agent {"description": "W", "prompt": "Work", "name": "wim"}
  call Agent {"description": "P", "prompt": "Plan it", "name": "pam", "mode": "plan"}
rule holds
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "until [ $(cat %s/projects/*/*/subagents/*.jsonl | grep -c agent-end) = 3 ]; do sleep 0.1; done", "description": "hold"}
rule approves
  agent main
  prompt contains "Go on"
  turn 1
  capture id prompt "its plan waits for approval: request_id " word
  call SendMessage {"to": "pam", "message": {"type": "plan_approval_response", "request_id": "{{id}}", "approve": true}}
rule lead
  agent main
  text Done.
rule pam writes
  agent pam@alpha
  last contains "[Plan Approved]"
  call Write {"file_path": "%s/pam.txt", "content": "by the plan"}
rule pam plans
  agent pam@alpha
  prompt contains "Plan it"
  turn 1
  call ExitPlanMode {"plan": "# A plan"}
rule wim works
  agent wim@alpha
  prompt contains "Work"
  turn 1
  call Bash {"command": "%s", "description": "work"}
rule member
  text I am here.
''' % (config(lab), lab.work, hold(lab, "free"))
    lab.model(model, log=True)
    client = Client(lab, "--allowedTools=Bash,Write", env=TEAMS)
    client.say(PROMPT)
    client.run.frame("result")
    client.say("/compact")
    client.run.frame("system", "compact_boundary")
    client.run.frame("result")
    client.say("Go on")
    client.run.frame("result")
    release(lab, "free")
    client.over()
    bodies = [b for b in lab.models[-1].bodies() if "Go on" in json.dumps(b["messages"][-1:])]
    assert bodies, "no request after the summary"
    text = json.dumps(bodies[0]["messages"])
    told = dict(re.findall(r"- (\w+) \(general-purpose\): (\w+)", text[text.index("Your team, as it is now"):]))
    assert told == {"ann": "idle", "ben": "idle", "wim": "running", "pam": "awaiting"}, text[-3000:]
    assert "its plan waits for approval: request_id plan_approval-" in text, text[-3000:]
    assert pathlib.Path(lab.work, "pam.txt").read_text() == "by the plan"


def a_plan_of_a_member_is_for_the_user_where_the_settings_say_so(lab):
    put_settings(lab, '{"teams": {"planApproval": "user"}}')
    lab.model(MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "P", "prompt": "Plan it", "name": "pam", "mode": "plan"}
rule lead
  agent main
  text Done.
rule pam tries
  agent pam@alpha
  prompt contains "Plan it"
  turn 1
  call Write {"file_path": "%s/early.txt", "content": "x"}
rule pam plans
  agent pam@alpha
  prompt contains "Plan it"
  turn 2-3
  call ExitPlanMode {"plan": "# Plan {{turn}}"}
rule pam writes
  agent pam@alpha
  prompt contains "Plan it"
  turn 4
  call Write {"file_path": "%s/pam.txt", "content": "by the plan"}
rule member
  text I am here.
''' % (lab.work, lab.work))
    client = Client(lab, "--permission-prompt-tool", "stdio", env=TEAMS)
    client.say(PROMPT)
    asked = []
    for answer in ({"behavior": "deny", "message": "think again"}, {"behavior": "allow"}, {"behavior": "allow"}):
        question = client.asked("can_use_tool")
        asked.append((question["request"]["tool_name"], question["request"]["input"].get("plan")))
        client.answer(question, {**answer, **({"updatedInput": question["request"]["input"]} if answer["behavior"] == "allow" else {})})
    done = client.over()
    assert done.code == 0, done
    assert asked == [("ExitPlanMode", "# Plan 2"), ("ExitPlanMode", "# Plan 3"), ("Write", None)], asked
    assert pathlib.Path(lab.work, "pam.txt").exists() and not pathlib.Path(lab.work, "early.txt").exists()
    assert "plan_approval_request" not in done.out


if __name__ == "__main__":
    main(two_members_that_write_to_each_other_at_once_lose_nothing_and_keep_the_order,
         idle_members_that_only_spoke_among_themselves_do_not_start_turns_of_the_lead,
         a_receiver_with_too_much_waiting_says_so_and_takes_more_later,
         a_receiver_with_too_many_bytes_waiting_says_so,
         each_message_of_a_storm_arrives_once_although_the_process_is_killed_again_and_again,
         after_a_kill_the_team_is_as_it_was,
         a_transcript_of_a_member_that_takes_long_to_read_does_not_hold_up_its_lead,
         a_conversation_that_is_set_back_stops_who_came_later_and_keeps_who_was_there,
         a_session_that_is_cleared_leaves_its_team_suspended_and_the_new_one_has_none,
         a_fork_of_the_session_has_no_team_and_the_team_stays_with_its_origin,
         questions_of_members_reach_the_host_with_their_ids_and_each_gets_its_own_answer,
         messages_of_random_pairs_arrive_once_and_in_the_order_of_their_pair,
         a_question_of_a_coordinators_worker_reaches_the_host_with_its_id,
         a_plan_waits_on_although_the_lead_is_interrupted,
         a_member_that_never_ends_meets_the_ceiling_and_can_be_resumed,
         a_lead_that_is_summed_up_is_told_its_members_and_open_requests_again,
         a_plan_of_a_member_is_for_the_user_where_the_settings_say_so)
