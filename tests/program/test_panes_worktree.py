#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Members in panes with a worktree of their own: they are held to it, keep it over kills, and leave it only if it holds work."""
import json
import os
import pathlib
import subprocess

from lab import below, main, read_json, until
from panes import in_terminal, members_rule

ISOLATED = members_rule(["ann", "ben"]).replace('"name"', '"isolation": "worktree", "name"') + r'''
rule lead
  prompt contains "Make a team"
  turn 2
  text Team is there.
rule lead tells
  prompt contains "Tell ann"
  turn 1
  call SendMessage {"to": "ann", "message": "second-task"}
rule lead shuts down
  prompt contains "Shut them down"
  turn 1
  call SendMessage {"to": "ann", "message": {"type": "shutdown_request"}}
  call SendMessage {"to": "ben", "message": {"type": "shutdown_request"}}
rule ann again
  last contains "second-task"
  call Bash {"command": "pwd > again.txt"}
rule ann works
  prompt contains "Task of ann."
  turn 1
  call Bash {"command": "git rev-parse --show-toplevel > made.txt; p=$(git rev-parse --git-common-dir)/..; echo x > $p/by_shell.txt"}
rule ann waits
  prompt contains "Task of ann."
  last_result contains "to be killed"
  call Bash {"command": "sleep 600"}
rule ann writes
  prompt contains "Task of ann."
  turn 2
  call Write {"file_path": "@WORK@/by_tool.txt", "content": "x"}
rule other
  text Noted.
'''


def repository(t):
    def git(*args):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *args], cwd=t.lab.work, check=True, capture_output=True)
    git("init", "-q")
    pathlib.Path(t.lab.work, "first.txt").write_text("first\n")
    git("add", ".")
    git("commit", "-qm", "first")


def worktree_of(t, name):
    return pathlib.Path(t.meta()[name]["worktreePath"])


BYPASS = ("--dangerously-skip-permissions",)


@in_terminal(ISOLATED)
def row_10_in_a_pane_a_member_works_in_its_worktree_and_nowhere_else(t):
    repository(t)
    t.begin(*BYPASS, IS_SANDBOX="1")
    for name in ("ann", "ben"):
        t.hears('\\"from\\":\\"%s\\"' % name)
    meta = t.meta()
    place = worktree_of(t, "ann")
    assert (meta["ann"]["team"]["backend"], place.parent) == ("tmux", pathlib.Path(t.lab.work, ".claude", "worktrees")), meta["ann"]
    assert (place / "made.txt").read_text().strip() == str(place) and (place / "first.txt").exists()
    assert not [p for p in pathlib.Path(t.lab.work).glob("by_*")], "it wrote outside of its worktree"
    assert t.heard("by_tool.txt is in the main checkout", meta["ann"]["team"]["agentSession"]) == 1, t.texts(meta["ann"]["team"]["agentSession"])
    config = t.config() / "teams" / ("session-" + t.session[:8]) / "config.json"
    until(lambda: {m["name"]: m["cwd"] for m in read_json(config)["members"]}["ann"] == str(place), lambda: read_json(config))
    t.type("Tell ann")
    until(lambda: (place / "again.txt").read_text(), lambda: (t.texts(t.session), t.screen()))
    assert (place / "again.txt").read_text().strip() == str(place)
    empty = worktree_of(t, "ben")
    t.type("Shut them down")
    t.hears("The work of ann is in its worktree: %s, branch worktree-agent-" % place)
    until(lambda: not empty.exists(), lambda: below(empty))
    assert (place / "made.txt").exists() and not t.heard("The work of ben")
    t.leave()


KILLED = ISOLATED.replace('git rev-parse --show-toplevel > made.txt;', 'echo to be killed; pwd > made.txt;')


@in_terminal(KILLED)
def a_member_that_is_killed_or_loses_its_lead_stays_in_its_worktree(t):
    repository(t)
    start = ("--teammate-mode", "auto", "--settings", '{"teams": {"suspendAfterMs": 500}}', *BYPASS)
    t.lead(*start, "--session-id", t.session, IS_SANDBOX="1")
    t.type("Make a team")
    made = until(lambda: [p for p in worktree_of(t, "ann").glob("made.txt") if p.read_text()], t.screen)[0]
    member = lambda: t.team()["pid"]
    waits = lambda: [row for row in t.lab.left() if row[1].startswith("sleep 600")]
    until(waits, t.screen)
    first = member()
    t.kill(first)
    until(lambda: t.alive(member()) and member() != first and t.heard("was killed or crashed"), t.screen)
    assert made.exists() and worktree_of(t, "ann") == made.parent
    locked = pathlib.Path(made.parent, ".git").read_text().split()[1] + "/locked"

    def owner():
        return int(pathlib.Path(locked).read_text().split(" pid ")[1].split()[0])
    until(lambda: owner() == t.pid, "the lead does not hold the worktree")
    second = member()
    t.kill(t.pid)
    until(lambda: not t.alive(second) or owner() == second, "the member does not hold the worktree")
    until(lambda: not t.alive(second), t.panes)
    t.run("respawn-pane", "-k", "-t", t.shell, "cat")
    t.lead(*start, "--resume", t.session, IS_SANDBOX="1")
    t.type("Who is there")
    until(lambda: member() != second and t.alive(member()), t.screen)
    until(lambda: owner() == t.pid, "the lead does not hold the worktree again")
    assert made.exists() and worktree_of(t, "ann") == made.parent
    t.type("Tell ann")
    until(lambda: (made.parent / "again.txt").exists(), lambda: (t.texts(t.session), t.screen()))
    t.leave()
    assert made.exists()


@in_terminal(ISOLATED)
def without_a_repository_a_call_for_a_worktree_starts_nothing(t):
    t.begin(*BYPASS, IS_SANDBOX="1")
    t.sees("Team is there.")
    assert t.heard("is_error") == 2 and not t.members(), (t.texts(t.session), t.panes())
    t.leave()


@in_terminal(ISOLATED)
def a_hook_that_makes_worktrees_means_in_process(t):
    repository(t)
    copy = pathlib.Path(t.lab.folder, "copy")
    copy.mkdir()
    (t.config() / "settings.json").parent.mkdir(exist_ok=True)
    (t.config() / "settings.json").write_text(json.dumps({"hooks": {"WorktreeCreate": [{"hooks": [
        {"type": "command", "command": "echo %s" % copy}]}]}}))
    t.begin(*BYPASS, IS_SANDBOX="1")
    until(lambda: (copy / "made.txt").exists(), lambda: (t.texts(t.session), t.screen()))
    t.hears("It lives in this process: a WorktreeCreate hook makes its worktree.", count=2)
    t.leave()


if __name__ == "__main__":
    main(row_10_in_a_pane_a_member_works_in_its_worktree_and_nowhere_else,
         a_member_that_is_killed_or_loses_its_lead_stays_in_its_worktree,
         without_a_repository_a_call_for_a_worktree_starts_nothing,
         a_hook_that_makes_worktrees_means_in_process)
