#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Commands behind a slash on the terminal: what they show, change and store, and that none of them reaches the model."""
import base64
import json
import os
import pathlib
import re
import subprocess
import sys

from lab import CADRE, Skip, main, until
from test_tui import PLAIN, asked, leave, leave_plain, prompts, ready, screen

SCENARIO = r"""
rule aside
  prompt contains "what is it called"
  text It is called cadre.
rule reads more
  prompt contains "read more"
  turn 1
  call Read {"file_path": "../home/more/note.txt"}
rule has read
  prompt contains "read more"
  text I am {{model}} and read {{last_result}}.
rule reads
  prompt contains "read it"
  turn 1
  call Read {"file_path": "a.txt"}
rule touches
  prompt contains "touch it"
  turn 1
  call Bash {"command": "touch made-here"}
rule works apart
  agent worker
  text Done.
rule starts agents
  prompt contains "two agents"
  turn 1
  call Agent {"description": "first", "prompt": "work", "subagent_type": "worker", "run_in_background": false}
  call Agent {"description": "second", "prompt": "work", "subagent_type": "worker", "run_in_background": false}
rule edits
  prompt contains "write it"
  turn 1
  call Write {"file_path": "a.txt", "content": "one\n"}
rule busy
  prompt contains "who are you"
  model claude-opus-4-1
  status 529 overloaded_error "busy"
rule who
  prompt contains "who are you"
  text I am {{model}}.
rule says
  text I hear you.
"""


def view(lab, *args, **more):
    if not lab.models:
        lab.model(SCENARIO, log=True)
    return screen(lab, *args, **more)


def config(lab, name="settings.json"):
    return os.path.join(lab.env["HOME"], ".claude", name)


def run(s, line, *shown):
    """A command, and what it shows below its own line."""
    ready(s)
    before = len(asked(s, line))
    s.press(line, "enter")
    for text in shown:
        s.until(lambda rows: len(at := asked(s, line)) > before and any(text in row for row in s.all()[at[-1] + 1:]))
    return s


def said(s, words="hello"):
    run(s, words, "I hear you.")
    ready(s)


def every_command_is_in_the_help_and_the_menu(lab):
    with view(lab, size=(110, 80)) as s:
        run(s, "/help", "/version", "? on an empty line")
        rows = s.all()
        names = [m.group(1) for r in rows for m in [re.match(r"/([a-z-]+)[ ,]", r)] if m]
        wanted = """help clear compact context usage model effort agents tasks resume rewind permissions hooks mcp plugin skills memory
            init config status doctor export theme add-dir review exit mode plan trust stop tell bg rename fork copy diff btw redraw
            transcript todo output-style keys version statusline thinking fallback debug trace terminal-setup""".split()
        assert not [w for w in wanted if w not in names], [w for w in wanted if w not in names]
        assert names == sorted(names), names
        assert any(re.match(r"/usage, /cost +cost and tokens", r) for r in rows), rows
        ready(s)
        s.press("/")
        s.until("of %d" % len(names))
        s.press("C-u")
        run(s, "/help cost", "/usage, /cost")
        leave(s)
    assert not prompts(lab), prompts(lab)


def unknown_names_are_never_sent_and_skills_and_paths_are(lab):
    os.makedirs(os.path.join(lab.work, ".claude", "skills", "polish"))
    with open(os.path.join(lab.work, ".claude", "skills", "polish", "SKILL.md"), "w") as f:
        f.write("---\nname: polish\ndescription: makes it shine\n---\nShine.\n")
    with view(lab, "--trust-project") as s:
        run(s, "/hepl", "did you mean /help?")
        run(s, "/modle opus", "did you mean /model?")
        run(s, "/polihs", "did you mean /polish?")
        run(s, "/wxyzwxyz", "no command /wxyzwxyz")
        assert not prompts(lab), prompts(lab)
        said(s, "/usr/bin is full")
        run(s, "/polish it")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        leave(s)
    assert prompts(lab)[0] == "/usr/bin is full" and "Shine." in str(lab.models[0].bodies()[-1]), prompts(lab)


SERVER = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    results = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"resources": {}}, "serverInfo": {"name": "small", "version": "1"}},
               "resources/list": {"resources": [{"uri": "mem://note", "name": "note", "description": "what to buy"}]},
               "resources/read": {"contents": [{"uri": "mem://note", "text": "remember the milk"}]}}
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": results.get(m["method"], {})}), flush=True)
"""


def agents_and_resources_of_servers_are_suggested_and_named(lab):
    os.makedirs(os.path.join(lab.work, ".claude", "agents"))
    with open(os.path.join(lab.work, ".claude", "agents", "polisher.md"), "w") as f:
        f.write("---\nname: polisher\ndescription: makes it shine\n---\nShine.\n")
    with open(os.path.join(lab.work, "small.py"), "w") as f:
        f.write(SERVER)
    servers = json.dumps({"mcpServers": {"small": {"command": sys.executable, "args": [os.path.join(lab.work, "small.py")]}}})
    with view(lab, "--mcp-config", servers, "--trust-project") as s:
        said(s)
        s.press("let @shin")
        s.until(lambda rows: not any("@agent" in r for r in rows))
        s.press(*["backspace"] * 4, "poli")
        s.until("❯ @agent-polisher")
        s.until("makes it shine")
        s.press("tab")
        s.until("let @agent-polisher")
        s.press("see @note")
        s.until("note: what to buy")
        s.press("tab")
        s.until("see @small:mem://note")
        s.press("enter")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        leave(ready(s))
    sent = str(lab.models[0].bodies()[-1]["messages"])
    assert "asks for the agent polisher" in sent and "remember the milk" in sent, sent


def files_that_git_ignores_are_suggested_if_the_settings_say_so(lab):
    os.mkdir(os.path.join(lab.work, "out"))
    os.mkdir(os.path.join(lab.work, "src"))
    for name in ("out/parser.o", "src/parser.c"):
        os.mknod(os.path.join(lab.work, name))
    subprocess.run(["git", "init", "-q"], cwd=lab.work, env=lab.env, check=True)
    with open(os.path.join(lab.work, ".gitignore"), "w") as f:
        f.write("out/\n")
    for wish in (True, False):
        with view(lab, "--settings", json.dumps({"respectGitignore": wish})) as s:
            ready(s)
            s.press("@pars")
            s.until("@src/parser.c")
            assert any("@out/parser.o" in r for r in s.rows()) != wish, s.rows()


def files_are_suggested_wherever_they_are_and_quoted(lab):
    for name, text in (("src/deep/parser.c", "int parse;"), ("src/odd dir/two words.md", "both words"), ("out/parser.o", "object"), ("z.md", "")):
        os.makedirs(os.path.join(lab.work, os.path.dirname(name)), exist_ok=True)
        with open(os.path.join(lab.work, name), "w") as f:
            f.write(text)
    for i in range(120):  # more than a small project has
        os.makedirs(os.path.join(lab.work, "many", str(i)))
        for k in range(100):
            os.mknod(os.path.join(lab.work, "many", str(i), "file%d" % k))
    for name in (b"unfit \xff", b"unfit\n", b"unfit\x1b[31m", b"src/unfit\x07"):  # no prompt can hold these
        with open(os.path.join(lab.work.encode(), name), "w"):
            pass
    subprocess.run(["git", "init", "-q"], cwd=lab.work, env=lab.env, check=True)
    with open(os.path.join(lab.work, ".gitignore"), "w") as f:
        f.write("out/\n")
    with view(lab, size=(110, 24)) as s:
        ready(s)
        s.press("@file99")  # each of the directories has one
        s.until("of 50")
        for i in ("0", "61", "119"):
            s.press("C-u", "@%s/file99" % i)
            s.until("@many/%s/file99" % i)
        s.press("C-u", "look at @pars")
        s.until("❯ @src/deep/parser.c")
        assert not any("parser.o" in r for r in s.rows()), s.rows()
        s.press("tab", "@unfi")
        s.quiet()
        assert not any("@unfit" in r for r in s.rows()), s.rows()
        s.press(*["backspace"] * 5, "and @srcodd")
        s.until('❯ @"src/odd dir/two words.md"')
        s.press("C-w", "src/odd")
        s.until('❯ @"src/odd dir/')
        s.press("tab")
        s.until('❯ @"src/odd dir/two words.md"')  # the quotes are open, and the directory is completed
        s.press("tab", "please", "enter")
        s.until("I hear you.")
        leave(s)
    sent = json.dumps(lab.models[0].bodies()[-1])
    assert "int parse;" in sent and "both words" in sent, sent
    assert prompts(lab) == ['look at @src/deep/parser.c and @"src/odd dir/two words.md" please'], prompts(lab)


def the_terminal_is_told_how_to_send_shift_enter(lab):
    for env, kitty, words in (({"TMUX": ""}, True, "the terminal has kitty's keys"), ({"TMUX": "1"}, False, "bind-key -n S-Enter"),
                              ({"TERM_PROGRAM": "vscode"}, False, "workbench.action.terminal.sendSequence")):
        with view(lab, size=(160, 30), env={**PLAIN, **env}, kitty=kitty) as s:
            run(s, "/terminal-setup", words)
            leave(ready(s))


def a_fallback_a_log_and_a_timeline_begin_in_an_open_session(lab):
    with view(lab, "--model", "claude-opus-4-1") as s:
        said(s)
        run(s, "/fallback claude-haiku-4-5", "fallback-model: claude-haiku-4-5")
        run(s, "/debug api", "the log goes into")
        run(s, "/debug", "the log is being written")
        run(s, "/trace timeline.json", "the timeline goes into timeline.json")
        run(s, "/trace /nowhere/t.json", "the timeline is being written")
        run(s, "who are you", "I am claude-haiku-4-5.")
        run(s, "/fallback nonsense-9", "nonsense-9")
        run(s, "/fallback none", "fallback-model: none")
        leave(ready(s))
    log = [f for f in os.listdir(config(lab, "cadre")) if f.startswith("debug-")]
    text = open(config(lab, "cadre/" + log[0])).read()
    assert "request to claude-haiku-4-5, try 1" in text and "[tools]" not in text, text
    slices = json.load(open(os.path.join(lab.work, "timeline.json")))
    assert any(e["name"] == "turn" for e in slices), slices


def the_context_is_shown_by_kind(lab):
    with open(os.path.join(lab.work, "CLAUDE.md"), "w") as f:
        f.write("Remember this. " * 400)
    with view(lab) as s:
        said(s)
        run(s, "/context", "Free space")
        rows = s.all()
        kinds = ["System prompt", "System tools", "MCP tools", "Custom agents", "Memory files", "Messages", "Free space"]
        figures = {k: [r for r in rows if k in r] for k in kinds}
        assert all(len(v) == 1 for v in figures.values()), figures
        assert "0  " not in figures["Memory files"][0].split("files")[1][:10], figures["Memory files"]
        assert any(re.fullmatch("█+░+", r) and len(r) == 40 for r in rows), rows
        run(s, "/cost", "of all agents so far", "cache read")
        leave(s)


def the_model_and_other_choices_come_from_lists(lab):
    with view(lab) as s:
        run(s, "/model")
        s.until("from the next request on")
        s.press("haiku")
        s.until("1 of ")
        s.until(lambda rows: any(re.search(r"claude-haiku\S* \. \$[\d.]+ in, \$[\d.]+ out \. [\d.]+ [kM]: fast", r) for r in rows))
        s.press("enter")
        s.seen("model: haiku")
        said(s)
        run(s, "/effort")
        s.until("Effort")
        s.press("esc")
        run(s, "/effort medium", "effort: medium")
        said(s, "with effort")
        run(s, "/effort default", "effort: default")
        run(s, "/effort")
        s.until("❯ default: what the model does by itself (now)")
        s.press("esc")
        said(s, "without effort")
        run(s, "/effort medium", "effort: medium")
        run(s, "/mode plan", "permission-mode: plan")
        s.until(". plan")
        for name, now in (("effort", "medium"), ("mode", "plan"), ("theme", "auto"), ("output-style", "default"), ("model", "haiku ")):
            run(s, "/" + name)  # a list has what holds now, and begins with it
            s.until(lambda rows: any(re.match("❯ " + now + r".*\(now\)", r) for r in rows) and sum("(now)" in r for r in rows) == 1)
            s.press("esc")
            s.until("(now)", gone=True)
        run(s, "/fallback")
        s.until("Fallback model")
        assert not any("(now)" in r for r in s.rows()), s.rows()
        s.press("esc")
        run(s, "/mode nonsense", "unknown permission mode 'nonsense': expected default,")
        run(s, "/mode")
        s.until("acceptEdits: edits in the working directories")
        s.press("esc")
        run(s, "/model our-own-9", "Nothing is known about our-own-9 at http://127.0.0.1")  # a gateway may have it
        run(s, "/model claude-haiku-5-5", "model: claude-haiku-5-5")
        assert sum("Nothing is known" in r for r in s.all()) == 1, s.all()
        said(s, "hello again")
        leave(s)
    assert "haiku" in lab.models[0].bodies()[-1]["model"], lab.models[0].bodies()[-1]["model"]
    efforts = [b.get("output_config", {}).get("effort") for b in lab.models[0].bodies()]
    assert efforts[:3] == [None, "medium", None], efforts


def hooks_see_a_model_and_a_directory_that_the_user_wishes(lab):
    """One that guards models cannot be passed by a command or a list."""
    def hook(name, more=""):
        return [{"hooks": [{"type": "command", "command": "cat >%s/%s; %s" % (lab.home, name, more)}]}]
    deny = {"hookSpecificOutput": {"hookEventName": "PreModelSwitch", "permissionDecision": "deny", "permissionDecisionReason": "too dear"}}
    settings = {"hooks": {"PreModelSwitch": hook("before", "grep -q opus %s/before && echo '%s'; true" % (lab.home, json.dumps(deny))),
                          "PostModelSwitch": hook("after"), "DirectoryAdded": hook("added")}}
    more = os.path.join(lab.home, "more")
    os.mkdir(more)

    def seen(name):
        path = pathlib.Path(lab.home, name)
        until(lambda: path.exists() and path.read_text().endswith("}\n"), path)
        return json.loads(path.read_text())
    with view(lab, "--model", "sonnet", "--settings", json.dumps(settings)) as s:
        run(s, "/model haiku", "model: haiku")
        after = seen("after")
        assert "sonnet" in after["from_model"] and "haiku" in after["to_model"] and after["source"] == "command", after
        run(s, "/model opus", "the model stays: a PreModelSwitch hook refused it: too dear")
        run(s, "/model")
        s.until("from the next request on")
        s.press("opus")
        s.until("1 of ")
        s.press("enter")
        s.until(lambda rows: sum("too dear" in r for r in s.all()) == 2)
        run(s, "who are you", "I am claude-haiku")
        run(s, "/add-dir " + more, "add-dir: " + more)
        assert seen("added")["source"] == "slash_command" and seen("added")["directory"] == more


def hooks_read_why_a_session_starts_and_ends(lab):
    log = pathlib.Path(lab.home, "log")

    def hook(name, field):
        """Of every matcher, and of one that names the cause."""
        put = "python3 -c 'import json, sys; print(\"%s\", json.load(sys.stdin)[\"%s\"])' >>%s" % (name, field, log)
        return [{"hooks": [{"type": "command", "command": put}]},
                {"matcher": "clear|prompt_input_exit", "hooks": [{"type": "command", "command": "echo matched >>%s" % log}]}]
    settings = {"hooks": {"SessionStart": hook("start", "source"), "SessionEnd": hook("end", "reason")}}

    def came(*lines):
        until(lambda: sorted(log.read_text().splitlines()) == sorted(lines), lambda: log.read_text())
        log.write_text("")
    with view(lab, "--settings", json.dumps(settings), env={"CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS": "20000"}) as s:
        said(s, "first words")
        came("start startup")
        run(s, "/clear")
        said(s, "other words")
        came("end clear", "matched", "start clear", "matched")
        run(s, "/resume")
        s.until("first words")
        s.press("first", "enter")
        said(s, "more words")
        came("end resume", "start resume")
        leave(s)
        came("end prompt_input_exit", "matched")


def a_theme_is_previewed_and_kept(lab):
    with view(lab, env={}) as s:
        run(s, "/theme")
        s.until("Theme")
        s.until("while (p <= end)")
        s.press("down")
        s.until_raw(lambda raw: b"\x1b[0;48;5;22m" in raw)  # dark, before it is chosen
        s.paste("daltonized\nnot this line")  # the filter has the keys of the prompt
        s.until("2 of 6")
        s.press("C-a", "x", "backspace", "C-e", "C-w")
        s.until("6 of 6")
        s.press("down", "down", "enter")
        s.until("kept in your settings")
        leave(s)
    assert json.load(open(config(lab)))["theme"] == "light"
    with view(lab, env={}) as s:
        ready(s)
        s.press("/")
        s.until("add-dir")
        assert b"\x1b[0;1;38;5;30m" in s.raw  # the cyan of the light theme
        s.press("C-u")
        leave(s)


def a_session_is_named_copied_and_exported(lab):
    with view(lab, size=(120, 40)) as s:
        said(s)
        first = json.loads(subprocess.run([CADRE, "sessions", "--json"], cwd=lab.work, env=lab.env, stdout=subprocess.PIPE).stdout)[0]
        run(s, "/rename A fine title")
        s.until("has this title")
        run(s, "/export out.md", "the conversation is in out.md")
        until(lambda: "I hear you." in open(os.path.join(lab.work, "out.md")).read(), s.rows)
        ready(s)
        run(s, "/export out.md", "the file exists")
        run(s, "/fork", "a copy of " + first["sessionId"])
        run(s, "more")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        ready(s)
        run(s, "/copy 2", "in the clipboard")
        ready(s)
        run(s, "/compact", "from a summary")  # a turn without an answer
        ready(s)
        run(s, "/copy")
        s.until("the last answer is in the clipboard")
        leave(s)
    assert b"\x1b]52;c;" + base64.b64encode(b"I hear you.") in s.raw
    listed = json.loads(subprocess.run([CADRE, "sessions", "--json"], cwd=lab.work, env=lab.env, stdout=subprocess.PIPE).stdout)
    assert len(listed) == 2 and {e["title"] for e in listed} >= {"A fine title"}, listed
    assert [m["content"] for m in lab.models[0].bodies()[-1]["messages"] if m["role"] == "assistant"], "the copy has the past"


def what_was_chosen_holds_on_in_a_new_session_a_copy_and_behind_a_rewind(lab):
    os.mkdir(os.path.join(lab.home, "more"))
    pathlib.Path(lab.home, "more", "note.txt").write_text("a note")
    with view(lab, size=(120, 60)) as s:
        said(s)
        run(s, "/model haiku", "model: haiku")
        run(s, "/effort low", "effort: low")
        run(s, "/add-dir ~/more", "add-dir: ")
        run(s, "/thinking off")
        run(s, "/plan", "permission-mode: plan")
        run(s, "who are you", "I am claude-haiku")
        for line, shown in (("/fork", "a copy of"), ("/clear", "New session"), ("/rewind", "Back to before")):
            ready(s)
            if line == "/rewind":
                said(s, "again")
            run(s, line)
            s.until(shown)
            if line == "/rewind":
                s.press("enter")
                s.until("Set back")
                s.press("down", "enter")
                s.until("❯ again")
                s.press("C-u")
            s.until(lambda rows: any("claude-haiku" in r and ". plan ." in r for r in rows))
            run(s, "read more", "I am claude-haiku", "a note")  # without a question
            body = lab.models[0].bodies()[-1]
            assert body["output_config"] == {"effort": "low"} and body["thinking"] == {"type": "disabled"}, (line, body["output_config"], body["thinking"])
        ready(s)
        leave(s)


def a_question_aside_is_answered_and_not_kept(lab):
    with view(lab) as s:
        said(s, "read it")
        run(s, "/btw what is it called", "It is called cadre.")
        said(s, "and now")
        leave(s)
    bodies = lab.models[0].bodies()
    aside = [b for b in bodies if "what is it called" in str(b["messages"][-1])]
    assert len(aside) == 1 and aside[0]["tool_choice"] == {"type": "none"}, aside
    assert "tool_use" in str(aside[0]["messages"]) and [t["name"] for t in aside[0]["tools"]] == ["no_tools"], aside
    assert "what is it called" not in str(bodies[-1]["messages"]), bodies[-1]


def what_the_session_has_is_shown(lab):
    os.makedirs(os.path.dirname(config(lab)), exist_ok=True)
    with open(config(lab), "w") as f:
        json.dump({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo stopped >/dev/null"}]}]}}, f)
    with view(lab, size=(120, 40)) as s:
        run(s, "/hooks", "Stop  command: echo stopped >/dev/null")
        run(s, "/mcp", "No MCP server is used")
        run(s, "/status", "credential  the variable ANTHROPIC_API_KEY", "file        ", "provider    anthropic", "address     " + lab.models[0].url)
        run(s, "/agents", "general-purpose")
        run(s, "/permissions test Bash(ls)", "Bash")
        run(s, "/statusline", "statusLine is not set")
        run(s, "/version", "cadre 0.")
        run(s, "/todo", "no list of what is to be done")
        run(s, "/output-style")
        s.until("Output style")
        s.press("esc")
        run(s, "/config theme", "theme")
        run(s, "/config theme=ansi", "stored in your settings")
        run(s, "/thinking show", "thinking is shown")
        leave(s)
    assert json.load(open(config(lab)))["theme"] == "ansi"
    assert not prompts(lab), prompts(lab)


def settings_are_changed_in_a_list_and_hold_at_once(lab):
    os.makedirs(os.path.join(lab.work, ".claude"))
    with open(os.path.join(lab.work, ".claude", "settings.local.json"), "w") as f:
        json.dump({"cadre": {"wrap": "terminal"}}, f)
    with view(lab, "--trust-project", size=(110, 40)) as s:
        run(s, "/config")
        s.until("Settings . 16 of 16")
        s.until("models use extended thinking")
        s.press("ascii", "enter")
        s.until(lambda rows: "false (now)" in "\n".join(rows))
        s.press("up", "up", "enter")  # the first of true, false, not set
        s.until(lambda rows: any(r.startswith("> cadre.ascii") and "true" in r for r in rows))  # the same list, in ASCII
        s.press("C-u", "wrap", "enter")
        s.until("word")
        s.press("word", "enter")
        s.until("another file decides: /config cadre.wrap")
        s.press("editor", "enter")
        s.until("normal (now)")
        s.press("vim", "enter")
        s.until("Settings . 16 of 16")
        s.press("esc")
        s.until("INSERT")
        s.press("/config editorMode=null", "enter")
        s.until("stored in your settings")
        s.until("INSERT", gone=True)
        s.press("/config", "enter")
        s.until("Settings")
        s.press("preferredNotif", "enter")
        s.until("> /config preferredNotifChannel=")
        s.press("kitty", "enter")
        s.until("stored in your settings")
        s.press("/config", "enter")
        s.until("Settings")
        s.press("all that", "enter")
        s.until("LAYER")
        s.until("settings.local.json:1")
        leave(s)
    assert json.load(open(config(lab))) == {"cadre": {"ascii": True, "wrap": "word"}, "preferredNotifChannel": "kitty"}, open(config(lab)).read()
    assert not prompts(lab), prompts(lab)


def what_a_command_cannot_mean_is_said_and_not_stored(lab):
    with view(lab, size=(120, 60)) as s:
        run(s, "/theme pink", 'theme: expected one of "auto", "dark"')
        run(s, "/config editorMode=nano", "editorMode: expected one of")
        run(s, "/config model=opus", "'model' cannot be stored by a session: edit settings.json")
        run(s, "/output-style loud", "no such output style: 'loud'")
        run(s, "/thinking perhaps", "/thinking on, off, show or hide")
        run(s, "/add-dir", "/add-dir DIR")
        run(s, "/export", "there is no conversation yet")
        run(s, "/bg", "no agent is waited for")
        run(s, "/tell nobody hello", "no agent of this session is called 'nobody'")
        run(s, "/help modle", "no command /modle; did you mean /model?")
        for line in ("/context now", "/vim off", "/plan build it", "/tasks -p", "/status now"):
            before = sum("takes no arguments" in r for r in s.all())
            run(s, line)
            s.until(lambda rows: sum("takes no arguments" in r for r in s.all()) == before + 1)
        leave(s)
    for path in (config(lab), os.path.join(lab.work, ".claude", "settings.local.json")):
        assert not os.path.exists(path), open(path).read()
    assert not prompts(lab), prompts(lab)


def what_is_wrong_in_the_settings_is_said_once_before_the_first_prompt(lab):
    os.makedirs(os.path.dirname(config(lab)), exist_ok=True)
    pathlib.Path(config(lab)).write_text('{"modle": "x", "permissions": {"defaultMode": "wild"}}')
    with view(lab, size=(120, 40)) as s:
        s.until("did you mean model?")
        s.until("permissions.defaultMode: expected one of")
        assert not prompts(lab)
        said(s)
        assert sum("did you mean model?" in r for r in s.all()) == 1, s.all()
        leave(s)


def a_command_that_needs_words_says_which(lab):
    with view(lab, size=(120, 60)) as s:
        for line, usage in (("/stop", "AGENT: end an agent and all below it"), ("/logs", "AGENT: what an agent did"), ("/tell", "AGENT TEXT: a message"),
                            ("/rename", "TITLE: give"), ("/add-dir", "DIR: one more directory"), ("/btw", "QUESTION: a question aside"),
                            ("/thinking", "on|off|show|hide: whether the model thinks")):
            run(s, line, line + " " + usage)
        leave(s)


def messages_and_figures_break_between_words(lab):
    """None of them is longer than the widest row, so no word is cut in two."""
    with view(lab, size=(64, 60)) as s:
        said(s)
        for line, words in (("/theme pink", '"light-daltonized", "ansi", not \'pink\''), ("/mode nonsense", "plan, dontAsk, auto or bypassPermissions"),
                            ("/usage", "cache read"), ("/usage", "cache written"), ("/config model=opus", "a session: edit settings.json")):
            run(s, line)
            s.until(lambda rows: words in re.sub(r"\s+", " ", " ".join(rows[asked(s, line)[-1] - len(s.above):])))
        leave(s)


def a_call_with_blanks_is_one_word_and_a_tilde_is_the_home(lab):
    os.mkdir(os.path.join(lab.home, "more"))
    with view(lab, size=(120, 60)) as s:
        run(s, "/permissions test Bash(rm -rf 'a b' && ls)", "This part requires approval: rm -rf 'a b'")
        run(s, '/trust "no such place"', "no such place")
        run(s, "/add-dir ~/more", "add-dir: " + os.path.join(lab.home, "more"))
        said(s)
        run(s, "/export ~/talk.md", os.path.join(lab.home, "talk.md"))
        leave(s)
    assert "I hear you." in open(os.path.join(lab.home, "talk.md")).read()


def a_long_cell_of_a_table_is_wrapped_below_itself(lab):
    with view(lab, size=(80, 60)) as s:
        run(s, "/agents", "statusline-setup")
        rows = s.rows()
        at = next(i for i, r in enumerate(rows) if r.startswith("Explore "))
        column = rows[at].index("All tools except Agent")
        assert rows[at + 1][:column].strip() == "" and rows[at + 1][column] != " ", rows[at:at + 3]
        names = " ".join(r[column:] for r in rows[at:at + 3]).split(", ")
        assert "Edit" in names and "NotebookEdit" in names, names
        leave(s)


def the_status_is_that_of_the_place_in_use(lab):
    lab.model(SCENARIO)
    place = {"wire": "chat", "baseUrl": lab.models[0].url + "/v1", "keyEnv": "LAB_KEY"}
    with screen(lab, "--settings", json.dumps({"provider": "lab", "providers": {"lab": place}}), "--model", "small:1b", size=(120, 40),
                env={**PLAIN, "LAB_KEY": "secret-of-the-lab"}) as s:
        run(s, "/status", "model       small:1b", "provider    lab", "address     " + place["baseUrl"], "LAB_KEY")
        assert not any("ANTHROPIC" in r or "secret-of-the-lab" in r for r in s.all()), s.all()
        leave(s)


def what_is_not_there_yet_is_said(lab):
    with view(lab) as s:
        run(s, "/diff", "There is no git repository here")
        s.press("esc", "esc")
        s.until("there is no conversation yet")
        assert not any("error" in r or "usage:" in r for r in s.all()), s.all()
        subprocess.run(["git", "init", "-q"], cwd=lab.work, env=lab.env, check=True)
        run(s, "/diff", "Nothing differs")
        with open(os.path.join(lab.work, "added.txt"), "w") as f:
            f.write("one\n")
        subprocess.run(["git", "add", "added.txt"], cwd=lab.work, env=lab.env, check=True)
        run(s, "/diff")
        s.until("+one")
        s.press("q")
        leave(s)


def directories_and_differences(lab):
    more = os.path.join(lab.folder, "more")
    os.mkdir(more)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x", "--allow-empty"]):
        subprocess.run(["git", *words], cwd=lab.work, env=lab.env, check=True)
    with view(lab, "--permission-mode", "acceptEdits") as s:
        run(s, "/diff", "Nothing differs")
        said(s, "first words")
        run(s, "write it")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        assert "● Write a.txt +1 -0" in s.all(), s.all()
        run(s, "/diff")
        s.until("new file: a.txt")
        s.press("q")
        run(s, "/add-dir " + more, "add-dir: " + more)
        run(s, "/add-dir /no/such", "is not the absolute path of a directory")
        run(s, "/rewind")
        s.until("Back to before")
        s.until("1 file would change: ")
        s.until("❯ write it  (")
        s.press("enter")
        s.until("Set back")
        s.press("both", "enter")
        s.seen("1 file set back")
        s.until("❯ write it")  # its prompt, to be changed
        s.press("C-u")
        leave(s)
    assert not os.path.exists(os.path.join(lab.work, "a.txt"))


def a_memory_file_is_edited(lab):
    with view(lab, env={"NO_COLOR": "1", "EDITOR": "sh -c 'echo remembered >> \"$1\"' x"}) as s:
        run(s, "/memory")
        s.until("Edit memory")
        s.press("enter")
        s.until("a new session reads it")
        ready(s)
        leave(s)
    assert open(os.path.join(lab.work, "CLAUDE.md")).read() == "remembered\n"


def the_list_of_sessions_counts_their_agents(lab):
    agent = os.path.join(os.path.dirname(config(lab)), "agents", "worker.md")
    os.makedirs(os.path.dirname(agent), exist_ok=True)
    pathlib.Path(agent).write_text("---\nname: worker\ndescription: d\n---\nWork.\n")
    with view(lab) as s:
        said(s, "two agents")
        run(s, "/clear")
        said(s, "none here")
        run(s, "/clear")
        run(s, "/resume")
        s.until("Sessions")
        [with_agents] = [r for r in s.rows() if "two agents" in r and " messages, " in r]
        [without] = [r for r in s.rows() if "none here" in r and " messages, " in r]
        assert " messages, 2 agents, " in with_agents and "agent" not in without, (with_agents, without)
        s.press("esc")
        leave(s)
    with view(lab, size=(120, 24), env={"TERM": "dumb"}) as s:
        s.until(">")
        s.press("/resume", "enter")
        s.until(", 2 agents, ")
        s.press("enter")
        leave_plain(s)


def permission_rules_are_listed_added_and_removed_where_the_user_says(lab):
    own, local, shared = config(lab), *(os.path.join(lab.work, ".claude", name) for name in ("settings.local.json", "settings.json"))
    for path, rules in ((own, {"deny": ["WebFetch"], "ask": ["Bash(git push *)"]}), (shared, {"allow": ["Bash(make *)"]})):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        pathlib.Path(path).write_text(json.dumps({"permissions": rules}))

    def stored(path):
        return json.load(open(path))["permissions"] if os.path.exists(path) else {}

    with view(lab, "--allowedTools=Grep", "--trust-project", size=(150, 40)) as s:
        run(s, "/permissions add allow Bash(ls *)", "allow Bash(ls *) is added to your settings of this project")
        run(s, "/permissions add deny WebSearch user", "deny WebSearch is added to your settings of all projects")
        run(s, "/permissions add allow Bash(wc a.txt) session", "is added to this session")
        assert stored(local)["allow"] == ["Bash(ls *)"] and stored(own)["deny"] == ["WebFetch", "WebSearch"], (stored(local), stored(own))
        run(s, "/permissions add allow Bash() user", "its parentheses are empty")
        run(s, "/permissions add deny Bash(rm", "no closing parenthesis")
        run(s, "/permissions add maybe Bash", "/permissions add allow|ask|deny RULE")
        run(s, "/permissions remove Grep", "Grep was given when cadre was started")
        run(s, "/permissions remove Nothing", "there is no such rule")
        run(s, "/permissions")
        s.until("Permission rules")
        rows = [r for r in s.rows() if re.match(r"[> ❯] *(allow|ask|deny|add) ", r)]
        here, home = "  .claude/settings", "  ~/.claude/settings.json:"
        wanted = ("allow  Bash(ls *)", here + ".local.json:"), ("allow  Bash(make *)", here + ".json:1"), ("allow  Grep", "the command line"), \
            ("allow  Bash(wc a.txt)", "this session"), ("ask    Bash(git push *)", home), ("deny   WebFetch", home), ("deny   WebSearch", home)
        for words, where in wanted:
            assert sum(words in r and where in r for r in rows) == 1, (words, where, rows)
        kinds = [r.split()[-3 if "add a rule" in r else 0 if r[0] == " " else 1] for r in rows]
        assert kinds == sorted(kinds[:-1], key=["allow", "ask", "deny"].index) + ["add"], kinds
        s.press("make", "enter")
        s.until("Remove allow Bash(make *)")
        s.press("down", "enter")
        s.until("allow Bash(make *) is removed from the project's settings")
        run(s, "/permissions remove WebFetch", "deny WebFetch is removed from your settings of all projects")
        run(s, "/permissions remove Bash(wc a.txt)", "is removed from this session")
        assert not stored(shared).get("allow") and stored(own)["deny"] == ["WebSearch"], (stored(shared), stored(own))
        run(s, "/permissions")
        s.until("Permission rules . 5 of 5")
        s.press("add a rule", "enter")
        s.until("❯ /permissions add allow")
        s.press("C-u")
        leave(s)
    assert not prompts(lab), prompts(lab)


def permission_rules_are_a_numbered_list_where_nothing_moves(lab):
    with view(lab, size=(120, 24), env={"TERM": "dumb"}) as s:
        s.until(">")
        s.press("/permissions add allow Bash(ls *)", "enter")
        s.until("is added to")
        s.press("/permissions", "enter")
        s.until("1. allow  Bash(ls *)  .claude/settings.local.json:")
        s.press("1", "enter")
        s.until("2. remove it")
        s.press("2", "enter")
        s.until("is removed from")
        s.press("/permissions", "enter")
        s.until("1. add a rule")
        s.press("1", "enter")
        s.until("/permissions remove RULE")
        leave_plain(s)


def what_was_denied_is_listed_with_the_rule_that_allows_it(lab):
    with view(lab, "--permission-mode", "dontAsk", size=(150, 40)) as s:
        run(s, "touch it", "I hear you.")
        ready(s)
        assert not os.path.exists(os.path.join(lab.work, "made-here"))
        run(s, "/permissions")
        s.until("denied Bash(touch made-here): ")
        s.press("touch", "enter")
        s.until("Allow Bash(touch made-here)")
        s.press("this session", "enter")
        s.until("allow Bash(touch made-here) is added to this session")
        run(s, "please touch it", "I hear you.")
        ready(s)
        assert os.path.exists(os.path.join(lab.work, "made-here"))
        run(s, "/permissions add deny Bash(touch *) session", "is added to this session")
        run(s, "again touch it", "I hear you.")
        run(s, "/permissions")
        s.until("denied Bash")
        s.press("denied Bash:", "enter")
        s.until("(no rule of yours would allow it)")
        run(s, "/clear")
        run(s, "/permissions")
        s.until("Permission rules")
        assert not [r for r in s.rows() if "denied Bash" in r], s.rows()
        s.press("esc")
        leave(s)


def rules_of_an_untrusted_project_are_held(lab):
    path = os.path.join(lab.work, ".claude", "settings.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pathlib.Path(path).write_text('{"permissions": {"allow": ["Bash(make *)"]}}')
    with view(lab, size=(150, 40)) as s:
        s.until("Do you trust")
        s.until("in a moment", gone=True)
        s.press("enter")
        run(s, "/permissions")
        s.until("held   this folder is not trusted")
        assert not [r for r in s.rows() if "Bash(make" in r], s.rows()
        s.press("esc")
        run(s, "/permissions remove Bash(make *)", "there is no such rule")
        leave(s)


def managed_rules_cannot_be_removed(lab):
    etc = pathlib.Path(lab.folder) / "etc"
    (etc / "claude-code").mkdir(parents=True)
    (etc / "claude-code" / "managed-settings.json").write_text('{"permissions": {"deny": ["WebSearch"]}}')
    mount = ("-rm", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', str(etc))
    if subprocess.run(["unshare", *mount, "true"], capture_output=True, check=False).returncode:
        raise Skip("no mount namespaces here")
    with view(lab, *mount, CADRE, program="unshare", size=(150, 40)) as s:
        run(s, "/permissions remove WebSearch", "a rule of managed settings, which cannot be changed here")
        run(s, "/permissions")
        s.until("deny   WebSearch")
        s.press("WebSearch", "enter")
        s.until(lambda rows: sum("a rule of managed settings, which cannot be changed here" in r for r in s.all()) == 2)
        leave(s)
    assert "WebSearch" in (etc / "claude-code" / "managed-settings.json").read_text()


if __name__ == "__main__":
    main(every_command_is_in_the_help_and_the_menu, unknown_names_are_never_sent_and_skills_and_paths_are,
         agents_and_resources_of_servers_are_suggested_and_named, files_are_suggested_wherever_they_are_and_quoted,
         files_that_git_ignores_are_suggested_if_the_settings_say_so,
         the_terminal_is_told_how_to_send_shift_enter, a_fallback_a_log_and_a_timeline_begin_in_an_open_session, the_context_is_shown_by_kind,
         the_model_and_other_choices_come_from_lists, hooks_see_a_model_and_a_directory_that_the_user_wishes,
         hooks_read_why_a_session_starts_and_ends, a_theme_is_previewed_and_kept, a_session_is_named_copied_and_exported,
         what_was_chosen_holds_on_in_a_new_session_a_copy_and_behind_a_rewind,
         a_question_aside_is_answered_and_not_kept, what_the_session_has_is_shown,
         settings_are_changed_in_a_list_and_hold_at_once, what_a_command_cannot_mean_is_said_and_not_stored, a_command_that_needs_words_says_which, what_is_wrong_in_the_settings_is_said_once_before_the_first_prompt, messages_and_figures_break_between_words,
         a_call_with_blanks_is_one_word_and_a_tilde_is_the_home,
         a_long_cell_of_a_table_is_wrapped_below_itself, the_status_is_that_of_the_place_in_use, what_is_not_there_yet_is_said,
         directories_and_differences, a_memory_file_is_edited, the_list_of_sessions_counts_their_agents, permission_rules_are_listed_added_and_removed_where_the_user_says,
         permission_rules_are_a_numbered_list_where_nothing_moves, what_was_denied_is_listed_with_the_rule_that_allows_it, rules_of_an_untrusted_project_are_held, managed_rules_cannot_be_removed)
