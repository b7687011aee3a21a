#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same conversation in xterm.js, the terminal of VS Code, and in tmux: both wrap rows again when the window changes its size."""
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import uuid

from lab import CADRE, main, until
from test_tui import PLAIN, SCENARIO, leave, prompts, ready
from xterm import Xterm


def screen(lab, *args, **more):
    if not lab.models:
        lab.model(SCENARIO, log=True)
    return Xterm(lab, *args, **{"env": {**PLAIN, "TERM_PROGRAM": "vscode"}, **more})


def every_line_is_there_once(rows):
    for i in range(60):
        assert rows.count("shell line %02d" % i) == 1, (i, rows.count("shell line %02d" % i))
    found = [r for r in rows if re.fullmatch(r"finished line \d+\.", r)]
    assert found == ["finished line %03d." % i for i in range(300)], [r for r in found if found.count(r) != 1] or len(found)


def a_resize_of_xterm_js_keeps_every_line_once(lab):
    before = "".join("shell line %02d\n" % i for i in range(60))
    with screen(lab, size=(110, 40), before=before) as s:
        ready(s)
        s.press("lines", "enter")
        s.seen("finished line 299.")
        ready(s)
        long = "a line that is longer than a narrow window, with the cursor at its end, as long as it may get here ok"
        s.press(long)
        s.until(long)
        for columns in (70, 30, 110, 45, 90, 110):
            s.resize(columns, 40)
            s.quiet()
            s.press("x")
            long += "x"
        s.until("❯ " + long)
        every_line_is_there_once(s.all())
        assert sum("a line that is longer" in r for r in s.all()) == 1, s.all()[-20:]
        assert json.load(open(os.path.join(lab.env["HOME"], ".claude", "cadre", "terminals.json"))) == {"vscode": "2 4 1"}
        s.press("C-u")
        leave(s)


@contextlib.contextmanager
def inside_tmux(lab):
    """Gives tmux(*words), and seen(text), which waits for a text in the pane or its history."""
    lab.model(SCENARIO)
    name = "cadre-" + uuid.uuid4().hex[:8]
    env = {**lab.env, "NO_COLOR": "1", "LANG": "C.UTF-8", "TERM": "screen"}
    conf = os.path.join(lab.work, "tmux.conf")
    with open(conf, "w") as f:
        f.write("set -g history-limit 5000\nset -g status off\n")

    def tmux(*words):
        return subprocess.run(["tmux", "-L", name, "-f", conf, *words], env=env, check=True, text=True, stdout=subprocess.PIPE).stdout

    def seen(text):
        until(lambda: text in tmux("capture-pane", "-p", "-J", "-S", "-"), lambda: (text, tmux("capture-pane", "-p", "-S", "-")))
    try:
        tmux("new-session", "-d", "-x", "110", "-y", "40", "-c", lab.work, "sh", "-c",
             'i=0; while [ $i -lt 60 ]; do printf "shell line %02d\\n" $i; i=$((i+1)); done; stty -g > before; ' + CADRE +
             '; touch over; exec cat')
        seen("? keys")
        yield tmux, seen
    finally:
        subprocess.run(["tmux", "-L", name, "kill-server"], env=env, check=False, stderr=subprocess.DEVNULL)


def resizes_of_tmux_leave_no_row_behind(lab):
    """Wide characters at the edge; a size that tmux tells later than it has it; a region that begins in the first row of the screen"""
    cases = ((("a" * 90, "b"), ("50",)), (("c", "d" * 90), ("45",)), (("e" + "日" * 29 + "f", "g"), ("31", "30")), (("h", "日" * 45), ("29", "31")),
             (("i" * 90, "日" * 40, "j"), ("60", "20")), (("k" * 90, "l" * 90), ("70", "50", "20")),
             (("m" * 90, "n" * 90), ("70", "late 45")), (("o" * 90, "p" * 60), ("70", "late 40")), (("q", "r", "s"), ("110x3",)))
    def resize(*sizes):
        with open(tmux("display", "-p", "#{pane_tty}").strip()) as tty:
            for size in sizes:  # tmux has the next one at once, and tells the program of it 250 ms behind the one before
                columns, _, height = size.removeprefix("late ").partition("x")
                tmux("resize-window", "-x", columns, "-y", height or "40")
                if "late" in size:  # a machine with other work: it tells it when the program believes that the size has settled
                    os.kill(server, signal.SIGSTOP)
                    select.select([], [], [], 0.5)
                    os.kill(server, signal.SIGCONT)
                until(lambda: os.get_terminal_size(tty.fileno()) == (int(columns), int(height or 40)), "it was not told the size")

    with inside_tmux(lab) as (tmux, seen):
        server = int(tmux("display", "-p", "#{pid}"))
        for number, (rows, sizes) in enumerate(cases):
            for i, row in enumerate(rows):
                if i:
                    tmux("send-keys", "C-j")
                tmux("send-keys", "-l", "%d:%d%s" % (number, i, row))
            seen("%d:%d%s" % (number, len(rows) - 1, rows[-1]))
            resize(*sizes)
            tmux("send-keys", "-l", "!%d" % number)  # drawn when the size has settled
            seen("!%d" % number)
            resize("110")
            tmux("send-keys", "-l", "?%d" % number)
            seen("?%d" % number)
            text = tmux("capture-pane", "-p", "-J", "-S", "-")
            for i in range(len(rows)):
                assert text.count("%d:%d" % (number, i)) == 1, (rows, sizes, text[-3000:])
            assert all(text.count("shell line %02d" % i) == 1 for i in range(60)), (sizes, text)
            tmux("send-keys", "C-u", *["BSpace", "C-u"] * (len(rows) - 1))
            tmux("send-keys", "-l", "/version")
            seen("❯ /version")
            tmux("send-keys", "Enter")  # the region is low on the screen again
            until(lambda: "\n❯\n" in tmux("capture-pane", "-p"), "no prompt")


def a_resize_of_tmux_keeps_every_line_once(lab):
    with inside_tmux(lab) as (tmux, seen):
        tmux("send-keys", "lines", "Enter")
        seen("finished line 299.")
        seen("? keys")
        tmux("send-keys", "-l", "a line that is longer than a narrow window, with the cursor at its end, as long as it may get ok")
        seen("as it may get ok")
        for number, columns in enumerate(("70", "30", "110", "45", "110")):
            tmux("resize-window", "-x", columns, "-y", "40")
            select.select([], [], [], 0.4)  # the window has settled, and what follows is typed in it
            tmux("send-keys", "x")
            until(lambda: "getok" + "x" * (number + 1) in re.sub(r"\s", "", tmux("capture-pane", "-p")), lambda: tmux("capture-pane", "-p"))
        seen("as it may get okxxxxx")
        rows = [r.rstrip() for r in tmux("capture-pane", "-p", "-J", "-S", "-").split("\n")]
        every_line_is_there_once(rows)
        assert json.load(open(os.path.join(lab.env["HOME"], ".claude", "cadre", "terminals.json"))) == {"tmux": "4 2 1"}
        # a view that is resized: the input is below the answer, once
        for columns in ("40", "110"):
            tmux("send-keys", "C-x", "t")
            seen("no agent was started")
            tmux("resize-window", "-x", columns, "-y", "30")
            select.select([], [], [], 0.4)
            tmux("send-keys", "q", "y")
            seen("okxxxxx" + "yy"[:1 + (columns == "110")])
        every_line_is_there_once([r.rstrip() for r in tmux("capture-pane", "-p", "-J", "-S", "-").split("\n")])
        text = tmux("capture-pane", "-p", "-J", "-S", "-")
        assert text.count("with the cursor") == 1, text[-3000:]
        # kill -9: nothing is left on
        tmux("send-keys", "C-u", "C-x", "t")
        seen("no agent was started")
        pane = int(tmux("display", "-p", "#{pane_pid}"))
        pid = subprocess.run(["pgrep", "-P", str(pane), "cadre"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[0]
        os.kill(int(pid), 9)
        until(lambda: os.path.exists(os.path.join(lab.work, "over")), "the shell does not go on")
        until(lambda: tmux("display", "-p", "#{mouse_any_flag}#{alternate_on}").strip() == "00", "the terminal is not as before")
        tmux("send-keys", "-l", "typed and seen")
        seen("typed and seen")


def what_is_typed_in_a_turn_is_not_in_the_answer(lab):
    with screen(lab, size=(80, 24)) as s:
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
        assert answer == ["❯ hello"] and not any("^[" in row for row in s.all()), answer
        s.press("C-u")
        leave(s)


def marks_and_pastes_work_in_xterm_js(lab):
    with screen(lab) as s:
        ready(s)
        s.paste("x" * 5000)
        s.until("[paste 1: 1 line, 4.9KB]")
        s.press("enter")
        s.seen("I hear you.")
        ready(s)
        s.press("😀👍🏽日本", "left", "left", "x")
        s.until(lambda rows: "❯ 😀👍🏽x日本" in rows)
        s.press("end", "C-u")
        leave(s)
    assert prompts(lab) == ["x" * 5000]


if __name__ == "__main__":
    main(a_resize_of_xterm_js_keeps_every_line_once, a_resize_of_tmux_keeps_every_line_once, resizes_of_tmux_leave_no_row_behind, what_is_typed_in_a_turn_is_not_in_the_answer,
         marks_and_pastes_work_in_xterm_js)
