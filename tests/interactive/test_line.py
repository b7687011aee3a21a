#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The interactive program, driven through a pty, against modeld over HTTP. Prints TAP.

    test_line.py CADRE MODELD"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
from pty_test import Missing, Terminal  # noqa: E402

SCENARIO = r"""
rule repeats
  capture said prompt "say " line
  text "You said {{said}}."

rule stalls
  prompt contains "wait for ever"
  text I begin
  stall after event 3

rule writes
  prompt contains "write a file"
  turn 1
  call Bash {"command": "echo made > made.txt", "description": "make a file"}

rule reports
  prompt contains "write a file"
  text "The tool said: {{last_result}}"

rule paints
  prompt contains "paint"
  text "red \u001b[31m title \u001b]0;owned\u0007 end"
"""


class Modeld:
    """A model server for one run of the tests."""

    def __init__(self, program, folder):
        path = os.path.join(folder, "line.scenario")
        with open(path, "w", encoding="utf-8") as f:
            f.write(SCENARIO)
        self.process = subprocess.Popen([program, "--port", "0", path], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://[\d.]+:\d+", line)
        if not found:
            raise SystemExit("modeld did not say where it listens: %r" % line)
        self.url = found.group(0)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Bench:
    """A home, a working directory and the program."""

    def __init__(self, program, url, folder):
        self.program = program
        self.home = os.path.join(folder, "home")
        self.work = os.path.join(folder, "work")
        os.makedirs(self.home)
        os.makedirs(self.work)
        self.env = {"HOME": self.home, "PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8",
                    "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "test", "NO_COLOR": "1"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]

    def start(self, *args):
        return Terminal([self.program, *args], self.env, self.work)

    def transcripts(self):
        root = os.path.join(self.home, ".claude", "projects")
        return [os.path.join(d, f) for d, _, names in os.walk(root) for f in names if f.endswith(".jsonl")]


def leave(t):
    t.key("C-d")
    code = t.wait()
    assert code == 0, "exit code %s, last words %r" % (code, t.text[-300:])


def a_line_is_answered_and_ctrl_d_leaves(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("say good morning")
        t.expect("You said good morning.")
        t.expect("> ")
        leave(t)
        assert "cadre --resume " in t.text


def a_prompt_on_the_command_line_is_the_first_turn(bench):
    with bench.start("say from the shell") as t:
        t.expect("You said from the shell.")
        t.expect("> ")
        leave(t)


def letters_outside_ascii_survive(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("say gr\u00fc\u00dfe \u20ac")
        t.expect("You said gr\u00fc\u00dfe \u20ac.")
        t.expect("> ")
        leave(t)


def the_arrow_brings_the_last_line_back(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("say once")
        t.expect("You said once.")
        t.expect("> ")
        t.key("up")
        t.expect("once")
        t.key("enter")
        t.expect("You said once.")
        t.expect("> ")
        leave(t)


def a_question_that_is_answered_with_yes_lets_the_tool_run(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("write a file")
        t.expect("Allow Bash: ")
        t.expect("[y]es / [a]lways in this session / [n]o, or say why: ")
        assert not os.path.exists(os.path.join(bench.work, "made.txt"))
        t.type("y")
        t.expect("The tool said:")
        t.expect("> ")
        assert os.path.exists(os.path.join(bench.work, "made.txt"))
        leave(t)


def a_question_that_is_answered_with_a_reason_tells_the_model(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("write a file")
        t.expect("say why: ")
        t.type("use the other folder")
        t.expect("The tool said:")
        t.expect("use the other folder")
        t.expect("> ")
        assert not os.path.exists(os.path.join(bench.work, "made.txt"))
        leave(t)


def always_is_asked_once_in_a_session(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("write a file")
        t.expect("say why: ")
        t.type("a")
        t.expect("The tool said:")
        t.expect("> ")
        t.type("write a file again")
        skipped = t.expect("The tool said:")
        assert "Allow" not in skipped, skipped
        t.expect("> ")
        leave(t)


def ctrl_c_ends_the_turn_and_the_next_one_works(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("wait for ever")
        t.expect("I begin")
        t.key("C-c")
        t.expect("Interrupted")
        t.expect("> ")
        t.type("say hello")
        t.expect("You said hello.")
        t.expect("> ")
        leave(t)


def ctrl_c_twice_ends_the_program(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("wait for ever")
        t.expect("I begin")
        t.key("C-c")
        t.expect("Interrupted")
        t.expect("> ")
        t.key("C-c")
        assert t.wait() == 130, t.code


def ctrl_c_during_a_question_ends_the_turn(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("write a file")
        t.expect("say why: ")
        t.key("C-c")
        t.expect("Interrupted")
        t.expect("> ")
        assert not os.path.exists(os.path.join(bench.work, "made.txt"))
        leave(t)


def sigterm_completes_the_transcript_and_exits_143(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("wait for ever")
        t.expect("I begin")
        t.signal(signal.SIGTERM)
        assert t.wait() == 143, t.code
    for path in bench.transcripts():
        with open(path, encoding="utf-8") as f:
            for line in f:
                assert line.endswith("\n")
                json.loads(line)
    assert bench.transcripts()


def a_session_is_resumed_by_its_id(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("say remember me")
        t.expect("You said remember me.")
        t.expect("> ")
        leave(t)
        session = re.search(r"--resume ([0-9a-f-]{36})", t.text).group(1)
    with bench.start() as t:
        t.expect("> ")
        t.type("/resume " + session)
        t.expect("Session " + session + " goes on.")
        t.expect("> ")
        t.type("say again")
        t.expect("You said again.")
        t.expect("> ")
        leave(t)
    assert [os.path.basename(p) for p in bench.transcripts()] == [session + ".jsonl"]


def a_session_that_cannot_be_resumed_leaves_the_current_one(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("say first")
        t.expect("You said first.")
        t.expect("> ")
        t.type("/resume 00000000-0000-4000-8000-000000000000")
        t.expect("No conversation found")
        t.expect("> ")
        t.type("/resume")
        t.expect("in use")
        t.expect("> ")
        t.type("say second")
        t.expect("You said second.")
        t.expect("> ")
        leave(t)
    assert len(bench.transcripts()) == 1, bench.transcripts()


def a_new_session_has_a_new_id(bench):
    with bench.start("--session-id", "11111111-1111-4111-8111-111111111111") as t:
        t.expect("> ")
        t.type("say first")
        t.expect("You said first.")
        t.expect("> ")
        t.type("/new")
        t.expect("A new session")
        t.expect("> ")
        t.type("say second")
        t.expect("You said second.")
        t.expect("> ")
        leave(t)
    assert len(bench.transcripts()) == 2, bench.transcripts()


def commands_explain_themselves_and_unknown_ones_are_said(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("/help")
        t.expect("/resume")
        t.expect("> ")
        t.type("/nonsense")
        t.expect("There is no command /nonsense")
        t.expect("> ")
        t.type("/exit")
        assert t.wait() == 0, t.code


def what_the_model_writes_cannot_act_on_the_terminal(bench):
    with bench.start() as t:
        t.expect("> ")
        t.type("paint")
        t.expect(r"red \x1b[31m title \x1b]0;owned\x07 end")
        t.expect("> ")
        leave(t)
        assert b"\x1b]0;owned" not in t.raw


TESTS = [
    a_line_is_answered_and_ctrl_d_leaves,
    a_prompt_on_the_command_line_is_the_first_turn,
    letters_outside_ascii_survive,
    the_arrow_brings_the_last_line_back,
    a_question_that_is_answered_with_yes_lets_the_tool_run,
    a_question_that_is_answered_with_a_reason_tells_the_model,
    always_is_asked_once_in_a_session,
    ctrl_c_ends_the_turn_and_the_next_one_works,
    ctrl_c_twice_ends_the_program,
    ctrl_c_during_a_question_ends_the_turn,
    sigterm_completes_the_transcript_and_exits_143,
    a_session_is_resumed_by_its_id,
    a_session_that_cannot_be_resumed_leaves_the_current_one,
    a_new_session_has_a_new_id,
    commands_explain_themselves_and_unknown_ones_are_said,
    what_the_model_writes_cannot_act_on_the_terminal,
]


def run(number, test, program, url):
    with tempfile.TemporaryDirectory() as folder:
        try:
            test(Bench(program, url, folder))
        except (AssertionError, Missing) as why:
            print("not ok %d - %s\n# %s" % (number, test.__name__, str(why).replace("\n", "\n# ")), flush=True)
            return False
    print("ok %d - %s" % (number, test.__name__), flush=True)
    return True


def main():
    if len(sys.argv) != 3:
        raise SystemExit("usage: test_line.py CADRE MODELD")
    program, model = (os.path.abspath(p) for p in sys.argv[1:])
    print("1..%d" % len(TESTS))
    with tempfile.TemporaryDirectory() as folder:
        modeld = Modeld(model, folder)
        try:
            good = [run(i + 1, test, program, modeld.url) for i, test in enumerate(TESTS)]
        finally:
            modeld.stop()
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
