#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The input line of the terminal: long lines, pastes, keys, and that nothing typed before a question answers it."""
import json
import os
import signal
import subprocess
import termios
import time

import pexpect
from lab import CADRE, DEADLINE_S, main, until

SCENARIO = r"""
rule told
  last contains "task-notification"
  text "The report came."

rule starts
  prompt contains "start"
  agent main
  turn 1
  call Agent {"description": "helper", "prompt": "Remove it.", "run_in_background": true}

rule waits
  prompt contains "Remove it."
  turn 1
  call Bash {"command": "head -n 1 gate", "description": "waits"}

rule removes
  prompt contains "Remove it."
  turn 2
  call Bash {"command": "rm -rf ./x", "description": "removes"}

rule done
  prompt contains "Remove it."
  text "The helper says: {{last_result}}"

rule both
  agent main
  prompt contains "two of them"
  turn 1
  call Agent {"description": "one", "prompt": "Touch it."}
  call Agent {"description": "two", "prompt": "Touch it."}

rule touches
  prompt contains "Touch it."
  turn 1
  latency 700
  call Bash {"command": "touch touched", "description": "touches"}

rule plans
  prompt contains "plan"
  turn 1
  call Bash {"command": "head -n 1 gate", "description": "waits"}

rule planned
  prompt contains "plan"
  turn 2
  call ExitPlanMode {"plan": "the plan"}

rule asks
  prompt contains "ask"
  turn 1
  call Bash {"command": "head -n 1 gate", "description": "waits"}

rule asks on
  prompt contains "ask"
  turn 2
  call AskUserQuestion {"questions": [{"question": "Which?", "header": "W", "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]}, {"question": "Really?", "header": "R", "options": [{"label": "Yes", "description": "y"}, {"label": "No", "description": "n"}]}]}

rule says
  text "I hear you."
"""
KEYS = {"up": "\x1b[A", "down": "\x1b[B", "left": "\x1b[D", "home": "\x1b[H", "C-d": "\x04", "C-c": "\x03", "C-z": "\x1a", "C-u": "\x15"}


class Line(pexpect.spawn):
    """cadre on a terminal. The model's log tells what it was sent."""

    def __init__(self, lab, *args, program=CADRE, size=(24, 80), **env):
        if not lab.models:
            lab.model(SCENARIO, log=True)
        self.lab = lab
        super().__init__(program, ["--plain"] * (program == CADRE) + list(args), timeout=DEADLINE_S, cwd=lab.work, encoding="utf-8", dimensions=size,
                         env={**lab.env, "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1", **env})
        self.delaybeforesend = None

    def press(self, *keys):
        for key in keys:
            self.send(KEYS.get(key, key))

    def ready(self):
        self.expect_exact("\x1b[?2004h")
        self.expect_exact("> ")

    def paste(self, text):
        self.send("\x1b[200~" + text + "\x1b[201~")

    def answered(self):
        self.expect_exact("I hear you.")
        self.expect_exact("> ")

    def prompts(self):
        """What the model was asked by the user, the latest last."""
        found = []
        for body in self.lab.models[0].bodies():
            content = body["messages"][-1]["content"]
            texts = [content] if isinstance(content, str) else [b["text"] for b in content if b["type"] == "text"]
            found.append(texts[-1] if texts else "")
        return found

    def end(self, code=0):
        self.expect(pexpect.EOF)
        self.close()
        assert self.exitstatus == code, (self.exitstatus, self.signalstatus, self.before)

    def leave(self):
        self.press("C-d")
        self.end()


def a_long_line_is_one_prompt_however_it_comes(lab):
    line = Line(lab)
    line.ready()
    for n, bracketed in ((4200, True), (4200, False), (200 * 1024, True), (200 * 1024, False)):
        if bracketed:
            line.paste("y" * n)
        else:
            line.send("y" * n)
        line.press("\r")
        line.answered()
        assert line.prompts()[-1] == "y" * n, (n, bracketed, len(line.prompts()[-1]))
    assert len(line.prompts()) == 4, len(line.prompts())
    line.leave()


def a_paste_of_three_lines_is_one_prompt(lab):
    line = Line(lab)
    line.ready()
    line.paste("one\rtwo\rthree")
    line.expect_exact("three")
    line.press(" more", "\r")
    line.answered()
    assert line.prompts() == ["one\ntwo\nthree more"], line.prompts()
    line.leave()


def a_paste_that_is_too_long_is_refused_and_said(lab):
    line = Line(lab)
    line.ready()
    line.press("kept")
    line.paste("z" * (32 * 1024 * 1024 + 1))
    line.expect_exact("the paste is too long")
    line.press("\r")
    line.answered()
    assert line.prompts() == ["kept"], line.prompts()
    line.leave()


def lines_that_come_at_once_are_prompts_one_after_the_other(lab):
    line = Line(lab)
    line.ready()
    line.send("first\rsecond\rthird\r")
    for _ in range(3):
        line.answered()
    assert line.prompts() == ["first", "second", "third"], line.prompts()
    line.leave()


def lines_behind_one_that_opens_something_are_for_that(lab):
    """In one read: a prompt for the new session, a number for the list, a number that is a prompt behind a text"""
    line = Line(lab)
    line.ready()
    line.press("first", "\r")
    line.answered()
    line.send("/new\r/mode\r2\r/tasks\r5\r")
    for text in ("New session", "2. acceptEdits", "permission-mode: acceptEdits", "Agents"):
        line.expect_exact(text)
    line.answered()
    assert line.prompts() == ["first", "5"] and len(lab.models[0].bodies()[-1]["messages"]) == 1, lab.models[0].bodies()[-1]["messages"]
    line.leave()


# ---- questions

def start_question(lab, prompt, flags, typed):
    """A line in which `typed` is typed before the question of that prompt comes. It comes when the gate is opened."""
    os.makedirs(os.path.join(lab.work, "x"), exist_ok=True)
    gate = os.path.join(lab.work, "gate")
    os.mkfifo(gate)
    line = Line(lab, *flags, "--allowedTools=Bash(head:*)")
    line.ready()
    line.press(prompt, "\r")
    line.expect_exact("\r\n")
    with open(gate, "w", encoding="ascii") as opened:  # the tool runs now
        if prompt == "start":
            line.answered()
            line.press(*typed)
            if typed[0] != "\r":
                line.expect_exact(typed[0])
        else:
            line.press(*typed)  # while the turn has the terminal: the kernel keeps it
            line.expect_exact(typed[0])
        opened.write("go\n")
    os.unlink(gate)
    return line


def press_early(line, ask, *keys):
    """Presses keys before a question that is shown asks for an answer: the program stands still meanwhile, and finds them before the
    time that it waits is over. Then waits for it to ask. False: we were too late, and nothing was pressed."""
    line.kill(signal.SIGSTOP)
    until(lambda: open("/proc/%d/stat" % line.pid).read().rsplit(")", 1)[1].split()[0] == "T", "it does not stop")
    early = line.expect_exact([ask, pexpect.TIMEOUT], timeout=0.1) == 1
    if early:
        line.press(*keys)
    line.kill(signal.SIGCONT)
    if early:
        line.expect_exact(ask)
    return early


def nothing_typed_before_answers(lab, prompt, flags, question, ask, answer):
    early = False
    for typed in (("y",), ("I am typing a long sent",), ("1",)):
        line = start_question(lab, prompt, flags, typed)
        line.expect_exact(question)
        early = press_early(line, ask, "\r") or early  # meant for the line above
        assert os.path.exists(os.path.join(lab.work, "x"))
        line.press(answer, "\r")
        if prompt == "ask":
            line.expect_exact("Really?")
            line.expect_exact(ask)
            line.press("2", "\r")
        line.expect("I hear you.|The report came.")
        line.expect_exact("> " + typed[0])
        line.press("!", "\r")
        line.answered()
        assert line.prompts()[-1] == typed[0] + "!", (prompt, line.prompts())
        assert os.path.exists(os.path.join(lab.work, "x")), (prompt, typed)
        line.leave()
    assert early, "each question asked at once"


def what_was_typed_before_a_call_of_an_agent_does_not_allow_it(lab):
    nothing_typed_before_answers(lab, "start", (), "wants to use Bash", "say why: ", "n")


def what_was_typed_before_a_plan_does_not_approve_it(lab):
    nothing_typed_before_answers(lab, "plan", ("--permission-mode", "plan"), "has a plan:", "say why: ", "n")


def what_was_typed_before_a_question_does_not_answer_it(lab):
    nothing_typed_before_answers(lab, "ask", (), "Which?", "or your own words: ", "1")


def a_paste_that_stops_half_way_does_not_answer(lab):
    line = start_question(lab, "start", (), ("kept ",))
    line.expect_exact("wants to use Bash")
    line.send("\x1b[200~one\r")
    time.sleep(1)  # longer than a question waits for keys
    line.send("y\r\x1b[201~")
    line.expect_exact("say why: ")
    line.press("n", "\r")
    line.expect_exact("The report came.")
    line.expect_exact("> kept one")
    line.press("\r")
    line.answered()
    assert line.prompts()[-1] == "kept one\ny", line.prompts()
    assert os.path.exists(os.path.join(lab.work, "x"))
    line.leave()


def whole_lines_typed_before_a_question_are_prompts_for_later(lab):
    line = start_question(lab, "plan", ("--permission-mode", "plan"), ("first", "\r", "second", "\r"))
    line.expect_exact("queued: second")
    line.expect_exact("say why: ")
    line.press("no", "\r")
    for _ in range(3):
        line.expect_exact("I hear you.")
    line.expect_exact("> ")
    assert line.prompts()[-2:] == ["first", "second"], line.prompts()
    line.leave()


def an_answer_does_not_answer_the_next_question_too(lab):
    line = start_question(lab, "ask", (), ("0",))
    line.expect_exact("or your own words: ")
    line.press("1\r2\r")
    line.expect_exact("Really?")
    line.expect_exact("or your own words: ")
    line.press("1", "\r")
    line.expect_exact("I hear you.")
    results = json.dumps(lab.models[0].bodies()[-1]["messages"][-1])
    assert "Red" in results and "Yes" in results, results
    line.expect_exact("> 02")
    line.press("C-u")
    line.leave()


def a_second_question_does_not_open_the_first_one_earlier(lab):
    for _ in range(5):
        line = Line(lab)
        line.ready()
        line.press("two of them", "\r")
        line.expect_exact("wants to use Bash:")
        early = press_early(line, "say why: ", "1", "\r")  # before it can have been read; the other one comes in the same moment
        line.press("n", "\r")
        line.expect_exact("say why: ")
        line.press("n", "\r")
        line.expect_exact("I hear you.")
        line.expect_exact("> 1" if early else "> ")
        assert not os.path.exists(os.path.join(lab.work, "touched"))
        line.press("C-u")
        line.leave()
        if early:
            return
    raise AssertionError("each question asked at once")


def ctrl_c_at_a_question_keeps_the_line(lab):
    line = start_question(lab, "start", (), ("half a line",))
    line.expect_exact("say why: ")
    line.press("C-c")
    line.expect_exact("The report came.")
    line.expect_exact("> half a line")
    line.press("C-u")
    line.leave()


# ---- keys, size and signals

def keys_edit_and_the_history_keeps_the_draft(lab):
    line = Line(lab)
    line.ready()
    for text in ("alpha", "beta"):
        line.press(text, "\r")
        line.answered()
    line.press("draft", "up", "up", "down", "down", "!", "home", "my ", "\r")
    line.answered()
    line.press("up", "up", "left", "X", "\r")
    line.answered()
    assert line.prompts() == ["alpha", "beta", "my draft!", "betXa"], line.prompts()
    line.leave()


def one_key_is_one_byte_and_idle_is_silent(lab):
    line = Line(lab)
    line.ready()
    for letter in "hello":
        line.send(letter)
        assert line.read_nonblocking(100, 10) == letter
    line.press("C-u")
    line.leave()


def an_escape_key_alone_eats_no_letter(lab):
    line = Line(lab)
    line.ready()
    line.press("a\x1b")
    line.expect_exact("a")
    time.sleep(0.3)  # it is time itself that tells the key from a sequence
    line.press("b", "\r")
    line.answered()
    assert line.prompts() == ["ab"], line.prompts()
    line.leave()


def modes_of(line):
    return termios.tcgetattr(line.child_fd)


def ctrl_z_gives_the_terminal_back_and_fg_draws_the_line_again(lab):
    shell = Line(lab, "--norc", "-i", program="bash", PS1="$ ")
    shell.expect_exact("$ ")
    shell.sendline(CADRE + " --plain")
    shell.ready()
    raw = modes_of(shell)
    for how in ("C-z", signal.SIGSTOP):
        shell.press("half")
        shell.expect_exact("half")
        if how == "C-z":
            shell.press("C-z")
            shell.expect_exact("\x1b[?2004l")
        else:
            pid = int(subprocess.check_output(["pgrep", "-P", str(shell.pid), "-x", "cadre"]))
            os.kill(pid, how)
        shell.expect_exact("Stopped")
        shell.expect_exact("$ ")
        shell.sendline("fg")
        shell.expect_exact("> half")
        assert modes_of(shell)[:4] == raw[:4]
        shell.press(" typed", "\r")
        shell.answered()
        assert shell.prompts()[-1].endswith("half typed"), shell.prompts()
    shell.press("C-d")
    shell.expect_exact("$ ")
    shell.sendline("exit")
    shell.end()


def the_terminal_is_given_back_by_any_signal(lab):
    master, slave = os.openpty()
    before = termios.tcgetattr(slave)  # of any new terminal: the program may be faster than we are
    os.close(master)
    os.close(slave)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        line = Line(lab)
        line.ready()
        assert modes_of(line) != before
        line.press("half typed")
        line.expect_exact("half typed")
        line.kill(number)
        if number == signal.SIGINT:
            line.expect_exact("ctrl+c again leaves")
            line.kill(number)
        line.expect_exact("\x1b[?2004l")
        line.expect(pexpect.EOF)
        assert modes_of(line) == before
        line.close()
        assert line.exitstatus == 128 + number, (line.exitstatus, line.signalstatus)


def a_dumb_terminal_gets_no_sequences(lab):
    line = Line(lab, TERM="dumb")
    line.expect_exact("> ")
    for keys, sent in (("abc", "abc"), ("\x7f", "\b \b"), ("\u65e5", "\u65e5"), ("\x7f", "\b \b\b \b"), ("\x01", "\b \b\b \b"), ("X", "X")):
        line.send(keys)  # what is added or removed at the end is all that is written
        assert line.read(len(sent)) == sent, (keys, line.before)
    line.press("\r")
    line.expect_exact("ab\r\n")  # what stood behind the cursor
    line.answered()
    line.press("abd", "left", "c", "\x7f", "c", "\r")
    line.answered()
    line.paste("pasted")
    line.press("\r")
    line.answered()
    assert line.prompts() == ["Xab", "abcd", "pasted"], line.prompts()
    line.press("C-d")
    line.expect(pexpect.EOF)
    assert "\x1b" not in line.before
    line.close()


def a_paste_of_any_length_is_one_answer(lab):
    line = start_question(lab, "plan", ("--permission-mode", "plan"), ("kept",))
    line.expect_exact("say why: ")
    reason = "because " + "y" * (8 * 1024)
    line.paste(reason + "\rn\rmore")
    line.press("\r")
    line.expect_exact("I hear you.")
    line.expect_exact("> kept")
    results = json.dumps(lab.models[0].bodies()[-1]["messages"][-1])
    assert reason + "\\nn\\nmore" in results, results[-300:]
    line.press("C-u")
    line.leave()


def a_list_is_numbered_and_a_number_chooses(lab):
    line = Line(lab)
    line.ready()
    line.press("/mode", "\r")
    line.expect_exact("1. default")
    line.expect_exact("or nothing: ")
    line.press("\r")
    line.expect_exact("> ")
    line.press("/mode", "\r")
    line.expect_exact("2. acceptEdits")
    line.expect_exact("or nothing: ")
    line.press("2", "\r")
    line.expect_exact("permission-mode: acceptEdits")
    line.expect_exact("> ")
    line.press("/mode", "\r")
    line.expect_exact("or nothing: ")
    line.press("9", "\r")
    line.expect_exact("There is no 9: nothing was chosen.")
    line.expect_exact("> ")
    line.press("/mode", "\r")
    line.expect_exact("or nothing: ")
    line.press("no number", "\r")  # a prompt
    line.answered()
    assert line.prompts() == ["no number"], line.prompts()
    line.leave()


def what_was_typed_is_there_in_the_next_session(lab):
    for text in ("in the first", "in the second"):
        line = Line(lab)
        line.ready()
        line.press(text, "\r")
        line.answered()
        line.leave()
    line = Line(lab)
    line.ready()
    line.press("up", "up", "\r")
    line.answered()
    assert line.prompts()[-1] == "in the first", line.prompts()
    line.leave()


class Tmux:
    """cadre in a real terminal emulator."""

    def __init__(self, lab, columns, rows):
        lab.model(SCENARIO, log=True)
        self.base = ["tmux", "-f", "/dev/null", "-S", os.path.join(lab.folder, "tmux")]
        env = {**lab.env, "LANG": "C.UTF-8", "NO_COLOR": "1", "TERM": "xterm"}
        subprocess.run([*self.base, "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", lab.work,
                        "sh", "-c", "seq -f 'above %g' 5; exec " + CADRE + " --plain"], env=env, check=True)

    def run(self, *args, **more):
        return subprocess.run([*self.base, *args], check=True, capture_output=True, text=True, **more).stdout

    def rows(self):
        return [row.rstrip() for row in self.run("capture-pane", "-p", "-S", "-").rstrip("\n").split("\n")]

    def resize(self, columns):
        """tmux tells the program a moment after it has wrapped the rows; a key that is sent then comes behind it."""
        self.run("resize-window", "-x", str(columns))
        with open(self.run("display-message", "-p", "#{pane_tty}").strip(), "rb", buffering=0) as tty:
            until(lambda: os.get_terminal_size(tty.fileno()).columns == columns, "the window has not its size")

    def until(self, rows):
        """Waits for these last rows."""
        shown = lambda: [row for row in self.rows() if row]
        return until(lambda: (seen := shown())[-len(rows):] == rows and seen, lambda: (rows, shown()))


def laid_out(text, columns):
    """The rows of the line: one column stays free, and rows behind the first are indented."""
    rows = ["> " + text[:columns - 3]]
    return rows + ["  " + text[i:i + columns - 3] for i in range(columns - 3, len(text), columns - 3)]


def the_line_is_right_in_tmux_after_keys_pastes_and_resizes(lab):
    tmux = Tmux(lab, 40, 20)
    try:
        tmux.until([">"])
        text = "".join("%02d" % i for i in range(50))
        tmux.run("load-buffer", "-", input=text)
        tmux.run("paste-buffer", "-p")
        tmux.until(laid_out(text, 40))
        for columns in (70, 25, 100, 40):
            tmux.resize(columns)
            tmux.run("send-keys", "!")
            text += "!"
            seen = tmux.until(laid_out(text, columns))
            above = [row for row in seen if row.startswith("above ")]
            assert above == ["above %d" % i for i in range(1, 6)], seen
            assert sum(row.startswith("> ") for row in seen) == 1, (columns, seen)
        tmux.run("send-keys", "Home", "\u65e5\u672c", "End", "BSpace", "C-a", "C-k")
        tmux.until(["cadre 0.1.0 - /help for help, Ctrl-D to", "leave", ">"])
        tmux.run("load-buffer", "-", input="one\ntwo \u65e5\u672c\nthree")
        tmux.run("paste-buffer", "-p")
        tmux.until(["> one", "  two \u65e5\u672c", "  three"])
        tmux.run("send-keys", "Up", "Up", "X")
        tmux.until(["> oneX", "  two \u65e5\u672c", "  three"])
        tmux.run("send-keys", "Enter")
        tmux.until(["> oneX", "  two \u65e5\u672c", "  three", "I hear you.", ">"])
        tmux.run("load-buffer", "-", input="y" * 4200)
        tmux.run("paste-buffer")
        tmux.run("send-keys", "Enter")
        tmux.until(["... 3.3KB more", "I hear you.", ">"])
        assert len(lab.models[0].bodies()) == 2
        tmux.run("send-keys", "C-d")
        lab.wait_for_nobody()
    finally:
        subprocess.run([*tmux.base, "kill-server"], check=False, capture_output=True)


if __name__ == "__main__":
    main(a_long_line_is_one_prompt_however_it_comes,
         a_paste_of_three_lines_is_one_prompt,
         a_paste_that_is_too_long_is_refused_and_said,
         lines_that_come_at_once_are_prompts_one_after_the_other,
         lines_behind_one_that_opens_something_are_for_that,
         what_was_typed_before_a_call_of_an_agent_does_not_allow_it,
         what_was_typed_before_a_plan_does_not_approve_it,
         what_was_typed_before_a_question_does_not_answer_it,
         a_paste_that_stops_half_way_does_not_answer,
         whole_lines_typed_before_a_question_are_prompts_for_later,
         an_answer_does_not_answer_the_next_question_too,
         a_second_question_does_not_open_the_first_one_earlier,
         ctrl_c_at_a_question_keeps_the_line,
         keys_edit_and_the_history_keeps_the_draft,
         one_key_is_one_byte_and_idle_is_silent,
         an_escape_key_alone_eats_no_letter,
         ctrl_z_gives_the_terminal_back_and_fg_draws_the_line_again,
         the_terminal_is_given_back_by_any_signal,
         a_dumb_terminal_gets_no_sequences,
         a_paste_of_any_length_is_one_answer,
         a_list_is_numbered_and_a_number_chooses,
         what_was_typed_is_there_in_the_next_session,
         the_line_is_right_in_tmux_after_keys_pastes_and_resizes, at_once=4)  # they wait most of the time
