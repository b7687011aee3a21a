#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Skills that are typed on a terminal: questions, interrupts, agents in the background."""
import json
import os
import pathlib
import subprocess
import sys

from lab import CADRE, ROOT, main

sys.path.insert(0, str(ROOT / "scripts"))
from pty_test import Terminal  # noqa: E402

SCENARIO = r"""
rule hears
  agent main
  prompt contains "<task-notification>"
  text Its report has come.

rule makes
  prompt contains "make a file"
  turn 1
  call Bash {"command": "touch made.txt", "description": "make a file"}

rule main
  agent main
  text The model was asked.

rule child
  text Bees fly.
"""


def start(lab, *args):
    lab.model(SCENARIO)
    return Terminal([CADRE, "--plain", *args], {**lab.env, "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}, lab.work)


def write(lab, name, text):
    path = pathlib.Path(lab.work) / ".claude" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def leave(t):
    t.key("C-d")
    assert t.wait() == 0, (t.code, t.text[-300:])


def a_command_of_a_typed_skill_runs_after_a_yes(lab):
    write(lab, "commands/make.md", "Made: !`echo made > made.txt; echo yes`")
    with start(lab) as t:
        t.expect("A number: ")
        t.type("1")  # the folder is not trusted
        t.expect("> ")
        t.type("/make")
        t.expect("wants to use Bash:")
        t.expect("say why: ")
        assert not os.path.exists(os.path.join(lab.work, "made.txt"))
        t.type("y")
        t.expect("The model was asked.")
        t.expect("> ")
        assert os.path.exists(os.path.join(lab.work, "made.txt"))
        leave(t)


def a_no_to_a_command_of_a_typed_skill_ends_it_and_the_next_prompt_works(lab):
    write(lab, "commands/make.md", "Made: !`echo made > made.txt`")
    with start(lab) as t:
        t.expect("A number: ")
        t.type("1")  # the folder is not trusted
        t.expect("> ")
        t.type("/make")
        t.expect("say why: ")
        t.type("not here")
        t.expect("is not allowed: ")
        t.expect("not here")
        t.expect("> ")
        assert not os.path.exists(os.path.join(lab.work, "made.txt"))
        t.type("hello")
        t.expect("The model was asked.")
        t.expect("> ")
        leave(t)


def what_a_skill_allows_is_asked_about_in_the_next_turn(lab):
    write(lab, "commands/make.md", "---\nallowed-tools: Bash(touch *)\n---\nPlease make a file.")
    with start(lab, "--trust-project") as t:
        t.expect("> ")
        t.type("/make")
        t.expect("The model was asked.")
        t.expect("> ")
        assert os.path.exists(os.path.join(lab.work, "made.txt"))
        os.unlink(os.path.join(lab.work, "made.txt"))
        t.type("make a file again")
        t.expect("wants to use Bash:")
        t.expect("say why: ")
        t.type("no")
        t.expect("The model was asked.")
        t.expect("> ")
        assert not os.path.exists(os.path.join(lab.work, "made.txt"))
        leave(t)


def ctrl_c_ends_a_command_of_a_typed_skill(lab):
    write(lab, "commands/wait.md", "---\nallowed-tools: Bash\n---\nWaited: !`echo begun > fifo; sleep 1000`")
    begun = lab.fifo("fifo")
    with start(lab, "--trust-project") as t:
        t.expect("> ")
        t.type("/wait")
        assert begun.line() == "begun"
        t.key("C-c")
        t.expect("Interrupted")
        t.expect("> ")
        t.type("hello")
        t.expect("The model was asked.")
        t.expect("> ")
        leave(t)


def a_typed_skill_of_an_agent_of_its_own_works_in_the_background(lab):
    write(lab, "skills/research/SKILL.md", "---\ncontext: fork\n---\nFind out about bees.")
    with start(lab, "--trust-project") as t:
        t.expect("> ")
        t.type("/research")
        t.expect("Its report has come.")
        t.expect("> ")
        leave(t)


def the_model_of_a_skill_is_gone_with_its_turn(lab):
    write(lab, "skills/think/SKILL.md", "---\nmodel: haiku\neffort: max\n---\nThink.")
    model = lab.model("rule\n  text Yes.\n", log=True)
    run = lab.start("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--model",
                    "claude-opus-4-1", "--effort", "low", stdin=subprocess.PIPE)
    for text in ("/think", "again"):
        line = {"type": "user", "message": {"role": "user", "content": text}}
        run.process.stdin.write(json.dumps(line).encode() + b"\n")
        run.process.stdin.flush()
        assert run.frame("result")["is_error"] is False
    run.process.stdin.close()
    assert run.wait().code == 0
    said = [(b["model"], b["output_config"]["effort"]) for b in model.bodies()]
    assert said == [("claude-haiku-5-5", "max"), ("claude-opus-4-1", "low")], said


if __name__ == "__main__":
    main(a_command_of_a_typed_skill_runs_after_a_yes,
         a_no_to_a_command_of_a_typed_skill_ends_it_and_the_next_prompt_works,
         what_a_skill_allows_is_asked_about_in_the_next_turn,
         ctrl_c_ends_a_command_of_a_typed_skill,
         a_typed_skill_of_an_agent_of_its_own_works_in_the_background,
         the_model_of_a_skill_is_gone_with_its_turn)
