#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Questions and plans of agents at any depth, answered at a terminal."""
import os
import pathlib
import sys

from lab import CADRE, ROOT, below, main

sys.path.insert(0, str(ROOT / "scripts"))
from pty_test import Terminal  # noqa: E402

ASK = ('call AskUserQuestion {"questions": [{"question": "Which colour?", "header": "Colour", "options": '
       '[{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]}]}')

NESTED = r"""
rule main asks
  agent main
  turn 1
  call Agent {"description": "outer", "prompt": "First layer."}
rule main answers
  agent main
  text "Done: {{last_result}}"
rule outer
  prompt contains "First layer."
  turn 1
  call Agent {"description": "inner", "prompt": "Second layer."}
rule inner
  prompt contains "Second layer."
  turn 1
  %s
rule reports
  text "{{last_result}}"
""" % ASK

BACKGROUND = r"""
rule told
  agent main
  last contains "task-notification"
  text "The report came."
rule main asks
  agent main
  turn 1
  call Agent {"description": "outer", "prompt": "Ask.", "run_in_background": true}
rule main waits
  agent main
  text "I go on."
rule child asks
  turn 1
  %s
rule child ends
  text "heard {{last_result}}"
""" % ASK

PLAN = r"""
rule enters
  prompt contains "plan first"
  turn 1
  call EnterPlanMode {}
rule writes too early
  prompt contains "plan first"
  turn 2
  call Write {"file_path": "early.txt", "content": "x"}
rule keeps the plan
  prompt contains "plan first"
  turn 3
  capture file result:1 "Write the plan to " word
  call Write {"file_path": "{{file}}", "content": "# The plan\n"}
rule shows it
  prompt contains "plan first"
  turn 4-5
  call ExitPlanMode {}
rule works
  prompt contains "plan first"
  turn 6
  call Write {"file_path": "late.txt", "content": "x"}
rule is done
  text "Over."
"""

CHILD_PLAN = r"""
rule main asks
  agent main
  turn 1
  call Agent {"description": "plans", "prompt": "Plan it.", "subagent_type": "planner"}
rule main writes
  agent main
  turn 2
  call Write {"file_path": "main.txt", "content": "x"}
rule main is done
  agent main
  text "Over: {{last_result}}"
rule child writes too early
  turn 1
  call Write {"file_path": "early.txt", "content": "x"}
rule child shows
  turn 2
  call ExitPlanMode {"plan": "# A child's plan\n"}
rule child works
  turn 3
  call Write {"file_path": "late.txt", "content": "x"}
rule child is done
  text "The child is done."
"""
PLANNER = "---\nname: planner\ndescription: plans\npermissionMode: plan\n---\nYou plan.\n"


def start(lab, scenario, *args):
    lab.model(scenario)
    return Terminal([CADRE, "--plain", *args], {**lab.env, "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}, lab.work)


def leave(t):
    t.key("C-d")
    assert t.wait() == 0, "exit code %s, last words %r" % (t.code, t.text[-300:])


def put(lab, name, text):
    path = pathlib.Path(lab.work, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def exists(lab, name):
    return os.path.exists(os.path.join(lab.work, name))


def a_question_from_depth_two_is_answered_by_the_user(lab):
    with start(lab, NESTED) as t:
        t.expect("> ")
        t.type("go")
        t.expect('agent "inner" (general-purpose), outer > inner, asks:')
        t.expect("Which colour?")
        t.expect("A number, or your own words: ")
        t.type("2")
        t.expect("Done:")
        t.expect("Blue")
        t.expect("> ")
        leave(t)


def a_question_of_a_child_in_the_background_is_answered_while_the_main_agent_is_idle(lab):
    with start(lab, BACKGROUND) as t:
        t.expect("> ")
        t.type("go")
        t.expect("Which colour?")
        t.expect("A number, or your own words: ")
        t.type("1")
        t.expect("The report came.")
        t.expect("> ")
        leave(t)
    texts = [p.read_text() for p in below(lab.home, "agent-*.jsonl")]
    assert len(texts) == 1 and "Which colour?\\n  Red" in texts[0], texts


def planning_changes_nothing_until_the_plan_is_approved(lab):
    put(lab, ".claude/settings.json", '{"plansDirectory": "plans"}')
    assert lab.cadre("trust").code == 0
    with start(lab, PLAN) as t:
        t.expect("> ")
        t.type("plan first")
        t.expect("wants to use EnterPlanMode")
        t.expect("say why: ")
        t.type("y")
        t.expect("cadre has a plan:")
        t.expect("The plan")
        assert not exists(lab, "early.txt")
        t.expect("Enter 1 to 3 or y/e/n, or say why: ")
        t.type("not yet")
        t.expect("cadre has a plan:")
        t.expect("The plan")
        t.expect("say why: ")
        t.type("y")
        t.expect("wants to use Write:")
        t.expect("late.txt")
        t.expect("say why: ")
        t.type("y")
        t.expect("Over.")
        t.expect("> ")
        leave(t)
    assert exists(lab, "late.txt") and not exists(lab, "early.txt")
    plans = list(pathlib.Path(lab.work, "plans").iterdir())
    assert [p.read_text() for p in plans] == ["# The plan\n"], plans


def a_child_that_plans_leaves_plan_mode_alone_and_with_edits_accepted(lab):
    put(lab, ".claude/agents/planner.md", PLANNER)
    with start(lab, CHILD_PLAN) as t:
        t.expect("A number: ")
        t.type("1")  # the folder is not trusted
        t.expect("> ")
        t.type("go")
        t.expect('agent "plans" (planner) has a plan:')
        t.expect("say why: ")
        assert not exists(lab, "early.txt")
        t.type("e")
        asked = t.expect("cadre wants to use Write:")
        assert "late.txt" not in asked.split("has a plan")[-1].split("wants to use")[-1], asked
        t.expect("main.txt")
        assert exists(lab, "late.txt") and not exists(lab, "main.txt")
        t.expect("say why: ")
        t.type("n")
        t.expect("Over:")
        t.expect("> ")
        leave(t)
    plans = list(pathlib.Path(lab.home, ".claude", "plans").iterdir())
    assert [p.read_text() for p in plans] == ["# A child's plan\n"], plans


def a_yes_is_for_the_file_that_was_shown(lab):
    """While the question stands, a directory becomes a link into a place that a rule forbids: the yes is checked again."""
    secret = pathlib.Path(lab.work, "secret")
    place = pathlib.Path(lab.work, "dd")
    secret.mkdir()
    place.mkdir()
    settings = pathlib.Path(lab.home, ".claude", "settings.json")
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"permissions": {"deny": ["Edit(/%s/**)"]}}' % secret)
    with start(lab, 'rule\n  turn 1\n  call Write {"file_path": "%s/f.txt", "content": "x"}\nrule\n  text "it said: {{last_result}}"\n' % place) as t:
        t.expect("> ")
        t.type("go")
        t.expect("say why: ")
        place.rmdir()
        place.symlink_to(secret)
        t.type("yes")
        t.expect("it said: Permission to use Write was denied by the rule")
        t.expect("> ")
        leave(t)
    assert not list(secret.iterdir()), list(secret.iterdir())


if __name__ == "__main__":
    main(a_yes_is_for_the_file_that_was_shown, a_question_from_depth_two_is_answered_by_the_user,
         a_question_of_a_child_in_the_background_is_answered_while_the_main_agent_is_idle,
         planning_changes_nothing_until_the_plan_is_approved,
         a_child_that_plans_leaves_plan_mode_alone_and_with_edits_accepted)
