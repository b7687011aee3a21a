#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The interactive program, driven through a pty."""
import json
import os
import pathlib
import re
import signal
import sys

from lab import CADRE, ROOT, Transcript, main

sys.path.insert(0, str(ROOT / "scripts"))
from pty_test import Terminal  # noqa: E402

SCENARIO = r"""
rule repeats
  capture said prompt "say " line
  text "You said {{said}}."

rule sums up
  last contains "keep the numbers"
  text Numbers were kept.

rule stalls
  prompt contains "wait for ever"
  text I begin
  stall after event 3

rule writes
  prompt contains "write a file"
  turn 1
  call Bash {"command": "echo made > made.txt", "description": "make a file"}

rule reports
  prompt contains "write a file"
  text "The tool said: {{last_result}}"

rule asks
  prompt contains "ask me"
  turn 1
  call AskUserQuestion {"questions": [{"question": "Which colour?", "header": "Colour", "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]}, {"question": "Which sizes?", "header": "Sizes", "multiSelect": true, "options": [{"label": "Small", "description": "s"}, {"label": "Large", "description": "l"}]}]}

rule hears
  prompt contains "ask me"
  text "The tool said: {{last_result}}"

rule plans
  prompt contains "plan it"
  turn 1
  call ExitPlanMode {"plan": "# First\nthen second"}

rule planned
  prompt contains "plan it"
  text "The tool said: {{last_result}}"

rule paints
  prompt contains "paint"
  text "red \u001b[31m title \u001b]0;owned\u0007 end"
"""
COLOUR = re.compile(rb"\x1b\[[0-9;]*[1-9][0-9;]*m")  # not what only sets back


def a_standard_file_that_is_closed_is_empty_or_cannot_be_written(lab):
    lab.model("rule hears\n  text I hear you.")
    for command, code, out, words in (
            ('"$0" <&-', 2, "", "no prompt"), ('"$0" -p hello <&-', 0, "I hear you.\n", ""), ('"$0" -p hello 2>&-', 0, "I hear you.\n", ""),
            ('"$0" -p hello >&-', 1, "", "cannot write to standard output"), ('"$0" -p hello <&- >&- 2>&-', 1, "", ""), ('"$0" agents >&-', 1, "", "cannot write"),
            ('"$0" agents <&- 2>&- | head -1', 0, "NAME", "")):
        done = lab.start("-c", command, CADRE, program="/bin/sh").wait()
        assert done.code == code and done.out.startswith(out) and bool(done.out) == bool(out) and words in done.err, (command, done)


def start(lab, *args, env=None, program=CADRE):
    if not lab.models:
        lab.model(SCENARIO)
    terminal = {**lab.env, "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1", **(env or {})}
    return Terminal([program] + ["--plain"] * (program == CADRE) + list(args), terminal, lab.work)


def leave(t):
    t.key("C-d")
    code = t.wait()
    assert code == 0, "exit code %s, last words %r" % (code, t.text[-300:])


def a_line_is_answered_and_ctrl_d_leaves(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("say good morning")
        t.expect("You said good morning.")
        t.expect("> ")
        leave(t)
        assert "cadre --resume " in t.text


def a_prompt_on_the_command_line_is_the_first_turn(lab):
    with start(lab, "say from the shell") as t:
        t.expect("You said from the shell.")
        t.expect("> ")
        leave(t)


def the_initial_prompt_of_an_agent_is_the_first_turn(lab):
    agents = json.dumps({"lead": {"description": "leads", "prompt": "You lead.", "initialPrompt": "say good morning"}})
    with start(lab, "--agents", agents, "--agent", "lead") as t:
        t.expect("You said good morning.")
        t.expect("> ")
        leave(t)


def letters_outside_ascii_survive(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("say gr\u00fc\u00dfe \u20ac")
        t.expect("You said gr\u00fc\u00dfe \u20ac.")
        t.expect("> ")
        leave(t)


def the_arrow_brings_the_last_line_back(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("say once")
        t.expect("You said once.")
        t.expect("> ")
        t.key("up")
        t.expect("once")
        t.key("enter")
        t.expect("You said once.")
        t.expect("> ")
        leave(t)


def a_question_that_is_answered_with_yes_lets_the_tool_run(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("write a file")
        t.expect("cadre wants to use Bash:")
        t.expect("Enter 1 to 4 or y/s/a/n, or say why: ")
        assert not os.path.exists(os.path.join(lab.work, "made.txt"))
        t.type("y")
        t.expect("The tool said:")
        t.expect("> ")
        assert os.path.exists(os.path.join(lab.work, "made.txt"))
        leave(t)


def a_question_that_is_answered_with_a_reason_tells_the_model(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("write a file")
        t.expect("say why: ")
        t.type("use the other folder")
        t.expect("The tool said:")
        t.expect("use the other folder")
        t.expect("> ")
        assert not os.path.exists(os.path.join(lab.work, "made.txt"))
        leave(t)


def always_is_asked_once_in_a_session(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("write a file")
        t.expect("say why: ")
        t.type("a")
        t.expect("The tool said:")
        t.expect("> ")
        t.type("write a file again")
        skipped = t.expect("The tool said:")
        assert "wants to use" not in skipped, skipped
        t.expect("> ")
        leave(t)


def always_is_kept_for_the_next_session(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("write a file")
        t.expect("2. Yes, for this session: Bash(echo made > made.txt)")
        t.expect("3. Yes, always, kept in .claude/settings.local.json: Bash(echo made > made.txt)")
        t.expect("say why: ")
        t.type("always")
        t.expect("The tool said:")
        t.expect("> ")
        leave(t)
    kept = json.loads(pathlib.Path(lab.work, ".claude", "settings.local.json").read_text())
    assert kept == {"permissions": {"allow": ["Bash(echo made > made.txt)"]}}, kept
    with start(lab) as t:
        t.expect("> ")
        t.type("write a file")
        skipped = t.expect("The tool said:")
        assert "wants to use" not in skipped, skipped
        t.expect("> ")
        leave(t)


def a_question_of_the_model_is_answered_by_numbers_or_words(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("ask me")
        t.expect("Which colour?")
        t.expect("1. Red - warm")
        t.expect("2. Blue - cold")
        t.expect("A number, or your own words: ")
        t.type("3")
        t.expect("A number, or your own words: ")
        t.type("a light green")
        t.expect("Which sizes?")
        t.expect("Numbers with commas, or your own words: ")
        t.type("2, 1")
        t.expect("a light green")
        t.expect("Large, Small")
        t.expect("> ")
        leave(t)
        assert "* AskUserQuestion\n" in t.text.replace("\r", "") and '"header"' not in t.text, t.text


def a_question_of_the_model_need_not_be_answered(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("ask me")
        t.expect("A number, or your own words: ")
        t.key("C-d")
        t.expect("The user does not want to answer.")
        t.expect("> ")
        leave(t)


def a_plan_that_is_not_approved_leaves_plan_mode_on(lab):
    with start(lab, "--permission-mode", "plan") as t:
        t.expect("> ")
        t.type("plan it")
        t.expect("cadre has a plan:")
        t.expect("First")
        t.expect("then second")
        t.expect("Enter 1 to 3 or y/e/n, or say why: ")
        t.type("third first")
        t.expect("plan mode stays on. They said: third first")
        t.expect("> ")
        t.type("plan it again")
        t.expect("say why: ")
        t.type("e")
        t.expect("edits are accepted without asking")
        t.expect("> ")
        t.type("plan it a third time")
        t.expect("not in plan mode")
        t.expect("> ")
        leave(t)
    plans = list(pathlib.Path(lab.home, ".claude", "plans").iterdir())
    assert [p.read_text() for p in plans] == ["# First\nthen second"], plans


def ctrl_c_ends_the_turn_and_the_next_one_works(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("wait for ever")
        t.expect("I begin")
        t.key("C-c")
        t.expect("Interrupted")
        t.expect("> ")
        t.type("say hello")
        t.expect("You said hello.")
        t.expect("> ")
        leave(t)


def ctrl_c_twice_ends_the_program(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("wait for ever")
        t.expect("I begin")
        t.key("C-c")
        t.expect("Interrupted")
        t.expect("> ")
        t.key("C-c")
        assert t.wait() == 130, t.code


def ctrl_c_during_a_question_ends_the_turn(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("write a file")
        t.expect("say why: ")
        t.key("C-c")
        t.expect("Interrupted")
        t.expect("> ")
        assert not os.path.exists(os.path.join(lab.work, "made.txt"))
        leave(t)


def sigterm_completes_the_transcript_and_exits_143(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("wait for ever")
        t.expect("I begin")
        t.signal(signal.SIGTERM)
        assert t.wait() == 143, t.code
    assert lab.transcripts()
    for path in lab.transcripts():
        Transcript(path).check_complete()


def a_session_is_resumed_by_its_id(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("say remember me")
        t.expect("You said remember me.")
        t.expect("> ")
        leave(t)
        session = re.search(r"--resume ([0-9a-f-]{36})", t.text).group(1)
    with start(lab) as t:
        t.expect("> ")
        t.type("/resume " + session)
        t.expect("Continuing session " + session + ".")
        t.expect("> ")
        t.type("say again")
        t.expect("You said again.")
        t.expect("> ")
        leave(t)
    assert [path.stem for path in lab.transcripts()] == [session]
    [first] = lab.transcripts()
    for i in range(25):
        stem = "%08d-0000-4000-8000-000000000000" % i
        older = first.with_name(stem + ".jsonl")
        older.write_text(first.read_text().replace(session, stem))
        os.utime(older, (1700000000 + i,) * 2)
    with start(lab) as t:
        t.expect("> ")
        t.type("/resume")
        t.expect("the newest 20; 6 older ones")
        t.expect(" 20. ")
        t.expect("Enter 1 to 20, or nothing")
        t.type("1")
        t.expect("Continuing session " + session)
        t.expect("> ")
        leave(t)


def a_session_that_cannot_be_resumed_leaves_the_current_one(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("say first")
        t.expect("You said first.")
        t.expect("> ")
        t.type("/resume 00000000-0000-4000-8000-000000000000")
        t.expect("No conversation found")
        t.expect("> ")
        t.type("/resume")
        t.expect("There is no earlier session")
        t.expect("> ")
        t.type("/resume " + lab.transcripts()[0].stem)
        t.expect("in use")
        t.expect("> ")
        t.type("say second")
        t.expect("You said second.")
        t.expect("> ")
        leave(t)
    assert len(lab.transcripts()) == 1, lab.transcripts()


def a_new_session_has_a_new_id(lab):
    with start(lab, "--session-id", "11111111-1111-4111-8111-111111111111") as t:
        t.expect("> ")
        t.type("say first")
        t.expect("You said first.")
        t.expect("> ")
        t.type("/new")
        t.expect("New session")
        t.expect("> ")
        t.type("say second")
        t.expect("You said second.")
        t.expect("> ")
        leave(t)
    assert len(lab.transcripts()) == 2, lab.transcripts()


def commands_explain_themselves_and_unknown_ones_are_said(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("/help")
        t.expect("/resume")
        t.expect("> ")
        t.type("/nonsense")
        t.expect("no command /nonsense")
        t.expect("> ")
        t.type("/exit")
        assert t.wait() == 0, t.code


def a_conversation_is_summed_up_at_the_terminal(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("say one thing")
        t.expect("You said one thing.")
        t.expect("> ")
        t.type("/compact keep the numbers")
        t.expect("The conversation was compacted")
        t.expect("> ")
        leave(t)
    summary = next(line for line in lab.transcript(lab.transcripts()[0].stem).lines if line.get("isCompactSummary"))
    assert "Numbers were kept." in json.dumps(summary), summary


def what_the_model_writes_cannot_act_on_the_terminal(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("paint")
        t.expect(r"red \x1b[31m title \x1b]0;owned\x07 end")
        t.expect("> ")
        leave(t)
        assert b"\x1b]0;owned" not in t.raw


def a_no_is_a_no(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("write a file")
        t.expect("say why: ")
        t.type("n")
        t.expect("The tool said:")
        t.expect("> ")
        assert not os.path.exists(os.path.join(lab.work, "made.txt"))
        t.type("write a file again")
        t.expect("cadre wants to use Bash:")
        t.expect("say why: ")
        t.type("y")
        t.expect("The tool said:")
        t.expect("> ")
        assert os.path.exists(os.path.join(lab.work, "made.txt"))
        leave(t)


def a_session_goes_on_from_the_command_line(lab):
    with start(lab) as t:
        t.expect("> ")
        t.type("say one thing")
        t.expect("You said one thing.")
        t.expect("> ")
        leave(t)
    with start(lab, "--continue") as t:
        t.expect("> ")
        t.type("say another")
        t.expect("You said another.")
        t.expect("> ")
        leave(t)
    assert len(lab.transcripts()) == 1, lab.transcripts()


def colours_are_used_only_where_they_are_wanted(lab):
    for env, coloured in (({}, False), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "", "TERM": "dumb"}, False)):
        with start(lab, env=env) as t:
            t.expect("> ")
            t.type("write a file")
            t.expect("say why: ")
            t.type("n")
            t.expect("The tool said:")
            t.expect("> ")
            leave(t)
            assert bool(COLOUR.search(t.raw)) == coloured, (env, t.raw[-600:])


def the_terminal_is_left_as_it_was(lab):
    script = 'trap : INT; stty -g; "$0" --plain; echo code $?; stty -g; echo over'
    for key, code in (("C-d", 0), ("C-c", 130)):
        with start(lab, "-c", script, CADRE, program="sh") as t:
            before = re.search(r"[0-9a-f:]{30,}", t.expect("> ")).group(0)
            t.type("wait for ever")
            t.expect("I begin")
            t.key("C-c")
            t.expect("Interrupted")
            t.expect("> ")
            t.key(key)
            t.expect("code %d" % code)
            assert before in t.expect("over"), t.text
            assert t.wait() == 0


if __name__ == "__main__":
    main(a_standard_file_that_is_closed_is_empty_or_cannot_be_written, a_line_is_answered_and_ctrl_d_leaves,
         a_prompt_on_the_command_line_is_the_first_turn, the_initial_prompt_of_an_agent_is_the_first_turn,
         letters_outside_ascii_survive,
         the_arrow_brings_the_last_line_back,
         a_question_that_is_answered_with_yes_lets_the_tool_run,
         a_question_that_is_answered_with_a_reason_tells_the_model,
         always_is_asked_once_in_a_session,
         ctrl_c_ends_the_turn_and_the_next_one_works,
         always_is_kept_for_the_next_session,
         a_question_of_the_model_is_answered_by_numbers_or_words,
         a_question_of_the_model_need_not_be_answered,
         a_plan_that_is_not_approved_leaves_plan_mode_on,
         ctrl_c_twice_ends_the_program,
         ctrl_c_during_a_question_ends_the_turn,
         sigterm_completes_the_transcript_and_exits_143,
         a_session_is_resumed_by_its_id,
         a_session_that_cannot_be_resumed_leaves_the_current_one,
         a_new_session_has_a_new_id,
         commands_explain_themselves_and_unknown_ones_are_said, a_conversation_is_summed_up_at_the_terminal,
         what_the_model_writes_cannot_act_on_the_terminal,
         a_no_is_a_no,
         a_session_goes_on_from_the_command_line,
         colours_are_used_only_where_they_are_wanted,
         the_terminal_is_left_as_it_was, at_once=4)  # they wait most of the time
