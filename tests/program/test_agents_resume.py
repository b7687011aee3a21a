#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Children that go on: after a message, after an interrupt, in the background, in a later process; and what is on disk."""
import collections
import concurrent.futures
import json
import os
import pathlib
import signal
import sys
import time

import family
import twenty
from lab import CADRE, ROOT, Lab, main

sys.path.insert(0, str(ROOT / "scripts"))
from pty_test import KEYS, Terminal  # noqa: E402

KEYS["C-b"] = b"\x02"
AT_ONCE = 2
AGENT = twenty.call("Agent", description="Some work", prompt="Work", name="bob")
SECOND = "And now the rest."


# ---- what is on disk

def a_child_has_a_transcript_and_a_meta_file_as_other_programs_expect_them(lab):
    lab.model(family.scenario("foreground"))
    session = twenty.new_session()
    assert family.start(lab, session).wait().code == 0
    (agent, meta), = family.metas(lab, session).items()
    assert len(agent) == 17 and agent[0] == "a" and int(agent[1:], 16) >= 0, agent
    call = next(iter(lab.transcript(session).calls()))
    expected = {"agentType": "general-purpose", "isBuiltIn": True, "description": "Some work", "toolUseId": call,
                "spawnDepth": 1, "requestShape": "foreground", "finished": True}
    assert {key: meta.get(key) for key in expected} == expected, meta
    lines = family.children(lab, session)[agent].lines
    for line in lines:
        assert line["isSidechain"] is True and line["agentId"] == agent and line["sessionId"] == session, line
    assert [line["type"] for line in lines][-1] == "agent-end", lines[-1]
    assert lines[0]["parentUuid"] is None and all(line["timestamp"] and line["cwd"] == lab.work for line in lines)


# ---- what is told of a run

FIGURES = """
rule delegate
  agent main
  turn 1
  call Agent {"description": "Work", "prompt": "Work", "name": "bob"}
rule wait
  agent main
  turn 2
  call Bash {"command": "sleep 2"}
rule resume
  agent main
  turn 3
  call Agent {"description": "Work", "prompt": "More", "resume": "bob"}
rule
  agent main
  text done
rule child reads
  turn 1
  usage input=100 output=10 cache_read=0 cache_write=0
  call Read {"file_path": "a.txt"}
rule child
  usage input=200 output=20 cache_read=0 cache_write=0
  text It is an apple.
"""


def figures(done):
    """Of each call of the Agent tool: milliseconds, tokens, calls."""
    results = [f["tool_use_result"] for f in done.frames() if isinstance(f.get("tool_use_result"), dict)]
    return [(r["totalDurationMs"], r["totalTokens"], r["totalToolUseCount"]) for r in results if "totalTokens" in r]


def a_resumed_child_is_told_of_with_the_figures_of_that_run(lab):
    (pathlib.Path(lab.work) / "a.txt").write_text("apple")
    lab.model(FIGURES)
    began = time.monotonic()
    first, second = figures(lab.stream("--allowedTools=Bash", "go").wait())
    whole_ms = 1000 * (time.monotonic() - began)
    assert first[1:] == (330, 1) and second[1:] == (330, 1), (first, second)
    assert first[0] + 2000 + second[0] <= whole_ms, (first, second, whole_ms)  # the second begins behind the command


def what_a_child_used_before_a_crash_counts(lab):
    (pathlib.Path(lab.work) / "a.txt").write_text("apple")
    lab.model(FIGURES.replace("  turn 2\n", "  turn 99\n"))
    session = twenty.new_session()
    died = lab.start("-p", "--session-id", session, "go", env={"CADRE_CRASH_AT": "call_ended:1"}).wait()
    assert died.code == -signal.SIGKILL, died
    lab.wait_for_nobody()
    (only,) = figures(lab.stream("--resume", session).wait())
    assert only[1:] == (330, 1), only


# ---- a message to one that has ended, and a crash

MESSAGE = """
rule is told
  agent main
  last contains "<result>The second report.</result>"
  text %s
rule delegate
  agent main
  turn 1
%s
rule send
  agent main
  turn 2
%s
rule rest
  agent main
  text I rest.
rule second
  prompt contains "%s"
  text The second report.
rule first
  text The first report.
"""
RESUME = MESSAGE.replace("last contains \"<result>The second report.</result>\"", "last_result contains \"The second report.\"")


def by_message():
    return MESSAGE % (family.ANSWER, AGENT, twenty.call("SendMessage", to="bob", message=SECOND), SECOND)


def by_parameter():
    call = twenty.call("Agent", description="More work", prompt=SECOND, resume="bob")
    return RESUME % (family.ANSWER, AGENT, call, SECOND)


def passings(lab, session, since=("call_started", 2)):
    """Points of a run to its end, from the one named on: the call that makes the child go on."""
    log = os.path.join(lab.folder, "points")
    done = family.start(lab, session, env={"CADRE_CRASH_LOG": log}).wait()
    assert done.code == 0 and done.frames()[-1]["result"] == family.ANSWER, done
    seen, points = collections.Counter(), []
    for name in pathlib.Path(log).read_text().split():
        seen[name] += 1
        if seen[since[0]] >= since[1]:
            points.append((name, seen[name]))
    return points


def check_second_run(lab, session):
    """The child was asked once more and its report came once; or the call is said to be lost, and it was not asked."""
    transcript = lab.transcript(session)
    transcript.check_complete()
    (agent, child), = family.children(lab, session).items()
    prompts = [text for text in family.texts(child, "user") if text == SECOND]
    ends = [line["end"] for line in child.lines if line["type"] == "agent-end"]
    results = list(transcript.results().values())
    told = family.notices(transcript)[agent + ".2"] + sum("The second report." in json.dumps(r["content"]) for r in results)
    if any(map(twenty.is_lost, results)) and not prompts:
        assert len(ends) == 1 and not told, "ends %s, told %d" % (ends, told)
        return
    assert len(prompts) == 1, "asked %d times" % len(prompts)
    assert [end["report"] for end in ends] == ["The first report.", "The second report."], ends
    assert told == 1, "told %d times" % told
    assert transcript.answer() == family.ANSWER, transcript.lines[-1]


def die_and_go_on(url, point, check):
    """Whether it died there, and what is wrong afterwards."""
    lab = Lab()
    lab.env["ANTHROPIC_BASE_URL"] = url
    session = twenty.new_session()
    try:
        died = family.start(lab, session, env={"CADRE_CRASH_AT": "%s:%d" % point}).wait()
        assert died.code in (-signal.SIGKILL, 0), died  # a run of fewer turns may end before the last points
        lab.wait_for_nobody()
        if died.code:
            done = lab.cadre("-p", "--resume", session)
            assert done.code == 0 or "no interrupted turn" in done.err, done
        check(lab, session)
        return died.code != 0, None
    except (AssertionError, ValueError) as why:
        return True, "%s:%d: %s" % (*point, why)
    finally:
        lab.close()


def check_deaths(lab, scenario, check, since):
    url = lab.model(scenario).url
    points = passings(lab, twenty.new_session(), since)
    chosen = points[::max(1, len(points) // 16)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        runs = list(pool.map(lambda point: die_and_go_on(url, point, check), chosen))
    wrong = [text for _, text in runs if text]
    assert not wrong, "%d of %d:\n%s" % (len(wrong), len(chosen), "\n".join(wrong[:5]))
    assert sum(died for died, _ in runs) >= len(runs) * 3 // 4, "only %d of %d died" % (sum(d for d, _ in runs), len(runs))


def check_second_run_of(lab, scenario):
    check_deaths(lab, scenario, check_second_run, ("call_started", 2))


def a_message_to_a_child_that_has_ended_survives_a_crash_and_is_answered_once(lab):
    check_second_run_of(lab, by_message())


def a_child_that_is_resumed_by_a_call_survives_a_crash_and_answers_it_once(lab):
    check_second_run_of(lab, by_parameter())


# ---- a message to one that works, and a crash

WORD = "The word is apple."
WAITS = """
rule is told
  agent main
  last contains "<result>I heard it.</result>"
  text %s
rule delegate
  agent main
  turn 1
  prompt contains "%s"
%s
rule wait
  agent main
  turn 2
%s
rule send
  agent main
  turn 3
%s
rule let it go on
  agent main
  turn 4
%s
rule rest
  agent main
  text I rest.
rule hear
  last contains "%s"
  text I heard it.
rule work
  turn 1
%s
rule not yet
  text I heard nothing.
"""


def check_word(lab, session):
    """Whoever was queued a word has it once in its conversation, and reports what it heard."""
    (child,) = family.children(lab, session).values()
    queued = [line for line in child.lines if line["type"] == "queue-operation"]
    heard = [text for text in family.texts(child, "user") if WORD in text]
    assert len(queued) == 1 and WORD in queued[0]["content"], queued
    assert len(heard) == 1, "heard it %d times" % len(heard)
    assert lab.transcript(session).answer() == family.ANSWER


def a_message_to_a_child_that_works_survives_a_crash_and_is_heard_once(lab):
    call = twenty.call("Agent", description="Some work", prompt="Work", name="bob", run_in_background=True)
    wait, work = "until [ -e begun ]; do sleep 0.1; done", "touch begun; until [ -e go ]; do sleep 0.02; done"
    send = twenty.call("SendMessage", to="bob", message=WORD)
    check_deaths(lab, WAITS % (family.ANSWER, family.PROMPT, call, bash(wait), send, bash("touch go"), WORD, bash(work)),
                 check_word, ("message_queued", 1))


# ---- a person who interrupts, or does not want to wait

def terminal(lab):
    return Terminal([CADRE, "--plain", "--allowedTools=Bash"], {**lab.env, "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}, lab.work)


def bash(command):
    return twenty.call("Bash", command=command, description="a command")


def leave(t):
    t.key("C-d")
    assert t.wait() == 0, t.text[-300:]


TOLD = "rule is told\n  agent main\n  last contains \"<result>The report.</result>\"\n  text I was told.\n"


def a_child_in_the_background_survives_an_interrupt_of_the_turn(lab):
    started, go = lab.fifo("started"), os.path.join(lab.work, "go")
    os.mkfifo(go)
    lab.model(TOLD + "rule delegate\n  agent main\n  turn 1\n%s\nrule work\n  agent main\n%s\n" %
              (twenty.call("Agent", description="Some work", prompt="Work", run_in_background=True),
               bash("echo main > started; exec sleep 1000")) +
              "rule wait\n  turn 1\n%s\nrule answer\n  text The report.\n" % bash("cat go"))
    with terminal(lab) as t:
        t.expect("> ")
        t.type("begin")
        assert started.line() == "main"
        t.key("C-c")
        t.expect("Interrupted.")
        t.expect("> ")
        pathlib.Path(go).write_text("go\n")
        t.expect("I was told.")
        t.expect("> ")
        leave(t)


def scenario_of_ctrl_b():
    return (TOLD + "rule delegate\n  agent main\n  turn 1\n%s\n" %
            twenty.call("Agent", description="Some work", prompt="Work") +
            "rule goes on\n  agent main\n  last_result contains \"launched\"\n  text I go on.\n"
            "rule wait\n  turn 1\n%s\nrule answer\n  text The report.\n" % bash("echo child > started; cat go"))


def ctrl_b_sends_a_child_to_the_background_and_its_call_returns(lab):
    started, go = lab.fifo("started"), os.path.join(lab.work, "go")
    os.mkfifo(go)
    lab.model(scenario_of_ctrl_b())
    with terminal(lab) as t:
        t.expect("> ")
        t.type("begin")
        assert started.line() == "child"
        t.expect("Ctrl-B sends the agents that are waited for to the background.")  # after some seconds, once
        t.key("C-b")
        t.expect("1 agent works in the background now")
        t.expect("I go on.")
        t.expect("> ")
        pathlib.Path(go).write_text("go\n")
        t.expect("I was told.")
        t.expect("> ")
        leave(t)


def a_child_that_was_sent_to_the_background_goes_on_after_a_crash(lab):
    started, go = lab.fifo("started"), os.path.join(lab.work, "go")
    os.mkfifo(go)
    lab.model(scenario_of_ctrl_b())
    with terminal(lab) as t:
        t.expect("> ")
        t.type("begin")
        assert started.line() == "child"
        t.key("C-b")
        t.expect("I go on.")
        t.expect("> ")
        os.kill(t.pid, signal.SIGKILL)
    lab.wait_for_nobody()
    session, = (path.stem for path in lab.transcripts())
    done = lab.cadre("-p", "--resume", session)
    assert done.code == 0 and done.out == "I was told.\n", done


def ctrl_b_without_a_child_changes_nothing(lab):
    started, go = lab.fifo("started"), os.path.join(lab.work, "go")
    os.mkfifo(go)
    lab.model("rule work\n  turn 1\n%s\nrule answer\n  text Done.\n" % bash("echo main > started; cat go"))
    with terminal(lab) as t:
        t.expect("> ")
        t.type("begin")
        assert started.line() == "main"
        t.key("C-b")
        t.expect("no agent can be sent to the background")
        pathlib.Path(go).write_text("go\n")
        t.expect("Done.")
        t.expect("> ")
        leave(t)


if __name__ == "__main__":
    main(a_child_has_a_transcript_and_a_meta_file_as_other_programs_expect_them,
         a_resumed_child_is_told_of_with_the_figures_of_that_run, what_a_child_used_before_a_crash_counts,
         a_message_to_a_child_that_has_ended_survives_a_crash_and_is_answered_once,
         a_child_that_is_resumed_by_a_call_survives_a_crash_and_answers_it_once,
         a_message_to_a_child_that_works_survives_a_crash_and_is_heard_once,
         a_child_in_the_background_survives_an_interrupt_of_the_turn,
         ctrl_b_sends_a_child_to_the_background_and_its_call_returns,
         a_child_that_was_sent_to_the_background_goes_on_after_a_crash,
         ctrl_b_without_a_child_changes_nothing)
