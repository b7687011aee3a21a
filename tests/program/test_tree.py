#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Running children on a terminal: the tree that is drawn in place, and the questions they ask."""
import os
import re
import sys

from lab import CADRE, ROOT, main
from test_tasks import NESTED, open_gate

sys.path.insert(0, str(ROOT / "scripts"))
from pty_test import Terminal  # noqa: E402

BACKGROUND = r"""
rule main asks
  agent main
  turn 1
  prompt contains "start"
  prompt lacks "task-notification"
  call Agent {"description": "Quiet work", "prompt": "quiet task", "run_in_background": true}
rule main is told
  agent main
  prompt contains "task-notification"
  text The main agent was told.
rule main goes on
  agent main
  text The child works.
rule child waits
  prompt contains "quiet task"
  turn 1
  call Bash {"command": "echo here > up; cat gate", "description": "wait"}
rule child answers
  prompt contains "quiet task"
  text The child is done.
"""
PAINT = re.compile(r"\x1b\[[0-9;]*m")
MOVE = re.compile(r"\x1b\[(\d*)([AJ])")


def screen(raw):
    """The lines that are left on a terminal that knows what the tree uses: up, to the left, and erase below."""
    lines, row, column, at = [""], 0, 0, 0
    text = PAINT.sub("", raw.decode("utf-8", "replace")).replace("\r\n", "\n")
    while at < len(text):
        move = MOVE.match(text, at)
        if move and move.group(2) == "A":
            row = max(0, row - int(move.group(1) or 1))
        elif move:
            lines[row:] = [lines[row][:column]]
        elif text[at] == "\r":
            column = 0
        elif text[at] == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        else:
            lines[row] = lines[row][:column].ljust(column) + text[at] + lines[row][column + 1:]
            column += 1
        at = move.end() if move else at + 1
    return lines


def start(lab, scenario, *args, columns=100, env=None):
    lab.model(scenario)
    os.mkfifo(os.path.join(lab.work, "gate"))
    env = {**lab.env, "TERM": "xterm", "LANG": "C.UTF-8", **(env or {})}
    return lab.fifo("up"), Terminal([CADRE, "--plain", *args], env, lab.work, columns=columns)


def a_run_on_a_terminal_shows_a_tree_and_leaves_a_line_for_each_child(lab):
    up, t = start(lab, NESTED, "-p", "go", "--allowed-tools", "Bash")
    with t:
        up.line()
        t.expect("general-purpose: Inner work")
        t.expect("tokens, Bash")
        shown = screen(t.raw)
        assert shown[0].startswith("  general-purpose: Outer work  ") and shown[1].startswith("    general-purpose: Inner work  "), shown
        assert "tokens, Agent" in shown[0] and "tokens, Bash" in shown[1], shown
        assert b"\x1b[0;2m" in t.raw, "no colour"
        open_gate(lab)
        assert t.wait() == 0
        left = screen(t.raw)
        assert left[0].startswith('cadre: agent: Agent "Inner work" finished (2 turns, '), left
        assert left[1].startswith('cadre: agent: Agent "Outer work" finished (2 turns, '), left
        assert left[2:] == ["The main agent is done.", ""], left


def a_tree_is_cut_to_the_width_of_the_terminal(lab):
    up, t = start(lab, NESTED.replace("Inner work", "Inner \u4e16\u754c " + "work " * 30), "-p", "go", "--allowed-tools", "Bash",
                  columns=50, env={"NO_COLOR": "1"})
    with t:
        up.line()
        t.expect("Inner")
        open_gate(lab)
        assert t.wait() == 0
        drawn = [line for line in t.raw.decode().replace("\r", "\n").split("\n") if "general-purpose: Inner" in line]
        assert drawn and all(len(PAINT.sub("", line)) < 50 for line in drawn), drawn
        assert screen(t.raw)[2:] == ["The main agent is done.", ""], screen(t.raw)


def many_children_take_a_few_lines(lab):
    many = NESTED.replace('call Agent {"description": "Outer work", "prompt": "outer task", "name": "outer"}',
                          'repeat 12 call Agent {"description": "Child {{i}}", "prompt": "inner task"}')
    up, t = start(lab, many, "-p", "go", "--allowed-tools", "Bash")
    with t:
        t.expect("and 5 more")
        lines = [line for line in screen(t.raw) if line]
        assert len(lines) <= 8, lines
        up.line()
        t.key("C-c")
        assert t.wait() == 130


def a_question_names_the_child_that_asks(lab):
    up, t = start(lab, NESTED)
    with t:
        t.expect("> ")
        t.type("go")
        t.expect('agent "Inner work" (general-purpose), ')
        t.expect("wants to use Bash:")
        t.expect("echo here > up; cat gate")
        t.expect("or say why: ")
        t.type("y")
        up.line()
        open_gate(lab)
        t.expect('Agent "Inner work" finished (2 turns')
        t.expect('Agent "Outer work" finished')
        t.expect("The main agent is done.")
        t.expect("> ")
        t.key("C-d")
        assert t.wait() == 0


def a_child_at_work_is_a_row_between_whole_lines(lab):
    up, t = start(lab, NESTED, "--allowed-tools", "Bash", env={"NO_COLOR": "1"})
    with t:
        t.expect("> ")
        t.type("go")
        up.line()
        t.expect("2 agents: 2 run")
        t.expect("general-purpose Inner work")
        t.send(b"typed")
        t.expect("> typed")
        open_gate(lab)
        t.expect('Agent "Inner work" finished (2 turns')
        t.expect("The main agent is done.")
        t.expect("> typed")
        t.send(b"\x15")
        t.key("C-d")
        assert t.wait() == 0
        left = [line for line in screen(re.sub(rb"\x1b\[\?[0-9]+[hl]|\x1b\[K", b"", t.raw)) if line]
        assert "The main agent is done." in left, left
        assert not any("agents:" in line or "general-purpose Inner" in line for line in left), left


def a_child_in_the_background_does_not_disturb_what_is_typed(lab):
    up, t = start(lab, BACKGROUND, "--allowed-tools", "Bash")
    with t:
        t.expect("> ")
        t.type("start")
        t.expect("The child works.")
        t.expect("> ")
        up.line()
        open_gate(lab)
        t.expect('Agent "Quiet work" finished')
        t.expect("The main agent was told.")
        t.expect("> ")
        t.key("C-d")
        assert t.wait() == 0


def a_child_in_the_background_may_ask_while_a_line_is_typed(lab):
    up, t = start(lab, BACKGROUND)
    with t:
        t.expect("> ")
        t.type("start")
        t.expect('agent "Quiet work" (general-purpose) wants to use Bash:')
        t.expect("or say why: ")
        t.type("y")
        t.expect("> ")
        up.line()
        open_gate(lab)
        t.expect("The main agent was told.")
        t.expect("> ")
        t.key("C-d")
        assert t.wait() == 0


if __name__ == "__main__":
    main(a_run_on_a_terminal_shows_a_tree_and_leaves_a_line_for_each_child,
         a_tree_is_cut_to_the_width_of_the_terminal,
         many_children_take_a_few_lines,
         a_question_names_the_child_that_asks,
         a_child_at_work_is_a_row_between_whole_lines,
         a_child_in_the_background_does_not_disturb_what_is_typed,
         a_child_in_the_background_may_ask_while_a_line_is_typed)
