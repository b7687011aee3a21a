#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cadre on a terminal that can move its cursor: what stands on the screen and in its scrollback, and what reaches the model."""
import base64
import contextlib
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


def a_long_output_of_the_shell_has_its_ends_and_costs_no_more_than_that_of_the_tool(lab):
    model = lab.model(SCENARIO, log=True)
    with screen(lab) as s:
        ready(s)
        s.press("!seq 300000", "enter")
        s.until("299999")
        rows = [r for r in s.all() if r.isdigit() or "more" in r]
        assert rows == [str(i) for i in range(1, 101)] + ["… 299600 lines more"] + [str(i) for i in range(299701, 300001)], rows
        s.press("hello", "enter")
        s.seen("I hear you.")
        ready(s)
        s.press("!head -c 3000000 /dev/zero | tr '\\0' a", "enter")
        s.seen("MB more")
        ready(s)
        s.press("!echo a; echo last one; sleep 99", "enter")
        s.until(lambda rows: any("ctrl+c ends it . echo a;" in r and r.endswith(" . last one") for r in rows))
        s.press("C-c")
        s.until("ended by a signal")
        leave(s)
    brought = [b["text"] for b in model.bodies()[-1]["messages"][-1]["content"] if "bash-stdout" in b.get("text", "")]
    assert len(brought) == 1 and len(brought[0]) < 30200 and " bytes left out ...\n" in brought[0], brought[0][:300]
    assert "<bash-stdout>1\n2\n" in brought[0] and "\n300000\n</bash-stdout>" in brought[0], brought[0][-300:]


def a_shell_command_is_run_and_joins_the_next_prompt(lab):
    with screen(lab) as s:
        ready(s)
        s.press("!echo from the shell; exit 3", "enter")
        s.seen("exit code 3")
        s.press("hello", "enter")
        s.seen("I hear you.")
        ready(s)
        s.press("C-o")
        s.until("❯ !echo from the shell; exit 3")
        s.until("❯ hello")
        assert "    from the shell" in s.rows() and not any("bash-" in r for r in s.rows()), s.rows()
        s.press("q")
        ready(s)
        leave(s)
    texts = [b["text"] for b in lab.models[0].bodies()[-1]["messages"][-1]["content"] if b["type"] == "text"]
    assert texts[-1] == "hello" and any("<bash-stdout>from the shell\n" in text for text in texts[:-1]), texts
    with screen(lab) as s:
        ready(s)
        s.press("/resume", "enter")
        s.until("ago  hello  (")
        s.press("esc")
        ready(s)
        leave(s)


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
        s.press("/", "nobody said it", "enter")
        s.until("no row has this")
        s.until("finished line 017.")
        s.press("q")
        ready(s)
        leave(s)


def a_view_takes_no_row_of_a_terminal_without_another_screen(lab):
    """GNU screen has one only if it is configured."""
    with screen(lab, size=(60, 16), env={**PLAIN, "STY": "1.pts-0.here"}, alternate=False, before="of the shell\n") as s:
        ready(s)
        s.press("lines", "enter")
        s.seen("finished line 299.")
        ready(s)
        for keys, text, end in ((("C-o",), "q leaves", "q"), (("/model", "enter"), "esc leaves", "esc"), (("C-x", "t"), "Agents: 0", "q")):
            s.press(*keys)
            s.until(text)
            if end == "esc":
                s.resize(40, 12)
                s.until(lambda rows: all(len(r) < 40 for r in rows))
                s.resize(60, 16)
                s.until(lambda rows: any(len(r) > 45 for r in rows))
            s.press(end)
            ready(s)
            rows = s.all()
            assert not any("leaves" in r for r in rows) and sum("? keys" in r for r in rows) == 1, rows
        assert [r for r in rows if "finished line" in r] == ["finished line %03d." % i for i in range(300)] and rows[0] == "of the shell", rows
        s.press("hello", "enter")
        s.seen("I hear you.")
        leave(ready(s))


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
        assert state["session_id"] in state["transcript_path"] and os.path.exists(state["transcript_path"]), state
        assert state["output_style"] == {"name": "default"} and state["cost"]["total_duration_ms"] >= 0, state
        leave(s)


def below_the_status_line_of_a_command_the_modes_are_seen(lab):
    config = os.path.join(lab.env["HOME"], ".claude")
    os.makedirs(config, exist_ok=True)
    with open(os.path.join(config, "settings.json"), "w") as f:
        json.dump({"statusLine": {"type": "command", "command": "echo mine"}}, f)
    with screen(lab) as s:
        def below():
            rows = s.rows()
            return rows[rows.index("mine") + 1] if "mine" in rows else None
        s.until("mine")
        assert below() == "", s.rows()
        s.press("shift-tab")
        s.until(lambda rows: below() == "acceptEdits")
        s.press("/vim", "enter")
        s.until(lambda rows: below() == "INSERT acceptEdits")
        s.press("C-d", "C-d")
        assert s.wait() == 0


def the_status_line_is_told_the_agent_the_effort_and_the_worktree(lab):
    config = os.path.join(lab.env["HOME"], ".claude")
    os.makedirs(os.path.join(config, "agents"), exist_ok=True)
    state = os.path.join(lab.work, "state")
    with open(os.path.join(config, "settings.json"), "w") as f:
        json.dump({"statusLine": {"type": "command", "command": "cat > %s.new; mv %s.new %s; echo told" % (state, state, state)}}, f)
    with open(os.path.join(config, "agents", "polisher.md"), "w") as f:
        f.write("---\nname: polisher\ndescription: polishes\n---\nPolish.\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    tree, linked = os.path.join(lab.work, "tree"), os.path.join(lab.work, "linked")
    for words in (["init", "-q", tree], ["-C", tree, "commit", "-q", "--allow-empty", "-m", "x"], ["-C", tree, "worktree", "add", "-q", linked]):
        subprocess.run(git + words, env=lab.env, check=True)
    os.mkdir(os.path.join(linked, "below"))

    def told(check):
        def good():
            with contextlib.suppress(OSError):
                return check(json.load(open(state)))
        return until(good, "the command was not told so")

    lab.model("rule says\n  text I hear you.\n", log=True)
    with screen(lab, "-c", 'cd linked/below && exec "$0" --agent polisher --model opus --effort high --add-dir ../../tree', CADRE, program="sh") as s:
        s.until("told")
        told(lambda said: said["effort"] == {"level": "high"} and said["agent"] == {"name": "polisher"} and "worktree" not in said)
        told(lambda said: said["workspace"]["git_worktree"] == "linked" and said["workspace"]["added_dirs"] == [tree])
        told(lambda said: said["context_window"]["current_usage"] is None and not said["exceeds_200k_tokens"])
        s.press("/effort low", "enter")
        told(lambda said: said["effort"] == {"level": "low"})
        s.press("hello", "enter")
        s.seen("I hear you.")

        def counted(said):
            window = said["context_window"]
            usage = window["current_usage"]
            return window["total_output_tokens"] == usage["output_tokens"] > 0 and window["used_percentage"] + window["remaining_percentage"] == 100 and \
                window["total_input_tokens"] == usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"] > 0
        told(counted)
        s.press("/clear", "enter")
        told(lambda said: said["context_window"]["total_input_tokens"] == said["context_window"]["total_output_tokens"] == 0)
        leave(s)
    with screen(lab) as s:
        told(lambda said: "agent" not in said and "git_worktree" not in said["workspace"] and said["workspace"]["added_dirs"] == [])
        leave(s)


def a_status_command_that_fails_shows_nothing_and_the_doctor_tells(lab):
    config = os.path.join(lab.env["HOME"], ".claude")
    os.makedirs(config, exist_ok=True)
    for command, problem in (("echo shown; exit 3", "ended with 3"), ("echo shown; kill -9 $$", "was ended by signal 9"), ("echo shown; exec sleep 60", "took more than 5 s")):
        with open(os.path.join(config, "settings.json"), "w") as f:
            json.dump({"statusLine": {"type": "command", "command": command}}, f)
        with screen(lab, size=(110, 30)) as s:
            ready(s)

            def tells():
                s.press("/doctor", "enter")
                s.until("sandbox")
                s.until(lambda rows: rows[s.cursor()[0]] == "❯")
                return any(re.match("BAD +status line +%s: %s$" % (problem, re.escape(command)), r) for r in s.all())
            until(tells, "the doctor tells nothing")
            assert not any(r.startswith("shown") for r in s.all()), s.all()
            leave(s)
    with open(os.path.join(config, "settings.json"), "w") as f:
        json.dump({"statusLine": {"type": "command", "command": "echo fine"}}, f)
    with screen(lab, size=(110, 30)) as s:
        s.until("fine")
        s.press("/doctor", "enter")
        s.seen("sandbox")
        assert not any("status line" in r for r in s.all()), s.all()
        leave(s)


def colours_and_links_of_the_status_line_are_those_of_the_terminal(lab):
    config = os.path.join(lab.env["HOME"], ".claude")
    os.makedirs(config, exist_ok=True)
    parts = [("38;5;196", "red", "31"), ("38;2;40;200;60", "green", "32"), ("1;38;5;220;4", "amber", "1;4;33"), ("48;5;17;38;5;39", "sky", "36"),
             ("38;5;244", "grey", None), ("38;2;255;255;255", "white", None), ("95", "pink", "35"), ("38:5:9", "colons", None)]
    text = "".join("\x1b[%sm%s\x1b[0m " % (code, word) for code, word, _ in parts)
    text += "\x1b]8;;https://example.org/a\x1b\\one\x1b]8;;\x1b\\ \x1b]8;;https://example.org/b\x07two\x1b]8;;\x07 \x1b]8;;https://example.org/open"
    with open(os.path.join(lab.work, "line"), "w") as f:
        f.write(text)
    with open(os.path.join(config, "settings.json"), "w") as f:
        json.dump({"statusLine": {"type": "command", "command": "cat line"}}, f)
    with screen(lab, env={}, size=(120, 24)) as s:
        s.until("red green amber sky grey white pink")
        s.until(" one two ")
        raw = s.raw.decode(errors="replace")
        for _, word, sgr in parts:
            before = re.search(r"(?:\x1b\[([0-9;]*)m)?%s" % word, raw)[1]
            wanted = "" if sgr is None else sgr
            assert set((before or "0").split(";")) - {"0", ""} == set(wanted.split(";")) - {""}, (word, before)
        assert "example.org/a" not in raw and "\x1b]8" not in raw, raw[-600:]
        leave(s)


def the_status_line_has_its_place_and_runs_again_by_itself(lab):
    config = os.path.join(lab.env["HOME"], ".claude")
    os.makedirs(config, exist_ok=True)
    count = os.path.join(lab.work, "count")
    with open(os.path.join(config, "settings.json"), "w") as f:
        json.dump({"statusLine": {"type": "command", "command": "echo x >> %s; wc -l < %s" % (count, count), "padding": 3, "refreshInterval": 1}}, f)
    with screen(lab) as s:
        s.until(lambda rows: "   1" in rows)
        s.until(lambda rows: "   3" in rows)
        s.press("/clear", "enter")
        s.seen("New session")
        s.until(lambda rows: "   5" in rows)
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


def a_search_of_the_history_lists_each_line_once_and_those_of_other_projects(lab):
    lines = ["one", "two", "one", "two", *("line %d" % i for i in range(12)), "one"]
    os.makedirs(os.path.join(lab.home, ".claude"))
    with open(os.path.join(lab.home, ".claude", "history.jsonl"), "w") as f:
        for project, text in [*((lab.work, line) for line in lines), ("/elsewhere", "far away"), ("/elsewhere", "one")]:
            f.write(json.dumps({"display": text, "pastedContents": {}, "project": project}) + "\n")
    with screen(lab) as s:
        ready(s)
        s.press("C-r", "one")
        s.until(lambda rows: "❯ one" in rows and sum(r.endswith(" one") for r in rows) == 2)  # the line and its one hit
        s.press("C-u")
        s.until("1 of 15")
        s.press(*["C-r"] * 14)
        s.until("❯ far away")  # behind all of this project
        s.press("enter")
        s.until(lambda rows: "❯ far away" in rows and not any("of 15" in r for r in rows))
        s.press("C-u", *["up"] * 20)  # the history of Up is this project's
        s.until("❯ one")
        assert not any("far away" in row for row in s.rows()), s.rows()
        s.press("C-c")
        leave(s)


def a_search_reaches_far_back_and_what_it_does_not_find_is_not_sent(lab):
    os.makedirs(os.path.join(lab.home, ".claude"))
    with open(os.path.join(lab.home, ".claude", "history.jsonl"), "w") as f:
        for i in range(20000):
            f.write(json.dumps({"display": "line %05d" % i, "pastedContents": {}, "timestamp": i, "project": lab.work, "sessionId": str(uuid.uuid4())}) + "\n")
    with screen(lab) as s:
        ready(s)
        s.press("C-r", "line 00042")
        s.until("❯ line 00042")
        s.until(lambda rows: sum(r.endswith(" line 00042") for r in rows) == 2)
        s.press("x")
        s.until("nothing in the history")
        s.press("enter")
        s.until("nothing in the history", gone=True)
        s.until("❯ line 00042x")  # to be changed, or sent
        s.press("C-u", "C-r", "y")
        s.until("nothing in the history")
        s.press("esc")
        s.until("nothing in the history", gone=True)
        s.press("C-u")
        leave(s)
    assert prompts(lab) == [], prompts(lab)


def a_line_for_the_memory_goes_into_the_chosen_file(lab):
    with screen(lab) as s:
        ready(s)
        s.press("# tests need a clean tree", "enter")
        s.until("Keep this in")
        s.press("enter")
        s.seen("kept in CLAUDE.md")
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
        assert 0 < s.raw.rfind(b"\x1b]0;cadre: hello\a") < s.raw.rfind(b"\x1b]0;\a")
    with screen(lab, env={**PLAIN, "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1"}) as s:
        ready(s)
        s.press("hello", "enter")
        s.seen("I hear you.")
        ready(s)
        leave(s)
        assert b"\x1b]0;" not in s.raw
    with screen(lab, "--continue") as s:
        ready(s)
        s.press("/copy", "enter")
        s.until("the last answer is in the clipboard")
        leave(s)
        assert b"\x1b]52;c;" + base64.b64encode(b"I hear you.") + b"\a" in s.raw


def a_copy_is_given_to_the_program_of_the_desktop_too(lab):
    """No terminal says whether it knows the sequence."""
    bin_dir = os.path.join(lab.work, "bin")
    os.makedirs(bin_dir)
    with open(os.path.join(bin_dir, "xclip"), "w") as f:
        f.write("#!/bin/sh\necho \"$@\" > %s/args; cat > %s/copied.new; mv %s/copied.new %s/copied\n" % ((lab.work,) * 4))
    os.chmod(os.path.join(bin_dir, "xclip"), 0o755)
    with screen(lab, env={**PLAIN, "DISPLAY": ":99", "PATH": bin_dir + ":" + os.environ["PATH"]}) as s:
        ready(s)
        s.press("lines", "enter")
        s.seen("finished line 299.")
        ready(s)
        s.press("/copy", "enter")
        s.until("the last answer is in the clipboard")
        text = until(lambda: open(os.path.join(lab.work, "copied")).read(), "nothing was copied")
        leave(s)
    assert text.startswith("finished line 000.") and text.rstrip().endswith("finished line 299."), text[-100:]
    assert open(os.path.join(lab.work, "args")).read() == "-selection clipboard\n"


def the_answer_of_a_turn_that_a_background_agent_begins_is_copied_alone(lab):
    lab.model("""
rule delegates
  agent main
  prompt contains "delegate"
  turn 1
  call Agent {"description": "Map it", "prompt": "map", "subagent_type": "general-purpose", "run_in_background": true}
rule notified
  agent main
  prompt contains "task-notification"
  text The second answer.
rule delegated
  agent main
  prompt contains "delegate"
  text The first answer.
rule maps
  prompt contains "map"
  latency 700
  text Mapped.
""")
    with screen(lab) as s:
        ready(s)
        s.press("delegate", "enter")
        s.seen("The second answer.")
        ready(s)
        s.press("/copy", "enter")
        s.until("the last answer is in the clipboard")
        s.press("/copy 2", "enter")
        s.until("the answer is in the clipboard")
        leave(s)
        copies = re.findall(rb"\x1b\]52;c;([^\a]*)\a", s.raw)
        assert [base64.b64decode(c) for c in copies] == [b"The second answer.", b"The first answer."], copies
        focus = re.findall(rb"\x1b\[\?1004[hl]", s.raw)
        assert focus == [b"\x1b[?1004h", b"\x1b[?1004l"] * 2, focus  # a turn as each other


def commands_of_the_user_get_signals_as_in_a_shell(lab):
    with screen(lab) as s:
        ready(s)
        s.press("!yes | head -1; echo at-$((40+2))", "enter")
        s.seen("at-42")
        assert not any("roken" in r for r in s.all()), s.all()
        s.press("!trap '' TERM; echo > ready; while :; do sleep 0.1; done", "enter")
        until(lambda: os.path.exists(os.path.join(lab.work, "ready")), "it was not started")
        s.press("C-c", "C-c")  # the second one cannot be held off
        s.seen("ended by a signal")
        leave(s)


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
         a_long_output_of_the_shell_has_its_ends_and_costs_no_more_than_that_of_the_tool,
         finished_lines_are_written_once_and_what_was_there_stays, the_resize_of_tmux_keeps_every_line_once,
         without_colours_there_are_none, the_terminal_is_given_back, a_hangup_leaves_a_session_that_can_be_resumed,
         small_windows_work, the_status_line_is_what_the_users_command_says, below_the_status_line_of_a_command_the_modes_are_seen, the_status_line_is_told_the_agent_the_effort_and_the_worktree,
         a_status_command_that_fails_shows_nothing_and_the_doctor_tells,
         colours_and_links_of_the_status_line_are_those_of_the_terminal, the_status_line_has_its_place_and_runs_again_by_itself, the_history_lasts_over_sessions,
         a_search_of_the_history_lists_each_line_once_and_those_of_other_projects,
         a_search_reaches_far_back_and_what_it_does_not_find_is_not_sent,
         a_line_for_the_memory_goes_into_the_chosen_file, the_last_answer_is_copied_and_the_title_names_the_prompt, a_copy_is_given_to_the_program_of_the_desktop_too,
         the_answer_of_a_turn_that_a_background_agent_begins_is_copied_alone, commands_of_the_user_get_signals_as_in_a_shell,
         a_hook_gives_the_terminal_a_notice_and_nothing_worse, what_is_typed_ahead_of_a_new_session_is_for_that_one,
         an_agent_is_stopped_from_the_list, the_conversation_is_a_page_that_can_be_searched,
         a_view_takes_no_row_of_a_terminal_without_another_screen, an_earlier_session_is_chosen_from_a_list)
