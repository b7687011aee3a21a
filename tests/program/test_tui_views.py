#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the terminal's view shows of an answer and of the work: tables, differences, folded calls, todo lists, themes; and past
conversations."""
import json
import os
import re

from lab import main
from test_tui import PLAIN, leave, ready, screen
from test_tui_input import switches
from xterm import Xterm

SCENARIO = r"""
rule table
  prompt contains "table"
  text <<END
| name | what | n |
|---|---|---|
| 日本語 | a language of Japan | 1 |
| 👍🏽 thumb | 👨‍👩‍👧‍👦 family, ❤️ heart | 22 |
| plain | words | 333 |
END
rule reads
  prompt contains "look around"
  turn 1
  call Read {"file_path": "a.txt"}
  call Read {"file_path": "b.txt"}
  call Grep {"pattern": "one", "path": "."}
rule reads end
  prompt contains "look around"
  text Seen.
rule edits
  prompt contains "edit it"
  turn 1
  call Read {"file_path": "a.txt"}
rule edits more
  prompt contains "edit it"
  turn 2
  call Edit {"file_path": "a.txt", "old_string": "while (p < end)", "new_string": "while (p <= end)"}
rule links
  prompt contains "link it"
  text See [this](https://example.org/a) page.
rule edits end
  prompt contains "edit it"
  text Edited.
rule tasks
  prompt contains "list the work"
  turn 1
  call TaskCreate {"subject": "find it", "description": "d"}
  call TaskCreate {"subject": "fix it", "description": "d"}
  call TaskCreate {"subject": "test it", "description": "d"}
rule tasks more
  prompt contains "list the work"
  turn 2
  call TaskUpdate {"taskId": "1", "status": "completed"}
  call TaskUpdate {"taskId": "2", "status": "in_progress"}
rule tasks end
  prompt contains "list the work"
  text Planned.
rule todos
  prompt contains "plan the work"
  turn 1
  call TodoWrite {"todos": [{"content": "find it", "status": "completed", "activeForm": "a"}, {"content": "fix it", "status": "in_progress", "activeForm": "b"}, {"content": "test it", "status": "pending", "activeForm": "c"}]}
rule todos more
  prompt contains "plan the work"
  turn 2
  delay 800
  call Bash {"command": "true", "description": "t"}
rule todos end
  prompt contains "plan the work"
  text Planned.
rule thinks
  prompt contains "think"
  thinking I weigh both sides of it.
  text Thought about.
rule slow command
  prompt contains "slow command"
  turn 1
  call Bash {"command": "seq 1 200; cat gate", "description": "n"}
rule slow command end
  prompt contains "slow command"
  text Over.
rule returns
  prompt contains "print returns"
  turn 1
  call Bash {"command": "printf 'HTTP/1.1 200 OK\\r\\nServer: x\\r\\n'; printf '10 percent\\r50 percent\\r100 percent\\n'", "description": "n"}
rule crlf
  prompt contains "system edit"
  turn 1
  call Read {"file_path": "crlf.txt"}
rule crlf more
  prompt contains "system edit"
  turn 2
  call Edit {"file_path": "crlf.txt", "old_string": "two", "new_string": "three"}
rule mixed
  prompt contains "mixed edit"
  turn 1
  call Read {"file_path": "mixed.txt"}
rule mixed more
  prompt contains "mixed edit"
  turn 2
  call Edit {"file_path": "mixed.txt", "old_string": "two", "new_string": "three"}
rule says
  text I hear you.
"""


def view(lab, *args, **more):
    if not lab.models:
        lab.model(SCENARIO, log=True)
    return screen(lab, *args, **more)


def ask(s, words, answer):
    """Waits for one more answer: that of the prompt before may be the same."""
    def count():
        return sum(answer in row for row in s.all())
    ready(s)
    before = count()
    s.press(words, "enter")
    s.until(lambda _: count() > before)
    return ready(s)


def settings(lab, text):
    path = os.path.join(lab.env["HOME"], ".claude")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "settings.json"), "w") as f:
        f.write(text)


def write(lab, name, text):
    with open(os.path.join(lab.work, name), "w") as f:
        f.write(text)


def right_borders(s):
    """Columns of the last bar of each row of the table, as the terminal placed them."""
    found = []
    for row in range(s.height):
        cells = s.cells(row)
        bars = [i for i, c in enumerate(cells) if c.chars[0] in (ord("│"), ord("┤"))]
        if bars:
            found.append(bars[-1])
    return found


def the_right_borders_of_a_table_are_in_one_column(lab):
    with view(lab) as s:
        ask(s, "a table", "plain")
        borders = right_borders(s)
        assert len(borders) == 5 and len(set(borders)) == 1, (borders, s.all())
        leave(s)


class Silent(Xterm):
    """It does not say how wide it draws a cluster."""

    def _show(self, data):
        super()._show(data)
        return b""


def the_same_in_the_terminal_of_vs_code_whether_it_answers_or_not(lab):
    lab.model(SCENARIO, log=True)
    for kind in (Silent, Xterm):  # what it answers is kept
        with kind(lab, env=PLAIN) as s:
            ask(s, "a table", "plain")
            borders = [c for c in s._ask(last="│┤")["columns"] if c >= 0]
            assert len(borders) == 5 and len(set(borders)) == 1, (kind, borders, s.all())


def no_sequence_of_an_answer_a_tool_or_an_agent_reaches_the_terminal(lab):
    hostile = ["\x1b" + c for c in "78=>cDEHMNOPVWXZ\\^_nopqr{|}~"] + ["\x1b[" + p + c for p in ("", "1;1", "?25", ">4;2") for c in
                                                                        "ABCDEFGHIJKLMPSTXZ`abcdefghilmnpqrstux@"]
    hostile += ["\x1b]%s\a" % n for n in ("0;owned", "2;owned", "4;1;red", "8;;http://x", "9;owned", "52;c;b3duZWQ=", "133;A", "777;notify;a;b")]
    hostile += ["\x1bP1$r0m\x1b\\", "\x1b_owned\x1b\\", "\u009b31m", "\u009d0;owned\u009c", "\u202eturned", "\x0e\x0f\x05\x07\x08"]
    with open(os.path.join(lab.work, "bytes"), "w") as f:
        f.write("\n".join(hostile) + "\nend of bytes\n")
    text = json.dumps("\n\n".join(hostile) + "\n\nend of words")
    lab.model("rule prints\n  prompt contains \"print\"\n  turn 1\n  call Bash {\"command\": \"cat bytes\", \"description\": %s}\n"
              "rule says\n  chunk 5\n  text %s\n" % (text, text), log=True)
    with view(lab, "--allowedTools=Bash", env={**PLAIN, "TERM_PROGRAM": "iTerm.app"}) as s:
        ready(s)
        s.press("print", "enter")
        s.seen("end of words")
        ready(s)
        s.press("C-o")
        s.until("q leaves")
        s.press("g")
        s.until(lambda rows: "❯ print" in rows and "q leaves" in rows[-1])
        s.press("q")
        ready(s)
        ours = set(re.findall(rb"\x1b\[[0-9;?<>=]*[@-~]|\x1b\][^\a\x1b]*(?:\a|\x1b\\\\)|\x1b.|[\x00-\x07\x0b\x0c\x0e-\x1a]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]", s.raw))
        allowed = re.compile(rb"\x1b\[\d*[ABCGJK]|\x1b\[[0-9;]*m|\x1b\[\?(25|2004|2026|1004|1049)[hl]|\x1b\[\?u|\x1b\[[<>]\d*u|\x1b\[6n|\x1b\[H"
                             rb"|\x1b\]0;cadre: print\a|\x1b\]133;[ACD](;\d)?\a")
        assert not [one for one in ours if not allowed.fullmatch(one)], [one for one in ours if not allowed.fullmatch(one)]
        leave(s)


def keys_that_are_typed_ahead_reach_the_view_that_opens(lab):
    lab.model("rule says\n  text %s\n" % json.dumps("first words\n\n" + "\n\n".join("line %d" % i for i in range(100))))
    with view(lab) as s:
        ask(s, "hello", "line 99")
        s.send("\x0fg")  # one read: the view was not drawn yet
        s.until(lambda rows: "first words" in rows and "Conversation" in rows[0])
        s.press("q")
        ready(s)
        s.send("\x0fk\x1b[5~")
        s.until(lambda rows: "line 99" not in rows and "line 88" in rows and "Conversation" in rows[0])
        s.press("g")
        s.until("first words")
        s.send("G\x1b[5~")  # up from the rows of the end
        s.until(lambda rows: "line 99" not in rows and "line 88" in rows)
        s.press("q")
        ready(s)
        leave(s)


def a_server_that_does_not_answer_is_waited_for_with_seconds_and_few_wakeups(lab):
    lab.model("rule never\n  delay 600000\n  text late\n", log=True)
    with view(lab) as s:
        ready(s)
        s.press("hello", "enter")
        s.until("waiting for the model . 3")
        before = switches(s.pid)
        s.until("waiting for the model . 6")
        assert switches(s.pid) - before <= 12, switches(s.pid) - before  # of all threads; one frame a second
        s.press("esc")
        s.seen("Interrupted.")
        ready(s)
        leave(s)


def a_failed_try_says_when_the_next_one_begins_and_errors_break_at_words(lab):
    lab.model("""
rule busy
  prompt contains "busy"
  status 529 overloaded_error "The service has more to do than it can, and that will last for as long as nothing changes there"
rule refused
  status 401 authentication_error "the word at the right edge of this window is ununderstandable"
""", log=True)
    with view(lab, size=(72, 20)) as s:
        ready(s)
        s.press("hello", "enter")
        s.seen("ununderstandable")
        rows = s.rows()
        at = next(i for i, r in enumerate(rows) if r.startswith("✗ "))
        assert " ".join(rows[at:at + 3]).count("the word at the right edge of this window is ununderstandable") == 1, rows
        ready(s)
        s.press("busy", "enter")
        s.until(lambda rows: any(re.search(r"try \d+ in \d+(\.0)? s, gives up in 29 min \. [2-9]\.\d s \. esc interrupts \. .*…$", r) for r in rows))
        s.press("esc")
        s.seen("Interrupted.")
        ready(s)
        leave(s)


def an_interrupted_turn_leaves_the_use_of_the_window(lab):
    """It has no figures of its own."""
    lab.model("rule never\n  prompt contains \"wait\"\n  delay 600000\n  text late\nrule says\n  text I hear you.\n", log=True)
    with view(lab, "--append-system-prompt", "many words " * 10000) as s:
        ask(s, "hello", "I hear you.")
        [used] = [m[1] for r in s.rows() for m in [re.search(r" ctx (\d+)% ", r)] if m]
        assert int(used) > 0, s.rows()
        s.press("wait", "enter")
        s.until("waiting for the model")
        s.press("esc")
        s.seen("Interrupted.")
        ready(s)
        s.until(" ctx %s%% " % used)
        leave(s)


def without_colours_the_whole_view_has_none(lab):
    write(lab, "a.txt", "one\nwhile (p < end)\ntwo\n")
    with view(lab, "--permission-mode", "acceptEdits") as s:
        ask(s, "edit it", "Edited.")
        ask(s, "a table", "plain")
        s.press("/context", "enter")
        s.seen("Free space")
        s.press("/theme", "enter")
        s.until("Theme")
        s.press("down", "esc")
        ready(s)
        leave(s)
        assert not re.search(rb"\x1b\[[0-9;]*\b(3[0-9]|4[0-9]|9[0-7]|10[0-7])\b[0-9;]*m", s.raw), "a colour"


def a_light_background_is_asked_for_and_addresses_are_links(lab):
    write(lab, "a.txt", "one\nwhile (p < end)\ntwo\n")
    with view(lab, "--permission-mode", "acceptEdits", env={}) as s:
        ready(s)
        s.until_raw(lambda raw: b"\x1b]11;?\x1b\\" in raw)
        s.send("\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
        ask(s, "edit it", "Edited.")
        ask(s, "link it", "this (https://example.org/a) page.")
        leave(s)
    assert b"\x1b]8;;https://example.org/a\x1b\\https://example.org/a\x1b]8;;\x1b\\" in s.raw
    assert b"\x1b[0;48;5;194m+ while" in s.raw and b"48;5;22m" not in s.raw, s.raw[-3000:]


def reads_and_searches_in_a_row_are_one_line(lab):
    for name in "ab":
        write(lab, name + ".txt", "one\n")
    with view(lab) as s:
        ask(s, "look around", "Seen.")
        rows = s.all()
        assert any(r == "● Read 2 files, searched 1 pattern" for r in rows), rows
        assert not any("Read a.txt" in r for r in rows), rows
        leave(s)


def an_edit_counts_its_lines_and_marks_the_words_that_differ(lab):
    write(lab, "a.txt", "one\nwhile (p < end)\ntwo\n")
    settings(lab, '{"theme": "dark"}')
    with view(lab, "--permission-mode", "acceptEdits", env={}) as s:
        ask(s, "edit it", "Edited.")
        rows = s.all()
        assert any(re.search(r"Edit .*a\.txt \+1 -1", r) for r in rows), rows
        assert [r.split() for r in rows if re.match(r" +\d+ [-+]", r)] == [
            ["2", "-", "while", "(p", "<", "end)"], ["2", "+", "while", "(p", "<=", "end)"]], rows
        assert b"\x1b[0;48;5;22m+ while (p \x1b[0;48;5;28m<=\x1b[0;48;5;22m end)" in s.raw, s.raw[-3000:]
        assert b"\x1b[0;48;5;52m- while (p \x1b[0;48;5;88m<\x1b[0;48;5;52m end)" in s.raw
        leave(s)


def returns_are_taken_as_a_terminal_takes_them(lab):
    with view(lab, "--allowedTools=Bash") as s:
        ask(s, "print returns", "I hear you.")
        shown = ["HTTP/1.1 200 OK", "Server: x", "100 percent"]
        assert [r.strip() for r in s.all() if r.startswith("    ") and "printf" not in r] == shown, s.all()
        ready(s)
        s.press("C-u", "!printf 'a\\r\\nb\\rc\\n'", "enter")
        s.until(lambda rows: "a" in rows and "c" in rows)
        s.press("C-o")
        s.until(lambda rows: [r.strip() for r in rows if r.startswith("    ") and "printf" not in r][:3] == shown)
        s.press("q")
        ready(s)
        assert not any("x0d" in r for r in s.all()), s.all()
        leave(s)


def lines_of_another_system_are_a_word_and_not_a_mark_on_each(lab):
    """A file with lines of both kinds shows which ones"""
    for name, text in (("crlf.txt", "one\r\ntwo\r\n"), ("mixed.txt", "one\r\ntwo\n")):
        with open(os.path.join(lab.work, name), "w", newline="") as f:
            f.write(text)
    with view(lab, "--permission-mode", "acceptEdits") as s:
        ask(s, "system edit", "I hear you.")
        rows = [r.strip() for r in s.all() if r.startswith("    ")]
        assert rows == ["(lines end with CR LF)", "1   one", "2 - two", "2 + three"], rows
        ready(s)
        leave(s)
    with view(lab, "--permission-mode", "acceptEdits") as s:
        ask(s, "mixed edit", "I hear you.")
        rows = [r.strip() for r in s.all() if r.startswith("    ")]
        assert rows == ["1   one\\x0d", "2 - two", "2 + three"], rows
        ready(s)
        leave(s)


def code_keeps_its_tabs_and_a_call_its_own_time(lab):
    """A file of three lines has three; what the user took to answer is not the edit's time."""
    write(lab, "a.txt", "one\n\twhile (p < end)\ntwo\n")
    with view(lab) as s:
        ready(s)
        s.press("edit it", "enter")
        s.until("wants to use Edit")
        s.until("in a moment", gone=True)
        s.until(lambda rows: any(re.match(r" +2 \+ {3,8}while", r) for r in rows))
        s.press("1", "enter")
        s.seen("Edited.")
        ready(s)
        assert any(r.endswith("Read a.txt (3 lines)") for r in s.all()), s.all()
        assert any(r.endswith("Edit a.txt +1 -1") for r in s.all()), s.all()
        assert b"+ \twhile" in s.raw.replace(b"\x1b[0m", b""), s.raw[-2000:]
        leave(s)


def the_past_begins_with_a_call_and_says_what_was_interrupted(lab):
    for name in "ab":
        write(lab, name + ".txt", "one\n")
    os.mkfifo(os.path.join(lab.work, "gate"))
    for last in range(2, 5):  # so many answers behind the last results
        with view(lab, "--allowedTools=Bash") as s:
            for _ in range(2):
                ask(s, "look around", "Seen.")
            for i in range(last):
                ask(s, "word %d" % i, "I hear you.")
            s.press("slow command", "enter")
            s.until("Bash seq")
            s.press("esc")
            s.seen("Interrupted.")
            leave(ready(s))
        with view(lab, "--continue") as s:
            ready(s)
            rows = s.all()
            first = next(i for i, r in enumerate(rows) if "earlier messages" in r) + 1
            assert not rows[first].startswith("    "), rows
            assert any(r == "Interrupted." for r in rows) and not any("Request interrupted" in r for r in rows), rows
            leave(s)


def the_past_shows_of_calls_what_the_view_shows(lab):
    """What an agent's call returns at once is for the model; what is read is not repeated; of an edit the difference is shown."""
    write(lab, "a.txt", "secret one\n")
    write(lab, "b.txt", "first\nsecond\n")
    lab.model("""
rule child
  agent general-purpose
  text The report.
rule calls
  prompt contains "look"
  turn 1
  call Read {"file_path": "a.txt"}
  call Read {"file_path": "none.txt"}
  call Bash {"command": "echo printed", "description": "e"}
  call Agent {"description": "Map it", "prompt": "map", "subagent_type": "general-purpose", "run_in_background": true}
rule reads
  prompt contains "change it"
  turn 1
  call Read {"file_path": "b.txt"}
rule edits
  prompt contains "change it"
  turn 2
  call Edit {"file_path": "b.txt", "old_string": "second", "new_string": "third"}
rule says
  text I hear you.
""")
    with view(lab, "--allowedTools=Bash") as s:
        ready(s)
        s.press("look", "enter")
        s.seen("I hear you.")
        s.seen('Agent "Map it" finished')
        leave(ready(s))
    with view(lab, "--continue", "--allowedTools=Edit") as s:
        rows = ready(s).all()
        calls = [r.split(" . ")[0][:28] for r in rows if r[:1] in ("●", "✗") or r[:4] == "    "]
        assert calls == ["● Read a.txt", "✗ Read none.txt", "    File does not exist. Not", "● Bash echo printed", "    printed", "● Agent Map it"], rows
        assert not any("secret one" in r or "agentId" in r for r in rows), rows
        s.press("change it", "enter")
        s.seen("2 + third")
        leave(ready(s))
    edit = ["● Edit b.txt", "        1   first", "        2 - second", "        2 + third"]
    with view(lab, "--continue") as s:
        rows = [r[:24] for r in ready(s).all()]
        assert any(rows[i:i + 4] == edit for i in range(len(rows))), rows
        s.press("C-o")
        s.until("q leaves")
        s.until(lambda rows: any([r[:24] for r in rows[i:i + 4]] == edit for i in range(len(rows))))
        s.press("q")
        leave(ready(s))


def the_list_of_what_is_to_be_done_is_a_row(lab):
    todo = {"CLAUDE_CODE_ENABLE_TASKS": "0", "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}
    for words, args, env in (("plan the work", ["--allowedTools=Bash"], todo),
                             ("list the work", ["--allowedTools=TaskCreate,TaskUpdate"], {})):
        with view(lab, *args, env={**PLAIN, **env}) as s:
            ready(s)
            s.press(words, "enter")
            s.until("todo 1/3: [x] find it [>] fix it [ ] test it")
            s.seen("Planned.")
            s.press("/todo", "enter")
            s.until("  [>] fix it")
            leave(s)


def thinking_is_shown_if_the_setting_says_so_and_always_in_the_transcript(lab):
    with view(lab) as s:
        ask(s, "think", "Thought about.")
        assert not any("both sides" in r for r in s.all()), s.all()
        s.press("C-o")
        s.until("both sides")
        s.press("q")
        ready(s)
        leave(s)
    settings(lab, '{"showThinking": true}')
    with view(lab) as s:
        ask(s, "think", "Thought about.")
        assert any("both sides" in r for r in s.all()), s.all()
        leave(s)


def a_long_command_shows_its_time_and_its_folded_output(lab):
    gate = os.path.join(lab.work, "gate")
    os.mkfifo(gate)
    with view(lab, "--allowedTools=Bash") as s:
        ready(s)
        s.press("slow command", "enter")
        s.until(lambda rows: any(re.search(r"[◐◓◑◒] Bash seq 1 200.* [1-9]\d*(\.\d)? s", r) for r in rows))
        s.until("200 lines: 200")  # what it prints, while it runs
        with open(gate, "w"):
            pass
        s.seen("… 192 lines more")
        s.seen("Over.")
        ready(s)
        assert any(re.search(r"● Bash seq 1 200; cat gate \([1-9]", r) for r in s.all()), s.all()
        s.press("C-o")
        s.until("q leaves")
        s.press("g")
        s.press("/", " 100", "enter")
        s.until(lambda rows: any(r.strip() == "100" for r in rows))
        s.press("q")
        ready(s)
        leave(s)


def a_turn_ends_with_time_tokens_and_marks_for_the_terminal(lab):
    with view(lab) as s:
        ask(s, "hello", "I hear you.")
        assert any(re.fullmatch(r"✔ .*s, [\d.]+( k)? tokens.*", r) for r in s.all()), s.all()
        raw = s.raw
        assert raw.index(b"\x1b]133;A\a") < raw.index(b"\x1b]133;C\a") < raw.index(b"\x1b]133;D;0\a")
        leave(s)


def marks_are_ascii_if_the_setting_says_so(lab):
    settings(lab, '{"cadre": {"ascii": true}}')
    with view(lab) as s:
        ask(s, "hello", "I hear you.")
        assert any(r.startswith("> hello") for r in s.all()) and any(r.startswith("+ ") for r in s.all()), s.all()
        assert not any(ord(c) > 126 for r in s.all() for c in r), s.all()
        leave(s)


def the_mark_of_what_runs_stays_as_it_is_if_the_setting_says_so(lab):
    lab.model('rule runs\n  turn 1\n  call Bash {"command": "cat gate"}\nrule says\n  text Over.\n')
    gate = os.path.join(lab.work, "gate")
    os.mkfifo(gate)
    for still in (False, True):
        settings(lab, json.dumps({"prefersReducedMotion": still}))
        with view(lab, "--allowedTools=Bash") as s:
            ready(s)
            s.press("go", "enter")
            s.until(lambda rows: any(re.search(r"Bash cat gate.* [1-9]\S* s . esc interrupts", r) for r in rows))
            if still:
                assert "◓".encode() not in s.raw, s.rows()
            else:
                s.until_raw(lambda raw: "◓".encode() in raw)
            with open(gate, "w"):
                pass
            s.seen("Over.")
            ready(s)
            leave(s)


def prose_is_left_to_the_terminal_if_the_setting_says_so(lab):
    lab.model("rule says\n  text " + "word " * 40 + "\n", log=True)
    for wrap in ("word", "terminal"):
        settings(lab, '{"cadre": {"wrap": "%s"}}' % wrap)
        with view(lab) as s:
            ask(s, "hello", "word word")
            whole = b"word " * 39 in s.raw
            assert whole == (wrap == "terminal"), (wrap, s.raw[-2000:])
            leave(s)


if __name__ == "__main__":
    main(returns_are_taken_as_a_terminal_takes_them, lines_of_another_system_are_a_word_and_not_a_mark_on_each, code_keeps_its_tabs_and_a_call_its_own_time,
         the_past_shows_of_calls_what_the_view_shows, the_past_begins_with_a_call_and_says_what_was_interrupted, a_light_background_is_asked_for_and_addresses_are_links, the_right_borders_of_a_table_are_in_one_column, the_same_in_the_terminal_of_vs_code_whether_it_answers_or_not,
         no_sequence_of_an_answer_a_tool_or_an_agent_reaches_the_terminal,
         keys_that_are_typed_ahead_reach_the_view_that_opens, a_server_that_does_not_answer_is_waited_for_with_seconds_and_few_wakeups, a_failed_try_says_when_the_next_one_begins_and_errors_break_at_words,
         an_interrupted_turn_leaves_the_use_of_the_window, without_colours_the_whole_view_has_none, reads_and_searches_in_a_row_are_one_line,
         an_edit_counts_its_lines_and_marks_the_words_that_differ, the_list_of_what_is_to_be_done_is_a_row,
         thinking_is_shown_if_the_setting_says_so_and_always_in_the_transcript, a_long_command_shows_its_time_and_its_folded_output,
         a_turn_ends_with_time_tokens_and_marks_for_the_terminal, marks_are_ascii_if_the_setting_says_so,
         the_mark_of_what_runs_stays_as_it_is_if_the_setting_says_so, prose_is_left_to_the_terminal_if_the_setting_says_so)
