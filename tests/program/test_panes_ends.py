#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Members in panes of a real tmux that are killed, lose their lead, do not answer, or are sent more than fits: they are resumed, and
nothing is left. Numbers are rows of the team's acceptance list (tests/scenarios/team/README.md)."""
import json
import os
import pathlib
import signal
import time
import uuid

from lab import below, main, until
from panes import PANES, TALK, TEAMS, THREE, in_terminal, members_rule, path_with_tmux, path_without_tmux, printed_in_pane
from test_team_files import mail


CRASH = members_rule(["ann"]) + r"""
rule lead
  prompt contains "Make a team"
  text Team is there.
rule lead hears
  prompt contains "teammate_terminated"
  text Noted.
rule member creates
  prompt contains "Task of"
  turn 1
  call TaskCreate {"subject": "The task", "description": "d"}
rule member claims
  prompt contains "Task of"
  turn 2
  call TaskUpdate {"taskId": "1", "status": "in_progress"}
rule member works
  prompt contains "Task of"
  turn 3
  call Bash {"command": "echo one >> @WORK@/ran; sleep 600"}
rule member goes on
  prompt contains "Task of"
  turn 4
  call Bash {"command": "echo two >> @WORK@/ran; sleep 600"}
rule other
  text Never.
"""


@in_terminal(CRASH)
def row_65_a_killed_member_is_started_again_once_and_no_call_runs_twice(t):
    ran = pathlib.Path(t.lab.work, "ran")
    lines = lambda: ran.read_text().split() if ran.exists() else []
    task = t.config() / "tasks" / ("session-" + t.session[:8]) / "1.json"
    t.begin("--dangerously-skip-permissions", IS_SANDBOX="1")
    until(lambda: lines() == ["one"], lambda: (t.screen(), t.panes(), t.screen(t.team()["pane"]), t.texts(t.team()["agentSession"])))
    assert json.loads(task.read_text())["owner"] == "ann"
    first = t.team()
    t.kill(first["pid"])
    until(lambda: lines() == ["one", "two"], lambda: (lines(), t.screen(), t.panes()))
    second = t.team()
    assert second["pid"] != first["pid"] and second["agentSession"] == first["agentSession"]
    assert t.heard("may or may not have", second["agentSession"]) == 1, t.texts(second["agentSession"])
    until(lambda: len(t.members()) == 1, t.panes)
    t.kill(second["pid"])
    t.hears("have no owner again")
    assert t.team()["gone"] and json.loads(task.read_text()).get("owner", "") == ""
    assert json.loads(task.read_text())["status"] == "pending"
    until(lambda: not t.members(), t.panes)
    t.leave()
    assert lines() == ["one", "two"]


LEAD_KILLED = members_rule(["ann", "ben", "cid"]) + r"""
rule lead
  prompt contains "Make a team"
  text Team is there.
rule lead hears
  prompt contains "idle_notification"
  text Noted.
rule lead goes on
  prompt contains "Who is there"
  text Everybody.
rule cid works
  prompt contains "Task of cid"
  turn 1
  call Bash {"command": "touch @WORK@/begun; until [ -e @WORK@/go ]; do sleep 0.1; done"}
rule cid
  prompt contains "Task of cid"
  text Report of cid.
rule ann
  prompt contains "Task of ann"
  text Report of ann.
rule ben
  prompt contains "Task of ben"
  text Report of ben.
"""


@in_terminal(LEAD_KILLED)
def row_66_members_end_by_themselves_when_the_lead_is_killed_and_are_resumed_with_it(t):
    alone = ("--settings", '{"permissions": {"allow": ["Bash"]}, "teams": {"suspendAfterMs": 2000}}')
    t.begin(*alone)
    for name in ("ann", "ben"):
        t.hears("Report of %s." % name)
    until(pathlib.Path(t.lab.work, "begun").exists, t.screen)
    before = t.meta()
    t.kill(t.pid)
    killed = time.monotonic()
    until(lambda: not t.alive(before["ann"]["team"]["pid"]), t.panes)
    assert time.monotonic() - killed >= 2, "an idle member waits for its lead"
    pathlib.Path(t.lab.work, "go").touch()  # it is at work until now, and its lead is gone
    t.nothing_left()
    assert not t.heard("Report of cid.")
    t.lead("--teammate-mode", "auto", "--resume", t.session, *alone)
    t.type("Who is there")
    t.hears("Report of cid.")
    until(lambda: len(t.members()) == 3, t.panes)
    for name in ("ann", "ben", "cid"):
        assert t.meta()[name]["team"]["agentSession"] == before[name]["team"]["agentSession"]
        assert t.heard("Report of %s." % name) == 1, (name, t.texts(t.session))
    t.leave()


@in_terminal(members_rule(["ann"]) + "rule other\n  text Report of a member.\n")
def row_66_by_default_an_idle_member_ends_thirty_seconds_after_its_lead(t):
    t.begin()
    t.hears("Report of a member.")
    until(lambda: t.team().get("pid"), t.meta)
    t.kill(t.pid)
    killed = time.monotonic()
    until(lambda: not t.members(), t.panes, 59)  # half a minute, and not a whole one
    assert time.monotonic() - killed > 29, time.monotonic() - killed
    t.nothing_left()


@in_terminal(THREE)
def a_lead_that_is_killed_before_it_marked_a_pane_leaves_none(t):
    t.begin("--settings", '{"teams": {"suspendAfterMs": 500}}', CADRE_CRASH_AT="pane_recorded:1")
    until(lambda: not t.alive(t.pid), t.screen)
    assert [m for m in t.meta().values() if m["team"].get("pane")], t.meta()  # it was made, and has no mark
    t.nothing_left(killed=True)


HERE = members_rule(["ann", "ben"]) + r"""
rule lead
  prompt contains "Make a team"
  text Team is there.
rule lead asks
  prompt contains "Ask ann"
  turn 1
  call SendMessage {"to": "ann", "message": "second-task"}
rule ann again
  last contains "second-task"
  text "The second report."
rule ben works
  prompt contains "Task of ben"
  turn 1
  call Bash {"command": "echo ben >> @WORK@/ran; sleep 600"}
rule ben goes on
  prompt contains "Task of ben"
  text Report of ben.
rule ann
  prompt contains "Task of ann"
  text Report of ann.
rule other
  text Noted.
"""


@in_terminal(HERE)
def a_lead_that_is_resumed_without_tmux_has_its_members_in_its_process(t):
    allowed = ["--settings", '{"permissions": {"allow": ["Bash"]}, "teams": {"suspendAfterMs": 500}}']
    t.begin(*allowed)
    ran = pathlib.Path(t.lab.work, "ran")
    t.hears("Report of ann.")
    until(ran.read_text, t.screen)
    sessions = {name: t.meta()[name]["team"]["agentSession"] for name in ("ann", "ben")}
    t.kill(t.pid)
    t.kill(t.team("ben")["pid"])  # its command would hold it for ten minutes
    t.nothing_left()
    t.lead("--teammate-mode", "auto", "--resume", t.session, *allowed, PATH=path_without_tmux(t))
    t.type("Ask ann")
    t.hears("The second report.")
    t.hears("Report of ben.")
    assert t.heard("lives in this process now: tmux is not installed") == 2, t.texts(t.session)
    assert t.heard("Report of ann.") == 1 and t.heard("Report of ben.") == 1, t.texts(t.session)
    assert ran.read_text() == "ben\n"
    assert {m["team"]["backend"] for m in t.meta().values()} == {"in-process"}, t.meta()
    (whole,) = [text for text in (p.read_text() for p in t.config().glob("projects/*/%s/subagents/agent-*.jsonl" % t.session))
                if "The second report." in text]
    assert "Task of ann." in whole and sessions["ann"] in whole  # one history
    t.leave()


EIGHT = ["m%d" % i for i in range(1, 9)]
STORY = members_rule(EIGHT) + r"""
rule lead
  prompt contains "Make a team"
  text Team is there.
rule lead shuts down
  prompt contains "Shut all down"
  turn 1
""" + "\n".join('  call SendMessage {"to": "%s", "message": {"type": "shutdown_request"}}' % name for name in EIGHT) + r"""
rule lead
  prompt contains "Shut all down"
  text Asked.
rule lead resumed
  prompt contains "Go on"
  text Resumed.
rule member shuts down
  last contains "shutdown_request"
  capture id last "\"requestId\":\"" until "\""
  call SendMessage {"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "{{id}}", "approve": true}}
rule m1 asks
  prompt contains "Task of m1."
  turn 1
  call Write {"file_path": "@WORK@/asked.txt", "content": "x"}
rule m2 works
  prompt contains "Task of m2."
  turn 1
  call Bash {"command": "echo one >> @WORK@/ran; sleep 600"}
rule m3 talks
  prompt contains "Task of m3."
  turn 1
  call SendMessage {"to": "m4", "message": "word-three"}
rule m4 answers
  prompt contains "word-three"
  turn 1
  call SendMessage {"to": "team-lead", "message": "word-four"}
""" + "\n".join('rule end of %s\n  prompt contains "Task of %s."\n  text Report of %s.' % (n, n, n) for n in EIGHT) + r"""
rule other
  text Noted.
"""
ASK_BEFORE = json.dumps({"teams": {"askBeforeShutdown": True, "suspendAfterMs": 500}, "permissions": {"allow": ["Bash"]}})


@in_terminal(STORY, size=(160, 24))
def eight_members_from_their_start_to_their_shutdown_leave_nothing(t):
    ran = pathlib.Path(t.lab.work, "ran")
    t.lead("--teammate-mode", "tmux", "--session-id", t.session, "--settings", ASK_BEFORE)
    t.type("Make a team")
    t.sees("say why:")  # the question of m1, at the lead
    until(lambda: sorted(t.members()) == EIGHT, t.panes)
    until(ran.read_text, t.panes)
    # m4 may still be at work when a message comes to it: then its report is the answer to that.
    until(lambda: all(t.heard("Report of m%d." % i) for i in (3, 5, 6, 7, 8)), lambda: (t.texts(t.session), t.screen()))
    t.hears("word-four")
    t.allow()
    until(pathlib.Path(t.lab.work, "asked.txt").exists, t.screen)
    first = t.team("m2")
    t.kill(first["pid"])
    t.hears("Report of m2.")
    assert ran.read_text() == "one\n" and t.team("m2")["pid"] != first["pid"]
    t.hears("Report of m1.")
    t.untouched()
    t.kill(t.pid)
    t.nothing_left()
    t.lead("--teammate-mode", "tmux", "--resume", t.session, "--settings", ASK_BEFORE)
    t.type("Go on")
    until(lambda: sorted(t.members()) == EIGHT, t.panes)
    t.sees("Resumed.")
    t.type("Shut all down")
    until(lambda: all(m["team"]["gone"] for m in t.meta().values()), lambda: (t.meta(), t.texts(t.session), t.screen()))
    t.hears("shutdown_approved", count=8)
    for i in range(1, 9):
        # m4 has two runs: the report of the second one replaces that of the first, if the lead has not read it
        assert t.heard("Report of m%d." % i) == 1 or (i == 4 and not t.heard("Report of m4.")), (i, t.texts(t.session))
    assert t.heard("\\nword-four\\n") == 1 and ran.read_text() == "one\n", (ran.read_text(), t.texts(t.session))
    until(lambda: not t.members(), t.panes)
    t.leave()


def false_tmux(t, body):
    """A tmux in the path that does something else with commands that make a pane."""
    return path_with_tmux(t, 'case " $* " in *" -P "*) ;; *) exec $real "$@";; esac\n' + body)


SHORT = json.dumps({"teams": {"paneStartMs": 1000}})


@in_terminal(CRASH)
def a_member_that_does_not_join_in_time_fails_and_the_lead_hears_why(t):
    path = false_tmux(t, 'n=0; for w in "$@"; do [ "$w" = -- ] && break; n=$((n+1)); done\n'
                      'i=0; for w in "$@"; do shift; [ $i -lt $n ] && set -- "$@" "$w"; i=$((i+1)); done; exec $real "$@" -- sleep 600')
    t.begin("--settings", SHORT, PATH=path)
    t.hears("did not join this session within 1000 ms (setting teams.paneStartMs)")
    until(lambda: not t.members(), t.panes)
    t.leave()


@in_terminal(THREE)
def row_63_a_tmux_that_hangs_means_in_process_too(t):
    path = false_tmux(t, "exec sleep 600")
    t.begin("--settings", SHORT, PATH=path)
    t.hears("Report of a member.", count=3)
    assert t.heard("It lives in this process: tmux did not answer within 1000 ms") == 3, t.texts(t.session)
    t.leave()


@in_terminal(THREE)
def row_63_a_tmux_that_is_too_old_means_in_process_too(t):
    path = path_with_tmux(t, '[ "$1" = -V ] && echo tmux 3.1c && exit 0\ntouch %s/used\nexec $real "$@"' % t.lab.work)
    t.lead("--teammate-mode", "tmux", "--session-id", t.session, PATH=path)
    t.type("Make a team")
    t.hears("Report of a member.", count=3)
    assert t.heard("It lives in this process: tmux 3.1c is too old, 3.2 or newer is needed") == 3, t.texts(t.session)
    assert not pathlib.Path(t.lab.work, "used").exists()
    t.leave()


@in_terminal(CRASH)
def a_lead_that_is_stopped_while_a_pane_is_made_again_ends_it(t):
    begun, go, ran = (pathlib.Path(t.lab.work, name) for name in ("begun", "go", "ran"))
    path = false_tmux(t, "[ -e %s ] || exec $real \"$@\"; touch %s; until [ -e %s ]; do sleep 0.1; done; exec $real \"$@\"" % (ran, begun, go))
    run = printed_in_pane(t, "--dangerously-skip-permissions", settings=PANES, IS_SANDBOX="1", PATH=path)
    until(ran.exists, "the member does not work")
    t.kill(t.team()["pid"])
    until(begun.exists, "it is not started again")
    run.kill(signal.SIGTERM)
    time.sleep(0.3)  # the chance for the end to begin first
    go.touch()
    assert run.wait().code != 0
    t.nothing_left()


@in_terminal(CRASH)
def a_process_that_ends_before_its_pane_is_marked_leaves_no_pane(t):
    marking, go = (pathlib.Path(t.lab.folder, name) for name in ("marking", "go"))
    path = path_with_tmux(t, 'case " $* " in *" @cadre "*) touch %s; until [ -e %s ]; do sleep 0.1; done;; esac\nexec $real "$@"' % (marking, go))
    t.begin("--settings", '{"teams": {"restartPanes": 0}}', PATH=path)
    until(marking.exists, t.screen)
    (pid,) = [int(pane[1]) for pane in t.panes() if pane[0] not in t.users]
    t.kill(pid)
    until(lambda: not t.alive(pid), "it lives on")
    until(lambda: t.team()["gone"], t.meta)
    go.touch()
    until(lambda: not [pane for pane in t.panes() if pane[0] not in t.users], t.panes)
    t.leave()


RECEIVED = ("line_torn", "line_written", "block_recorded", "call_started", "call_ended", "result_recorded", "request_before_send",
            "notice_delivered", "answer_closed", "turn_ended")
PANE_RUNS = int(os.environ.get("PANE_RUNS", "1"))


def check_talk(t, where):
    session = t.team()["agentSession"]
    heard = [(t.heard("\\n%s\\n" % word), word) for word in ("first-word", "second-word")] + [
        (t.heard("\\nsecond-task\\n", session), "second-task")]
    assert [n for n, _ in heard] == [1, 1, 1], (where, heard, t.texts(t.session), t.texts(session))
    ann = t.lab.transcript(session)
    sent = [c["id"] for c in ann.calls().values() if c["name"] == "SendMessage"]
    results = [b["tool_use_id"] for line in ann.lines if line["type"] == "user" and isinstance(line["message"]["content"], list)
               for b in line["message"]["content"] if b["type"] == "tool_result"]
    assert sorted(results) == sorted(sent), (where, results, sent)


@in_terminal(TALK)
def row_29_a_receiver_in_a_pane_that_is_killed_at_any_point_gets_each_message_once(t):
    log = pathlib.Path(t.lab.folder, "points")
    t.run("set-environment", "-g", "CADRE_CRASH_LOG", str(log))
    done = printed_in_pane(t).wait()
    assert done.code == 0, done
    check_talk(t, "undisturbed")
    passed = log.read_text().split()
    t.run("set-environment", "-gu", "CADRE_CRASH_LOG")
    killed = 0
    for name in RECEIVED:
        count = passed.count(name)
        assert count, (name, passed)
        for number in list(range(count, 0, -max(1, count // PANE_RUNS)))[:PANE_RUNS]:
            t.session = str(uuid.uuid4())
            t.run("set-environment", "-g", "CADRE_CRASH_AT", "%s:%d" % (name, number))
            run = printed_in_pane(t)
            pid = until(lambda: next((m["team"]["pid"] for m in t.meta().values() if m["team"].get("pid")), 0), "no member starts")
            until(lambda: not t.alive(pid) or run.process.poll() is not None, "it neither dies nor ends")
            t.run("set-environment", "-gu", "CADRE_CRASH_AT")
            done = run.wait()
            assert done.code == 0, (name, number, done)
            check_talk(t, (name, number))
            killed += t.heard("was started again and continues") > 0
            t.nothing_left()
    assert killed >= len(RECEIVED) // 2, killed


STORED = members_rule(["ann"]) + r"""
rule lead
  prompt contains "Make a team"
  text Team is there.
rule lead sends
  prompt contains "Send it"
  turn 1
  call SendMessage {"to": "ann", "message": "second-task"}
rule ann waits
  prompt contains "Task of ann."
  turn 1
  call Bash {"command": "touch @WORK@/begun; until [ -e @WORK@/free ]; do sleep 0.1; done"}
rule other
  text Noted.
"""
BASH = json.dumps({"permissions": {"allow": ["Bash"]}})


@in_terminal(STORED)
def row_30_a_message_to_a_pane_outlives_both_processes(t):
    t.begin("--settings", BASH)
    until(pathlib.Path(t.lab.work, "begun").exists, t.screen)
    t.type("Send it")
    t.hears("Message sent to ann")
    session = t.team()["agentSession"]
    t.kill(t.pid)
    t.kill(t.team()["pid"])
    t.nothing_left()
    assert not t.heard("\\nsecond-task\\n", session)
    assert not below(t.config(), "*.db*")
    pathlib.Path(t.lab.work, "free").touch()
    t.lead("--teammate-mode", "auto", "--resume", t.session, "--settings", BASH)
    t.type("Go on")
    t.hears("\\nsecond-task\\n", session)
    t.hears("idle_notification")
    assert t.heard("\\nsecond-task\\n", session) == 1
    t.leave()


@in_terminal(STORED)
def row_33_for_a_member_in_a_pane_so_much_waits_as_for_any_other(t):
    t.begin("--settings", BASH)
    until(pathlib.Path(t.lab.work, "begun").exists, t.screen)
    inbox = t.inbox()
    mail(inbox, [{"from": "x", "text": "m%d" % i, "timestamp": "t", "msg_id": "q-%d" % i} for i in range(10010)])
    left = lambda: len(json.loads(inbox.read_text()))
    until(lambda: left() == 10, left)
    t.type("Send it")
    t.hears('\\"success\\":false,\\"message\\":\\"10000 messages wait there already')
    shown = t.lab.cadre("team", "show", "session-" + t.session[:8], "--json", env=TEAMS)
    assert json.loads(shown.out)["roster"][0].get("unread") == 10000, shown
    pathlib.Path(t.lab.work, "free").touch()
    session = t.team()["agentSession"]
    t.hears("\\nm10009\\n", session)
    lines = t.lab.transcript(session, torn=True).lines
    ids = [i for line in lines if line["type"] == "user" for i in (line.get("origin") or {}).get("ids", [])]
    assert [i for i in ids if i.startswith("q-")] == ["q-%d" % i for i in range(10010)]
    until(lambda: left() == 0, left)
    t.leave()


if __name__ == "__main__":
    main(row_66_by_default_an_idle_member_ends_thirty_seconds_after_its_lead,
         row_65_a_killed_member_is_started_again_once_and_no_call_runs_twice,
         row_66_members_end_by_themselves_when_the_lead_is_killed_and_are_resumed_with_it,
         a_lead_that_is_killed_before_it_marked_a_pane_leaves_none,
         a_lead_that_is_resumed_without_tmux_has_its_members_in_its_process,
         eight_members_from_their_start_to_their_shutdown_leave_nothing,
         a_member_that_does_not_join_in_time_fails_and_the_lead_hears_why,
         row_63_a_tmux_that_hangs_means_in_process_too,
         row_63_a_tmux_that_is_too_old_means_in_process_too,
         a_lead_that_is_stopped_while_a_pane_is_made_again_ends_it,
         a_process_that_ends_before_its_pane_is_marked_leaves_no_pane,
         row_29_a_receiver_in_a_pane_that_is_killed_at_any_point_gets_each_message_once,
         row_30_a_message_to_a_pane_outlives_both_processes,
         row_33_for_a_member_in_a_pane_so_much_waits_as_for_any_other, at_once=2)
