#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a run with many children leaves behind: nothing.

A thousand children in rounds; some answer, some never do, some run a command that never ends, some work in a git worktree, and
after each round all of its children are stopped, however far they are. Looked at before and after: processes, worktrees and
branches of the repository, the temporary directories, and the descriptors of the program while it still runs."""
import collections
import os
import pathlib
import re
import signal
import subprocess

from lab import main
from twenty import call

ROUNDS, WIDTH, ISOLATED = 10, 100, 3
PLACES = ("TMPDIR", "CLAUDE_CODE_TMPDIR", "XDG_RUNTIME_DIR")

CHILD = """
rule child never answers
  chance 0.3
  text I begin
  stall after event 3
rule child runs for ever
  turn 1
  chance 0.4
%s
rule child answers
  latency 0..100
  text Done.
""" % call("Bash", command="sleep 1000 & exec sleep 1000", description="sleep")
# There is one pidfd, that of this command. On a busy machine the command may look before cadre has opened it, and a command of an
# agent that was stopped is killed before that agent counts as ended, but dies a moment later. One that is lost stays open.
LOOK = call("Bash", command="for i in $(seq 100); do ls -l /proc/$PPID/fd > ../fds-%s; "
            "test $(grep -c pidfd ../fds-%s) = 1 && break; sleep 0.1; done", description="look")
ENDS = "until ! grep -L '\"finished\":true' ../home/.claude/projects/*/*/subagents/*.meta.json | grep -q .; do sleep 0.1; done"
TOLD = "rule is told\n  agent main\n  prompt contains \"<task-notification>\"\n  text I was told.\n"


def git(lab, *args):
    done = subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *args], cwd=lab.work, env=lab.env,
                          capture_output=True, text=True, check=True)
    return done.stdout


def make_repository(lab):
    for name in PLACES:
        lab.env[name] = os.path.join(lab.folder, name)
        os.mkdir(lab.env[name])
    git(lab, "init", "-q")
    pathlib.Path(lab.work, "a.txt").write_text("a\n")
    git(lab, "add", ".")
    git(lab, "commit", "-qm", "first")


def files(place):
    """All that is below it. The directories in which sessions listen and have temporary files are made once and stay."""
    return [os.path.join(folder, name) for folder, folders, names in os.walk(place) for name in folders + names
            if name not in ("cadre", "claude-%d" % os.getuid())]


def traces(lab):
    """What can be seen of agents besides their transcripts."""
    temporary = {name: sorted(files(lab.env[name])) for name in PLACES}
    return {"worktrees": git(lab, "worktree", "list"), "branches": git(lab, "branch", "-a"),
            "status": git(lab, "status", "--porcelain", "--untracked-files=all"), **temporary}


def check_clean(lab, before):
    lab.wait_for_nobody()
    after = traces(lab)
    for what, value in before.items():
        assert after[what] == value, "%s: %r was %r" % (what, after[what], value)


def spawn(width, isolated):
    """Children n1, n2, ... of this turn; the first of them in worktrees."""
    text = ""
    for count, more in ((isolated, ', "isolation": "worktree"'), (width - isolated, "")):
        given = '"description": "Work", "prompt": "Work", "run_in_background": true, "name": "t{{turn}}%s{{i}}"' % "iw"[not more]
        text += "  repeat %d call Agent {%s%s}\n" % (count, given, more)
    return text


def rounds():
    """Spawn, stop, spawn, stop ...; behind the first and the last round it looks when all have ended."""
    answers = []
    for number in range(ROUNDS):
        turn = len(answers) + 1
        answers += [spawn(WIDTH, ISOLATED),
                    '  repeat %d call TaskStop {"task_id": "t%di{{i}}"}\n' % (ISOLATED, turn) +
                    '  repeat %d call TaskStop {"task_id": "t%dw{{i}}"}' % (WIDTH - ISOLATED, turn)]
        if number in (0, ROUNDS - 1):
            answers += [call("Bash", command=ENDS, description="wait"), LOOK % (("after" if number else "before",) * 2)]
    text = TOLD
    for turn, answer in enumerate(answers, 1):
        text += "rule %d\n  agent main\n  turn %d\n%s\n" % (turn, turn, answer)
    return text + "rule rest\n  agent main\n  text All is done.\n" + CHILD


def descriptors(lab, when):
    """By kind. Connections and transcripts are kept open for the next one who needs them, within limits of their own."""
    kinds = collections.Counter()
    for line in pathlib.Path(lab.folder, "fds-" + when).read_text().splitlines():
        target = line.partition(" -> ")[2]
        if target and not target.startswith(("socket:", "/proc/")) and not target.endswith(".jsonl"):
            kinds[re.sub(r"\[\d+\]", "", target)] += 1
    return kinds


def a_thousand_children_that_are_stopped_at_random_leave_nothing(lab):
    make_repository(lab)
    before = traces(lab)
    lab.model(rounds())
    run = lab.stream("--allowedTools=Bash", "Begin", env={"CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": "100"})
    begun, ends = 0, collections.Counter()
    while line := run.line():
        begun += '"subtype":"task_started"' in line
        found = re.search(r'"subtype":"task_updated".*"end_state":"(\w+)"', line)
        ends.update(found.groups() if found else [])
    done = run.wait()
    assert done.code == 0, done
    assert begun == ROUNDS * WIDTH == sum(ends.values()), "%d begun, ends %s" % (begun, ends)
    assert ends["killed"] > begun / 5 and ends["completed"] > begun / 20, ends
    check_clean(lab, before)
    old, new = descriptors(lab, "before"), descriptors(lab, "after")
    assert old and not new - old, "new descriptors: %s of %s" % (new - old, new)
    print("# %d children: %s; descriptors %d and %d" % (begun, dict(ends), sum(old.values()), sum(new.values())))


def start_many(lab):
    """A run with children of every kind, when all of them are at work."""
    make_repository(lab)
    before = traces(lab)
    lab.model(TOLD + "rule spawn\n  agent main\n  turn 1\n  prompt contains \"Begin\"\n" + spawn(40, 4) +
              "rule rest\n  agent main\n  text I rest.\n" + CHILD.replace("chance 0.4", "chance 0.9"))
    run = lab.stream("--allowedTools=Bash", "Begin", env={"CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": "100"})
    for _ in range(40):
        run.frame("system", "task_started")
    run.frame("system", "task_progress")
    return before, run


def a_run_that_is_terminated_leaves_nothing(lab):
    before, run = start_many(lab)
    run.kill(signal.SIGTERM)
    assert run.wait().code == 128 + signal.SIGTERM
    check_clean(lab, before)


def a_run_that_is_killed_leaves_nothing_when_it_was_resumed(lab):
    before, run = start_many(lab)
    run.kill(signal.SIGKILL)
    assert run.wait().code == -signal.SIGKILL
    lab.wait_for_nobody()
    session, = (path.stem for path in lab.transcripts())
    lab.model("rule rest\n  text Done.\n")
    done = lab.cadre("-p", "--resume", session)
    assert done.code == 0 and done.out == "Done.\n", done
    check_clean(lab, before)


def worktrees_of_a_run_that_was_killed_are_removed_by_the_next_that_needs_one(lab):
    before, run = start_many(lab)
    run.kill(signal.SIGKILL)
    assert run.wait().code == -signal.SIGKILL
    lab.wait_for_nobody()
    lab.model("rule spawn\n  agent main\n  turn 1\n" +
              call("Agent", description="Work", prompt="Work", isolation="worktree") +
              "\nrule rest\n  text Done.\n")
    done = lab.cadre("-p", "Begin again")
    assert done.code == 0 and done.out == "Done.\n", done
    check_clean(lab, {what: before[what] for what in ("worktrees", "branches", "status")})


if __name__ == "__main__":
    main(a_thousand_children_that_are_stopped_at_random_leave_nothing,
         a_run_that_is_terminated_leaves_nothing,
         a_run_that_is_killed_leaves_nothing_when_it_was_resumed,
         worktrees_of_a_run_that_was_killed_are_removed_by_the_next_that_needs_one)
