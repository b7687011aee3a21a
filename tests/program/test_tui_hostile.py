#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Foreign text on the terminal: whatever a model, a server, a hook, a file or a paste brings, the terminal gets sequences of ours only.
And windows that nobody would choose."""
import json
import os
import re
import signal
import subprocess
import sys

from lab import CADRE, main, until
from test_tui import HEAD, PLAIN, asked, gate, leave, open_gate, ready, screen

# every kind once: OSC, DCS, APC, SOS, PM, CSI with questions, the end of a paste, 8-bit controls, shifts, readings from right to left
KINDS = ["\x1b]52;c;b3duZWQ=\a", "\x1b]0;owned\x1b\\", "\x1b]1337;File=:x\a", "\x1bP+q544e\x1b\\", "\x1b_Ga=T;AAAA\x1b\\", "\x1bXowned\x1b\\", "\x1b^owned\x1b\\",
         "\x1b[201~", "\x1b[200~", "\x1b[?1049h", "\x1b[?1000h", "\x1b[6n", "\x1b[c", "\x1b[21t", "\x1b[!p", "\x1b#8", "\x1b%G", "\x1bc", "\u0090q\u009c", "\u0098x\u009c",
         "\u009b2J", "\u009d0;owned\u009c", "\u009ex\u009c", "\u009fx\u009c", "\u0084\u0085\u008d", "\x07\x08\x0b\x0c\x0e\x0f\x7f", "\u202eturned\u202c", "\u2066x\u2069"]
HOSTILE = "h" + " ".join(KINDS) + " e"
WIDE = "日本語 e\u0301\u0323 👨‍👩‍👧‍👦 אבג \t| \u200b\u200d\u2060 ｆｕｌｌ ก็ 🇩🇪🇫🇷 \ufeff"
OURS = re.compile(rb"\x1b\[\d*[ABCGJK]|\x1b\[[0-9;]*m|\x1b\[\?(25|2004|2026|1004|1049)[hl]|\x1b\[\?u|\x1b\[[<>]\d*u|\x1b\[6n|\x1b\[H"
                  rb"|\x1b\]0;(cadre[^\a\x1b]*)?\a|\x1b\]133;[ACD](;\d)?\a|\x1b\]11;\?\x1b\\|\x1b\]8;;[^\a\x1b]*\x1b\\")
FOUND = re.compile(rb"\x1b\[[0-9;?<>=!]*[@-~]|\x1b\][^\a\x1b]*(?:\a|\x1b\\)|\x1b[^\[\]]|[\x00-\x06\x0b\x0c\x0e-\x1a\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")

SERVER = r'''
import json, sys
H = json.loads(%r)
def say(m): print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        say({"id": m["id"], "result": {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
             "serverInfo": {"name": H, "version": H}, "instructions": H}})
    elif m.get("method") == "tools/list":
        say({"id": m["id"], "result": {"tools": [{"name": "book", "title": H, "description": H, "inputSchema": {"type": "object"}}]}})
    elif m.get("method") == "prompts/list":
        say({"id": m["id"], "result": {"prompts": [{"name": "greet", "title": H, "description": H}]}})
    elif m.get("method") == "resources/list":
        say({"id": m["id"], "result": {"resources": [{"uri": "mem://x", "name": H, "description": H}]}})
    elif m.get("method") == "tools/call":
        call = m["id"]
        say({"method": "notifications/progress", "params": {"progressToken": (m["params"].get("_meta") or {}).get("progressToken", 0), "progress": 1, "message": H}})
        say({"id": 77, "method": "elicitation/create", "params": {"message": H, "requestedSchema": {
            "type": "object", "properties": {"name": {"type": "string", "title": H, "description": H}, "place": {"type": "string", "enum": [H, "b"]}}}}})
    elif m.get("id") == 77:
        say({"id": call, "result": {"content": [{"type": "text", "text": H}], "isError": True}})
    elif "id" in m:
        say({"id": m["id"], "result": {}})
'''


def scenario():
    q = json.dumps({"questions": [{"question": HOSTILE + "?", "header": "\x1b]0;o\x07", "multiSelect": False,
                                   "options": [{"label": HOSTILE, "description": HOSTILE}, {"label": "b", "description": ""}]}]})
    rules = (("answers", ["text %s" % json.dumps(HOSTILE + "\n\n" + "\n\n".join(KINDS) + "\n\nend of it")]),
             ("thinks", ["thinking %s" % json.dumps(HOSTILE), "text end of it"]),
             ("asks", ["turn 1", "call AskUserQuestion " + q]),
             ("runs", ["turn 1", "call Bash " + json.dumps({"command": "cat bytes; exit 3", "description": HOSTILE})]),
             ("touches", ["turn 1", "call Bash " + json.dumps({"command": "touch x '%s'" % HOSTILE, "description": HOSTILE})]),
             ("lists", ["turn 1", "call TaskCreate " + json.dumps({"subject": HOSTILE, "description": HOSTILE})]),
             ("books", ["turn 1", "call mcp__clerk__book {}"]),
             ("edits", ["turn 1", "call Write " + json.dumps({"file_path": HOSTILE.replace("/", "")[:90], "content": HOSTILE})]),
             ("plans", ["turn 1", "call ExitPlanMode " + json.dumps({"plan": HOSTILE})]),
             ("delegates", ["agent main", "turn 1", "call Agent " + json.dumps({"description": HOSTILE[:100], "prompt": "job", "subagent_type": "general-purpose",
                                                                            "name": "x"})]))
    text = "".join("rule %s\n  prompt contains \"go %s\"\n  %s\n" % (name, name, "\n  ".join(lines)) for name, lines in rules)
    return text + "rule says\n  text %s\n" % json.dumps("end of it " + HOSTILE)


def check(s):
    odd = [one for one in FOUND.findall(s.raw) if not OURS.fullmatch(one)]
    assert not odd, odd[:10]


def hostile(lab):
    lab.model(scenario(), log=True)
    with open(os.path.join(lab.work, "bytes"), "w") as f:
        f.write(HOSTILE + "\n")
    with open(os.path.join(lab.work, "f" + "".join(KINDS).replace("/", "")[:60] + ".txt"), "w") as f:
        f.write(HOSTILE)
    with open(os.path.join(lab.work, "clerk.py"), "w") as f:
        f.write(SERVER % json.dumps(HOSTILE))
    config = os.path.join(lab.home, ".claude")
    os.makedirs(os.path.join(config, "skills", "polish"))
    with open(os.path.join(config, "skills", "polish", "SKILL.md"), "w") as f:
        f.write("---\nname: polish\ndescription: %s\n---\nShine.\n" % json.dumps(HOSTILE))
    for name, fields in (("agents/x.md", ("name", "description", "model", "color", "tools")), ("output-styles/x.md", ("name", "description"))):
        os.makedirs(os.path.dirname(os.path.join(config, name)), exist_ok=True)
        with open(os.path.join(config, name), "w") as f:
            f.write("---\n%s---\nDo.\n" % "".join("%s: %s\n" % (field, json.dumps(HOSTILE)) for field in fields))
    with open(os.path.join(lab.work, "hook.py"), "w") as f:
        f.write("import json\nprint(json.dumps({'systemMessage': %r}))\n" % HOSTILE)
    with open(os.path.join(config, "settings.json"), "w") as f:
        json.dump({"statusLine": {"type": "command", "command": "cat bytes"},
                   "permissions": {"allow": ["Bash(%s)" % HOSTILE]}, "outputStyle": HOSTILE,
                   "hooks": {"Stop": [{"hooks": [{"type": "command", "command": sys.executable + " hook.py"}]}]}}, f)
    subprocess.run(["git", "init", "-q"], cwd=lab.work, check=True)
    with open(os.path.join(lab.work, ".git", "HEAD"), "w") as f:
        f.write("ref: refs/heads/%s\n" % HOSTILE)
    return json.dumps({"mcpServers": {"clerk": {"command": sys.executable, "args": [os.path.join(lab.work, "clerk.py")]},
                                      "missing" + HOSTILE: {"command": "/no/such" + HOSTILE}}})


CASES = (("answers", False), ("thinks", False), ("lists", False), ("runs", False), ("touches", True), ("asks", True), ("books", True), ("edits", True), ("plans", False), ("delegates", False))
VIEWS = ((("C-o",), "q leaves", "q"), (("/diff", "enter"), "Changes since", "q"), (("C-x", "t"), "Agents: ", "q"), (("@fh",), "@f", "C-u"), (("/pol",), "/polish", "C-u"),
         (("/skills", "enter"), "userSettings", "C-u"), (("/mcp", "enter"), "connected", "C-u"), (("/hooks", "enter"), "command: ", "C-u"),
         (("/context", "enter"), " tokens (", "C-u"), (("/status", "enter"), "session", "C-u"), (("/permissions", "enter"), "esc leaves", "esc"), (("/usage", "enter"), "$", "C-u"),
         (("/agents", "enter"), "userSettings", "C-u"), (("/model", "enter"), "esc leaves", "esc"), (("/output-style", "enter"), "esc leaves", "esc"), (("/memory", "enter"), "esc leaves", "esc"),
         (("/rewind", "enter"), "esc leaves", "esc"), (("/resume", "enter"), "esc leaves", "esc"), (("@agent-",), "@agent-", "C-u"))


def ends(s):
    return sum("end of it" in row for row in s.above + s.rows())


def no_text_of_others_is_more_than_text(lab):
    """In answers, thoughts, questions, output, names of files, tasks, models, agents, styles, branches and servers, rules, texts of servers and
    hooks, the status line, titles and pastes"""
    servers = hostile(lab)
    for plain in (True, False):  # so that there is an earlier session to resume
        args = ("--plain",) if plain else ()
        with screen(lab, "--mcp-config", servers, "--allowedTools=mcp__clerk__book,TaskCreate", "--name", "n" + HOSTILE, "--model", "m" + HOSTILE, *args, size=(100, 40), env={**PLAIN, "TERM_PROGRAM": "iTerm.app"}) as s:
            s.until(">" if plain else "❯")
            for words, asks in CASES:
                before = ends(s)
                s.press("go " + words, "enter")
                if asks:
                    s.until(lambda rows: any(w in r for r in rows for w in ("1-9 choose", "esc declines", "say why:", "A number")))
                    s.until("in a moment", gone=True)
                    s.press(*(("C-d",) if plain else ("esc",)))
                s.until(lambda rows: ends(s) > before and rows[s.cursor()[0]].rstrip() in ("❯", ">") and not any("esc interrupts" in r for r in rows))
            for keys, text, close in () if plain else VIEWS:
                lists = keys[-1] == "enter" and close == "C-u"  # what they say has come when it is below their own line
                before = len(asked(s, keys[0]))
                s.press(*keys)
                s.until(lambda rows: len(at := asked(s, keys[0])) > before and any(text in r for r in s.all()[at[-1] + 1:]) if lists else any(text in r for r in rows))
                s.press(close)
                s.until(lambda rows: rows[s.cursor()[0]].rstrip() == "❯")
            before = ends(s)
            s.paste("pasted " + HOSTILE.replace("\x1b[201~", ""))
            s.press("enter")
            s.until(lambda rows: ends(s) > before)
            s.press("C-d", "C-d")
        check(s)


def widths_of_others_leave_the_rows_whole(lab):
    """Wide and combining characters, readings from right to left, tabs, marks without a width: each row of the view is where it was meant"""
    lab.model("rule says\n  text %s\n" % json.dumps(WIDE + "\n\n| a | b |\n|---|---|\n| %s | x |\n\nend of it" % WIDE.replace("|", "")), log=True)
    for columns in (20, 80, 200):
        with screen(lab, size=(columns, 24)) as s:
            s.until("❯")
            s.press("say it", "enter")
            s.seen("end of it")
            s.until(lambda rows: rows[s.cursor()[0]] == "❯" and not any("interrupts" in r for r in rows))
            s.paste(WIDE.replace("\t", ""))
            s.until(lambda rows: "｜" not in "".join(rows) and "日本語" in rows[s.cursor()[0]] or any(r.startswith("❯ 日本語") for r in rows))
            s.press("C-e", "C-u", "x")
            s.until(lambda rows: rows[s.cursor()[0]] == "❯ x" and s.cursor()[1] == 3)
            s.press("backspace", "C-d", "C-d")
            assert s.wait() == 0


def windows_of_any_size_and_storms_of_resizes_end_well(lab):
    """The last words come behind the storm: what stands there is cut by a terminal that gets narrow."""
    os.mkfifo(os.path.join(lab.work, "gate"))
    lab.model("rule says\n  turn 1\n  chunk 20\n  delay 2\n  text %s\n  call Bash {\"command\": \"head -n 1 gate\", \"description\": \"w\"}\nrule ends\n  text end of it\n"
              % json.dumps("\n\n".join("line %d of it" % i for i in range(60))), log=True)
    for size in ((1, 1), (5, 3), (2, 50), (500, 2), (500, 200)):
        with screen(lab, HEAD, size=size) as s:
            s.until_raw(lambda raw: b"\x1b[?2004h" in raw)
            s.send("go")
            s.press("enter")
            for i in range(40):
                s.resize(*((1, 1), (5, 3), (500, 60), (80, 24), (3, 90))[i % 5])
                s._pump(0)
            s.resize(80, 24)
            open_gate(lab)
            s.seen("end of it")
            ready(s)
            leave(s)


def a_suspended_editor_comes_back(lab):
    """Ctrl-Z in the editor that Ctrl-G opened: cadre waits for it; afterwards its text is in the line."""
    lab.model("rule says\n  text I hear you.\n", log=True)
    with open(os.path.join(lab.work, "editor.sh"), "w") as f:
        f.write("#!/bin/sh\necho $$ > pid\nkill -STOP $$\necho edited >> \"$1\"\n")
    os.chmod(os.path.join(lab.work, "editor.sh"), 0o755)
    with screen(lab, env={**PLAIN, "EDITOR": os.path.join(lab.work, "editor.sh")}) as s:
        ready(s)
        s.press("words ", "C-g")
        pid = os.path.join(lab.work, "pid")
        until(lambda: open("/proc/%s/stat" % open(pid).read().strip()).read().rsplit(") ", 1)[1].startswith("T"), "the editor does not stop")
        os.kill(int(open(pid).read()), signal.SIGCONT)
        s.until("edited")
        s.press("enter")
        s.seen("I hear you.")
        leave(ready(s))


def whatever_an_editor_does_the_draft_is_whole(lab):
    """Ctrl-C in one that leaves the keys to the terminal, a failure, a file that is not UTF-8, output in the middle of a row"""
    lab.model("rule says\n  text I hear you.\n", log=True)
    cases = ((": > began; exec sleep 600", "❯ words", True), ("echo never > \"$1\"; exit 3", "❯ words", False),
             ("printf 'caf\\351 \\000x\\360' > \"$1\"", "❯ caf�  x�", False),
             ("printf rest; echo other > \"$1\"", "❯ other", False))
    for number, (script, shown, interrupt) in enumerate(cases):
        path = os.path.join(lab.work, "editor%d.sh" % number)
        with open(path, "w") as f:
            f.write("#!/bin/sh\n" + script + "\n")
        os.chmod(path, 0o755)
        with screen(lab, env={**PLAIN, "EDITOR": path}) as s:
            ready(s)
            s.press("words", "C-g")
            if interrupt:
                until(lambda: os.path.exists(os.path.join(lab.work, "began")), "the editor does not begin")
                s.send("\x03")
            if shown == "❯ words":
                s.until_raw(lambda raw: b"the editor failed" in raw)  # it is shown for two seconds
            s.until(lambda rows: shown in rows)
            s.press("!")
            s.until(lambda rows: shown + "!" in rows)


def agents_work_while_an_editor_has_the_terminal(lab):
    """A turn continues, and is on the screen when the editor ends; a question that came meanwhile waits."""
    gate(lab, "begin", """
rule removes
  prompt contains "begin"
  turn 2
  call Bash {"command": "touch removed", "description": "r"}
rule says
  text I hear you.
""")
    path = os.path.join(lab.work, "editor.sh")
    with open(path, "w") as f:
        f.write("#!/bin/sh\nmkfifo wait; printf 'it is '; touch began; read line < wait; echo $line > \"$1\"; printf open\n")
    os.chmod(path, 0o755)
    with screen(lab, HEAD, env={**PLAIN, "EDITOR": path}) as s:
        ready(s)
        s.press("begin", "enter")
        s.until("esc interrupts")
        s.press("words", "C-g")
        until(lambda: os.path.exists(os.path.join(lab.work, "began")), "the editor does not begin")
        open_gate(lab)
        until(lambda: len(list(lab.models[0].bodies())) > 1, "the turn waits for the editor")
        os.kill(s.pid, signal.SIGWINCH)
        with open(os.path.join(lab.work, "wait"), "w") as f:
            f.write("1 edited\n")
        s.until_raw(lambda raw: b"it is open" in raw)  # and nothing of ours in between
        s.until(lambda rows: "❯ 1 edited" in rows and any("a question waits: tab" in row for row in rows))
        s.press("tab")
        s.until("1-9 choose")
        assert not os.path.exists(os.path.join(lab.work, "removed"))


def an_editor_that_stops_its_group_gives_the_shell_the_terminal(lab):
    """As Ctrl-Z in vim does"""
    lab.model("rule says\n  text I hear you.\n")
    path = os.path.join(lab.work, "editor.sh")
    with open(path, "w") as f:
        f.write("#!/bin/sh\nkill -TSTP 0\necho edited > \"$1\"\n")
    os.chmod(path, 0o755)
    with screen(lab, "--norc", "--noprofile", "-i", program="bash", env={**PLAIN, "PS1": "shell> ", "EDITOR": path}) as s:
        s.until("shell>")
        s.press(CADRE, "enter")
        ready(s)
        s.press("words", "C-g")
        s.until(lambda rows: rows[s.cursor()[0]] == "shell>")
        s.press("fg", "enter")
        s.until(lambda rows: rows[s.cursor()[0]] == "❯ edited")
        s.press("C-c", "C-d", "C-d")
        s.until(lambda rows: rows[s.cursor()[0]] == "shell>")


def an_editor_ends_with_the_program(lab):
    """SIGTERM, also if the editor takes no notice of it"""
    lab.model("rule says\n  text I hear you.\n")
    for script in ("echo $$ > pid; exec sleep 600", "trap '' HUP TERM; echo $$ > pid; exec sleep 600"):
        path, pid = os.path.join(lab.work, "editor.sh"), os.path.join(lab.work, "pid")
        with open(path, "w") as f:
            f.write("#!/bin/sh\n" + script + "\n")
        os.chmod(path, 0o755)
        with screen(lab, env={**PLAIN, "EDITOR": "exec " + path}) as s:
            ready(s)
            s.press("words", "C-g")
            editor = until(lambda: int(open(pid).read()), "the editor does not begin")
            os.kill(s.pid, signal.SIGTERM)
            assert s.wait() == 128 + signal.SIGTERM
            assert not os.path.exists("/proc/%d" % editor)
            assert s.raw.rfind(b"\x1b[?2004l") > s.raw.rfind(b"\x1b[?2004h")
        os.unlink(pid)


if __name__ == "__main__":
    main(no_text_of_others_is_more_than_text, widths_of_others_leave_the_rows_whole, windows_of_any_size_and_storms_of_resizes_end_well,
         a_suspended_editor_comes_back, whatever_an_editor_does_the_draft_is_whole, agents_work_while_an_editor_has_the_terminal,
         an_editor_that_stops_its_group_gives_the_shell_the_terminal, an_editor_ends_with_the_program)
