#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dialogs on the terminal: questions with tabs, forms of servers, plans, rules that are kept, several questions at once, the trust
of a folder."""
import json
import os
import re
import sys

from lab import main
from test_tui import leave, leave_plain, prompts, ready, screen

QUESTIONS = json.dumps({"questions": [
    {"question": "Which colour?", "header": "Colour", "multiSelect": False,
     "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]},
    {"question": "Which sizes?", "header": "Size", "multiSelect": True,
     "options": [{"label": "Small", "description": ""}, {"label": "Large", "description": ""}]}]})
SCENARIO = r"""
rule asks
  prompt contains "ask me"
  turn 1
  call AskUserQuestion %s
rule asked
  prompt contains "ask me"
  text "The tool said: {{last_result}}"
rule runs
  prompt contains "run it"
  turn 1
  call Bash {"command": "touch ran-one", "description": "r"}
rule ran
  prompt contains "run it"
  text Ran.
rule long
  prompt contains "long one"
  turn 1
  call Bash {"command": "%s", "description": "long"}
rule plans
  prompt contains "plan this"
  turn 1
  call ExitPlanMode {"plan": "# The plan\n\n1. **First** do it\n2. Then test it"}
rule planned
  prompt contains "plan this"
  text "The tool said: {{last_result}}"
rule calls
  prompt contains "use the server"
  turn 1
  call mcp__clerk__book {}
rule called
  prompt contains "use the server"
  text "The tool said: {{last_result}}"
rule reads first
  prompt contains "change "
  agent main
  turn 1
  call Read {"file_path": "a.txt"}
  call Read {"file_path": "n.ipynb"}
rule edits
  prompt contains "change one"
  agent main
  turn 2
  call Edit {"file_path": "a.txt", "old_string": "line 5\n", "new_string": "line five\n"}
rule writes
  prompt contains "change all"
  agent main
  turn 2
  call Write {"file_path": "a.txt", "content": "first\nline 2\nline 3\n"}
rule makes
  prompt contains "change nothing"
  agent main
  turn 2
  call Write {"file_path": "new.txt", "content": "%s"}
rule cell
  prompt contains "change cell"
  agent main
  turn 2
  call NotebookEdit {"notebook_path": "n.ipynb", "cell_id": "c1", "new_source": "x = 1\ny = 3"}
rule delegates a change
  agent main
  prompt contains "have it changed"
  turn 1
  call Agent {"description": "Change it", "prompt": "job change", "subagent_type": "general-purpose"}
rule child reads
  prompt contains "job change"
  turn 1
  call Read {"file_path": "a.txt"}
rule child edits
  prompt contains "job change"
  turn 2
  call Edit {"file_path": "a.txt", "old_string": "line 5\n", "new_string": "line five\n"}
rule both
  agent main
  prompt contains "delegate"
  turn 1
  call Agent {"description": "Do one", "prompt": "job one", "subagent_type": "general-purpose"}
  call Agent {"description": "Do two", "prompt": "job two", "subagent_type": "general-purpose"}
rule one
  prompt contains "job one"
  turn 1
  call Bash {"command": "touch from-one", "description": "r"}
rule two
  prompt contains "job two"
  turn 1
  call Bash {"command": "touch from-two", "description": "r"}
rule says
  text I hear you.
""" % (QUESTIONS, "; ".join("touch line %d" % i for i in range(60)), "".join(r"new %d\n" % i for i in range(1, 81)))

SERVER = r'''
import json, sys
def say(m): print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        say({"id": m["id"], "result": {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}},
             "serverInfo": {"name": "clerk", "version": "1"}}})
    elif m.get("method") == "tools/list":
        say({"id": m["id"], "result": {"tools": [{"name": "book", "description": "books", "inputSchema": {"type": "object"}}]}})
    elif m.get("method") == "tools/call":
        call = m["id"]
        say({"id": 77, "method": "elicitation/create", "params": {"message": "A table for whom?", "requestedSchema": {
            "type": "object", "required": ["name", "guests"], "properties": {
                "name": {"type": "string", "minLength": 2, "description": "as on the door"},
                "guests": {"type": "integer", "minimum": 1, "maximum": 8},
                "place": {"type": "string", "enum": ["inside", "garden"]},
                "dog": {"type": "boolean"}}}}})
    elif m.get("id") == 77:
        say({"id": call, "result": {"content": [{"type": "text", "text": json.dumps(m["result"], sort_keys=True)}]}})
    elif "id" in m:
        say({"id": m["id"], "result": {}})
'''


def view(lab, *args, **more):
    if not lab.models:
        lab.model(SCENARIO, log=True)
    return screen(lab, *args, **more)


def opened(s, words, text):
    ready(s) if s.columns >= 40 else s.until("❯")
    s.press(words, "enter")
    s.until(text)
    return s.until("in a moment", gone=True)


def questions_are_tabs_and_take_several_answers(lab):
    with view(lab) as s:
        opened(s, "ask me", "[1]")
        s.until("Which colour?")
        s.press("tab")
        s.until("Which sizes?")
        s.press("1", " ", "2", " ")
        s.until(lambda rows: sum("[x]" in r for r in rows) == 2)
        s.press("enter")  # back to the one without an answer
        s.until("Which colour?")
        s.until("2x")
        s.press("2", "enter")
        s.seen("The tool said:")
        ready(s)
        before = [r for r in s.all() if r]
        at = before.index("? Which sizes? : Small, Large")  # once
        assert before[at + 1:at + 3] == ["? Which colour? : Blue", next(r for r in before if "The tool said:" in r)], before
        leave(s)
    said = str(lab.models[0].bodies()[-1]["messages"][-1])
    assert "Blue" in said and "Small, Large" in said, said


def a_question_that_needs_no_answer_any_more_is_closed(lab):
    with view(lab, "--settings", '{"askUserQuestionTimeout": 3}') as s:
        opened(s, "ask me", "[1]")
        s.until("Which colour?", gone=True)
        s.seen("The question is closed: no answer came in time.")
        s.seen("The tool said:")
        ready(s)
        leave(s)


def a_form_closes_when_its_server_stops_waiting(lab):
    gone = SERVER.replace('                "dog": {"type": "boolean"}}}}})', '                "dog": {"type": "boolean"}}}}})\n        wait = open("go").read()\n'
                          '        say({"method": "notifications/cancelled", "params": {"requestId": 77, "reason": "too late"}})\n'
                          '        say({"id": call, "result": {"content": [{"type": "text", "text": "no table"}]}})')
    assert gone != SERVER
    with open(os.path.join(lab.work, "clerk.py"), "w") as f:
        f.write(gone)
    go = os.path.join(lab.work, "go")
    os.mkfifo(go)
    servers = json.dumps({"mcpServers": {"clerk": {"command": sys.executable, "args": [os.path.join(lab.work, "clerk.py")]}}})
    with view(lab, "--mcp-config", servers, "--allowedTools=mcp__clerk__book") as s:
        opened(s, "use the server", "server clerk asks: A table for whom?")
        s.press("Ada")
        s.until("name *: Ada")
        with open(go, "w") as f:
            f.write("now")
        s.until("A table for whom?", gone=True)
        s.seen("The question is closed: the server does not wait for it any more.")
        s.seen("The tool said: no table")
        leave(ready(s))


def the_answer_about_a_server_of_the_project_is_a_line(lab):
    with open(os.path.join(lab.work, ".mcp.json"), "w") as f:
        json.dump({"mcpServers": {"clerk": {"command": "true"}}}, f)
    with view(lab, size=(200, 24)) as s:
        s.until("May it be used?")
        s.until("in a moment", gone=True)
        s.press("3", "enter")
        s.until(lambda rows: any(re.match(r"\? This project brings the MCP server clerk \(.*\): no$", r) for r in rows))
        leave(ready(s))


def a_form_is_checked_before_it_is_sent(lab):
    with open(os.path.join(lab.work, "clerk.py"), "w") as f:
        f.write(SERVER)
    servers = json.dumps({"mcpServers": {"clerk": {"command": sys.executable, "args": [os.path.join(lab.work, "clerk.py")]}}})
    with view(lab, "--mcp-config", servers, "--allowedTools=mcp__clerk__book") as s:
        opened(s, "use the server", "server clerk asks: A table for whom?")
        s.until("as on the door")
        s.press("A", "enter")
        s.until("is too short")
        s.press("da", "enter")
        s.press("many", "enter")
        s.until("must be a whole number")
        s.press("backspace", "backspace", "backspace", "backspace", "9", "enter")
        s.until("is too large")
        s.press("backspace", "4", "enter", "right", "right", "enter", " ")
        s.until("place: garden")
        s.until("dog: [x]")
        s.press("enter")
        s.seen("The tool said:")
        assert any(re.match(r"● mcp__clerk__book \(|● mcp__clerk__book$", r) for r in s.all()), s.all()  # it has no parameters
        ready(s)
        leave(s)
    said = str(lab.models[0].bodies()[-1]["messages"][-1])
    for part in ('"action": "accept"', '"name": "Ada"', '"guests": 4', '"place": "garden"', '"dog": true'):
        assert part in said.replace('\\', ''), (part, said)


def the_rule_that_is_kept_can_be_changed(lab):
    with view(lab) as s:
        opened(s, "run it", "wants to use Bash")
        s.until("e edits the rule")
        s.press("e")
        s.until("the rule that is kept")
        s.press(*["backspace"] * 40)
        s.press("Bash(touch ran-*)", "enter")
        s.seen("Ran.")
        ready(s)
        leave(s)
    kept = json.load(open(os.path.join(lab.work, ".claude", "settings.local.json")))
    assert kept["permissions"]["allow"] == ["Bash(touch ran-*)"], kept
    assert os.path.exists(os.path.join(lab.work, "ran-one"))


def a_rule_that_was_looked_at_is_no_reason(lab):
    with view(lab) as s:
        opened(s, "run it", "wants to use Bash")
        s.press("e")
        s.until("the rule that is kept")
        s.press("esc")
        s.until("1-9 choose")
        s.press("5", "enter")
        s.until("enter sends")
        s.press("another way", "enter")
        s.seen("They said: another way")
        ready(s)
        leave(s)


def a_command_that_does_not_fit_is_shown_whole_before_yes_works(lab):
    with view(lab, size=(30, 12)) as s:
        opened(s, "long one", "PgDn")
        s.press("1", "enter")
        s.until("has not been")
        s.press("C-o")
        s.until("The question")
        s.until("touch line 0;")
        s.press("G")
        s.until("line 59")
        s.press("q")
        s.until("❯ 1 Yes")
        s.press("1", "enter")
        s.seen("I hear you.")
    assert len(lab.models[0].bodies()) == 2


def in_a_low_window_what_is_asked_comes_before_the_choices(lab):
    for size in ((80, 6), (30, 5), (20, 5), (20, 4), (20, 3)):
        with view(lab, size=size) as s:
            s.until("❯")
            s.press("long one", "enter")
            s.until(lambda rows: any("wants" in r for r in rows) and "❯ 1 Yes" in rows)
            s.quiet(0.6)
            s.press("1", "enter")
            before, shown = [], []
            while s.rows() != before:  # page by page, to the end
                assert "❯ 1 Yes" in s.rows() and len(lab.models[-1].bodies()) == 1, s.rows()
                before = s.rows()
                shown += re.findall(r"line (\d+);", "".join(before))
                s.press("pgdn")
                s.quiet()
            assert size[0] < 80 or sorted(set(shown), key=int) == [str(i) for i in range(59)], shown  # no row was passed by
            s.press("down")
            s.until("❯ 2 ")
            s.press("up", "enter")
            s.seen("hear you.")
        lab.models.pop().stop()


def a_paste_while_a_question_is_open_waits_in_the_prompt(lab):
    with view(lab) as s:
        opened(s, "run it", "wants to use Bash")
        s.paste("first\nsecond 1\n")
        s.until("waits in the prompt")
        s.press("1", "enter")
        s.seen("Ran.")
        s.until("❯ first")
        s.press("enter")
        s.seen("I hear you.")
    assert prompts(lab)[-1].strip() == "first\nsecond 1", prompts(lab)


def questions_of_two_agents_are_walked_through(lab):
    with view(lab) as s:
        ready(s)
        s.press("delegate", "enter")
        s.until("1 more wait: n p")
        s.until("in a moment", gone=True)
        first = "one" if any("touch from-one" in r for r in s.rows()) else "two"
        other = "two" if first == "one" else "one"
        s.press("n", "p", "n")
        s.until("touch from-" + other)
        s.press("1", "enter")
        s.until("touch from-" + first)
        s.until("in a moment", gone=True)
        s.press("n")  # there is no other
        s.press("esc")
        s.seen('finished')
        s.seen("I hear you.")
        ready(s)
        assert not any(r.startswith("❯ ") and r[2:] in ("n", "p", "pn", "np") for r in s.rows()), s.rows()
        leave(s)
    assert os.path.exists(os.path.join(lab.work, "from-" + other)) and not os.path.exists(os.path.join(lab.work, "from-" + first))


def changed(lab):
    with open(os.path.join(lab.work, "a.txt"), "w") as f:
        f.write("".join("line %d\n" % i for i in range(1, 10)))
    with open(os.path.join(lab.work, "n.ipynb"), "w") as f:
        json.dump({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
            {"id": "c1", "cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": "x = 1\ny = 2"}]}, f)


def difference(rows):
    """The numbered rows of a difference: [5, '-', 'line 5']"""
    found = [re.match(r" *(\d+) ([-+ ]) (.*)", r) for r in rows]
    return [(int(m[1]), m[2], m[3]) for m in found if m]


def the_question_of_an_edit_shows_the_difference(lab):
    """With numbers and context, for Edit, Write and NotebookEdit, of the main agent and of a child, and as lines in plain mode"""
    changed(lab)
    five = [(2, " ", "line 2"), (3, " ", "line 3"), (4, " ", "line 4"), (5, "-", "line 5"), (5, "+", "line five"),
            (6, " ", "line 6"), (7, " ", "line 7"), (8, " ", "line 8")]
    cases = (("change one", "Edit", "  a.txt", five),
             ("have it changed", "Edit", "/work/a.txt", five),
             ("change all", "Write", "  a.txt",
              [(1, "-", "line 1"), (1, "+", "first"), (2, " ", "line 2"), (3, " ", "line 3")] + [(i, "-", "line %d" % i) for i in range(4, 10)]),
             ("change cell", "NotebookEdit", "cell c1", [(1, " ", "x = 1"), (2, "-", "y = 2"), (2, "+", "y = 3")]))
    for words, tool, place, rows in cases:
        with view(lab) as s:
            opened(s, words, "wants to use " + tool)
            s.until(place)
            assert difference(s.rows()) == rows, (words, s.rows())
            assert not any("old_string" in r or "new_source" in r for r in s.rows()), s.rows()
            if words == "have it changed":
                s.until("Change it")
            s.press("esc")
            s.seen("I hear you.")
            leave(ready(s))
    with view(lab, "--plain") as s:
        s.until(">")
        s.press("change one", "enter")
        s.until("Enter 1 to")
        assert difference(s.rows()) == five, s.rows()
        s.send("n\r")
        s.until("I hear you.")
        leave_plain(s)


def edits_can_be_accepted_from_one_on(lab):
    changed(lab)
    with view(lab) as s:
        opened(s, "change one", "2 Yes, and accept edits from now on")
        s.press("2", "enter")
        s.seen("I hear you.")
        s.until(" . acceptEdits . ? keys")
        s.press("change all", "enter")  # is not asked about
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        leave(ready(s))
    assert open(os.path.join(lab.work, "a.txt")).read() == "first\nline 2\nline 3\n"


def a_long_difference_is_shown_whole_before_yes_works(lab):
    changed(lab)
    with view(lab) as s:
        opened(s, "change nothing", "PgDn")
        assert difference(s.rows())[0] == (1, "+", "new 1"), s.rows()
        s.press("1", "enter")
        s.until("has not been")
        s.press(*["pgdn"] * 8)
        s.until("new 80")
        assert difference(s.rows())[-1] == (80, "+", "new 80"), s.rows()
        s.press("enter")
        s.seen("I hear you.")
        leave(ready(s))
    assert open(os.path.join(lab.work, "new.txt")).read().count("\n") == 80


def a_plan_is_shown_as_markdown_and_approved(lab):
    with view(lab, "--settings", '{"permissions": {"defaultMode": "plan"}}') as s:
        s.until(" . plan . ? keys")
        opened(s, "plan this", "has a plan:")
        s.until("1. First do it")
        assert not any("**First**" in r for r in s.rows()), s.rows()
        s.press("1", "enter")
        s.seen("The tool said: ")
        ready(s)
        s.until(" . plan . ? keys", gone=True)
        rows = s.all()
        at = rows.index("1. First do it")  # it stays, and what the tool tells the model is not shown
        assert rows[at + 1:at + 4] == ["2. Then test it", "? the plan : Yes", "● ExitPlanMode"], rows
        s.press("C-o")
        s.until("q leaves")
        s.until(lambda rows: "2. Then test it" in rows and "● ExitPlanMode" in rows)
        s.press("q")
        leave(ready(s))
    assert "approved the plan" in str(lab.models[0].bodies()[-1]["messages"][-1])


def hooked(lab):
    os.makedirs(os.path.join(lab.work, ".claude"), exist_ok=True)
    with open(os.path.join(lab.work, ".claude", "settings.json"), "w") as f:
        json.dump({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch hooked"}]}]}}, f)


def the_trust_of_a_folder_is_asked_before_the_first_prompt_and_kept(lab):
    """Also of one that is on the command line, and as a numbered list in plain mode; what the folder brings counts at once"""
    hooked(lab)
    for args, answer in (((), ("2", "enter")), (("--plain",), ("2\r",))):
        with view(lab, *args, "hello") as s:
            s.until("Do you trust this folder?")
            s.until("It has .claude/settings.json.")
            s.until("A number" if args else "1-9 choose")
            s.until("in a moment", gone=True)
            assert not prompts(lab), prompts(lab)
            s.press(*answer)
            s.seen("is trusted now")
            s.seen("What this folder brings counts now.")
            s.seen("I hear you.")
            leave_plain(s) if args else leave(ready(s))  # the hook has ended, too
        assert os.path.exists(os.path.join(lab.work, "hooked")) and prompts(lab) == ["hello"], prompts(lab)
        with view(lab, *args) as s:  # once
            s.until("❯" if not args else ">")
            s.press("again", "enter")
            s.seen("I hear you.")
            assert not any("trust" in r for r in s.all()), s.all()
        os.unlink(os.path.join(lab.work, "hooked"))
        lab.cadre("trust", "--forget")
        lab.models[0].stop()
        lab.models.clear()


def a_folder_that_is_not_trusted_is_worked_in_without_what_it_brings(lab):
    hooked(lab)
    with view(lab) as s:
        s.until("Do you trust this folder?")
        s.until("in a moment", gone=True)
        s.press("1", "enter")
        ready(s)
        s.press("hello", "enter")
        s.seen("I hear you.")
        ready(s)
        s.press("more", "enter")
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == 2)
        leave(ready(s))
        assert sum("Do you trust" in r for r in s.all()) == 1, s.all()
    assert prompts(lab) == ["hello", "more"] and not os.path.exists(os.path.join(lab.work, "hooked")), prompts(lab)


if __name__ == "__main__":
    main(questions_are_tabs_and_take_several_answers, a_question_that_needs_no_answer_any_more_is_closed, the_answer_about_a_server_of_the_project_is_a_line, a_form_is_checked_before_it_is_sent,
         a_form_closes_when_its_server_stops_waiting, the_rule_that_is_kept_can_be_changed, a_rule_that_was_looked_at_is_no_reason,
         a_command_that_does_not_fit_is_shown_whole_before_yes_works, in_a_low_window_what_is_asked_comes_before_the_choices,
         a_paste_while_a_question_is_open_waits_in_the_prompt, questions_of_two_agents_are_walked_through,
         the_question_of_an_edit_shows_the_difference, edits_can_be_accepted_from_one_on, a_long_difference_is_shown_whole_before_yes_works,
         a_plan_is_shown_as_markdown_and_approved, the_trust_of_a_folder_is_asked_before_the_first_prompt_and_kept,
         a_folder_that_is_not_trusted_is_worked_in_without_what_it_brings)
