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
import re
import signal
import uuid

from lab import Lab, Transcript, below, main
from test_team_files import MAKES, PROMPT, TEAMS

RUNS = int(os.environ.get("TEAM_RUNS", "4"))
POINTS = ("team_recorded", "agent_recorded", "agent_prompted", "mail_queued", "call_started", "call_ended", "result_recorded",
          "answer_closed", "agent_end_recorded", "notice_delivered", "config_written", "member_gone", "request_before_send",
          "line_written")
MODEL = "latency 20" + MAKES + r'''
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
    assert not below(pathlib.Path(lab.home, ".claude"), "*.lock.lock"), where


def passings(lab, points, check, whole):
    log, session = os.path.join(lab.folder, "points"), str(uuid.uuid4())
    done = start(lab, session, CADRE_CRASH_LOG=log).wait()
    assert done.code == 0, done
    check(lab, session, "undisturbed")
    count = collections.Counter(pathlib.Path(log).read_text().split())
    assert all(count[name] for name in points), {name: count[name] for name in points}
    for name in points:
        numbers = range(1, count[name] + 1)
        runs = len(numbers) if name in whole else RUNS
        step = max(1, len(numbers) // runs)
        for number in list(numbers)[::-step][:runs]:
            yield name, number


def die_and_go_on(model, point, check, settings):
    where = "%s:%d" % point
    with contextlib.closing(Lab()) as lab:
        lab.model(model)
        put_settings(lab, settings)
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


def put_settings(lab, settings):
    path = pathlib.Path(lab.home, ".claude", "settings.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(settings)


def kill_everywhere(lab, model, names, check, settings='{"teams": {"askBeforeShutdown": true}}', whole=()):
    """whole: points of which every passing is tried."""
    lab.model(model)
    put_settings(lab, settings)
    points, wrong, killed = list(passings(lab, names, check, whole)), [], 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for point, future in [(point, pool.submit(die_and_go_on, model, point, check, settings)) for point in points]:
            try:
                killed += future.result() is not None
            except AssertionError as e:
                wrong.append("%s: %s" % (point, str(e)[:600]))
    assert not wrong, "\n".join(wrong)
    print("# killed %d times at %d points" % (killed, len(names)), flush=True)
    assert killed >= len(points) // 2, (killed, len(points))


def a_team_that_was_killed_at_any_point_goes_on_and_each_message_arrives_once(lab):
    kill_everywhere(lab, MODEL, POINTS, check, "{}")


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


# ---- plans, tasks and shutdown -----------------------------------------------------------------------------------------

WORK_POINTS = ("plan_sent", "plan_answered", "claim_written", "assignment_queued", "mail_queued", "shutdown_sent",
               "shutdown_approved", "member_gone", "call_started", "result_recorded", "agent_end_recorded")
WORK = MAKES + r'''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call TaskCreate {"subject": "first", "description": "do it"}
  call Agent {"description": "A", "prompt": "Plan it", "name": "ann", "mode": "plan"}
  call Agent {"description": "B", "prompt": "Wait", "name": "ben"}
rule gives and approves
  agent main
  prompt contains "Make a team"
  turn 3
  last contains "plan_approval_request"
  capture id last "\"requestId\":\"" until "\""
  call TaskUpdate {"taskId": "1", "owner": "ben"}
  call SendMessage {"to": "ann", "message": {"type": "plan_approval_response", "request_id": "{{id}}", "approve": true}}
rule gives
  agent main
  prompt contains "Make a team"
  turn 3
  call TaskUpdate {"taskId": "1", "owner": "ben"}
rule approves
  agent main
  last contains "plan_approval_request"
  capture id last "\"requestId\":\"" until "\""
  call SendMessage {"to": "ann", "message": {"type": "plan_approval_response", "request_id": "{{id}}", "approve": true}}
rule dismisses
  agent main
  last contains "\"result\":\"All is done.\""
  call SendMessage {"to": "ben", "message": {"type": "shutdown_request"}}
rule lead
  agent main
  text Done.
rule ann works
  agent ann@alpha
  last contains "[Plan Approved]"
  call SendMessage {"to": "team-lead", "message": "word-plan"}
rule ann plans
  agent ann@alpha
  prompt contains "Plan it"
  turn 1
  call ExitPlanMode {"plan": "# A plan"}
rule ann
  agent ann@alpha
  text I am ann.
rule ben agrees
  agent ben@alpha
  last contains "shutdown_request"
  capture id last "\"requestId\":\"" until "\""
  call SendMessage {"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "{{id}}", "approve": true}}
rule ben begins
  agent ben@alpha
  last contains "task_assignment"
  call TaskUpdate {"taskId": "1", "status": "in_progress"}
rule ben completes
  agent ben@alpha
  last_result contains "Updated task #1"
  last_result lacks "completed"
  last_result lacks "next one"
  call TaskUpdate {"taskId": "1", "status": "completed"}
rule ben has done it
  agent ben@alpha
  last_result contains "next one"
  text All is done.
rule ben
  agent ben@alpha
  text I am ben.
'''


def check_work(lab, session, where):
    transcripts = all_transcripts(lab, session)
    assert len(transcripts) == 3, (where, [t.path for t in transcripts])
    for transcript in transcripts:
        transcript.check_complete()
        transcript.results()
    ids = collections.Counter(i for t in transcripts for line in t.lines for i in (line.get("origin") or {}).get("ids", []))
    assert set(ids.values()) == {1}, (where, ids.most_common(3))

    def seen(transcript, text):
        return sum(json.dumps(line["message"]).count(text) for line in transcript.lines if line["type"] == "user")
    lead, (ann, ben) = transcripts[0], sorted(transcripts[1:], key=lambda t: "Plan it" not in json.dumps(t.lines))
    task = json.loads(pathlib.Path(lab.home, ".claude/tasks/alpha/1.json").read_text())
    assert (task["owner"], task["status"]) == ("ben", "completed"), (where, task)
    assert seen(ben, "task_assignment") == 1, where
    assert seen(ann, "[Plan Approved]") == 1, (where, "approved")
    assert seen(lead, "plan_approval_request") == 1 and seen(lead, "\\nword-plan\\n</teammate") == 1, where
    assert seen(lead, "shutdown_approved") <= 1, (where, "shutdown")
    assert not pathlib.Path(lab.home, ".claude/teams/alpha").exists(), where


def plans_tasks_and_shutdowns_survive_a_kill_at_any_point(lab):
    kill_everywhere(lab, WORK, WORK_POINTS, check_work)


# ---- five members with tasks and messages (row 70), inboxes of others, the end of a team ----------------------------------

FIVE_POINTS = ("team_recorded", "call_started", "agent_recorded", "mail_queued", "claim_written", "assignment_queued", "config_written", "inbox_taken",
               "inbox_written", "notice_delivered", "agent_end_recorded", "member_gone")
def turns(first, call):
    '''Five answers with a call each: of an answer with several calls a kill may leave a part, and the rest is never called.'''
    return "".join('rule %d\n  agent main\n  prompt contains "Make a team"\n  turn %d\n  call %s\n' % (first + i, first + i, call.replace("{{i}}", str(i + 1)))
                   for i in range(5))


FIVE = MODEL[:MODEL.index("rule starts")] + turns(2, 'TaskCreate {"subject": "task {{i}}", "description": "part {{i}}"}') + turns(
    7, 'Agent {"description": "M", "prompt": "Number {{i}} waits", "name": "m{{i}}"}') + turns(
        12, 'TaskUpdate {"taskId": "{{i}}", "owner": "m{{i}}"}') + r'''
rule others write
  agent main
  prompt contains "Make a team"
  turn 17
  call Bash {"command": "cd $HOME/.claude/teams/alpha/inboxes && echo '[{\"from\":\"x\",\"text\":\"word-x\",\"timestamp\":\"t\",\"msg_id\":\"x-1\"},{\"from\":\"x\",\"text\":\"word-y\",\"timestamp\":\"t\",\"msg_id\":\"x-2\"}]' > m1.new && mv m1.new m1.json", "description": "write"}
rule others write again
  agent main
  last_result contains "may or may not have run"
  call Bash {"command": "cd $HOME/.claude/teams/alpha/inboxes && echo '[{\"from\":\"x\",\"text\":\"word-x\",\"timestamp\":\"t\",\"msg_id\":\"x-1\"},{\"from\":\"x\",\"text\":\"word-y\",\"timestamp\":\"t\",\"msg_id\":\"x-2\"}]' > m1.new && mv m1.new m1.json", "description": "write"}
rule lead
  agent main
  text Done.
''' + "".join(r'''
rule m%(i)d begins
  agent m%(i)d@alpha
  last contains "task_assignment"
  call TaskUpdate {"taskId": "%(i)d", "status": "in_progress"}
rule m%(i)d tells
  agent m%(i)d@alpha
  last_result contains "Updated task #%(i)d"
  last_result lacks "next one"
  call SendMessage {"to": "m%(next)d", "message": "word-%(i)d"}
rule m%(i)d completes
  agent m%(i)d@alpha
  last_result contains "inbox"
  call TaskUpdate {"taskId": "%(i)d", "status": "completed"}
''' % {"i": i, "next": i % 5 + 1} for i in range(1, 6)) + '''
rule member
  text I am here.
'''


def check_five(lab, session, where):
    """As in a run that nothing disturbed: who is there, what is done, and what each one was told."""
    transcripts = all_transcripts(lab, session)
    lead, members = transcripts[0], transcripts[1:]
    for transcript in transcripts:
        transcript.check_complete()
        transcript.results()
    called = collections.Counter(call["name"] for call in lead.calls().values())
    assert len(members) == 5 and [called[name] for name in ("TeamCreate", "TaskCreate", "Agent", "TaskUpdate")] == [1, 5, 5, 5], (where, called)
    wrong = [(call["name"], result) for t in transcripts for call in t.calls().values() for result in (t.results()[call["id"]],)
             if call["name"] != "Bash" and (result.get("is_error") or '"success":false' in json.dumps(result).replace("\\", ""))]
    assert not wrong, (where, wrong)
    ids = collections.Counter(i for t in transcripts for line in t.lines for i in (line.get("origin") or {}).get("ids", []))
    assert set(ids.values()) == {1}, (where, ids.most_common(3))
    text = "".join(json.dumps(line["message"]) for t in members for line in t.lines if line["type"] == "user")
    for word in ("1", "2", "3", "4", "5", "x", "y"):
        assert text.count("\\nword-%s\\n</teammate-message>" % word) == 1, (where, word)
    for i in range(1, 6):
        assert text.count('\\"type\\":\\"task_assignment\\",\\"taskId\\":\\"%d\\"' % i) == 1, (where, i)
        task = json.loads(pathlib.Path(lab.home, ".claude/tasks/alpha/%d.json" % i).read_text())
        assert (task["owner"], task["status"]) == ("m%d" % i, "completed"), (where, task)
    assert len(list(pathlib.Path(lab.home, ".claude/tasks/alpha").glob("[0-9]*.json"))) == 5, where
    left = [str(path) for path in below(pathlib.Path(lab.home, ".claude")) if path.name == "alpha" and "teams" in path.parts or path.name.endswith(".lock.lock")]
    assert not left, (where, left)


def a_team_of_five_with_tasks_and_messages_ends_as_if_nothing_had_killed_it(lab):
    kill_everywhere(lab, FIVE, FIVE_POINTS, check_five, '{"permissions": {"allow": ["Bash"]}}')
    assert die_and_go_on(FIVE, ("call_started", 3), check_five, '{"permissions": {"allow": ["Bash"]}}')  # a TaskCreate


DELETE = MODEL[:MODEL.index("rule lead")] + r'''
rule deletes
  agent main
  prompt contains "Make a team"
  turn 3
  call TeamDelete {"force": true}
rule makes another
  agent main
  prompt contains "Make a team"
  turn 4
  call TeamCreate {"team_name": "beta"}
rule lead
  agent main
  text Done.
rule member
  text I am here.
'''


def check_delete(lab, session, where):
    transcripts = all_transcripts(lab, session)
    results = {call["name"]: results[call["id"]] for t in transcripts[:1] for results in (t.results(),) for call in t.calls().values()}
    assert '"success":true' in json.dumps(results["TeamDelete"]).replace("\\", ""), (where, results["TeamDelete"])
    assert "beta" in json.dumps(results["TeamCreate"]) and not results["TeamCreate"].get("is_error"), (where, results["TeamCreate"])
    for transcript in transcripts:
        transcript.check_complete()


def a_team_that_was_killed_while_it_was_deleted_is_deleted(lab):
    kill_everywhere(lab, DELETE, ("team_deleted", "call_started", "result_recorded"), check_delete, "{}")


# ---- a coordinator (row 80): one worker is continued, another one is stopped and continued later --------------------------------

WORKERS_POINTS = ("agent_recorded", "agent_prompted", "agent_end_recorded", "message_end_kept", "notice_queued", "notice_delivered",
                  "call_started", "call_ended", "result_recorded", "request_before_send", "answer_closed", "line_written")
WORKERS = r"""
latency 20
rule starts
  agent main
  prompt contains "Make a team"
  turn 1
  call Agent {"description": "One", "prompt": "Part one", "subagent_type": "worker", "name": "one"}
  call Agent {"description": "Two", "prompt": "Part two", "subagent_type": "worker", "name": "two"}
rule continues
  agent main
  last contains "<result>The first part.</result>"
  call SendMessage {"to": "one", "message": "And now more"}
rule stops
  agent main
  last contains "<result>The second part.</result>"
  call TaskStop {"task_id": "two"}
rule stops again
  agent main
  last_result contains "may or may not have"
  call TaskStop {"task_id": "two"}
rule continues the other
  agent main
  last_result contains "Successfully stopped"
  call SendMessage {"to": "two", "message": "And you too"}
rule it was stopped already
  agent main
  last_result contains "is not running"
  call SendMessage {"to": "two", "message": "And you too"}
rule waits
  agent main
  text I wait.
rule one again
  prompt contains "And now more"
  text The second part.
rule one
  prompt contains "Part one"
  text The first part.
rule two again
  prompt contains "And you too"
  text The other part.
rule two
  prompt contains "Part two"
  latency 600s
  text Never.
"""


def check_workers(lab, session, where):
    transcripts = all_transcripts(lab, session)
    assert len(transcripts) == 3, (where, [t.path for t in transcripts])
    for transcript in transcripts:
        transcript.check_complete()
        transcript.results()
    ids = collections.Counter(i for t in transcripts for line in t.lines for i in (line.get("origin") or {}).get("ids", []))
    assert set(ids.values()) == {1}, (where, ids.most_common(3))
    lead = json.dumps([line["message"] for line in transcripts[0].lines if line["type"] == "user"])
    ends = collections.Counter(line["end"]["state"] for t in transcripts[1:] for line in t.lines if line["type"] == "agent-end")
    told = collections.Counter(re.findall(r"<status>(\w+)</status>", lead))
    # A call without a result may be made again: then there is one more end. One that is stopped before it begins records none.
    stops = sum(call["name"] == "TaskStop" for call in transcripts[0].calls().values())
    assert told["completed"] == ends["completed"] and max(ends["killed"], 1) <= told["killed"] <= stops, (where, told, ends, stops)
    parts = [lead.count("<result>The %s part.</result>" % part) for part in ("first", "second", "other")]
    assert parts[:2] == [1, 1] and parts[2] >= 1 and (where != "undisturbed" or told == {"completed": 3, "killed": 1}), (where, parts, told)
    histories = [json.dumps(t.lines) for t in transcripts[1:]]
    assert sum("Part one" in h and "And now more" in h for h in histories) == 1, where
    assert sum("Part two" in h and "And you too" in h for h in histories) == 1, where


def workers_of_a_coordinator_that_was_killed_at_any_point_report_each_end_once(lab):
    kill_everywhere(lab, WORKERS, WORKERS_POINTS, check_workers, '{"coordinator": true}', ("answer_closed", "message_end_kept"))


if __name__ == "__main__":
    main(workers_of_a_coordinator_that_was_killed_at_any_point_report_each_end_once,
         a_team_of_five_with_tasks_and_messages_ends_as_if_nothing_had_killed_it,
         a_team_that_was_killed_while_it_was_deleted_is_deleted,
         a_team_that_was_killed_at_any_point_goes_on_and_each_message_arrives_once,
         an_idle_member_is_parked_and_woken_with_its_history,
         plans_tasks_and_shutdowns_survive_a_kill_at_any_point)
