#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lines for screen readers and dumb terminals: labels, numbered lists, no sequence at all; and `cadre doctor`."""
import json
import os
import subprocess
import sys

from lab import CADRE, ROOT, main

sys.path.insert(0, str(ROOT / "scripts"))
from pty_test import Terminal  # noqa: E402

SCENARIO = r"""
rule runs
  prompt contains "run it"
  turn 1
  call Bash {"command": "touch ran", "description": "r"}
rule counts
  prompt contains "count"
  turn 1
  call Bash {"command": "seq 1 200; seq 1 200 >&2; exit 3", "description": "c"}
  call Bash {"command": "seq 1 200", "description": "c"}
rule writes
  prompt contains "write"
  turn 1
  call Write {"file_path": "a.txt", "content": "old words\n"}
rule edits
  prompt contains "write"
  turn 2
  call Edit {"file_path": "a.txt", "old_string": "old", "new_string": "new"}
rule delegates
  agent main
  prompt contains "delegate"
  turn 1
  call Agent {"description": "Map it", "prompt": "map", "subagent_type": "general-purpose"}
rule two
  agent main
  prompt contains "have both"
  turn 1
  call Agent {"description": "Run it", "prompt": "run it", "subagent_type": "general-purpose"}
  call Agent {"description": "Take time", "prompt": "take time", "subagent_type": "general-purpose"}
rule waits
  prompt contains "take time"
  turn 1
  call Bash {"command": "until [ -e asked ]; do sleep 0.05; done", "description": "w"}
rule takes time
  prompt contains "take time"
  latency 3500
  text Done.
rule late
  prompt contains "late"
  latency 17000
  text Late.
rule table
  prompt contains "table"
  chunk 3
  text <<END
Two rows:
| name | what |
|---|---|
| one | *a* b |
| 日 | c |
The end.
| alone
END
rule says
  text I hear you.
"""


def reader(lab, *args, **env):
    if not lab.models:
        lab.model(SCENARIO, log=True)
    return Terminal([CADRE, *args], {**lab.env, "LANG": "C.UTF-8", **env}, lab.work, deadline_s=60)


def labels_stand_before_what_is_said(lab):
    for args, env in ((["--ax-screen-reader"], {"TERM": "xterm"}), ([], {"TERM": "xterm", "CLAUDE_AX_SCREEN_READER": "1"})):
        with reader(lab, *args, **env) as t:
            t.expect("you: ")
            t.type("hello")
            t.expect("agent: I hear you.")
            t.expect("done, ")
            t.expect("you: ")
            t.type("delegate")
            t.expect('subagent: Agent "Map it" begins')
            t.expect('subagent: Agent "Map it" finished')
            t.expect("you: ")
            t.key("C-d")
            assert t.wait() == 0
            assert b"\x1b" not in t.raw, t.raw


def a_table_is_read_as_sentences(lab):
    with reader(lab, "--ax-screen-reader", TERM="xterm") as t:
        t.expect("you: ")
        t.type("table")
        t.expect("agent: Two rows:\nname: one, what: a b.\nname: 日, what: c.\nThe end.\n| alone\ndone, ")
        t.expect("you: ")
        t.key("C-d")
        assert t.wait() == 0
    with reader(lab, "--plain", TERM="dumb") as t:
        t.expect("> ")
        t.type("table")
        t.expect("Two rows:\n| name | what |\n|---|---|\n| one | *a* b |\n")
        t.expect("> ")
        t.key("C-d")
        assert t.wait() == 0


def the_setting_does_the_same(lab):
    path = os.path.join(lab.env["HOME"], ".claude")
    os.makedirs(path)
    with open(os.path.join(path, "settings.json"), "w") as f:
        json.dump({"axScreenReader": True}, f)
    with reader(lab, TERM="xterm") as t:
        t.expect("you: ")
        t.type("hello")
        t.expect("agent: I hear you.")
        t.expect("you: ")
        t.key("C-d")
        assert t.wait() == 0
        assert b"\x1b" not in t.raw, t.raw


def a_permission_is_a_numbered_list(lab):
    with reader(lab, "--ax-screen-reader", TERM="xterm") as t:
        t.expect("you: ")
        t.type("run it")
        t.expect("tool: Bash touch ran")
        t.expect("Permission Required: cadre wants to use Bash:")
        t.expect("1. Yes")
        t.expect("2. Yes, for this session")
        t.expect("3. Yes, always")
        t.expect("4. No")
        t.expect("Enter 1 to 4")
        t.type("9")
        t.expect("Enter 1 to 4")
        t.type("1")
        t.expect("agent: I hear you.")
        t.expect("you: ")
        t.key("C-d")
        assert t.wait() == 0
    assert os.path.exists(os.path.join(lab.work, "ran"))


def a_dumb_terminal_gets_no_sequence_and_is_told_of_children_and_time(lab):
    with reader(lab, TERM="dumb") as t:
        t.expect("> ")
        t.type("delegate")
        t.expect('Agent "Map it" begins')
        t.expect('Agent "Map it" finished')
        t.expect("> ")
        t.type("late")
        t.expect("still working, 1")
        t.expect("Late.")
        t.expect("> ")
        t.type("/mode wild")  # a line is one, however wide the window is
        t.expect("unknown permission mode 'wild': expected default, acceptEdits, plan, dontAsk, auto or bypassPermissions")
        t.type("/copy")
        t.expect("the last answer is not copied: this terminal has no clipboard")
        t.send(b"\x16")
        t.expect("this terminal has no clipboard")
        t.key("C-d")
        assert t.wait() == 0
        assert b"\x1b" not in t.raw, t.raw


def output_and_differences_stand_below_their_call(lab):
    """Folded, as in the view"""
    with reader(lab, "--permission-mode=acceptEdits", "--allowedTools=Bash(seq *),Bash(exit *)", TERM="dumb") as t:
        t.expect("> ")
        t.type("count")
        t.expect("* Bash seq 1 200")
        t.expect("Exit code 3")
        t.expect("    1\n    2\n")
        t.expect("lines more\n")
        t.expect("    200\n")
        t.expect("    1\n    2\n    3\n    ... 192 lines more\n    196\n    197\n    198\n    199\n    200\n")
        t.expect("I hear you.")
        t.expect("> ")
        t.type("write")
        t.expect("* Edit a.txt")
        t.expect("1 - old words")
        t.expect("1 + new words")
        t.expect("> ")
        t.key("C-d")
        assert t.wait() == 0
        assert b"\x1b" not in t.raw, t.raw


def a_question_is_alone_while_it_waits(lab):
    """No prompt is drawn before it, and the turn is not said to work while the user is asked."""
    with reader(lab, "--allowedTools=Bash(until *)", TERM="dumb") as t:
        t.expect("> ")
        t.type("have both")
        t.expect("wants to use Bash")
        t.expect("Enter 1 to 4")
        open(os.path.join(lab.work, "asked"), "w").close()
        t.expect('Agent "Take time" finished')  # after the time of a hint
        t.expect("Enter 1 to 4")
        t.type("1")
        t.expect("I hear you.")
        t.expect("> ")
        t.key("C-d")
        assert t.wait() == 0
    asked = t.text[t.text.index("wants to use Bash"):t.text.index("I hear you.")]
    assert "still working" not in asked and "\n> " not in asked and "\r> " not in asked, asked


def tab_completes_names_of_files_and_commands_or_lists_them(lab):
    for name in ("parse.c", "parse.h", "other.md"):
        open(os.path.join(lab.work, name), "w").close()
    os.mkdir(os.path.join(lab.work, "odd dir"))
    open(os.path.join(lab.work, "odd dir", "two words.md"), "w").close()
    for args, term in ((["--plain"], "xterm"), ([], "dumb")):
        with reader(lab, *args, TERM=term) as t:
            t.expect("> ")
            for typed, shown in (("@od", "@od"), ("\t", '"odd dir/'), ("\t", 'two words.md" ')):
                t.send(typed.encode())
                t.expect(shown)
            t.send(b"\x15")
            for typed, shown in (("see @pa", "see @pa"), ("\t", "rse."), ("\t", "  @parse.c")):
                t.send(typed.encode())
                t.expect(shown)
            t.expect("  @parse.h")
            t.expect("see @parse.")
            for typed, shown in (("h", "h"), ("\t", " "), ("and @ot", "and @ot"), ("\t", "her.md"), ("\r", "I hear you.")):
                t.send(typed.encode())
                t.expect(shown)
            t.expect("> ")
            t.send(b"/statu")
            t.expect("/statu")
            t.send(b"\t")
            t.expect("s")
            t.send(b"\t")
            t.expect("  /statusline  your status command")
            t.expect("/status")
            t.send(b"\x15")
            t.key("C-d")
            assert t.wait() == 0
        [text] = [b["text"] for b in lab.models[0].bodies()[-1]["messages"][-1]["content"] if b["type"] == "text" and b["text"].startswith("see")]
        assert text.startswith("see @parse.h and @other.md"), text


def keys_that_cannot_be_meant_are_findings(lab):
    path = os.path.join(lab.env["HOME"], ".claude")
    os.makedirs(path, exist_ok=True)
    for text, state, word in (('{"bindings": [{"context": "Chat", "bindings": {"ctrl+e": "chat:fly"}}]}', "bad", "chat:fly"),
                              ('{"bindings": [{"context": "Chat", "bindings": {"ctrl+e": "chat:externalEditor"}}]}', "ok", "")):
        with open(os.path.join(path, "keybindings.json"), "w") as f:
            f.write(text)
        found = json.loads(lab.cadre("doctor", "--json", env={"LANG": "C.UTF-8"}).out)
        [keys] = [f for f in found["findings"] if f["subject"] == "keybindings"]
        assert keys["state"] == state and word in keys["text"], keys


def the_doctor_names_what_is_wrong(lab):
    def doctor(**env):
        return subprocess.run([CADRE, "doctor"], cwd=lab.work, env={**lab.env, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    good = doctor(TERM="xterm-256color", LANG="C.UTF-8")
    lines = dict(line[6:].split(None, 1) for line in good.stdout.splitlines())
    assert good.returncode == 0 and "xterm-256color" in lines["terminal"] and lines["characters"] == "UTF-8", good
    assert "the variable ANTHROPIC_API_KEY; address: " in lines["key"], good
    found = json.loads(lab.cadre("doctor", "--json", env={"LANG": "C.UTF-8"}).out)
    assert found["bad"] == 0 and {"subject": "characters", "state": "ok", "text": "UTF-8"} in found["findings"], found
    path = os.path.join(lab.env["HOME"], ".claude")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "settings.json"), "w") as f:
        f.write('{"theme": "mauve"}')
    odd = doctor(TERM="dumb", LANG="C", LC_ALL="C", ANTHROPIC_API_KEY="", NO_COLOR="1")
    assert "TERM is dumb: lines only" in odd.stdout and "set LANG to a UTF-8 locale" in odd.stdout, odd.stdout
    assert "no API key: set ANTHROPIC_API_KEY" in odd.stdout and "NO_COLOR is set" in odd.stdout and "theme" in odd.stdout, odd.stdout
    with open(os.path.join(path, "settings.json"), "w") as f:
        f.write('{"permissions": {"deny": "Bash"')
    bad = doctor()
    assert bad.returncode == 1 and "BAD   agents" in bad.stdout and "settings.json:1:32" in bad.stdout, (bad.returncode, bad.stdout)


if __name__ == "__main__":
    main(labels_stand_before_what_is_said, a_table_is_read_as_sentences, the_setting_does_the_same, a_permission_is_a_numbered_list,
         a_dumb_terminal_gets_no_sequence_and_is_told_of_children_and_time, output_and_differences_stand_below_their_call,
         a_question_is_alone_while_it_waits, tab_completes_names_of_files_and_commands_or_lists_them,
         keys_that_cannot_be_meant_are_findings, the_doctor_names_what_is_wrong, at_once=2)
