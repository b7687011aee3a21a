#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is typed into cadre on a terminal: keys and their file, vim, pastes, images, widths, and the terminal's own state."""
import json
import os
import re
import signal
import subprocess

from lab import CADRE, main
from test_tui import PLAIN, SCENARIO, leave, prompts, ready
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
        s.seen('Chat: ctrl+n: there is no action "chat:fly"')
        s.press("?")
        s.seen("ctrl+q ctrl+a, enter")
        s.press("C-d")
        assert s.wait() == 0
    assert prompts(lab) == ["a line"], prompts(lab)


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
    with screen(lab) as s:
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
        for mode in ("acceptEdits", "plan", r"01 . \? keys"):
            s.press("shift-tab")
            s.until(lambda rows, mode=mode: any(re.search(mode, r) for r in rows))
        s.press("C-x", "t")
        s.until("Agents: ")
        s.press("q")
        ready(s)
        s.press("esc")
        s.until("points to rewind to")
        s.press("esc")
        s.until("Set files back to before")
        s.press("esc")
        ready(s)
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


def twelve_agents_are_seven_rows_and_the_second_is_stopped(lab):
    calls = "".join("  call Agent {\"description\": \"Wait %02d\", \"prompt\": \"wait %02d\", \"subagent_type\": \"general-purpose\", "
                    "\"run_in_background\": true}\n" % (i, i) for i in range(12))
    lab.model("rule delegates\n  agent main\n  prompt contains \"delegate it\"\n  turn 1\n" + calls + """
rule waits
  prompt contains "wait"
  delay 600000
  text late
rule says
  text I hear you.
""", log=True)
    with screen(lab) as s:
        ready(s)
        s.press("delegate it", "enter")
        s.seen("I hear you.")
        s.until("12 agents: 12 run")
        s.press("half a line")
        s.until("❯ half a line")
        rows = s.rows()
        assert sum(bool(re.search(r"general-purpose Wait \d\d", r)) for r in rows) == 6 and any("and 6 more" in r for r in rows), rows
        second = [re.search(r"Wait \d\d", r)[0] for r in rows if "general-purpose Wait" in r][1]
        s.press("down", "down", "x")
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
        s.press("C-x", "C-k")
        s.until("again stop all agents")
        s.press("C-x", "C-k")
        s.until(lambda rows: not any(re.search(r"\d+ run", r) for r in rows))
        s.press("C-d")
        assert s.wait() == 0


# ---- vim -------------------------------------------------------------------------------------------------------------------


def the_keys_of_vim_edit_and_the_mode_is_shown(lab):
    configure(lab, "settings.json", {"editorMode": "vim", "vimInsertModeRemaps": {"jk": "<Esc>"},
                                     "statusLine": {"type": "command", "command": "cat > %s/state; exit 1" % lab.work}})
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
    assert json.load(open(os.path.join(lab.work, "state")))["hook_event_name"] == "Status"


if __name__ == "__main__":
    main(keys_are_those_of_the_file, the_help_and_the_documentation_name_every_key, the_keys_of_the_prompt_do_what_they_say,
         what_is_sent_now_interrupts_the_turn, twelve_agents_are_seven_rows_and_the_second_is_stopped,
         the_keys_of_vim_edit_and_the_mode_is_shown)
