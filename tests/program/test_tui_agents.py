#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The view of all agents on the terminal, with few and with many of them; what is shown when a session is continued; notices."""
import json
import os
import re

from lab import main
from test_tui import HEAD, PLAIN, gate, leave, open_gate, ready, screen

TREE = r"""
rule delegates
  agent main
  prompt contains "delegate it"
  turn 1
  call Agent {"description": "Split it", "prompt": "split this", "subagent_type": "general-purpose", "run_in_background": true}
  call Agent {"description": "Plan it", "prompt": "plan this", "subagent_type": "Plan", "run_in_background": true}
rule splits
  prompt contains "split this"
  turn 1
  call Agent {"description": "Leaf", "prompt": "leaf work", "subagent_type": "general-purpose"}
rule works
  prompt contains "leaf work"
  turn 1
  call Bash {"command": "echo > up; read line < down; echo went on", "description": "w"}
rule says
  text I hear you.
"""

MANY = "rule delegates\n  agent main\n  prompt contains \"delegate it\"\n  turn 1\n" + "".join(
    '  call Agent {"description": "Part %03d", "prompt": "wait part", "subagent_type": "general-purpose", "run_in_background": true}\n' % i
    for i in range(120)) + r"""
rule waits
  prompt contains "wait part"
  delay 600000
  text late
rule says
  text I hear you.
"""


def selected(s, text):
    """The row is the selected one: it is bold."""
    return s.until(lambda rows: any(text in r and s.cells(i)[r.index(text)].attrs & 1 for i, r in enumerate(rows)))


def the_tree_folds_sorts_finds_and_follows_one_agent(lab):
    up = lab.fifo("up")
    os.mkfifo(os.path.join(lab.work, "down"))
    lab.model(TREE, log=True)
    with screen(lab, "--allowedTools=Bash", size=(120, 30)) as s:
        ready(s)
        s.press("delegate it", "enter")
        up.line()
        s.until("2 run")
        s.send("\x14/leaf\r\r")  # one read: the second Enter is for what was found
        s.until("❯ leaf work")
        s.press("esc")
        s.until("by tree, found")
        s.press("q")
        s.until("2 run")
        s.press("C-t")
        s.until(lambda rows: any(r.endswith("by tree") for r in rows))
        s.until("Leaf")
        s.press("left")
        s.until("Leaf", gone=True)
        s.until("+◐")
        s.press("right")
        s.until("Leaf")
        s.press("s")
        s.until("by cost")
        s.press("s", "s", "s")
        s.until("by state")
        s.press("s")
        s.until("by tree")
        s.press("/", "leaf", "enter")
        s.until("Split it", gone=True)
        s.press("m", "look at")  # it is no member of a team
        s.send("\n")
        s.paste("the roots too")
        s.press("enter")
        s.until("it gets the message at its next step")
        s.press("enter")  # its transcript
        s.until("❯ leaf work")
        s.until("model ")
        s.until("    went on", gone=True)
        with open(os.path.join(lab.work, "down"), "w") as f:
            f.write("now\n")
        s.until("    went on")
        s.press("esc")  # back to the agents, as they were
        s.until("by tree, found")
        s.press("q")
        s.seen('Agent "Split it" finished')
        assert any("<agent-message from=\"user\">\nlook at\nthe roots too" in json.dumps(b).encode().decode("unicode_escape")
                   for b in lab.models[0].bodies()), lab.models[0].bodies()[-1]
        s.press("C-t")
        s.until("0 run")
        s.until("Plan it")
        s.press("h")
        s.until("ended hidden")
        s.until("Plan it", gone=True)
        s.press("q")
        s.until("❯")
        ready(s)
        leave(s)


def in_a_low_window_the_rows_that_can_be_missed_go_first(lab):
    lab.model("rule delegates\n  agent main\n  prompt contains \"delegate it\"\n  turn 1\n" + "".join(
        '  call Agent {"description": "Part %d", "prompt": "wait part", "subagent_type": "general-purpose", "run_in_background": true}\n' % i for i in range(8)) + r"""
rule waits
  latency 600s
  text late
""")
    with screen(lab, size=(80, 30)) as s:
        ready(s)
        s.press("delegate it", "enter")
        s.until("8 run")
        for word in "one", "two", "three", "four", "five":
            s.press(word, "enter")
            s.until("❯ " + word, gone=True)
        s.until("queued, and 2 more: three")
        assert sum(r.startswith("queued") for r in s.rows()) == 3 and any("enter queues" in r for r in s.rows()), s.rows()
        s.press("six")
        for height, agents in ((16, 6), (12, 6), (10, 6), (9, 5), (8, 4)):
            s.resize(80, height)
            queued = min(3, max(0, height - 1 - 9))
            s.until(lambda rows, height=height, agents=agents, queued=queued: rows[s.cursor()[0]] == "❯ six" and (
                sum("  ◐ " in r for r in rows), sum(r.startswith("queued") for r in rows), sum("esc interrupts" in r for r in rows),
                sum("8 agents: 8 run" in r for r in rows), sum("enter queues" in r for r in rows)) == (agents, queued, 1, 1, height > 13))
        s.resize(80, 30)
        s.until("enter queues")


def an_agent_that_is_interrupted_has_one_line(lab):
    """What its result says to the model is not for the user."""
    lab.model("""
rule starts
  agent main
  turn 1
  call Agent {"description": "Wait", "prompt": "wait", "subagent_type": "general-purpose"}
rule waits
  latency 600s
  text never
""")
    with screen(lab) as s:
        ready(s)
        s.press("begin", "enter")
        s.until("1 run")
        s.press("esc")
        s.seen("The agent was stopped before it was finished.")
        s.seen("Interrupted.")
        assert not any("agentId" in r or "<usage>" in r for r in s.all()), s.all()
        ready(s)
        leave(s)


def many_agents_are_grouped_and_counted(lab):
    lab.model(MANY, log=True)
    with screen(lab, size=(100, 30)) as s:
        ready(s)
        s.press("delegate it", "enter")
        s.until("120 agents: 120 run")
        s.until(" more, ctrl+t")
        s.seen("120 agents begin")
        s.seen("I hear you.")
        rows = s.all()
        assert sum("Part " in r for r in rows) <= 6, rows
        s.press("C-t")
        s.until("120 general-purpose: 120 run, 0 ended")
        s.press("right")
        s.until("Part 000")
        s.press("G")
        s.until("Part 119")
        s.press("left")
        s.until("120 general-purpose: 120 run")
        s.press("/", "part 07", "enter")
        s.until(lambda rows: sum("Part 07" in r for r in rows) == 10)
        s.press("q")
        s.until("❯")


def agents_that_end_together_are_one_line(lab):
    lab.model(MANY.replace("delay 600000", "latency 700ms"), log=True)
    with screen(lab, size=(100, 30)) as s:
        ready(s)
        s.press("delegate it", "enter")
        s.seen("120 agents begin")
        s.press("C-t")
        s.until("Agents: 120 . 0 run")
        s.press("enter", "right", "down", "x")  # the group is open
        s.until("it has ended")
        s.press("q")
        ready(s)
        rows = s.all()
        lines, counted = sum("finished (" in r for r in rows), [int(r.split()[1]) for r in rows if "agents have finished" in r]
        assert lines + sum(counted) == 120 and lines < 60, (lines, counted)
        leave(s)


def beside_a_long_title_is_seen_what_an_agent_does(lab):
    title = "Map 日本語 all the sources of this project, with a title that has no end in sight"
    lab.model('rule main\n  agent main\n  prompt contains "delegate it"\n  turn 1\n  call Agent {"description": "%s", "prompt": "wait part", '
              '"subagent_type": "general-purpose", "run_in_background": true}\nrule part\n  prompt contains "wait part"\n  delay 600000\n  text late\n'
              'rule says\n  text ok\n' % title)
    with screen(lab, size=(80, 24)) as s:
        ready(s)
        s.press("delegate it", "enter")
        row = r"general-purpose Map 日本語 all .*…  \d turns?, .*tokens, .*\d s"
        s.until(lambda rows: any(re.search("◐ " + row, r) for r in rows))
        s.press("C-t")
        s.until("Agents: 1")
        s.until(lambda rows: any(re.search("◐ " + row, r) for r in rows))
        s.resize(200, 24)
        s.until(title)
        s.press("q")
        leave(ready(s))


def the_list_of_what_is_to_be_done_keeps_its_key(lab):
    """Ctrl-T is for that list while there is one: the rows of agents name another key."""
    lab.model('rule todo\n  agent main\n  prompt contains "delegate it"\n  turn 1\n  call TaskCreate {"subject": "find it", "description": "d"}\n'
              + MANY.replace('  turn 1\n', '  turn 2\n', 1), log=True)
    with screen(lab, "--allowedTools=TaskCreate", size=(100, 30)) as s:
        ready(s)
        s.press("delegate it", "enter")
        s.until(" more, ctrl+x t")
        s.until("todo 0/1: [ ] find it")
        s.press("C-x", "t")
        s.until("120 general-purpose: 120 run")


def agents_are_rows_in_plain_mode_too(lab):
    up = lab.fifo("up")
    os.mkfifo(os.path.join(lab.work, "down"))
    lab.model(TREE, log=True)
    with screen(lab, "--plain", "--allowedTools=Bash", size=(120, 30)) as s:
        s.until(">")
        s.press("delegate it", "enter")
        up.line()
        s.until(lambda rows: any(re.match(r"\* \d agents?: ", r) for r in rows) and any(re.match(r" *~ general-purpose Leaf  .* Bash", r) for r in rows))
        with open(os.path.join(lab.work, "down"), "w") as f:
            f.write("now\n")
        s.until("agents: ", gone=True)
        s.seen('Agent "Split it" finished')


def a_session_that_is_continued_shows_its_title_its_age_its_messages_and_its_agents(lab):
    up = lab.fifo("up")
    lab.model(TREE.replace("read line < down", "exec sleep 600"), log=True)
    with screen(lab, "--allowedTools=Bash", "--name", "A fine title") as s:
        for i in range(8):
            ready(s)
            s.press("words %d" % i, "enter")
            s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) == i + 1)
        ready(s)
        s.press("delegate it", "enter")
        up.line()
        s.until(lambda rows: sum("I hear you." in r for r in s.above + rows) >= 9)
    with screen(lab, "--continue") as s:
        ready(s)
        s.seen("A fine title")
        s.seen("agent continues with the next prompt: Split it")
        rows = s.all()
        head = next(i for i, r in enumerate(rows) if r.startswith("Continuing session"))
        assert re.match(r"Continuing session [-0-9a-f]{36}: A fine title, .* s old", rows[head] + rows[head + 1]), rows
        assert any("earlier messages: ctrl+o" in r for r in rows), rows
        assert not any("❯ words 0" in r for r in rows) and any("❯ words 7" in r for r in rows), rows


def notices_go_the_way_of_the_terminal(lab):
    gate(lab, "go", 'rule asks\n  turn 2\n  call Bash {"command": "touch x", "description": "d"}\nrule says\n  text ok\n')
    for env, wanted in (({"TERM_PROGRAM": "iTerm.app"}, b"\x1b]9;a question waits\a"), ({"TERM": "xterm-kitty"}, b"\x1b]99;;a question waits\x1b\\"),
                        ({"TERM_PROGRAM": "ghostty"}, b"\x1b]777;notify;cadre;a question waits\a"), ({}, b"\a")):
        with screen(lab, HEAD, env={**PLAIN, **env}) as s:
            ready(s)
            assert b"\x1b[?1004h" not in s.raw  # focus is asked for during a turn only
            s.press("go", "enter")
            s.until("Bash head")
            s.until_raw(lambda raw: b"\x1b[?1004h" in raw)
            s.press("\x1b[O")  # the focus goes
            before = len(s.raw)
            open_gate(lab)
            s.until("wants to use Bash")
            s.until_raw(lambda raw: wanted in raw[before:])
            progress = b"\x1b]9;4;3" in s.raw
            assert progress == (env.get("TERM_PROGRAM") == "ghostty"), env


def notices_go_the_way_that_the_setting_names(lab):
    gate(lab, "go", 'rule asks\n  turn 2\n  call Bash {"command": "touch x", "description": "d"}\nrule says\n  text ok\n')
    os.makedirs(os.path.join(lab.home, ".claude"), exist_ok=True)
    for channel, wanted in (("kitty", b"\x1b]99;;a question waits\x1b\\"), ("notifications_disabled", None)):
        with open(os.path.join(lab.home, ".claude", "settings.json"), "w") as f:
            json.dump({"preferredNotifChannel": channel}, f)
        with screen(lab, HEAD, env={**PLAIN, "TERM_PROGRAM": "iTerm.app"}) as s:
            ready(s)
            s.press("go", "enter")
            s.until("Bash head")
            s.press("\x1b[O")  # the focus goes
            open_gate(lab)
            s.until("e edits the rule")
            s.until("in a moment", gone=True)
            if wanted:
                s.until_raw(lambda raw: wanted in raw)
            s.press("esc")
            s.until("wants to use Bash", gone=True)
            assert b"\x1b]9;a question" not in s.raw and (b";a question waits" in s.raw) == bool(wanted), channel


TEAM = r"""
rule starts
  agent main
  prompt contains "Make a team"
  turn 1
  call Agent {"description": "A", "prompt": "Wait", "name": "ann"}
rule lead
  agent main
  text Noted.
rule ann hears
  last contains "words of many, with  blanks"
  text I heard the words.
rule ann hears more
  last contains "by the command"
  text I heard the command.
rule ann
  text I wait.
"""


def a_line_to_a_member_is_the_users_word_to_it(lab):
    lab.model(TEAM, log=True)
    with screen(lab, env={**PLAIN, "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}) as s:
        ready(s)
        s.press("Make a team", "enter")
        s.until(lambda rows: sum("Noted." in r for r in rows) == 2)
        s.until(lambda rows: not any("1 runs" in r for r in rows))  # one that waits for a message does not run
        s.press("@ANN words of many, with  blanks and so on until more than sixteen of them are in one line of text", "enter")
        s.until("ann has your message")
        s.until(lambda rows: sum("Noted." in r for r in rows) == 3)  # the lead was told that ann had a run
        s.press("/tell ann by the command", "enter")
        s.until("ann has your message")  # its command is over: one runs at a time
        s.until(lambda rows: sum("Noted." in r for r in rows) == 4)
        s.press("@an")
        s.until("❯ @ann")  # is suggested
        s.press("backspace", "backspace", "enter")
        s.until(lambda rows: any("[ann]" in r and "idle" in r for r in rows))
        heard = [b["messages"][-1] for b in lab.models[-1].bodies() if "words of many" in str(b["messages"][-1])]
        assert "teammate-message" not in str(heard[0]) and "until more than sixteen of them are in one line of text" in str(heard[0]), heard


def the_same_in_plain_mode(lab):
    lab.model(TEAM, log=True)
    for args, term in ((["--plain"], "xterm"), ([], "dumb")):
        with screen(lab, *args, env={**PLAIN, "TERM": term, "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}) as s:
            s.until(">")
            s.send("Make a team\r")
            s.until(lambda rows: sum("Noted." in r for r in s.above + rows) == 2)
            s.send("@ann words for you\r")
            s.until("ann has your message")
            s.until(lambda rows: sum("Noted." in r for r in s.above + rows) == 3)
            s.send("@\r")
            s.until(lambda rows: any("[ann]" in r and "idle" in r for r in rows))
            s.press("C-d", "C-d")
        heard = [b["messages"][-1] for b in lab.models[-1].bodies() if "words for you" in str(b["messages"][-1])]
        assert heard and "teammate-message" not in str(heard[0]), heard


if __name__ == "__main__":
    main(the_tree_folds_sorts_finds_and_follows_one_agent, in_a_low_window_the_rows_that_can_be_missed_go_first, an_agent_that_is_interrupted_has_one_line, many_agents_are_grouped_and_counted,
         agents_that_end_together_are_one_line,
         beside_a_long_title_is_seen_what_an_agent_does, the_list_of_what_is_to_be_done_keeps_its_key, agents_are_rows_in_plain_mode_too,
         a_session_that_is_continued_shows_its_title_its_age_its_messages_and_its_agents, notices_go_the_way_of_the_terminal,
         notices_go_the_way_that_the_setting_names,
         a_line_to_a_member_is_the_users_word_to_it, the_same_in_plain_mode)
