#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every view of the terminal at 20, 80 and 200 columns, row by row, as it was looked at and found good. tui_screens.txt has the rows;
CADRE_UPDATE=1 writes them anew, to be read before they are kept.

VIEWS stay while the window changes its size; LISTS are written once, at each width anew."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from lab import Late, main, no_cell, until
from test_tui import PLAIN, leave, ready, screen
from test_tui_dialogs import QUESTIONS, SERVER

SCENARIO = r"""
rule edits
  prompt contains "edit it"
  turn 1
  call Read {"file_path": "a.txt"}
rule edits more
  prompt contains "edit it"
  turn 2
  call Edit {"file_path": "a.txt", "old_string": "while (p < end)", "new_string": "while (p <= end)"}
rule runs
  prompt contains "run it"
  turn 1
  call Bash {"command": "make -C build clean && rm -rf build/objects-of-the-last-run", "description": "r"}
rule asks
  prompt contains "ask me"
  turn 1
  call AskUserQuestion %s
rule plans
  prompt contains "plan this"
  turn 1
  call ExitPlanMode {"plan": "# The plan\n\n1. **First** read all of the sources of the parser\n2. Then test it"}
rule books
  prompt contains "use the server"
  turn 1
  call mcp__clerk__book {}
rule writes
  prompt contains "write it"
  turn 1
  call Write {"file_path": "new.txt", "content": "x\\ny\\n"}
rule written
  prompt contains "write it"
  text Written.
rule delegates
  agent main
  prompt contains "delegate"
  turn 1
  call Agent {"description": "Map the sources", "prompt": "job map", "subagent_type": "Explore", "run_in_background": true}
  call Agent {"description": "Write the tour", "prompt": "job tour", "subagent_type": "general-purpose", "run_in_background": true}
  call Agent {"description": "Plan a tour", "prompt": "job plan", "subagent_type": "Plan", "run_in_background": true}
rule team
  agent main
  prompt contains "make a team"
  turn 1
  call Agent {"description": "Read the sources", "prompt": "wait for words", "name": "ann"}
  call Agent {"description": "Write the tests", "prompt": "job tests", "name": "bob"}
rule maps
  prompt contains "job map"
  turn 1
  call Glob {"pattern": "*.txt"}
rule tours
  prompt contains "job tour"
  turn 1
  call Bash {"command": "touch tour.md", "description": "t"}
rule planner
  prompt contains "job plan"
  turn 1
  latency 900
  call Bash {"command": "touch plan.md", "description": "t"}
rule never
  prompt contains "job "
  delay 600000
  text late
rule lists
  prompt contains "list the work"
  turn 1
  call TaskCreate {"subject": "find the place where it is lost", "description": "d"}
  call TaskCreate {"subject": "fix it", "description": "d"}
  call TaskCreate {"subject": "test it", "description": "d"}
rule lists more
  prompt contains "list the work"
  turn 2
  call TaskUpdate {"taskId": "1", "status": "completed"}
  call TaskUpdate {"taskId": "2", "status": "in_progress"}
rule works
  prompt contains "list the work"
  delay 600000
  text late
rule says
  text I hear you.
""" % QUESTIONS
SIZES = ((80, 24), (20, 10), (200, 16), (80, 24))

BASH, TASKS, ACCEPT, PLAN = ("--allowedTools=Bash",), ("--allowedTools=TaskCreate,TaskUpdate",), ("--permission-mode", "acceptEdits"), ("--permission-mode", "plan")
TEAM = ("--settings", '{"env": {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}}')
# name, arguments, keys (those of WAITS, and words with a dot at their end, are waited for), what it shows
VIEWS = (
    ("history", (), ("C-r",), "hello there"),
    ("history without a hit", (), ("C-r", "zzz"), "nothing in the history"),
    ("no agents", (), ("C-x", "t"), "no agent"),
    ("models", (), ("/model", "enter"), "Model"),
    ("fallback models", (), ("/fallback", "enter"), "Fallback model"),
    ("themes", (), ("/theme", "enter"), "Theme"),
    ("efforts", (), ("/effort", "enter"), "Effort"),
    ("modes", (), ("/mode", "enter"), "Permission mode"),
    ("styles", (), ("/output-style", "enter"), "Output style"),
    ("memory files", (), ("/memory", "enter"), "Edit memory"),
    ("memory line", (), ("# keep this", "enter"), "Keep this in"),
    ("empty conversation", (), ("C-o",), "Nothing was said"),
    ("differences", (), ("/diff", "enter"), "Changes since"),
    ("permission rules", (), ("/permissions", "enter"), "add a rule"),
    ("settings", (), ("/config", "enter", "pgdn"), "all that is set"),
    ("values of a setting", (), ("/config", "enter", "wrap", "enter"), "terminal"),
    ("sessions", (), ("/resume", "enter"), "Sessions"),
    ("list without a hit", (), ("/theme", "enter", "Theme", "zzz"), "nothing fits"),
    ("commands", (), ("/the",), "/theme"),
    ("all commands", (), ("/",), "/add-dir"),
    ("files", (), ("see @",), "@b.txt"),
    ("several rows", (), ("one", "alt-enter", "two rows of a longer text that is typed into the line", "alt-enter", "three"), "three"),
    ("paste", (), ("PASTE", "C-o"), "Pasted"),
    ("conversation", (), ("hello", "enter", "I hear you.", "C-o"), "q leaves"),
    ("search", (), ("hello", "enter", "I hear you.", "C-o", "Conversation", "/", "hear"), "/hear"),
    ("question of an edit", (), ("edit it", "enter"), "wants to use Edit"),
    ("question of a command", (), ("run it", "enter"), "wants to use Bash"),
    ("changing the rule", (), ("run it", "enter", "WANTS", "e"), "the rule that is kept"),
    ("saying why not", (), ("run it", "enter", "WANTS", "5", "enter"), "enter sends"),
    ("the whole question", (), ("run it", "enter", "WANTS", "C-o"), "The question"),
    ("questions", (), ("ask me", "enter"), "Which colour?"),
    ("own words", (), ("ask me", "enter", "WANTS", "3", "enter"), "enter sends"),
    ("plan", PLAN, ("plan this", "enter"), "has a plan"),
    ("form", (), ("use the server", "enter"), "server clerk asks"),
    ("rewind", ACCEPT, ("write it", "enter", "Written.", "/rewind", "enter"), "Back to before"),
    ("rewind kinds", ACCEPT, ("write it", "enter", "Written.", "/rewind", "enter", "Back to before", "enter"), "Set back"),
    ("several questions", (), ("delegate", "enter", "more wait"), "wants to use Bash"),
    ("waiting question", (), ("run it", "enter", "a line"), "a question"),
    ("agents", BASH, ("delegate", "enter", "3 run", "C-x", "t"), "Agents: 3"),
    ("message to an agent", BASH, ("delegate", "enter", "3 run", "C-x", "t", "Agents: 3", "m", "look at the roots too"), "message:"),
    ("agent transcript", BASH, ("delegate", "enter", "3 run", "C-x", "t", "Agents: 3", "enter"), "job map"),
    ("team members", TEAM, ("make a team", "enter", "idle", "C-x", "t", "Agents: 2"), "idle"),
    ("rows of agents", BASH, ("delegate", "enter", "3 run"), "3 agents"),
    ("chosen row of agents", BASH, ("delegate", "enter", "3 run", "down", "down"), "3 agents"),
    ("turn", TASKS, ("list the work", "enter"), "todo 1/3"),
    ("todo list", TASKS, ("list the work", "enter", "todo 1/3", "C-t"), "[>] fix it"),
    ("queue", TASKS, ("list the work", "enter", "todo 1/3", "then this", "enter", "and also that, which is longer than most", "enter"), "queued: and"),
    ("server of the project", (), (), "MCP server helper"),
    ("trust", (), (), "Do you trust"),
)
WAITS = ("Conversation", "Theme", "Back to before", "Agents: 2", "Agents: 3", "3 run", "idle", "todo 1/3", "more wait")
# what is written once, at each width: a command, and what its last line has
LISTS = (
    ("/help", "? on an empty line"), ("/help cost", "/cost"), ("/keys", "?"), ("/hepl", "did you mean"), ("/status", "version"), ("/context", "Free space"),
    ("/usage", "of all agents"), ("/hooks", "Stop"), ("/mcp", "clerk"), ("/agents", "Plan"), ("/skills", "polish"), ("/permissions list", "allow"),
    ("/plugin", "plugin"), ("/config theme", "theme"), ("/sandbox", "enabled"), ("/statusline", "statusLine"), ("/terminal-setup", "hift"),
    ("/version", ""), ("/export out.md", ""), ("/effort low", "effort: low"), ("/todo", ""), ("/team", "team"), ("/tasks x", "arguments"), ("!echo out", "out"),
    ("/rename A title", ""), ("/doctor", "version"), ("/sessions", "hello"),
)
FIGURE = r"\s+[\d.]+( [kM])?%?(?=\s|$)"  # what the prompt needs differs with the machine
PATHS = ("/status", "/permissions list", "/config theme", "/sandbox", "/doctor", "/export out.md", "/sessions")
KEPT, UPDATE = pathlib.Path(__file__).with_name("tui_screens.txt"), os.environ.get("CADRE_UPDATE")


class Golden:
    """The rows that are kept for a set of views; when they are updated, each is what the screen shows once it is quiet."""

    def __init__(self, lab):
        self.folder = os.path.basename(lab.work)
        self.kept = dict(part.split("\n", 1) for part in KEPT.read_text().split("== ")[1:]) if KEPT.exists() else {}

    def check(self, s, title, shown):
        def text():
            rows = [row.replace(self.folder, "c-folder") for row in s.rows()]  # first: steady() would take a part of it for a time
            return "".join("|%s\n" % row for row in shown(rows) if not row.startswith("cadre 0."))
        if UPDATE:
            while s._pump(time.monotonic() + float(UPDATE)):
                pass
            self.kept[title] = text()
            KEPT.write_text("".join("== %s\n%s" % one for one in self.kept.items()))
            return
        try:
            s.until(lambda _: text() == self.kept.get(title))
        except Late:
            raise AssertionError("%s:\n%s\nin place of\n%s" % (title, text(), self.kept.get(title)))


def steady(row):
    """Without what differs from run to run: times, ids, figures, the mark that turns"""
    row = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[-0-9a-f]{22}|\b(?=[a-f]*\d)[0-9a-f]{7,17}\b", "ID", row)
    row = re.sub(r"\d+(\.\d+)?(?= ?(s|ms|min|h|k|KB)\b)|(?<=\$)\d+\.\d+|(?<=127\.0\.0\.1:)\d+", "0", row)
    return re.sub(r"[◓◑◒]", "◐", row)


def write(lab, name, text):
    path = os.path.join(lab.work, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def prepare(lab):
    """A changed file in a repository, a session of three days ago, a server that asks, a skill and a hook of the user"""
    lab.model(SCENARIO, log=True)
    lab.work = tempfile.mkdtemp(dir="/tmp", prefix="c-")  # rules name it: it is as long everywhere
    write(lab, "a.txt", "one\nwhile (p < end)\ntwo\n")
    write(lab, "clerk.py", SERVER)
    for words in (("init", "-q"), ("add", "a.txt"), ("-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "first")):
        subprocess.run(["git", "-C", lab.work, *words], check=True)
    write(lab, ".git/info/exclude", "*.py\n")
    write(lab, "a.txt", "one\nwhile (p < end)\n\tthree\n")
    write(lab, "b.txt", "new\n")
    config = os.path.join(lab.env["HOME"], ".claude")
    write(lab, config + "/skills/polish/SKILL.md", "---\nname: polish\ndescription: makes it shine\n---\nShine.\n")
    write(lab, config + "/settings.json", json.dumps({
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}, "permissions": {"allow": ["Bash(ls *)"], "deny": ["Read(./secret)"]}}))
    with screen(lab) as s:
        ready(s)
        s.press("hello there", "enter")
        s.seen("I hear you.")
        leave(ready(s))
    [session] = pathlib.Path(config, "projects").glob("*/*.jsonl")
    os.utime(session, (time.time() - 3 * 86400 - 1800,) * 2)


def started(lab, *args, **more):
    servers = json.dumps({"mcpServers": {"clerk": {"command": sys.executable, "args": [os.path.join(lab.work, "clerk.py")]}}})
    return screen(lab, "--mcp-config", servers, *args, env={**PLAIN, "NVIM": "a terminal that cuts"}, **more)


def play(s, keys):
    for key in keys:
        if key == "PASTE":
            s.paste("".join("%d pasted words of a long line that does not fit into a narrow window\r" % i for i in range(30)))
            s.until("[paste 1:")
        elif key == "WANTS":
            s.until("1 ")
            s.until("in a moment", gone=True)
        elif key in WAITS or key.endswith("."):
            s.seen(key)
            if key.endswith("."):
                ready(s)
        else:
            s.press(key)


def each_size(golden, s, name, masked):
    for number, size in enumerate(SIZES):
        s.resize(*size)
        golden.check(s, "%s %d: %dx%d" % (name, number, *size),
                     lambda rows: [steady(r) if masked else r for r in rows if r])


def prepared(test):
    def with_folder(lab):
        prepare(lab)
        try:
            test(lab, Golden(lab))
        finally:
            shutil.rmtree(lab.work)
    with_folder.__name__ = test.__name__
    return with_folder


@prepared
def every_view_is_as_it_was_at_each_width(lab, golden):
    for name, args, keys, text in VIEWS:
        if name == "server of the project":
            write(lab, ".mcp.json", json.dumps({"mcpServers": {"helper": {"command": "helper-of-the-project", "args": ["--all"]}}}))
        if name == "trust":  # the last two: from now on the folder has files that need it
            write(lab, ".claude/settings.json", "{}")
        with started(lab, "--allowedTools=mcp__clerk__book", *args) as s:
            if name not in ("trust", "server of the project"):
                ready(s)
            play(s, keys)
            s.until(text)
            s.until("in a moment", gone=True)
            each_size(golden, s, name, not args or args != PLAN)


def joined(rows, columns):
    """Lines that the terminal broke at its edge are one again."""
    out, whole = [], False
    for row in rows:
        if whole:
            out[-1] += row
        else:
            out.append(row)
        whole = len(row) == columns
    return out


def paths(lab, rows):
    """Where a row with a path breaks depends on the path, and what is said about the machine on the machine."""
    text = re.sub(r"72 h 3\d min", "72 h 30 min", "".join(rows)).replace(" ", "")  # the age grows while the lists are walked through
    text = re.sub(r"projects/[-\w]+/", "projects/KEY/", re.sub(r"/cadre-(sandbox-)?\d+(-[0-9a-f]{8})?", "/cadre-N", text))
    for path, name in ((lab.home, "HOME"), (lab.work, "WORK"), (lab.folder, "LAB")):
        text = text.replace(path, name)
    return steady(text[text.find("enabled"):].split("hidden")[0] if "seccomp" in text else re.split("(ok|note|BAD)(library|sandbox)", text)[0])


def until_connected(s):
    """What /mcp says is written once: it is asked again until the server has answered."""
    def answer():
        rows = s.all()
        return "".join(rows[max(i for i, r in enumerate(rows) if r == "❯ /mcp") + 1:][:1])

    def connected():
        asked = s.all().count("❯ /mcp")
        s.press("/mcp", "enter")
        s.until(lambda rows: s.all().count("❯ /mcp") > asked and rows[s.cursor()[0]] == "❯" and "clerk" in answer())
        return "pending" not in answer()
    until(connected, s.rows)


@prepared
def every_list_is_as_it_was_at_each_width(lab, golden):
    for columns, height in SIZES[:3]:
        with started(lab, size=(columns, height)) as s:
            s.until("❯")
            until_connected(s)
            for command, text in LISTS:
                if command == "/sandbox" and no_cell():
                    continue  # it says what is missing

                def shown(_):
                    rows = s.all()
                    first = max(i for i, r in enumerate(rows) if r == "❯ " + command)
                    last = max(i for i, r in enumerate(rows) if r == "❯")
                    rows = [r for r in rows[first + 1:last] if r]
                    if command in PATHS:
                        return [paths(lab, rows)]
                    lines = [steady(r) for r in joined(rows, columns)]
                    return [re.sub("[█░]+$", "█░", re.sub(FIGURE, " 0", line)) for line in lines] if command == "/context" else lines
                s.press(command, "enter")
                s.until(lambda rows: "❯ " + command in s.all() and rows[s.cursor()[0]] == "❯")
                s.until(lambda _: text.replace(" ", "") in "".join(shown(_)).replace(" ", ""))  # it has ended
                golden.check(s, "%s %d" % (command, columns), shown)


if __name__ == "__main__":
    main(every_view_is_as_it_was_at_each_width, every_list_is_as_it_was_at_each_width)
