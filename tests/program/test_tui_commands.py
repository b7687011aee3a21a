#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Commands behind a slash on the terminal: what they show, change and store, and that none of them reaches the model."""
import base64
import json
import os
import re
import subprocess
import sys

from lab import CADRE, main, until
from test_tui import PLAIN, asked, leave, prompts, ready, screen

SCENARIO = r"""
rule aside
  prompt contains "what is it called"
  text It is called cadre.
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


def files_are_suggested_wherever_they_are_and_quoted(lab):
    for name, text in (("src/deep/parser.c", "int parse;"), ("src/odd dir/two words.md", "both words"), ("out/parser.o", "object"), ("z.md", "")):
        os.makedirs(os.path.join(lab.work, os.path.dirname(name)), exist_ok=True)
        with open(os.path.join(lab.work, name), "w") as f:
            f.write(text)
    subprocess.run(["git", "init", "-q"], cwd=lab.work, env=lab.env, check=True)
    with open(os.path.join(lab.work, ".gitignore"), "w") as f:
        f.write("out/\n")
    with view(lab, size=(110, 24)) as s:
        ready(s)
        s.press("look at @pars")
        s.until("❯ @src/deep/parser.c")
        assert not any("parser.o" in r for r in s.rows()), s.rows()
        s.press("tab", "and @srcodd")
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
        run(s, "/debug api", "/debug-")
        run(s, "/debug", "the log is being written")
        run(s, "/trace timeline.json", "timeline.json")
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
        run(s, "/effort low", "effort: low")
        run(s, "/mode plan", "permission-mode: plan")
        s.until(". plan")
        run(s, "/mode nonsense", "unknown permission mode")
        leave(s)
    assert "haiku" in lab.models[0].bodies()[-1]["model"], lab.models[0].bodies()[-1]["model"]


def a_theme_is_previewed_and_kept(lab):
    with view(lab, env={}) as s:
        run(s, "/theme")
        s.until("Theme")
        s.until("while (p <= end)")
        s.press("down")
        s.until_raw(lambda raw: b"\x1b[0;48;5;22m" in raw)  # dark, before it is chosen
        s.press("down", "enter")
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
        run(s, "/export out.md", "out.md")
        until(lambda: "I hear you." in open(os.path.join(lab.work, "out.md")).read(), s.rows)
        ready(s)
        run(s, "/export out.md", "the file exists")
        run(s, "/fork", "a copy of " + first["sessionId"])
        run(s, "more")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        ready(s)
        run(s, "/copy 2", "in the clipboard")
        leave(s)
    assert b"\x1b]52;c;" + base64.b64encode(b"I hear you.") in s.raw
    listed = json.loads(subprocess.run([CADRE, "sessions", "--json"], cwd=lab.work, env=lab.env, stdout=subprocess.PIPE).stdout)
    assert len(listed) == 2 and {e["title"] for e in listed} >= {"A fine title"}, listed
    assert [m["content"] for m in lab.models[0].bodies()[-1]["messages"] if m["role"] == "assistant"], "the copy has the past"


def a_question_aside_is_answered_and_not_kept(lab):
    with view(lab) as s:
        said(s)
        run(s, "/btw what is it called", "It is called cadre.")
        said(s, "and now")
        leave(s)
    bodies = lab.models[0].bodies()
    aside = [b for b in bodies if "what is it called" in str(b["messages"][-1])]
    assert len(aside) == 1 and not aside[0].get("tools"), aside
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


def what_a_command_cannot_mean_is_said_and_not_stored(lab):
    with view(lab, size=(120, 60)) as s:
        run(s, "/theme pink", 'theme: expected one of "auto", "dark"')
        run(s, "/config editorMode=nano", "editorMode: expected one of")
        run(s, "/config model=opus", "'model' cannot be stored by a session: edit settings.json")
        run(s, "/output-style loud", "there is no output style 'loud'")
        run(s, "/thinking perhaps", "/thinking on, off, show or hide")
        run(s, "/add-dir", "/add-dir DIR")
        run(s, "/export", "there is no conversation yet")
        run(s, "/bg", "no agent is waited for")
        run(s, "/help modle", "no command /modle; did you mean /model?")
        for line in ("/context now", "/vim off", "/plan build it", "/tasks -p", "/status now"):
            before = sum("takes no arguments" in r for r in s.all())
            run(s, line)
            s.until(lambda rows: sum("takes no arguments" in r for r in s.all()) == before + 1)
        leave(s)
    for path in (config(lab), os.path.join(lab.work, ".claude", "settings.local.json")):
        assert not os.path.exists(path), open(path).read()
    assert not prompts(lab), prompts(lab)


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


if __name__ == "__main__":
    main(every_command_is_in_the_help_and_the_menu, unknown_names_are_never_sent_and_skills_and_paths_are,
         agents_and_resources_of_servers_are_suggested_and_named, files_are_suggested_wherever_they_are_and_quoted,
         the_terminal_is_told_how_to_send_shift_enter, a_fallback_a_log_and_a_timeline_begin_in_an_open_session, the_context_is_shown_by_kind,
         the_model_and_other_choices_come_from_lists, a_theme_is_previewed_and_kept, a_session_is_named_copied_and_exported,
         a_question_aside_is_answered_and_not_kept, what_the_session_has_is_shown,
         what_a_command_cannot_mean_is_said_and_not_stored, a_call_with_blanks_is_one_word_and_a_tilde_is_the_home,
         a_long_cell_of_a_table_is_wrapped_below_itself, the_status_is_that_of_the_place_in_use, directories_and_differences, a_memory_file_is_edited)
