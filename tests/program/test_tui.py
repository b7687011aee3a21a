#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cadre on a terminal that can move its cursor: what stands on the screen and in its scrollback, and what reaches the model."""
import base64
import json
import os
import re
import signal
import subprocess
import threading
import time
import uuid

from lab import CADRE, main, until
from mock import SSE, Mock, message_events
from vterm import Screen

SCENARIO = r"""
rule queued
  prompt contains "queued words"
  text I hear you.
rule slow
  prompt contains "slowly"
  delay 100
  chunk 4
  filler 4000
rule table
  prompt contains "table"
  chunk 7
  delay 2
  text <<END
# A heading

Some **bold** words and `code`.

| name | what it is |
|---|---|
| 日本語 | a language |
| x | *small* |

- one
- two

```c
int main(void) { return 0; }
```
END
rule escapes
  prompt contains "escapes"
  text "red \u001b[31m title \u001b]0;owned\u0007 clear \u001b[2J \u009b31m \u202e end\n\n\u001b[1;1Hhome"
rule prints
  prompt contains "print"
  turn 1
  call Bash {"command": "seq 1 200", "description": "numbers"}
rule prints end
  prompt contains "print"
  text Printed.
rule long
  prompt contains "long command"
  turn 1
  call Bash {"command": "%s", "description": "long"}
rule removes
  prompt contains "remove"
  turn 1
  call Bash {"command": "touch removed", "description": "r"}
rule refused
  prompt contains "remove"
  text "The tool said: {{last_result}}"
rule edits
  prompt contains "edit"
  turn 1
  call Write {"file_path": "a.txt", "content": "one\ntwo\n"}
rule edits again
  prompt contains "edit"
  turn 2
  call Edit {"file_path": "a.txt", "old_string": "two", "new_string": "three"}
rule lines
  prompt contains "lines"
  text <<END
{{lines300}}
END
rule agents
  agent main
  prompt contains "delegate"
  turn 1
  call Agent {"description": "Map it", "prompt": "map", "subagent_type": "general-purpose"}
  call Agent {"description": "Plan it", "prompt": "plan", "subagent_type": "general-purpose"}
rule paragraph
  prompt contains "one paragraph"
  delay 10
  chunk 20
  filler 6000
rule says
  text I hear you.
""" % "; ".join("touch line %d" % i for i in range(200))
SCENARIO = SCENARIO.replace("{{lines300}}", "\n\n".join("finished line %03d." % i for i in range(300)))
PLAIN = {"NO_COLOR": "1"}


def screen(lab, *args, **more):
    if not lab.models:
        lab.model(SCENARIO, log=True)
    s = Screen(lab, *args, **{"env": PLAIN, **more})
    return s


def ready(s):
    return s.until("? keys")


def prompts(lab):
    """What the user asked, as the model got it; one for each turn."""
    found = []
    for body in lab.models[0].bodies():
        content = body["messages"][-1]["content"]
        texts = [content] if isinstance(content, str) else [b["text"] for b in content if b["type"] == "text"]
        if texts:
            found.append(texts[-1])
    return found


def asked(s, line):
    """Where this line stands that was entered; not where it is typed"""
    typed = len(s.above) + s.cursor()[0]
    return [i for i, row in enumerate(s.all()) if row.startswith("❯ " + line[:40]) and i != typed]


def leave(s):
    s.press("C-d", "C-d")
    code = s.wait()
    assert code == 0, (code, s.all())


def leave_plain(s):
    """When its turn has ended: the prompt is the last row again."""
    s.until(lambda rows: [r.strip() for r in rows if r.strip()][-1] == ">")
    leave(s)


def a_prompt_is_answered_and_ctrl_d_leaves(lab):
    with screen(lab) as s:
        ready(s)
        s.press("hello", "enter")
        s.seen("I hear you.")
        ready(s)
        leave(s)
        assert any("cadre --resume " in row for row in s.all()), s.all()
        assert prompts(lab) == ["hello"], prompts(lab)


def a_long_paste_is_one_mark_and_one_prompt(lab):
    text = "x" * 5000
    with screen(lab) as s:
        ready(s)
        s.paste(text)
        s.until("[paste 1: 1 line, ")
        s.press("enter")
        s.seen("I hear you.")
        leave(s)
    assert prompts(lab) == [text], prompts(lab)


def a_paste_without_brackets_is_one_prompt_too(lab):
    with screen(lab) as s:
        ready(s)
        s.send("first line of it\rsecond line of it\rthird")
        s.until("third")
        assert not prompts(lab)
        s.press("enter")
        s.seen("I hear you.")
        leave(s)
    assert prompts(lab) == ["first line of it\nsecond line of it\nthird"], prompts(lab)


def pasted_bytes_are_never_keys(lab):
    with screen(lab) as s:
        ready(s)
        s.paste("do\x03 not\r/exit now")
        s.until("now")
        s.press("enter")
        s.seen("I hear you.")
        leave(s)
    assert prompts(lab) == ["do\x03 not\n/exit now"], prompts(lab)


def a_megabyte_is_pasted_quickly_and_sent_whole(lab):
    text = "".join("line %d of a large paste\n" % i for i in range(40000)).strip()
    with screen(lab) as s:
        ready(s)
        before = len(s.raw)
        s.paste(text)
        s.until("[paste 1: 40000 lines, ")
        assert len(s.raw) - before < 400, len(s.raw) - before
        s.press("backspace")
        s.until("[paste", gone=True)
        s.press("C-_")
        s.until("[paste 1")
        s.press("C-o")
        s.until("line 0 of a large paste")
        s.press("q")
        s.until("[paste 1")
        s.press("enter")
        s.seen("I hear you.")
        leave(s)
    assert prompts(lab) == [text]


def what_was_pasted_comes_back_whole_from_the_history_and_from_what_was_cut(lab):
    text = "".join("line %d of a paste\n" % i for i in range(20)).strip()

    def asks(s, *keys):
        s.press(*keys, "enter")
        asked.append("see " + text)
        until(lambda: prompts(lab) == asked, lambda: (prompts(lab), s.all()))
        ready(s)

    asked = []
    with screen(lab) as s:
        ready(s)
        s.press("see ")
        s.paste(text)
        s.until("❯ see [paste 1: 20 lines, ")
        asks(s)
        asks(s, "up")
        s.press("up", "C-u", "other", "enter")
        asked.append("other")
        until(lambda: prompts(lab) == asked, s.all)
        ready(s)
        asks(s, "C-y")
        s.press("C-y", "esc", "esc")  # cleared, and kept
        s.until(lambda rows: rows[s.cursor()[0]] == "❯")
        asks(s, "up")
        leave(s)
    with screen(lab, "--continue") as s:
        ready(s)
        s.press("C-r", "see")
        s.until("❯ see [paste 1: 20 lines, ")
        asks(s, "enter")
        s.press("up", "C-u")
        s.until(lambda rows: rows[s.cursor()[0]] == "❯")
        s.press("!echo $((40 + 2))", "enter")  # a line without what was pasted is no paste
        s.seen("42")
        ready(s)
        leave(s)
    assert prompts(lab) == asked, prompts(lab)


def keys_edit_the_line(lab):
    with screen(lab) as s:
        ready(s)
        s.press("one two three", "C-w", "four", "home", "zero ", "end", " five", "left", "left", "C-k", "C-a", "C-u", "C-e", "alt-enter",
                "second", "C-a", "C-y")
        s.until("second")
        s.press("enter")
        s.seen("I hear you.")
        leave(s)
    assert prompts(lab) == ["zero one two four fi\nvesecond"], prompts(lab)


def a_backslash_continues_the_line_and_the_history_comes_back(lab):
    with screen(lab) as s:
        ready(s)
        s.press("first\\", "enter", "second", "enter")
        s.seen("I hear you.")
        ready(s)
        s.press("other", "enter")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        ready(s)
        s.press("/version", "enter")
        s.seen("cadre 0")
        ready(s)
        s.press("up")
        s.until(lambda rows: rows[s.cursor()[0]] == "❯ /version")  # and no list that the next key would be for
        s.press("up", "up")
        s.until(lambda rows: sum("second" in r for r in rows) == 2)
        s.press("down")
        s.until(lambda rows: rows[s.cursor()[0]] == "❯ other")
        s.press("enter")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 3)
        leave(s)
    assert prompts(lab) == ["first\nsecond", "other", "other"], prompts(lab)


def what_is_typed_in_a_turn_is_not_in_the_answer_and_is_queued(lab):
    with screen(lab) as s:
        ready(s)
        s.press("slowly please", "enter")
        s.until("fills the line")
        s.press("hello")
        s.until("❯ hello")
        s.press("esc")
        s.seen("Interrupted.")
        s.until("❯ hello")
        ready(s)
        answer = [row for row in s.all() if "hello" in row]
        assert answer == ["❯ hello"], answer
        assert not any("^[" in row for row in s.all())
        s.press("C-u", "slowly again", "enter")
        s.until("◐ writing")
        s.press("queued words", "enter")
        s.until("queued: queued words")
        s.press("esc")
        s.seen("❯ queued words")
        s.seen("I hear you.")
        ready(s)
        leave(s)
    assert prompts(lab)[-1] == "queued words", prompts(lab)


def markdown_is_shown_with_its_table_in_columns(lab):
    with screen(lab) as s:
        ready(s)
        s.press("a table", "enter")
        s.seen("int main")
        ready(s)
        rows = s.all()
        assert "A heading" in rows and "Some bold words and code." in rows, rows
        assert "• one" in rows and "• two" in rows, rows
        assert "int main(void) { return 0; }" in rows, rows
        leave(s)
    with screen(lab, env={}) as s:
        ready(s)
        s.press("a table", "enter")
        s.seen("int main")
        ready(s)
        assert b"\x1b[0;1m" in s.raw and re.search(rb"\x1b\[0(;\d)*;35mint", s.raw), "no looks"
        leave(s)


def no_sequence_of_an_answer_reaches_the_terminal(lab):
    with screen(lab) as s:
        ready(s)
        s.press("escapes", "enter")
        s.seen("home")
        ready(s)
        rows = "\n".join(s.all())
        assert r"\x1b[31m" in rows and r"\x1b]0;owned\x07" in rows and r"\u009b" in rows and r"\u202e" in rows, rows
        assert b"\x1b]0;owned" not in s.raw and b"\x1b[2J" not in s.raw and b"\x1b[31m" not in s.raw and b"\x1b[1;1H" not in s.raw
        leave(s)


def output_of_a_command_is_cut_in_the_middle(lab):
    with screen(lab, "--allowedTools=Bash") as s:
        ready(s)
        s.press("print", "enter")
        s.seen("Printed.")
        ready(s)
        rows = s.all()
        assert any("Bash seq 1 200" in r for r in rows) and any("… 192 lines more" in r for r in rows), rows
        numbers = [int(r) for r in rows if re.fullmatch(r" +\d+", r)]
        assert numbers == [1, 2, 3, 196, 197, 198, 199, 200], numbers
        leave(s)


HEAD = "--allowedTools=Bash(head:*)"


def gate(lab, prompt, model):
    """What the model says in turn 2 of this prompt comes when the gate is opened: it is first to run a command that waits for that."""
    os.mkfifo(os.path.join(lab.work, "gate"))
    lab.model('rule waits\n  prompt contains "%s"\n  turn 1\n  call Bash {"command": "head -n 1 gate", "description": "w"}\n%s' % (prompt, model), log=True)


def open_gate(lab):
    with open(os.path.join(lab.work, "gate"), "w") as f:
        f.write("go\n")


def what_was_typed_before_never_answers_a_question(lab):
    gate(lab, "remove", """
rule removes
  prompt contains "remove"
  turn 2
  call Bash {"command": "touch removed", "description": "r"}
rule says
  text I hear you.
""")
    with screen(lab, HEAD) as s:
        ready(s)
        s.press("remove it", "enter")
        s.until("Bash head")
        s.press("y")
        s.until("❯ y")
        open_gate(lab)
        s.until("a question waits: tab")
        s.press("enter")  # a prompt for later
        s.until("queued: y")
        s.press("tab")
        s.until("wants to use Bash")
        s.until("in a moment", gone=True)
        assert not os.path.exists(os.path.join(lab.work, "removed"))
        s.press("4", "enter")
        s.seen("❯ y")
        s.seen("I hear you.")
        ready(s)
        leave(s)
    assert not os.path.exists(os.path.join(lab.work, "removed"))
    assert prompts(lab)[-1] == "y", prompts(lab)


def a_question_is_answered_by_its_number_and_enter(lab):
    with screen(lab) as s:
        ready(s)
        s.press("remove it", "enter")
        s.until("wants to use Bash")
        s.until("touch removed")
        s.until("in a moment", gone=True)
        s.press("1", "enter")
        s.seen("The tool said:")
        ready(s)
        assert os.path.exists(os.path.join(lab.work, "removed"))
        rows = s.all()
        assert not any("wants to use" in r for r in rows), rows  # the dialog is gone, one line says what was answered
        assert any("touch removed" in r and "Yes" in r for r in rows), rows
        leave(s)


def a_no_with_words_reaches_the_model(lab):
    with screen(lab) as s:
        ready(s)
        s.press("remove it", "enter")
        s.until("wants to use Bash")
        s.until("in a moment", gone=True)
        s.press("5", "enter", "use rm instead", "enter")
        s.seen("use rm instead")
        s.seen("The tool said:")
        ready(s)
        leave(s)
        # the result of the call, and what the model says to it
        assert sum("does not want Bash to run" in row for row in s.all()) == 2, s.all()
    last = lab.models[0].bodies()[-1]["messages"][-1]["content"]
    assert "use rm instead" in str(last), last


def yes_needs_the_whole_command_on_the_screen(lab):
    with screen(lab, size=(30, 16)) as s:
        ready_small = s.until("❯")
        ready_small.press("long command", "enter")
        s.until("PgDn")
        s.until("in a moment", gone=True)
        s.press("1", "enter")
        s.until("PgDn")
        assert len(lab.models[0].bodies()) == 1
        for _ in range(400):
            s.press("pgdn")
            if any(re.search(r"-(\d+) of \1,", row) for row in s.rows()):
                break
        s.until("line 199")
        s.press("1", "enter")
        s.seen("I hear you.")


def an_edit_shows_its_diff(lab):
    with screen(lab, "--permission-mode", "acceptEdits") as s:
        ready(s)
        s.press("edit", "enter")
        s.seen("I hear you.")
        ready(s)
        rows = s.all()
        at = next(i for i, r in enumerate(rows) if "Edit a.txt" in r or ("Edit" in r and "a.txt" in r))
        assert [r.split() for r in rows[at + 1:at + 4]] == [["1", "one"], ["2", "-", "two"], ["2", "+", "three"]], rows[at:at + 5]
        leave(s)


def agents_are_rows_and_their_ends_are_lines(lab):
    with screen(lab) as s:
        ready(s)
        s.press("delegate", "enter")
        s.seen('Agent "Map it" finished')
        s.seen('Agent "Plan it" finished')
        s.seen("I hear you.")
        s.until("? keys")
        s.press("C-t")
        s.until("Agents: ")
        s.press("q")
        s.until("❯")
        leave(s)


def unknown_commands_are_not_sent_and_exit_leaves(lab):
    with screen(lab) as s:
        ready(s)
        s.press("/hepl", "enter")
        s.seen("did you mean /help?")
        s.press("/modle opus", "enter")
        s.seen("did you mean /model?")
        s.press("/status", "enter")
        s.seen("session  ")
        s.press("exit", "enter")
        assert s.wait() == 0
    assert not prompts(lab), prompts(lab)


def a_slash_opens_commands_and_an_at_sign_files(lab):
    os.mkdir(os.path.join(lab.work, "sources"))
    open(os.path.join(lab.work, "sources", "parse.c"), "w").close()
    os.makedirs(os.path.join(lab.work, ".claude", "skills", "polish"))
    with open(os.path.join(lab.work, ".claude", "skills", "polish", "SKILL.md"), "w") as f:
        f.write("---\nname: polish\ndescription: makes it shine\n---\nShine.\n")
    with screen(lab, "--trust-project") as s:
        ready(s)
        s.press("/mo")
        s.until("another model")
        s.press("C-u", "/pol")
        s.until("makes it shine")
        s.press("esc", "C-u", "see @so")
        s.until("@sources/")
        s.press("tab", "tab")
        s.until("see @sources/parse.c")
        s.press("enter")
        s.seen("I hear you.")
        leave(s)
    assert "see @sources/parse.c" in str(lab.models[0].bodies()[0]["messages"][-1])


def a_shell_command_is_run_and_joins_the_next_prompt(lab):
    with screen(lab) as s:
        ready(s)
        s.press("!echo from the shell; exit 3", "enter")
        s.seen("exit code 3")
        s.press("hello", "enter")
        s.seen("I hear you.")
        leave(s)
    assert "from the shell" in prompts(lab)[-1] and prompts(lab)[-1].endswith("hello"), prompts(lab)


def rows_of_a_streamed_paragraph_stay_as_they_are(lab):
    for _ in range(5):
        with screen(lab, size=(80, 24)) as s:
            ready(s)
            began = len(s.raw)
            s.press("one paragraph", "enter")
            s.until("✔")
            frames = s.raw[began:].count(b"\x1b[3G")  # the cursor back in the input line
            written = len(s.raw) - began
            assert written < 3 * 6000 + 80 * frames, (frames, written)
        if frames > 40:  # a program that seldom gets the processor draws fewer: then it says nothing
            return
    raise AssertionError("only %d frames" % frames)


def finished_lines_are_written_once_and_what_was_there_stays(lab):
    before = "".join("shell line %02d\n" % i for i in range(60))
    with screen(lab, size=(110, 40), before=before) as s:
        ready(s)
        s.press("lines", "enter")
        s.seen("finished line 299.")
        ready(s)
        for columns in (70, 30, 110):
            s.resize(columns, 40)
            s.quiet()
        s.press("word")
        s.until("❯ word")
        rows = s.all()
        for i in range(60):
            assert rows.count("shell line %02d" % i) == 1, i
        for i in range(300):
            assert sum("finished line %03d." % i in row for row in rows) == 1, (i, rows)
        assert s.raw.count(b"finished line 150.") <= 2, "once in the live region, once above it"
        s.press("C-u")
        leave(s)


def resizes_in_the_middle_of_an_answer_leave_nothing_torn(lab):
    """At the end the screen is that of a terminal that had its size from the beginning, and every line is there once. What is on its
    way when a size changes was drawn for the old one, on every terminal: here the program stands still until it has arrived. The answer
    waits some lines behind each of these places, and continues while the program stands still."""
    whole, wanted, places = None, ["finished line %03d." % i for i in range(300)], (40, 110, 170, 230)
    released = threading.Semaphore(0)

    def answer():
        for i, line in enumerate(wanted):
            if i - 20 in places:
                released.acquire()
            time.sleep(0.002)  # for some frames between two places
            yield line + "\n\n"
    lab.env["ANTHROPIC_BASE_URL"] = Mock(lambda n, request: (200, SSE, message_events(answer()))).url
    for sizes in (((80, 24),) * 4, ((20, 10), (200, 16), (45, 30), (80, 24)), ((200, 40), (20, 24), (21, 12), (80, 24))):
        with Screen(lab, size=(80, 24), env={**PLAIN, "NVIM": "a terminal that cuts"}) as s:
            ready(s)
            s.press("slow lines", "enter")
            for at, size in zip(places, sizes):
                s.seen("finished line %03d." % at)
                s.stop()
                s.resize(*size)
                released.release()
                os.kill(s.pid, signal.SIGCONT)
            s.seen("finished line 299.")
            ready(s)
            found = [r.strip() for r in s.all() if "finished line" in r]
            assert found == wanted, (sizes, [(r, found.count(r)) for r in wanted if found.count(r) != 1])
            shown = [re.sub(r"\d[\d.]*", "0", r) for r in s.rows()]  # how long it took has one digit or two
            whole = whole or shown
            assert shown == whole, "\n".join(shown)
            leave(s)


def a_terminal_that_cuts_rows_is_noticed(lab):
    """Nothing in its environment says so: where the cursor is behind a resize does, and is kept for the next one."""
    with screen(lab, size=(110, 40)) as s:
        ready(s)
        s.press("lines", "enter")
        s.seen("finished line 299.")
        ready(s)
        for size in ((40, 40), (30, 40)):
            s.press("x" * 60 if size[0] == 40 else "y" * 30, "alt-enter", "x" * 50 if size[0] == 40 else "z")
            s.until(lambda rows: rows[s.cursor()[0]].strip() == ("x" * (37 if s.columns < 50 else 50) if size[0] == 40 else "z"))
            s.resize(*size)  # nothing is in flight: the last letter is shown
            s.until(lambda rows: any(len(r) == size[0] - 1 and r.startswith("❯ ") for r in rows))
            found = [r for r in s.all() if r.startswith(("finished line", "✔"))]
            assert found[:300] == ["finished line %03d." % i for i in range(300)] and len(found) == 301, (size, len(found), s.all()[-20:])
            s.press("C-u", *["backspace", "C-u"] * 2)
            s.until(lambda rows: rows[s.cursor()[0]] == "❯")
        leave(s)


def the_resize_of_tmux_keeps_every_line_once(lab):
    lab.model(SCENARIO)
    name = "cadre-" + uuid.uuid4().hex[:8]
    env = {**lab.env, "NO_COLOR": "1", "LANG": "C.UTF-8", "TERM": "screen"}

    def tmux(*words):
        return subprocess.run(["tmux", "-L", name, "-f", "/dev/null", *words], env=env, check=True, text=True, stdout=subprocess.PIPE).stdout

    def seen(text):
        until(lambda: text in tmux("capture-pane", "-p", "-S", "-"), lambda: (text, tmux("capture-pane", "-p", "-S", "-")))
    try:
        tmux("new-session", "-d", "-x", "110", "-y", "40", "-c", lab.work, "sh", "-c",
             "i=0; while [ $i -lt 60 ]; do echo shell-$i-line; i=$((i+1)); done; exec " + CADRE)
        tmux("set-option", "-g", "history-limit", "5000")
        seen("? keys")
        tmux("send-keys", "lines", "Enter")
        seen("finished line 299.")
        seen("? keys")
        for number, columns in enumerate(("70", "45", "110")):
            tmux("resize-window", "-x", columns, "-y", "40")
            tmux("send-keys", "w")
            seen("❯ w" + "w" * number + "\n")
        rows = tmux("capture-pane", "-p", "-J", "-S", "-").split("\n")
        for i in range(300):
            assert sum("finished line %03d." % i in row for row in rows) <= 1, (i, rows)
        assert sum("finished line 299." in row for row in rows) == 1
    finally:
        subprocess.run(["tmux", "-L", name, "kill-server"], env=env, check=False, stderr=subprocess.DEVNULL)


def without_colours_there_are_none(lab):
    with screen(lab) as s:
        ready(s)
        s.press("a table", "enter")
        s.seen("int main")
        ready(s)
        leave(s)
        assert not re.search(rb"\x1b\[[0-9;]*\b(3[0-9]|4[0-9]|9[0-7]|10[0-7])\b[0-9;]*m", s.raw), s.raw[-2000:]
    with screen(lab, env={"TERM": "dumb"}) as s:
        s.until(">")
        s.press("hello", "enter")
        s.seen("I hear you.")
        leave_plain(s)
        assert b"\x1b" not in s.raw, s.raw


def the_terminal_is_given_back(lab):
    script = 'stty -g; "$0"; echo code $?; stty -g; echo over'
    for how in ("C-d", "kill", "stop"):
        with screen(lab, "-c", script, CADRE, program="sh") as s:
            ready(s)
            before = next(r for r in s.all() if re.fullmatch(r"[0-9a-f:]{30,}", r))
            if how == "C-d":
                s.press("C-d", "C-d")
            else:
                pid = int(subprocess.run(["pgrep", "-P", str(s.pid), "cadre"], check=True, stdout=subprocess.PIPE).stdout.split()[0])
                os.kill(pid, signal.SIGTERM if how == "kill" else signal.SIGABRT)
            s.seen("over")
            modes = [r for r in s.all() if re.fullmatch(r"[0-9a-f:]{30,}", r)]
            assert modes == [before, before], (how, s.all())
            assert s.raw.rfind(b"\x1b[?2004l") > s.raw.rfind(b"\x1b[?2004h"), how


def a_hangup_leaves_a_session_that_can_be_resumed(lab):
    with screen(lab) as s:
        ready(s)
        s.press("hello", "enter")
        s.seen("I hear you.")
        ready(s)
        os.kill(s.pid, signal.SIGHUP)
        assert s.wait() == 128 + signal.SIGHUP
    with screen(lab, "--continue") as s:
        ready(s)
        s.press("again", "enter")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        ready(s)
        leave(s)
    messages = lab.models[0].bodies()[-1]["messages"]
    assert "hello" in str(messages[0]) and "again" in str(messages[-1]), messages


def small_windows_work(lab):
    for size in ((20, 5), (20, 24), (200, 60)):
        with screen(lab, size=size) as s:
            s.until("❯")
            s.press("hello", "enter")
            s.seen("I hear you.")
            s.press("words that are longer than twenty columns")
            s.until("columns")
            s.press("C-u")
            leave(s)


def the_conversation_is_a_page_that_can_be_searched(lab):
    with screen(lab) as s:
        ready(s)
        s.press("lines", "enter")
        s.seen("finished line 299.")
        ready(s)
        s.press("C-o")
        s.until("q leaves")
        s.press("/", "line 017", "enter")
        s.until("finished line 017.")
        s.press("q")
        ready(s)
        leave(s)


def an_earlier_session_is_chosen_from_a_list(lab):
    with screen(lab) as s:
        ready(s)
        s.press("the first subject", "enter")
        s.seen("I hear you.")
        ready(s)
        s.press("/clear", "enter")
        s.seen("New session")
        s.press("another subject", "enter")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        ready(s)
        s.press("/resume", "enter")
        s.until("Sessions")
        s.press("esc")
        ready(s)
        s.press("/resume", "enter")
        s.until("Sessions")
        s.press("first")
        s.until("ago  the first subject  (")
        s.until("❯ the first subject")  # the preview
        s.press("enter")
        s.seen("Continuing session")
        ready(s)
        s.press("more", "enter")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 4)  # one is the past
        ready(s)
        leave(s)
    assert "the first subject" in str(lab.models[0].bodies()[-1]["messages"][0])


def what_is_typed_ahead_of_a_new_session_is_for_that_one(lab):
    """Enter, a prompt and Esc in one read"""
    with screen(lab) as s:
        ready(s)
        s.press("the first subject", "enter")
        s.seen("I hear you.")
        ready(s)
        s.press("/clear")
        s.until("❯ /clear")
        s.send("\rslowly\r\x1b")
        s.seen("New session")
        s.seen("❯ slowly")
        s.seen("Interrupted.")
        ready(s)
        leave(s)
    assert all(len(body["messages"]) == 1 for body in lab.models[0].bodies()), lab.models[0].bodies()[-1]["messages"]


def the_status_line_is_what_the_users_command_says(lab):
    config = os.path.join(lab.env["HOME"], ".claude")
    os.makedirs(config, exist_ok=True)
    with open(os.path.join(config, "settings.json"), "w") as f:
        json.dump({"statusLine": {"type": "command",
                                  "command": "tee %s/state | grep -q session_id && printf 'my \\033[31mstatus\\033[0m \\033]0;no\\007'" % lab.work}}, f)
    with screen(lab, env={}) as s:
        s.until("my status")
        assert b"\x1b]0;no" not in s.raw and re.search(rb"\x1b\[0;31mstatus", s.raw), s.raw[-400:]
        s.press("hello", "enter")
        s.seen("I hear you.")
        s.until("my status")
        state = until(lambda: json.load(open(os.path.join(lab.work, "state"))), "the command was given nothing")  # it may be written anew
        assert state["model"]["id"] and state["workspace"]["current_dir"] == lab.work, state
        leave(s)


def the_history_lasts_over_sessions(lab):
    for words in ("first words", "second words"):
        with screen(lab) as s:
            ready(s)
            s.press(words, "enter")
            s.seen("I hear you.")
            ready(s)
            leave(s)
    with screen(lab) as s:
        ready(s)
        s.press("up", "up")
        s.until("❯ first words")
        s.press("C-u", "C-r", "sec")
        s.until(lambda rows: sum("second words" in r for r in rows) == 1)
        s.press("enter")
        s.until("❯ second words")
        s.press("C-u", "C-r", "sec")
        s.until(lambda rows: sum("second words" in r for r in rows) == 1)
        s.press("esc")
        s.until(lambda rows: "❯ second words" in rows and "  second words" not in rows)
        s.press("C-u", "C-r", "sec")
        s.until(lambda rows: sum("second words" in r for r in rows) == 1)
        s.press("C-c")
        s.until(lambda rows: "❯ sec" in rows and not any("second words" in r for r in rows))
        s.press("C-u")
        leave(s)
    path = os.path.join(lab.env["HOME"], ".claude", "history.jsonl")
    lines = [json.loads(line) for line in open(path)]
    assert [line["display"] for line in lines] == ["first words", "second words"], lines
    assert all(line["project"] == lab.work and line["sessionId"] for line in lines), lines
    assert os.stat(path).st_mode & 0o777 == 0o600


def a_line_for_the_memory_goes_into_the_chosen_file(lab):
    with screen(lab) as s:
        ready(s)
        s.press("# tests need a clean tree", "enter")
        s.until("Keep this in")
        s.press("enter")
        s.seen("CLAUDE.md")
        ready(s)
        leave(s)
    assert "- tests need a clean tree\n" in open(os.path.join(lab.work, "CLAUDE.md")).read()
    assert not prompts(lab)


def the_last_answer_is_copied_and_the_title_names_the_prompt(lab):
    with screen(lab) as s:
        ready(s)
        s.press("hello", "enter")
        s.seen("I hear you.")
        ready(s)
        s.press("/copy", "enter")
        s.until("in the clipboard")
        leave(s)
        assert b"\x1b]52;c;" + base64.b64encode(b"I hear you.") + b"\a" in s.raw
        assert b"\x1b]0;cadre: hello\a" in s.raw
    with screen(lab, "--continue") as s:
        ready(s)
        s.press("/copy", "enter")
        s.until("the last answer is in the clipboard")
        leave(s)
        assert b"\x1b]52;c;" + base64.b64encode(b"I hear you.") + b"\a" in s.raw


def a_hook_gives_the_terminal_a_notice_and_nothing_worse(lab):
    config = os.path.join(lab.env["HOME"], ".claude")
    os.makedirs(config, exist_ok=True)
    hooks = [{"type": "command", "command": "cat %s/%s" % (lab.work, name)} for name in ("notice", "clear")]
    for name, sequence in (("notice", "\x1b]9;ready\a"), ("clear", "\x1b]9;no\a\x1b[2Jx")):
        with open(os.path.join(lab.work, name), "w") as f:
            json.dump({"terminalSequence": sequence}, f)
    with open(os.path.join(config, "settings.json"), "w") as f:
        json.dump({"hooks": {"Stop": [{"hooks": hooks}]}}, f)
    with screen(lab) as s:
        ready(s)
        s.press("hello", "enter")
        s.seen("I hear you.")
        ready(s)
        leave(s)
        assert b"\x1b]9;ready\a" in s.raw and b"\x1b]9;no" not in s.raw, s.raw[-600:]


def an_agent_is_stopped_from_the_list(lab):
    up = lab.fifo("up")
    lab.model("""
rule delegates
  agent main
  prompt contains "delegate it"
  turn 1
  call Agent {"description": "Wait long", "prompt": "wait", "subagent_type": "general-purpose", "run_in_background": true}
rule waits
  prompt contains "wait"
  turn 1
  call Bash {"command": "echo > up; exec sleep 600", "description": "w"}
rule says
  text I hear you.
""", log=True)
    with screen(lab, "--allowedTools=Bash") as s:
        ready(s)
        s.press("delegate it", "enter")
        up.line()
        s.seen("I hear you.")
        s.press("half a line")
        s.until("❯ half a line")
        s.press("C-t")
        s.until("Agents: 1 . 1 run")
        s.press("x")
        s.until("x again stops it")
        s.press("x")
        s.until("killed")
        s.press("q")
        s.until("❯ half a line")
        assert sum("half a line" in row for row in s.all()) == 1
        s.press("C-u")
        s.until("half a line", gone=True)
        leave(s)


if __name__ == "__main__":
    main(a_prompt_is_answered_and_ctrl_d_leaves, a_terminal_that_cuts_rows_is_noticed, resizes_in_the_middle_of_an_answer_leave_nothing_torn, rows_of_a_streamed_paragraph_stay_as_they_are, a_long_paste_is_one_mark_and_one_prompt,
         a_paste_without_brackets_is_one_prompt_too, pasted_bytes_are_never_keys, a_megabyte_is_pasted_quickly_and_sent_whole,
         what_was_pasted_comes_back_whole_from_the_history_and_from_what_was_cut, keys_edit_the_line, a_backslash_continues_the_line_and_the_history_comes_back,
         what_is_typed_in_a_turn_is_not_in_the_answer_and_is_queued, markdown_is_shown_with_its_table_in_columns,
         no_sequence_of_an_answer_reaches_the_terminal, output_of_a_command_is_cut_in_the_middle,
         what_was_typed_before_never_answers_a_question, a_question_is_answered_by_its_number_and_enter,
         a_no_with_words_reaches_the_model, yes_needs_the_whole_command_on_the_screen, an_edit_shows_its_diff,
         agents_are_rows_and_their_ends_are_lines, unknown_commands_are_not_sent_and_exit_leaves,
         a_slash_opens_commands_and_an_at_sign_files, a_shell_command_is_run_and_joins_the_next_prompt,
         finished_lines_are_written_once_and_what_was_there_stays, the_resize_of_tmux_keeps_every_line_once,
         without_colours_there_are_none, the_terminal_is_given_back, a_hangup_leaves_a_session_that_can_be_resumed,
         small_windows_work, the_status_line_is_what_the_users_command_says, the_history_lasts_over_sessions,
         a_line_for_the_memory_goes_into_the_chosen_file, the_last_answer_is_copied_and_the_title_names_the_prompt,
         a_hook_gives_the_terminal_a_notice_and_nothing_worse, what_is_typed_ahead_of_a_new_session_is_for_that_one,
         an_agent_is_stopped_from_the_list, the_conversation_is_a_page_that_can_be_searched, an_earlier_session_is_chosen_from_a_list)
