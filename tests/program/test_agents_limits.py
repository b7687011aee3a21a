#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an agent may not do, the agents that it started may not do either: also when it has ended and one of them goes on, by a
message, by the Agent tool, after a crash, in a later process, with other definitions, with another record on disk."""
import json
import os
import pathlib
import re
import subprocess

import family
import twenty
from lab import main

WORKER = {"description": "Works", "prompt": "You work."}
TOUCH = twenty.call("Bash", command="touch gone.txt")
# What the boss may not do, and a call that does it. The worker itself may do anything.
LIMITS = {
    "a rule that denies": ({"disallowedTools": ["Bash(touch:*)"]}, TOUCH),
    "tools with a specifier": ({"tools": ["Bash(echo:*)", "Agent"]}, TOUCH),
    "plan mode": ({"permissionMode": "plan"}, twenty.call("Write", file_path="gone.txt", content="x")),
}
WORKTREE = {"isolation": "worktree"}
ESCAPE = twenty.call("Bash", command="cd / && python3 -c \"open('%s/gone.txt', 'w')\"")
FLAGS = ("--allowedTools", "Bash,Write,Agent,SendMessage", "--permission-mode", "default")
AGAIN = {"send": twenty.call("SendMessage", to="deep", message="Once more"),
         "resume": twenty.call("Agent", description="More", prompt="Once more", resume="deep"),
         "wait": "  text I wait."}

REFUSED = re.compile("Permission denied|Read-only file system")  # of Landlock alone, and of a mount namespace

def scenario(call, again, first="  text Nothing done."):
    """main -> boss -> worker "deep". The boss ends; main then reaches the worker, which makes the call."""
    return """
rule told
  agent main
  last contains "Worked:"
  text Told.
rule main later
  agent main
  prompt contains "Second question"
  turn 1
%s
rule main begins
  agent main
  prompt contains "First question"
  turn 1
%s
rule main again
  agent main
  turn 2
%s
rule main waits
  agent main
  text I wait.
rule boss begins
  prompt contains "You are the boss"
  turn 1
%s
rule boss ends
  prompt contains "You are the boss"
  text The boss is done.
rule worker reports
  last_result contains ""
  text Worked: {{last_result}}
rule worker again
  prompt contains "Once more"
%s
rule worker first
%s
""" % (AGAIN["send"], twenty.call("Agent", description="Lead", prompt="You are the boss", subagent_type="boss",
                                  name="chief"), AGAIN[again],
       twenty.call("Agent", description="Work", prompt="Work", subagent_type="worker", name="deep"), call, first)


def agents(limits):
    return ("--agents", json.dumps({"boss": {"description": "Leads", "prompt": "You lead.", **limits},
                                    "worker": WORKER}))


def start(lab, session, limits, *flags):
    return lab.stream("--session-id", session, *agents(limits), *FLAGS, *flags, "First question")


def go_on(lab, session, limits, *flags):
    lab.wait_for_nobody()
    done = lab.stream("--resume", session, *agents(limits), *FLAGS, *flags).wait()
    assert done.code == 0, done
    return done


def worker(lab, session):
    found = [key for key, meta in family.metas(lab, session).items() if meta["agentType"] == "worker"]
    assert len(found) == 1, found
    return found[0]


def meta_path(lab, session):
    name = "projects/*/%s/subagents/agent-%s.meta.json" % (session, worker(lab, session))
    path, = pathlib.Path(lab.home, ".claude").glob(name)
    return path


def results(lab, session, tool):
    """What the worker's calls of a tool came to."""
    transcript = family.children(lab, session)[worker(lab, session)]
    calls = transcript.calls()
    return [r for key, r in transcript.results().items() if calls[key]["name"] == tool]


def check_denied(lab, session, call, count=1):
    tool = call.split()[1]
    denied = results(lab, session, tool)
    assert len(denied) == count and all(r.get("is_error") for r in denied), denied
    assert not (pathlib.Path(lab.work) / "gone.txt").exists(), denied


def check_refused(lab, session, words, count=1):
    """Main was told why, and the worker did not run again."""
    answers = [json.dumps(r["content"]) for r in lab.transcript(session).results().values()]
    said = [text for text in answers if words in text]
    assert len(said) == count, (words, answers)
    assert not (pathlib.Path(lab.work) / "gone.txt").exists(), answers
    assert results(lab, session, "Bash") == [], results(lab, session, "Bash")


def each_limit(lab, again, after):
    for name, (limits, call) in LIMITS.items():
        session = twenty.new_session()
        lab.model(scenario(call, again))
        done = start(lab, session, limits).wait()
        assert done.code == 0, (name, done)
        after(session, limits)
        check_denied(lab, session, call)


def crash_in_first_call(lab, session, limits, call):
    """The worker waits for a hook when the process dies. When it goes on it makes the call."""
    begun = lab.fifo("begun-" + session)
    hook = {"matcher": "Glob", "hooks": [{"type": "command", "command": "echo >> %s; exec sleep 600" % begun.path}]}
    lab.model(scenario(call, "wait", twenty.call("Glob", pattern="*")))
    run = start(lab, session, limits, "--settings", json.dumps({"hooks": {"PreToolUse": [hook]}}))
    begun.line()
    run.kill()
    run.wait()
    lab.model(scenario(call, "wait", call).replace('last_result contains ""', "turn 3").replace(
        "rule worker first", "rule worker first\n  turn 2"))


# ---- each way back to life

def limits_of_a_parent_that_has_ended_hold_after_a_message(lab):
    each_limit(lab, "send", lambda *_: None)


def limits_of_a_parent_that_has_ended_hold_after_resume_of_the_agent_tool(lab):
    each_limit(lab, "resume", lambda *_: None)


def limits_hold_in_a_later_process(lab):
    each_limit(lab, "wait", lambda session, limits: go_on(lab, session, limits, "Second question"))


def limits_hold_although_the_definition_lost_them(lab):
    each_limit(lab, "wait", lambda session, limits: go_on(lab, session, {}, "Second question"))


def limits_hold_after_a_crash(lab):
    """The worker is at its first call when the process dies. Boss and worker come back, the boss without its limits."""
    for limits, call in LIMITS.values():
        session = twenty.new_session()
        crash_in_first_call(lab, session, limits, call)
        go_on(lab, session, {})
        check_denied(lab, session, call)


def a_forked_session_does_not_reach_the_children_of_the_first(lab):
    limits, call = LIMITS["a rule that denies"]
    session = twenty.new_session()
    lab.model(scenario(call, "wait"))
    assert start(lab, session, limits).wait().code == 0
    done = go_on(lab, session, {}, "--fork-session", "Second question")
    assert "Worked:" not in done.out, done
    assert not (pathlib.Path(lab.work) / "gone.txt").exists(), done


# ---- worktrees

def repository(lab):
    git = "git init -q -b main . && git config user.name t && git config user.email t@localhost && " \
          "printf one > a.txt && git add a.txt && git commit -qm first"
    subprocess.run(["sh", "-c", git], cwd=lab.work, check=True)


def a_worker_of_a_worktree_does_not_go_on_without_it(lab):
    repository(lab)
    for again in ("send", "resume"):
        session = twenty.new_session()
        lab.model(scenario(TOUCH, again))
        assert start(lab, session, WORKTREE).wait().code == 0
        check_refused(lab, session, "worktree")
    session = twenty.new_session()
    lab.model(scenario(TOUCH, "wait"))
    assert start(lab, session, WORKTREE).wait().code == 0
    go_on(lab, session, {}, "Second question")
    check_refused(lab, session, "worktree")


def processes_of_a_worker_are_held_to_the_worktree_of_its_boss(lab):
    repository(lab)
    session = twenty.new_session()
    lab.model(scenario(TOUCH, "wait", ESCAPE % lab.work))
    assert start(lab, session, WORKTREE).wait().code == 0
    result, = results(lab, session, "Bash")
    assert REFUSED.search(json.dumps(result)), result
    assert not (pathlib.Path(lab.work) / "gone.txt").exists(), result


def boss_and_worker_come_back_to_their_worktree_after_a_crash(lab):
    repository(lab)
    session = twenty.new_session()
    crash_in_first_call(lab, session, WORKTREE, (ESCAPE % lab.work).replace("cd /", "touch here.txt; cd /"))
    go_on(lab, session, WORKTREE)
    result, = results(lab, session, "Bash")
    assert REFUSED.search(json.dumps(result)), result
    assert not (pathlib.Path(lab.work) / "gone.txt").exists(), result
    found = list(pathlib.Path(lab.work).glob(".claude/worktrees/*/here.txt"))
    assert len(found) == 1, found


# ---- deputies

# What the main agent does twice before it waits for a word
MAIN_RULES = """
rule told
  agent main
  last contains "%s"
  text Told.
rule main begins
  agent main
  turn 1
%s
rule main again
  agent main
  turn 2
%s
rule main waits
  agent main
  text I wait.
"""
DEPUTY = MAIN_RULES % ("Worked:", twenty.call("Agent", description="Work", prompt="Work", subagent_type="worker", name="deep"),
                       twenty.call("Agent", description="Lead", prompt="You are the boss", subagent_type="boss")) + """rule boss begins
  prompt contains "You are the boss"
  turn 1
%%s
rule boss ends
  prompt contains "You are the boss"
  text The boss is done.
rule worker reports
  last_result contains ""
  text Worked: {{last_result}}
rule worker again
  prompt contains "Once more"
%s
rule worker first
  text Nothing done.
""" % TOUCH


def an_agent_that_has_ended_does_not_continue_for_one_that_may_do_less(lab):
    """main -> deep, which ends; main -> boss, which wants deep to do what it may not do itself."""
    repository(lab)
    gone = pathlib.Path(lab.work) / "gone.txt"
    limits = [{"disallowedTools": ["Bash(touch:*)"]}, {"tools": ["Bash(echo:*)", "Agent", "SendMessage"]},
              {"permissionMode": "plan"}, WORKTREE, {}]
    for limit in limits:
        for again in ("send", "resume"):
            session = twenty.new_session()
            lab.model(DEPUTY % AGAIN[again])
            done = start(lab, session, limit).wait()
            assert done.code == 0, done
            boss, = [t for t in family.children(lab, session).values() if "You are the boss" in json.dumps(t.lines)]
            said = json.dumps(list(boss.results().values()))
            assert gone.exists() == (not limit), (limit, again, said)
            assert ("does not continue for you" in said) == bool(limit), (limit, again, said)
    gone.unlink()


# ---- several layers

def limits_of_every_ancestor_hold_at_any_depth(lab):
    """main -> top -> middle -> deep; all end, deep is asked again and starts one more."""
    session = twenty.new_session()
    call = "\n".join(twenty.call("Bash", command="%s; touch gone.txt" % c) for c in ("true", "echo x"))
    lower = {"top": "middle", "middle": "deep"}
    rules = "".join("""
rule %s begins
  prompt contains "You are %s"
  turn 1
%s
rule %s ends
  prompt contains "You are %s"
  text Done.
""" % (name, name, twenty.call("Agent", description="Work", prompt="You are " + child, name=child, subagent_type=child),
       name, name) for name, child in lower.items())
    begins = twenty.call("Agent", description="Work", prompt="You are top", subagent_type="top")
    lab.model(MAIN_RULES % ("Last:", begins, AGAIN["send"]) + rules + """
rule leaf reports
  prompt contains "You are the leaf"
  turn 2
  text Leaf: {{last_result}}
rule leaf
  prompt contains "You are the leaf"
%s
rule deep reports
  last_result contains ""
  text Last: {{last_result}}
rule deep again
  prompt contains "Once more"
%s
%s
rule deep first
  text Nothing done.
""" % (call, call, twenty.call("Agent", description="Leaf", prompt="You are the leaf", subagent_type="deep", name="leaf")))
    kinds = {"top": {"disallowedTools": ["Bash(touch:*)"]}, "middle": {}, "deep": {}}
    kinds = {name: {"description": name, "prompt": "You work.", **more} for name, more in kinds.items()}
    done = lab.stream("--session-id", session, "--agents", json.dumps(kinds), *FLAGS, "--settings",
                      json.dumps({"subagents": {"maxDepth": 5}}), "First question").wait()
    assert done.code == 0, done
    metas = family.metas(lab, session)
    assert sorted(m["spawnDepth"] for m in metas.values()) == [1, 2, 3, 4], metas
    made = [r for t in family.children(lab, session).values() for key, r in t.results().items()
            if t.calls()[key]["name"] == "Bash"]
    assert len(made) == 4 and all(r.get("is_error") for r in made), made
    assert not (pathlib.Path(lab.work) / "gone.txt").exists()


def a_child_does_not_start_before_its_parent(lab):
    """The only slot is taken, so the boss waits for it: it has no place and no permission to give yet."""
    session = twenty.new_session()
    held = lab.fifo("held")
    gate = pathlib.Path(lab.work) / "gate"
    os.mkfifo(gate)
    call = LIMITS["a rule that denies"][1]
    both = twenty.call("SendMessage", to="chief", message="And you") + "\n" + AGAIN["send"]
    hold = twenty.call("Agent", description="Hold", prompt="Hold the slot", run_in_background=True)
    lab.model("rule main sends\n  agent main\n  turn 3\n%s\n" % both + scenario(call, "wait").replace(AGAIN["wait"], hold, 1)
              .replace("rule worker reports", """rule holder
  prompt contains "Hold the slot"
  turn 1
%s
rule holder ends
  prompt contains "Hold the slot"
  text Held.
rule worker reports""" % twenty.call("Bash", command="echo > held; cat gate")))
    run = start(lab, session, {}, "--settings", json.dumps({"subagents": {"maxAlive": 1}}))
    held.line()
    line = run.line()
    while "is about to start" not in line:
        line = run.line()
    gate.write_text("go\n")
    assert run.wait().code == 0
    assert not (pathlib.Path(lab.work) / "gone.txt").exists()


# ---- records

def change_record(lab, session, change):
    path = meta_path(lab, session)
    meta = json.loads(path.read_text())
    change(meta)
    path.write_text(json.dumps(meta))


def a_record_that_is_missing_or_broken_is_a_refusal(lab):
    ancestors = [[], {}, [7], [{"deny": "Bash"}], [{"deny": [1]}], [{"deny": ["Bash("]}], [{"mode": "x"}],
                 [{"mode": 1}], [{"modeInvalid": 0}], [{"unknown": 1}], [{"writeRoot": 1}], None]
    changes = [lambda m: m.pop("inheritedLimits"), lambda m: m.update(inheritedLimits=None),
               lambda m: m.update(inheritedLimits=[]), lambda m: m["inheritedLimits"].pop("ancestors"),
               lambda m: m["inheritedLimits"].pop("root"), lambda m: m["inheritedLimits"].update(root="/not/there"),
               *[lambda m, a=a: m["inheritedLimits"].update(ancestors=a) for a in ancestors]]
    session = twenty.new_session()
    lab.model(scenario(TOUCH, "wait"))
    limits = LIMITS["a rule that denies"][0]
    assert start(lab, session, limits).wait().code == 0
    whole = meta_path(lab, session).read_text()
    for count, change in enumerate(changes, 1):
        meta_path(lab, session).write_text(whole)
        change_record(lab, session, change)
        go_on(lab, session, limits, "Second question")
        check_refused(lab, session, "cannot continue", count)


def a_record_can_only_take_away(lab):
    """Neither a mode nor rules nor a directory that somebody wrote into it count."""
    forged = ((lambda m: m["inheritedLimits"].update(ancestors=[{"mode": "bypassPermissions"}]), ("--disallowedTools=Bash(touch:*)",)),
              (lambda m: m.update(requestedAllow=["Bash"]), ()), (lambda m: m.update(skill="../x", allow=["Bash"]), ()),
              (lambda m: m.update(permissionMode="bypassPermissions", taskKind="in_process_teammate", team={}), ()))
    for change, flags in forged:
        session = twenty.new_session()
        lab.model(scenario(TOUCH, "send"))
        assert start(lab, session, {}).wait().code == 0
        (pathlib.Path(lab.work) / "gone.txt").unlink()  # what it may do with its parent's rules
        change_record(lab, session, change)
        done = lab.stream("--resume", session, *agents({}), *flags, "Second question", env={"IS_SANDBOX": "1"}).wait()
        assert done.code == 0, done
        assert all(r.get("is_error") for r in results(lab, session, "Bash")[1:]), results(lab, session, "Bash")
        assert not (pathlib.Path(lab.work) / "gone.txt").exists(), done


def a_child_of_main_needs_no_record(lab):
    session = twenty.new_session()
    lab.model("""
rule told
  agent main
  last contains "Worked:"
  text Told.
rule main begins
  agent main
  prompt contains "First question"
  turn 1
%s
rule main later
  agent main
  turn 1
%s
rule main waits
  agent main
  text I wait.
rule worker reports
  last_result contains ""
  text Worked: {{last_result}}
rule worker again
  prompt contains "Once more"
%s
rule worker first
  text Nothing done.
""" % (twenty.call("Agent", description="Work", prompt="Work", subagent_type="worker", name="deep"), AGAIN["send"], TOUCH))
    assert start(lab, session, {}).wait().code == 0
    assert "inheritedLimits" not in json.loads(meta_path(lab, session).read_text())
    go_on(lab, session, {}, "Second question")
    assert (pathlib.Path(lab.work) / "gone.txt").exists()


if __name__ == "__main__":
    main(limits_of_a_parent_that_has_ended_hold_after_a_message,
         limits_of_a_parent_that_has_ended_hold_after_resume_of_the_agent_tool,
         limits_hold_in_a_later_process,
         limits_hold_although_the_definition_lost_them,
         limits_hold_after_a_crash,
         a_forked_session_does_not_reach_the_children_of_the_first,
         a_worker_of_a_worktree_does_not_go_on_without_it,
         processes_of_a_worker_are_held_to_the_worktree_of_its_boss,
         boss_and_worker_come_back_to_their_worktree_after_a_crash,
         an_agent_that_has_ended_does_not_continue_for_one_that_may_do_less,
         limits_of_every_ancestor_hold_at_any_depth,
         a_child_does_not_start_before_its_parent,
         a_record_that_is_missing_or_broken_is_a_refusal,
         a_record_can_only_take_away,
         a_child_of_main_needs_no_record)
