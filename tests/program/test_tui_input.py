#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is typed into cadre on a terminal: keys and their file, vim, pastes, images, widths, and the terminal's own state."""
import base64
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import zlib

from lab import CADRE, DEADLINE_S, main, read_json, until
from test_tui import HEAD, PLAIN, SCENARIO, gate, leave, open_gate, prompts, ready
from vterm import Screen

CTRL_X = "C-x"


def screen(lab, *args, **more):
    if not lab.models:
        lab.model(SCENARIO, log=True)
    return Screen(lab, *args, **{"env": PLAIN, **more})


def configure(lab, name, value):
    config = os.path.join(lab.env["HOME"], ".claude")
    os.makedirs(config, exist_ok=True)
    with open(os.path.join(config, name), "w") as f:
        f.write(value if isinstance(value, str) else json.dumps(value))


def input_row(s):
    return s.rows()[s.cursor()[0]]


# ---- keys and their file ---------------------------------------------------------------------------------------------------


def keys_are_those_of_the_file(lab):
    configure(lab, "keybindings.json", {"bindings": [
        {"context": "Chat", "bindings": {"ctrl+q ctrl+a": "chat:submit", "ctrl+k": None, "ctrl+n": "chat:fly", "alt+s": "chat:stash"}},
        {"context": "Autocomplete", "bindings": {"ctrl+f": "autocomplete:accept"}}]})
    os.makedirs(os.path.join(lab.work, ".claude"))
    with open(os.path.join(lab.work, ".claude", "keybindings.json"), "w") as f:  # a project brings none
        json.dump({"bindings": [{"context": "Chat", "bindings": {"a": "app:suspend"}}]}, f)
    with screen(lab) as s:
        s.until("keybindings.json has errors")
        s.press("/statu")
        s.until("session, model, mode")
        s.press("C-f")
        s.until(lambda rows: not any("session, model, mode" in r for r in rows) and "❯ /status" in rows)
        s.press("C-u", "a line", "home", "C-k", "end", "\x1bs")
        s.until("a line", gone=True)
        s.press("\x1bs")
        s.until("❯ a line")
        s.press("C-q")
        s.until("ctrl+q")
        s.press("C-a")
        s.seen("I hear you.")
        ready(s)
        s.press("/doctor", "enter")
        s.seen('Chat: ctrl+n: no such action: "chat:fly"')
        s.press("?")
        s.seen("ctrl+q ctrl+a, enter")
        s.press("C-d", "C-d")
        assert s.wait() == 0
    assert prompts(lab) == ["a line"], prompts(lab)
    done = lab.cadre("doctor")
    assert done.code == 1 and 'Chat: ctrl+n: no such action: "chat:fly"' in done.out, done


def the_help_and_the_documentation_name_every_key(lab):
    docs = open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "terminal.md")).read()
    with screen(lab, size=(160, 60)) as s:
        ready(s)
        s.press("?")
        s.seen("draws the last rows again")
        rows = [re.fullmatch(r"(\S.*?)  +(\S.*)", row) for row in s.all()]
        lines = {m[1]: m[2] for m in rows if m}
        assert len(lines) > 30, lines
        for keys, what in lines.items():
            assert "| %s | %s |" % (", ".join("`%s`" % k for k in keys.split(", ")), what.replace("|", "\\|")) in docs, (keys, what)
        leave(s)


def the_keys_of_the_prompt_do_what_they_say(lab):
    editor = os.path.join(lab.work, "editor")
    with open(editor, "w") as f:
        f.write("#!/bin/sh\necho \"$(cat \"$1\") of the editor\" > \"$1\"\n")
    os.chmod(editor, 0o755)
    with screen(lab, "--allow-dangerously-skip-permissions", env={**PLAIN, "IS_SANDBOX": "1"}) as s:
        ready(s)
        for mode in ("acceptEdits", "plan", "auto", "bypassPermissions", r"5-5 . \? keys"):
            s.press("shift-tab")
            s.until(lambda rows, mode=mode: any(re.search(mode, r) for r in rows))
        leave(s)
    with screen(lab, env={**PLAIN, "VISUAL": editor}) as s:
        ready(s)
        s.press("one two", "C-s")
        s.until("put aside")
        s.press("other", "enter")
        s.seen("I hear you.")
        ready(s)
        s.press("C-s")
        s.until("❯ one two")
        s.press("C-w", "C-w", "C-y")  # both words are one cut
        s.until("❯ one two")
        s.press("C-u", "x", "C-u", "C-y", "\x1by")
        s.until("❯ one two")
        s.press("C-_", "C-_")
        s.until("❯ one two", gone=True)
        s.press("C-u", "C-x")
        s.until("ctrl+x")
        s.press("C-k")
        s.until("no agent runs")
        s.press("\x1bt")
        s.until("thinking is off")
        s.press("\x1bt")
        s.until("thinking is on")
        for mode in ("acceptEdits", "plan", "auto", r"01 . \? keys"):
            s.press("shift-tab")
            s.until(lambda rows, mode=mode: any(re.search(mode, r) for r in rows))
        s.press("C-x", "t")
        s.until("Agents: ")
        s.press("q")
        ready(s)
        s.press("\x1bp")
        s.until("from the next request on")
        s.press("esc")
        ready(s)
        before = len(s.raw)
        s.press("C-l")
        s.until(lambda rows: b"\x1b[J" in s.raw[before:])
        assert sum("? keys" in row for row in s.rows()) == 1, s.rows()
        s.press("words", "C-g")
        s.until("❯ words of the editor")
        s.press("C-u", "C-d")
        s.until("ctrl+d again leaves")
        s.press("esc")
        s.until("points to rewind to")
        s.press("esc")
        s.until("Back to before")
        s.press("esc")
        ready(s)
        leave(s)


def a_key_pressed_twice_means_twice_in_a_row(lab):
    with screen(lab) as s:
        ready(s)
        s.press("C-c")
        s.until("ctrl+c again leaves")
        s.press("a", "backspace", "C-c")
        s.until("ctrl+c again leaves")
        s.press("esc")
        s.until("points to rewind to")
        s.press("words", "esc")
        s.until("esc again clears the line")
        s.press("!", "C-k", "esc")
        s.until("❯ words!")
        s.until("esc again clears the line")
        s.press("esc")
        s.until(lambda rows: rows[s.cursor()[0]] == "❯")
        leave(s)


def what_is_sent_now_interrupts_the_turn(lab):
    with screen(lab) as s:
        ready(s)
        s.press("slowly please", "enter")
        s.until("fills the line")
        s.press("later words", "enter")
        s.until("queued: later words")
        s.press("queued words now", "C-x", "C-s")
        s.seen("❯ queued words now")
        s.seen("❯ later words")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        ready(s)
        leave(s)
    assert prompts(lab)[-2:] == ["queued words now", "later words"], prompts(lab)


def an_interrupt_leaves_what_is_typed(lab):
    with screen(lab) as s:
        ready(s)
        s.press("slowly please", "enter")
        s.until("fills the line")
        s.press("half a line", "C-c")
        s.seen("Interrupted.")
        ready(s)
        s.until("❯ half a line")
        s.press("C-c")
        s.until("half a line", gone=True)
        leave(s)


class Slow(Screen):
    """Every byte takes 200 ms, each way, as over a slow ssh: also what the terminal answers."""

    def _later(self, name, data):
        self.__dict__.setdefault(name, []).append((time.monotonic() + 0.2, data))

    def _due(self, name):
        queue = self.__dict__.setdefault(name, [])
        return queue.pop(0)[1] if queue and queue[0][0] <= time.monotonic() else b""

    def _feed(self, data):
        self._later("shown_late", data)

    def send(self, data):
        self._later("typed_late", data if isinstance(data, bytes) else data.encode())

    def _pump(self, until):
        first = min([q[0][0] for q in (self.__dict__.get("shown_late"), self.__dict__.get("typed_late")) if q] + [until])
        came = super()._pump(min(first, until))
        typed, shown = self._due("typed_late"), self._due("shown_late")
        if typed:
            os.write(self.fd, typed)
        if shown:
            self.raw += shown
            answer = self._show(shown)
            if answer:
                self.send(answer)
        return bool(came or typed or shown or first < until)


def a_slow_line_changes_nothing_but_the_time(lab):
    lab.model(SCENARIO, log=True)
    with Slow(lab, env={**PLAIN, "NVIM": "a terminal that cuts"}) as s:
        ready(s)
        s.press("slowly please", "enter")
        s.until("fills the line")
        s.press("he", "l", "lo 日本")
        s.until("❯ hello 日本")
        s.press("esc")
        s.seen("Interrupted.")
        s.resize(50, 20)
        s.press("!", "backspace", "!")
        s.until("❯ hello 日本!")
        s.paste("x" * 5000)
        s.until("日本![paste 1: 1 line, 4.9KB]")
        s.press("backspace", "C-u", "more words", "enter")
        s.until("esc interrupts")
        s.press("esc")
        s.until(lambda rows: sum("Interrupted." in row for row in s.above + rows) == 2)
        ready(s)
        assert sum("❯ more words" in row for row in s.all()) == 1 and not any("hello" in row for row in s.all()), s.all()
        s.press("C-d", "C-d")
        assert s.wait() == 0


def keys_that_come_in_one_read_are_single_keys_where_letters_are_keys(lab):
    """As over a slow line: a chord opens a view, q closes it, what follows is text; and words are text, also up and end."""
    with screen(lab) as s:
        ready(s)
        s.send("\x18tqhello ")
        s.until("❯ hello")
        s.send("up")
        s.until("❯ hello up")
        s.send("\x01end")
        s.until("❯ endhello up")
        s.press("C-e", "C-u")
        leave(s)


def twelve_agents_are_seven_rows_and_the_second_is_stopped(lab):
    calls = "".join("  call Agent {\"description\": \"Wait %02d\", \"prompt\": \"wait %02d\", \"subagent_type\": \"general-purpose\", "
                    "\"run_in_background\": true}\n" % (i, i) for i in range(12))
    lab.model("rule delegates\n  agent main\n  prompt contains \"delegate it\"\n  turn 1\n" + calls + """
rule waits
  prompt contains "wait"
  delay 600000
  text late
rule lists
  prompt contains "list it"
  turn 1
  call TaskCreate {"subject": "find it", "description": "d"}
rule says
  text I hear you.
""", log=True)
    with screen(lab, "--allowedTools=TaskCreate") as s:
        ready(s)
        s.press("delegate it", "enter")
        s.seen("I hear you.")
        s.until("12 agents: 12 run")
        s.press("half a line")
        s.until("❯ half a line")
        rows = s.rows()
        assert sum(bool(re.search(r"general-purpose Wait \d\d", r)) for r in rows) == 6 and any("6 more, ctrl+t" in r for r in rows), rows
        second = [re.search(r"Wait \d\d", r)[0] for r in rows if "general-purpose Wait" in r][1]
        s.press("down", "x", "down", "down", "x", "up", "x")  # each asks for itself
        s.until("x again stops it")
        s.press("x")
        s.until("stopped")
        s.until("11 run")
        s.press("esc", "end", "!")
        s.until("❯ half a line!")
        assert sum("half a line" in row for row in s.all()) == 1, s.all()
        tasks = json.loads(lab.cadre("tasks", "--json").out)
        stopped = [t["description"] for session in tasks["sessions"] for t in session["tasks"] if t["state"] == "killed"]
        assert stopped == [second], (second, tasks)
        s.press("C-u")
        s.press("list it", "enter")
        s.until("5 more, ctrl+x t")  # ctrl+t opens the list of what is to be done now
        s.press("C-x", "C-k")
        s.until("again stop all agents")
        s.press("C-x", "C-k")
        s.until(lambda rows: not any(re.search(r"\d+ run", r) for r in rows))
        s.press("C-d", "C-d")
        assert s.wait() == 0


# ---- vim -------------------------------------------------------------------------------------------------------------------


def the_keys_of_vim_edit_and_the_mode_is_shown(lab):
    state = os.path.join(lab.work, "state")
    whole = "cat > {0}.$$ && mv {0}.$$ {0}; exit 1".format(state)  # the end of the session may end the last one in the middle
    configure(lab, "settings.json", {"editorMode": "vim", "vimInsertModeRemaps": {"jk": "<Esc>"},
                                     "statusLine": {"type": "command", "command": whole}})
    with screen(lab) as s:
        s.until("INSERT")
        s.press("one two three", "esc")
        s.until("NORMAL")
        s.press("0", "w", "c", "w", "2", "j", "k")
        s.until("NORMAL")
        s.until("❯ one 2 three")
        s.press("$", "v", "b")
        s.until("VISUAL")
        s.press("d", "A", "fin", "esc", "d", "d", "u")
        s.until("❯ one 2 fin")
        s.press("enter")
        s.seen("I hear you.")
        s.until("INSERT")
        s.press("/vim", "enter")
        s.until("keys of readline")
        s.until("INSERT", gone=True)
        leave(s)
    assert prompts(lab) == ["one 2 fin"], prompts(lab)
    assert json.load(open(state))["hook_event_name"] == "Status"


def ctrl_w_cuts_back_to_a_blank_if_the_setting_says_so(lab):
    for flavor, left in (("default", "❯ one two-"), ("readline", "❯ one")):
        configure(lab, "settings.json", {"keybindingFlavor": flavor})
        with screen(lab) as s:
            ready(s)
            s.press("one two-three", "C-w")
            s.until(lambda rows: left in [r.rstrip() for r in rows])
            s.press("C-u")
            leave(s)


# ---- pastes ------------------------------------------------------------------------------------------------------------------


def five_thousand_letters_are_one_prompt_with_and_without_brackets(lab):
    for bracketed in (True, False):
        with screen(lab) as s:
            ready(s)
            if bracketed:
                s.paste("x" * 5000)
                s.until("[paste 1: 1 line, 4.9KB]")
            else:  # one, unless the sender is held up for longer than a rush lasts
                s.send("x" * 5000)
                s.until(lambda rows: sum(int(float(n) * (1024 if unit == "KB" else 1)) for n, unit in re.findall(
                    r"\[paste \d+: 1 line, ([\d.]+) ?(KB|B)", "\n".join(rows))) + "".join(rows).count("x") > 4800)
            s.press("enter")
            s.seen("I hear you.")
            ready(s)
            s.press("C-d", "C-d")
            assert s.wait() == 0
        assert prompts(lab)[-1] == "x" * 5000, len(prompts(lab)[-1])
    assert len(prompts(lab)) == 2


def three_pasted_lines_are_one_request(lab):
    with screen(lab) as s:
        ready(s)
        s.paste("one\rtwo\rthree")
        s.until("three")
        s.press("enter")
        s.seen("I hear you.")
        leave(s)
    assert prompts(lab) == ["one\ntwo\nthree"], prompts(lab)


def a_line_of_ten_megabytes_and_broken_characters_are_pasted(lab):
    with screen(lab) as s:
        ready(s)
        before = len(s.raw)
        s.paste("y" * (10 << 20))
        s.until("[paste 1: 1 line, 10.0MB]")
        s.send(b"\x1b[200~ bad \xff\xc3\x28 end\x1b[201~")
        s.until("bad")
        s.send(b"\xc3\x28\xff!")
        s.until("!")
        assert len(s.raw) - before < 2000, len(s.raw) - before
        s.press("C-u", "small", "enter")
        s.seen("I hear you.")
        leave(s)
    assert prompts(lab) == ["small"], [p[:80] for p in prompts(lab)]


def megabytes_without_brackets_are_marks_and_one_prompt(lab):
    text = "".join("line %d of what is pasted\r" % i for i in range(40000))
    with screen(lab) as s:
        ready(s)
        s.send(text)
        s.until("lines, ")
        s.quiet()  # of a sender that is held up for longer than a rush lasts there are several, not all of them on the screen
        s.press("enter")
        s.seen("I hear you.")
        leave(s)
    assert prompts(lab) == [text.replace("\r", "\n").strip()], [p[-80:] for p in prompts(lab)]


# ---- images ------------------------------------------------------------------------------------------------------------------


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + b"\x40\x80\xc0" * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def blocks_of(lab):
    """Of the last prompt, without what the session tells the model before the first one."""
    return [b for b in lab.models[0].bodies()[-1]["messages"][-1]["content"] if not b.get("text", "").startswith("<")]


def images_and_pdf_files_that_are_dropped_are_sent(lab):
    path, pdf = os.path.join(lab.work, "a picture.png"), os.path.join(lab.work, "text.pdf")
    with open(path, "wb") as f:
        f.write(png(64, 48))
    with open(pdf, "wb") as f:
        f.write(b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n")
    with screen(lab) as s:
        ready(s)
        s.paste(path.replace(" ", "\\ ") + " '" + pdf + "'")
        s.until("[image 1: 64x48] [pdf 2: ")
        s.press("what is it?", "enter")
        s.seen("I hear you.")
        ready(s)
        blocks = blocks_of(lab)
        assert [b["type"] for b in blocks] == ["image", "document", "text"], [b["type"] for b in blocks]
        assert base64.b64decode(blocks[0]["source"]["data"]) == png(64, 48) and blocks[0]["source"]["media_type"] == "image/png"
        assert blocks[1]["source"]["media_type"] == "application/pdf"
        assert blocks[2]["text"].startswith("[image 1: 64x48] [pdf 2: ") and blocks[2]["text"].endswith("] what is it?"), blocks[2]
        s.paste("see " + path)  # not a path alone: text
        s.until("picture.png")
        s.press("C-u", "slowly", "enter")
        s.until("fills the line")
        s.paste(path.replace(" ", "\\ "))
        s.until("[image 1: 64x48]")
        s.press("queued words", "enter")
        s.until("queued: [image 1: 64x48] queued words")
        s.press("up")  # with its image
        s.until("❯ [image 1: 64x48] queued words")
        s.press("enter")
        s.until("queued: [image 1: 64x48] queued words")
        s.press("esc")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        ready(s)
        leave(s)
    assert [b["type"] for b in blocks_of(lab)][-2:] == ["image", "text"], blocks_of(lab)


def an_image_of_the_clipboard_is_sent(lab):
    tools = os.path.join(lab.work, "tools")
    os.mkdir(tools)
    with open(os.path.join(lab.work, "clip.png"), "wb") as f:
        f.write(png(1200, 900))
    for name in ("xclip", "wl-paste"):  # stand-ins: there is no display here
        with open(os.path.join(tools, name), "w") as f:
            f.write("#!/bin/sh\ncase \"$*\" in *image/png*) exec cat %s/clip.png;; esac\nexit 1\n" % lab.work)
        os.chmod(os.path.join(tools, name), 0o755)
    for number, variable in enumerate(("DISPLAY", "WAYLAND_DISPLAY")):
        with screen(lab, env={**PLAIN, variable: ":0", "PATH": tools + ":" + os.environ["PATH"]}) as s:
            ready(s)
            s.press("C-v")
            s.until("[image 1: 1200x900]")
            s.press("enter")
            s.seen("I hear you.")
            ready(s)
            leave(s)
        assert blocks_of(lab)[0]["type"] == "image" and len(lab.models[0].bodies()) == number + 1
    with screen(lab) as s:  # without a display the terminal is asked
        ready(s)
        s.press("C-v")
        s.until_raw(lambda raw: b"\x1b]52;c;?\a" in raw)
        s.send(b"\x1b]52;c;" + base64.b64encode(png(3, 2)) + b"\x1b\\")
        s.until("[image 1: 3x2]")
        s.press("C-v")
        s.send(b"\x1b]52;c;" + base64.b64encode(b"some text") + b"\a")
        s.until("some text")
        s.press("C-u")
        leave(s)


# ---- the terminal is asked ---------------------------------------------------------------------------------------------------


def up_and_down_are_rows_of_the_window(lab):
    """A line that the window breaks has rows; the history begins above the first one. The cursor is never inside of a character."""
    with screen(lab, size=(40, 20)) as s:
        s.until("❯")
        s.press("hello", "enter")
        s.seen("I hear you.")
        s.until("ctx 0%")
        s.press("a" * 50 + "日本語", "up", "X")  # 19 columns behind the left edge
        s.until("❯ " + "a" * 19 + "X" + "a" * 17)
        s.press("left", "left", "down", "Y")
        s.until(lambda rows: rows[s.cursor()[0]] == "  " + "a" * 14 + "日本Y語")
        s.press("up", "up")
        s.until(lambda rows: rows[s.cursor()[0]] == "❯ hello")
        s.press("down", "end", "C-u", "日本語👍🏽", "\n", "abcdefgh", "left", "up", "x")  # 7 columns: before the thumb
        s.until(lambda rows: rows[s.cursor()[0]] == "❯ 日本語x👍🏽")
        leave_line(s)


def leave_line(s):
    s.press("C-c")
    s.until(lambda rows: rows[s.cursor()[0]] == "❯")
    leave(s)


def widths_are_asked_and_kept(lab):
    path = os.path.join(lab.env["HOME"], ".claude", "cadre", "terminals.json")
    with screen(lab) as s:
        ready(s)
        s.press("a")
        s.until("❯ a")
        until(lambda: read_json(path) == {"xterm": "4 8 1"}, lambda: read_json(path))
        family = "👨‍👩‍👧‍👦"
        s.press("C-u", family)
        s.until(lambda rows: s.cursor()[1] == 10)
        s.press("x", "left", "left", "y")
        s.until(lambda rows: s.cursor()[1] == 3 and rows[s.cursor()[0]].startswith("❯ y"))
        s.press("C-u", "end", "C-u")
        leave(s)
    with screen(lab, answers=False) as s:  # no answer: nothing waits, and what is known stays
        ready(s)
        s.press("hello", "enter")
        s.seen("I hear you.")
        leave(s)
    assert json.load(open(path)) == {"xterm": "4 8 1"}


class Within(Screen):
    """screen inside tmux: it goes back by the widths that it believes in, which takes the outer cursor to the start of the row."""

    def _show(self, data):
        return super()._show(data.replace(b"\x1b[3G\x1b[K", b"\x1b[1G\x1b[K"))


def the_prompt_is_there_behind_the_question_for_widths(lab):
    lab.model(SCENARIO, log=True)
    with Within(lab, env=PLAIN) as s:
        s.until("? keys")
        s.until_raw(lambda raw: b"\x1b[3G\x1b[K" in raw)
        s.quiet()
        assert s.rows()[s.cursor()[0]] == "❯" and s.cursor()[1] == 2, (s.rows(), s.cursor())
        leave(s)


def keys_of_kitty_are_used_where_the_terminal_has_them(lab):
    with screen(lab, kitty=True) as s:
        ready(s)
        s.until_raw(lambda raw: b"\x1b[>1u" in raw)
        s.press("one", "\x1b[13;2u", "two", "\x1b[106;5u", "three", "\x1b[119;5u", "four")  # shift+enter, ctrl+j, ctrl+w
        s.until("  four")
        s.press("enter")
        s.seen("I hear you.")
        leave(s)
        assert s.raw.rfind(b"\x1b[<u") > s.raw.rfind(b"\x1b[>1u")
    with screen(lab) as s:
        ready(s)
        s.press("hello", "enter")
        s.seen("I hear you.")
        leave(s)
        assert b"\x1b[>1u" not in s.raw and b"\x1b[<u" not in s.raw
    assert prompts(lab)[0] == "one\ntwo\nfour", prompts(lab)


# ---- the terminal is given back ----------------------------------------------------------------------------------------------


def modes_of(rows):
    return [r for r in rows if re.fullmatch(r"[0-9a-f:]{30,}", r)]


def child_of(pid):
    return int(subprocess.run(["pgrep", "-P", str(pid), "cadre"], check=True, stdout=subprocess.PIPE).stdout.split()[0])


def a_kill_gives_the_terminal_back(lab):
    script = 'stty -g; "$0"; read line; stty -g; echo over'
    for how, where in ((signal.SIGKILL, ""), (signal.SIGKILL, "page"), (signal.SIGKILL, "turn"), (signal.SIGSEGV, "page"), (signal.SIGBUS, "")):
        with screen(lab, "-c", script, CADRE, program="sh", kitty=True, env={**PLAIN, "TERM_PROGRAM": "ghostty"}) as s:
            ready(s)
            s.until_raw(lambda raw: b"\x1b[>1u" in raw)
            if where == "page":
                s.press("C-x", "t")
                s.until("Agents: ")
            elif where == "turn":
                s.press("slowly", "enter")
                s.until("fills the line")
            before = modes_of(s.all()) or None
            pid = child_of(s.pid)
            os.kill(pid, how)
            deadline = time.monotonic() + DEADLINE_S
            while os.path.exists("/proc/%d" % pid) or not termios.tcgetattr(s.fd)[3] & termios.ICANON:
                assert time.monotonic() < deadline, "the terminal is still raw"
                s._pump(time.monotonic() + 0.02)
            s.until_raw(lambda raw: raw.rfind(b"\x1b[?2004l") > raw.rfind(b"\x1b[?2004h"))
            s.press("echoed", "enter")
            s.seen("over")
            modes = modes_of(s.all())
            assert len(set(modes)) == 1 and len(modes) == 2, (how, where, before, s.all())
            assert any("echoed" in r for r in s.all()), s.all()
            # each screen of such a terminal has keys of its own; what another program asked for below us is not ours to take away
            assert s.raw.count(b"\x1b[<u") == s.raw.count(b"\x1b[>1u") == 1 and s.raw.rfind(b"\x1b[<u") > s.raw.rfind(b"\x1b[?1047l"), (how, where)
            if where == "page":
                assert s.raw.rfind(b"\x1b[?1047l") > s.raw.rfind(b"\x1b[?1049h")
            if where == "turn":
                assert s.raw.rfind(b"\x1b]0;\a") > s.raw.rfind(b"\x1b]0;cadre: slowly\a") > 0
                assert s.raw.rfind(b"\x1b]9;4;0\a") > s.raw.rfind(b"\x1b]9;4;3\a") > 0


def keeper_of(pid):
    def found():
        children = open("/proc/%d/task/%d/children" % (pid, pid)).read().split()
        return [int(c) for c in children if open("/proc/%s/comm" % c).read() == "cadre-keeper\n"]
    until(found, "no keeper")  # it starts behind the first paint
    return found()[0]


def a_shell_that_is_quicker_than_the_keeper_gets_the_main_screen_back(lab):
    with screen(lab, "-c", '"$0"; stty sane; echo shell has it; read line; echo over', CADRE, program="sh") as s:
        ready(s)
        s.press("C-x", "t")
        s.until("Agents: ")
        pid = child_of(s.pid)
        keeper = keeper_of(pid)
        os.kill(keeper, signal.SIGSTOP)
        os.kill(pid, signal.SIGKILL)
        s.until("shell has it")
        assert s.raw.rfind(b"\x1b[?1049h") > s.raw.rfind(b"\x1b[?1047l")
        os.kill(keeper, signal.SIGCONT)
        s.until_raw(lambda raw: raw.rfind(b"\x1b[?2004l") > raw.rfind(b"\x1b[?1047l") > raw.rfind(b"\x1b[?1049h"))
        s.press("x", "enter")
        s.seen("over")


def a_kill_of_a_stopped_program_leaves_the_terminal_to_what_has_it(lab):
    """It was given back; what runs now may have it raw, as an editor does."""
    with screen(lab, "--norc", "--noprofile", "-i", program="bash", env={**PLAIN, "PS1": "shell> "}) as s:
        s.until("shell>")
        s.press(CADRE, "enter")
        ready(s)
        pid = child_of(s.pid)
        keeper = keeper_of(pid)
        s.press("C-z")
        s.until("Stopped")
        s.press("stty raw -echo; kill -9 %d; cat" % pid, "enter")
        fd = os.pidfd_open(keeper)
        ended, _, _ = select.select([fd], [], [], DEADLINE_S)
        os.close(fd)
        assert ended, "the keeper does not end"
        assert not termios.tcgetattr(s.fd)[1] & termios.OPOST, "it is not raw any more"
        assert s.raw.count(b"\x1b[?1047l") == 0, s.raw[-500:]


def a_late_keeper_never_meets_a_new_terminal_of_the_same_name(lab):
    """A terminal would get the modes of another one. So its name is not free before the keeper has ended."""
    with screen(lab) as s:
        ready(s)
        keeper = keeper_of(s.pid)
        name = os.readlink("/proc/%d/fd/0" % s.pid)
        os.kill(keeper, signal.SIGSTOP)
    others = [pty.openpty() for _ in range(20)]
    names = [os.ttyname(other) for _, other in others]
    ended = os.pidfd_open(keeper)
    os.kill(keeper, signal.SIGCONT)
    left, _, _ = select.select([ended], [], [], DEADLINE_S)
    for fd in [ended, *sum(others, ())]:
        os.close(fd)
    assert left, "the keeper does not end"
    assert name not in names, name


def a_stopped_program_gives_the_terminal_to_the_shell_and_comes_back(lab):
    with screen(lab, "--norc", "--noprofile", "-i", program="bash", env={**PLAIN, "PS1": "shell> "}) as s:
        s.until("shell>")
        s.press("stty -g; " + CADRE, "enter")
        ready(s)
        s.press("half a line")
        s.until("❯ half a line")
        for how in ("key", "signal"):
            if how == "key":
                s.press("C-z")
            else:
                os.kill(child_of(s.pid), signal.SIGTSTP)
            s.until(lambda rows: rows[s.cursor()[0]] == "shell>")
            assert s.raw.rfind(b"\x1b[?2004l") > 0
            s.press("stty -g", "enter")
            s.until(lambda rows: rows[s.cursor()[0]] == "shell>" and len(modes_of(s.all())) > 1)
            assert len(set(modes_of(s.all()))) == 1, s.all()
            s.press("fg", "enter")
            s.until(lambda rows: rows[s.cursor()[0]] == "❯ half a line")
        s.press(" more", "enter")
        s.seen("I hear you.")
        s.press("C-d", "C-d")
        s.until(lambda rows: rows[s.cursor()[0]] == "shell>")
    assert prompts(lab) == ["half a line more"], prompts(lab)


def what_the_terminal_tells_during_a_turn_it_tells_behind_a_stop(lab):
    with screen(lab, "--norc", "--noprofile", "-i", program="bash", env={**PLAIN, "PS1": "shell> ", "TERM_PROGRAM": "ghostty"}, kitty=True) as s:
        s.until("shell>")
        s.press(CADRE, "enter")
        ready(s)
        s.press("slowly", "enter")
        s.until("fills the line")
        s.press("C-z")
        s.until(lambda rows: rows[s.cursor()[0]] == "shell>")
        ours = s.raw
        for on, off in ((b"\x1b[?1004h", b"\x1b[?1004l"), (b"\x1b]9;4;3\a", b"\x1b]9;4;0\a"), (b"\x1b[>1u", b"\x1b[<u"), (b"\x1b]0;cadre: slowly\a", b"\x1b]0;\a")):
            assert 0 < ours.rfind(on) < ours.rfind(off), (on, off)
        assert b"\0" not in ours
        s.press("fg", "enter")
        s.until("esc interrupts")
        for on in (b"\x1b[?1004h", b"\x1b]9;4;3\a", b"\x1b[>1u", b"\x1b]0;cadre: slowly\a"):
            s.until_raw(lambda raw, on=on: raw.rfind(on) >= len(ours))
        s.press("esc")
        s.seen("Interrupted.")
        ready(s)
        s.press("C-d", "C-d")
        s.until(lambda rows: rows[s.cursor()[0]] == "shell>")
        keys = re.findall(rb"\x1b\[>1u|\x1b\[<u", s.raw)
        assert len(keys) >= 4 and keys == [b"\x1b[>1u", b"\x1b[<u"] * (len(keys) // 2), keys


def views_and_questions_are_suspended_and_come_back(lab):
    """What is typed for the shell answers no question."""
    with screen(lab, "--norc", "--noprofile", "-i", program="bash", env={**PLAIN, "PS1": "shell> "}) as s:
        s.until("shell>")
        s.press(CADRE, "enter")
        ready(s)
        for keys, text in ((("C-x", "t"), "Agents: "), (("C-o",), "q leaves"), (("/model", "enter"), "esc leaves"), (("remove it", "enter"), "1-9 choose")):
            s.press(*keys)
            s.until(text)
            s.press("C-z")
            s.until(lambda rows: rows[s.cursor()[0]] == "shell>")
            assert s.raw.rfind(b"\x1b[?1049l") >= s.raw.rfind(b"\x1b[?1049h"), keys
            s.press("echo 2", "enter")
            s.until(lambda rows: "2" in rows and rows[s.cursor()[0]] == "shell>")
            s.press("fg", "enter")
            s.until(text)
            s.until("in a moment", gone=True)
            s.press("esc")
            s.until(lambda rows: rows[s.cursor()[0]] == "❯" and not any(text in row for row in rows))
        assert not os.path.exists(os.path.join(lab.work, "removed")) and sum("❯ remove it" in row for row in s.all()) == 1, s.all()
        s.until("esc interrupts", gone=True)
        s.press("C-d", "C-d")
        s.until(lambda rows: rows[s.cursor()[0]] == "shell>")


def a_terminal_that_vanishes_leaves_a_session_that_can_be_resumed(lab):
    with screen(lab) as s:
        ready(s)
        s.press("hello", "enter")
        s.seen("I hear you.")
        ready(s)
        s.press("slowly", "enter")
        s.until("fills the line")
        pid = s.pid
        os.close(s.fd)
        s.fd = os.open("/dev/null", os.O_RDONLY)
        _, status = os.waitpid(pid, 0)
        s.pid = 0
        assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP, status
    with screen(lab, "--continue") as s:
        ready(s)
        s.press("again", "enter")
        s.until("fills the line")
        s.press("esc")
        s.seen("Interrupted.")
        ready(s)
        leave(s)
    messages = lab.models[0].bodies()[-1]["messages"]
    assert "hello" in str(messages[0]) and "again" in str(messages[-1]), messages


# ---- questions, interrupts, idleness -----------------------------------------------------------------------------------------


def a_letter_before_the_question_of_a_background_agent_is_a_prompt(lab):
    gate(lab, "remove it", """
rule removes
  prompt contains "remove it"
  turn 2
  call Bash {"command": "touch removed", "description": "r"}
rule delegates
  agent main
  prompt contains "delegate it"
  turn 1
  call Agent {"description": "Remove it", "prompt": "remove it", "subagent_type": "general-purpose", "run_in_background": true}
rule says
  text I hear you.
""")
    with screen(lab, HEAD) as s:
        ready(s)
        s.press("delegate it", "enter")
        s.seen("I hear you.")
        s.press("y")
        s.until("❯ y")
        open_gate(lab)
        s.until("a question waits: tab")
        s.press("enter")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        assert "y" in prompts(lab), prompts(lab)
        assert not os.path.exists(os.path.join(lab.work, "removed"))
        s.press("tab")  # unless it has opened by itself
        s.until("wants to use Bash")
        s.until("in a moment", gone=True)
        s.press("1", "enter")
        s.seen('Agent "Remove it" finished')
        assert os.path.exists(os.path.join(lab.work, "removed"))
        leave(s)


def switches(pid, kind="voluntary"):
    """How often it went to sleep; of the kind "nonvoluntary": how often it had to wait while it worked."""
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        status = open("/proc/%d/task/%s/status" % (pid, task)).read()
        total += sum(int(n) for n in re.findall(r"(?m)^%s_ctxt_switches:\s+(\d+)" % kind, status))
    return total


def an_idle_prompt_does_nothing(lab):
    with screen(lab) as s:
        ready(s)
        s.press("hello", "enter")
        s.seen("I hear you.")
        ready(s)
        seconds = float(os.environ.get("CADRE_IDLE_SECONDS", "1.5"))

        def idle():  # not at once: what the turn wrote is on its way to the disk
            before = switches(s.pid, r"\w+")
            return not s._pump(time.monotonic() + seconds) and switches(s.pid, r"\w+") == before
        until(idle, "it always does something")
        leave(s)


if __name__ == "__main__":
    main(keys_are_those_of_the_file, the_help_and_the_documentation_name_every_key, the_keys_of_the_prompt_do_what_they_say,
         a_key_pressed_twice_means_twice_in_a_row, what_is_sent_now_interrupts_the_turn, an_interrupt_leaves_what_is_typed,
         a_slow_line_changes_nothing_but_the_time, keys_that_come_in_one_read_are_single_keys_where_letters_are_keys, twelve_agents_are_seven_rows_and_the_second_is_stopped,
         the_keys_of_vim_edit_and_the_mode_is_shown, ctrl_w_cuts_back_to_a_blank_if_the_setting_says_so, five_thousand_letters_are_one_prompt_with_and_without_brackets,
         three_pasted_lines_are_one_request, a_line_of_ten_megabytes_and_broken_characters_are_pasted,
         megabytes_without_brackets_are_marks_and_one_prompt, images_and_pdf_files_that_are_dropped_are_sent,
         an_image_of_the_clipboard_is_sent, up_and_down_are_rows_of_the_window, the_prompt_is_there_behind_the_question_for_widths, widths_are_asked_and_kept, keys_of_kitty_are_used_where_the_terminal_has_them,
         a_kill_gives_the_terminal_back, a_late_keeper_never_meets_a_new_terminal_of_the_same_name,
         a_shell_that_is_quicker_than_the_keeper_gets_the_main_screen_back,
         a_kill_of_a_stopped_program_leaves_the_terminal_to_what_has_it, a_stopped_program_gives_the_terminal_to_the_shell_and_comes_back,
         what_the_terminal_tells_during_a_turn_it_tells_behind_a_stop, views_and_questions_are_suspended_and_come_back,
         a_terminal_that_vanishes_leaves_a_session_that_can_be_resumed,
         a_letter_before_the_question_of_a_background_agent_is_a_prompt, an_idle_prompt_does_nothing)
