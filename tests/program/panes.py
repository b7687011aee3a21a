# SPDX-License-Identifier: MIT
"""A real tmux as a user has it, with a lead in one of its panes: for the tests of members in panes."""
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import uuid

from lab import CADRE, DEADLINE_S, Skip, below, until

TEAMS = {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}
PANE = "#{pane_id} #{pane_pid} #{window_index} #{@cadre} #{pane_title} #{pane_left} #{pane_active}"


class Terminal:
    """A tmux server of its own, as a user has it: a window with two panes of the user's, and one for the lead."""

    def __init__(self, lab, model, *, inside=True, size=(160, 50)):
        if not shutil.which("tmux"):
            raise Skip("tmux is not installed")
        self.lab = lab
        self.model = lab.model(model.replace("@WORK@", lab.work), log=True)
        self.session = str(uuid.uuid4())
        self.env = {**lab.env, **TEAMS, "LANG": "C.UTF-8", "NO_COLOR": "1", "TERM": "xterm", "TMUX_TMPDIR": lab.folder}
        # What a server knows that was started long ago, and must not be believed
        old = {**self.env, "ANTHROPIC_API_KEY": "stale", "CLAUDE_CODE_OLD": "1"}
        self.base = ["tmux", "-f", "/dev/null", "-S", os.path.join(lab.folder, "tmux")]
        subprocess.run([*self.base, "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "-c", lab.work, "cat"],
                       env=old, check=True)
        self.run("split-window", "-d", "cat")
        self.run("set-option", "-g", "remain-on-exit", "on")  # a dead pane stays, unless somebody takes it away
        self.run("new-window", "-d", "-c", lab.work, "sh", "-c", "while :; do sleep 1000; done")
        self.shell = self.panes(":1")[0][0]
        self.users = {pane[0]: pane[1] for pane in self.panes()}
        self.inside = inside

    def run(self, *args, check=True, **more):
        return subprocess.run([*self.base, *args], check=check, capture_output=True, text=True, **more).stdout

    def panes(self, target=None):
        rows = self.run("list-panes", *(("-t", target) if target else ("-a",)), "-F", PANE.replace(" ", "\t"))
        return [row.split("\t") for row in rows.splitlines()]

    def members(self):
        """Panes of members, by pane title."""
        return {pane[4]: pane for pane in self.panes() if pane[3]}

    def lead(self, *args, **env):
        """The program, in place of what the lead's pane runs."""
        words = [CADRE, "--plain", *args]
        self.run("clear-history", "-t", self.shell)  # of a lead before this one
        wanted = {**self.env, **env}
        command = ["env", "-i", *("%s=%s" % item for item in wanted.items())]
        if self.inside:
            command = ["sh", "-c", 'exec env -i TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" "$@"', "sh",
                       *("%s=%s" % item for item in wanted.items())]
        self.run("respawn-pane", "-k", "-t", self.shell, "-c", self.lab.work, "--", *command, *words)
        self.pid = int(self.run("display-message", "-p", "-t", self.shell, "#{pane_pid}"))
        self.sees("\n>")

    def begin(self, *args, **env):
        """A lead, and the prompt that makes its team."""
        self.lead("--teammate-mode", "auto", "--session-id", self.session, *args, **env)
        self.type("Make a team")

    def leave(self):
        """The lead ends as a user ends it, and nothing is left."""
        self.type("/exit")
        until(lambda: not self.alive(self.pid), self.screen)
        self.nothing_left()

    def screen(self, pane=None):
        return self.run("capture-pane", "-p", "-S", "-", "-t", pane or self.shell, check=False)

    def sees(self, text, pane=None, seconds=DEADLINE_S):
        until(lambda: text in self.screen(pane), lambda: (text, self.screen(pane)), seconds)

    def type(self, text, pane=None):
        self.run("send-keys", "-t", pane or self.shell, "-l", text)
        self.run("send-keys", "-t", pane or self.shell, "Enter")

    def allow(self):
        """Says yes to the question that the lead shows."""
        self.sees("say why:")
        self.type("y")

    def config(self):
        return pathlib.Path(self.lab.home, ".claude")

    def meta(self):
        """Meta files of members, by name."""
        found = {}
        for path in self.config().glob("projects/*/%s/subagents/agent-*.meta.json" % self.session):
            if path.read_text().endswith("\n"):  # until then a new file is being written
                meta = until(lambda: json.loads(path.read_text()), path.read_text)  # a change is written over what was there
                found[meta["name"]] = meta
        return found

    def team(self, name="ann"):
        """What the meta file of a member says about its team, pane and process."""
        return until(lambda: self.meta()[name]["team"], self.meta)

    def mailbox(self):
        return until(lambda: next(self.config().glob("projects/*/%s/subagents/agent-*.mail.jsonl" % self.session)), "there is no mailbox")

    def inbox(self, name="ann"):
        path = self.config() / "teams" / ("session-" + self.session[:8]) / "inboxes" / (name + ".json")
        until(path.parent.exists, self.screen)
        return path

    def texts(self, session):
        """User lines of a session, as text."""
        transcript = self.lab.transcript(session, torn=True)
        return [json.dumps(line["message"]) for line in (transcript.lines if transcript else []) if line["type"] == "user"]

    def heard(self, text, session=None):
        """How often a session was given this text."""
        return sum(line.count(text) for line in self.texts(session or self.session))

    def hears(self, text, session=None, count=1):
        """Waits until a session was given this text so often."""
        until(lambda: self.heard(text, session) >= count, lambda: (text, self.texts(session or self.session), "the lead was told", self.texts(self.session)[-3:], self.screen(), self.panes()))

    def alive(self, pid):
        try:
            return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    def locks(self):
        return [path for path in below(self.config(), "*.lock") if path.is_dir()]

    def kill(self, pid):
        """Kills a lead or member when it holds no lock: one that it leaves is taken over by the next who wants it, and until then it is there."""
        server = int(self.run("display-message", "-p", "#{pid}"))  # it would let a stopped process of a pane continue

        def killed():
            for stopped in (server, pid):
                os.kill(stopped, signal.SIGSTOP)
            free = not self.locks()
            os.kill(pid, signal.SIGKILL if free else signal.SIGCONT)
            os.kill(server, signal.SIGCONT)
            return free
        until(killed, self.locks)

    def untouched(self):
        now = {pane[0]: pane[1] for pane in self.panes() if pane[0] in self.users and pane[0] != self.shell}
        assert now == {k: v for k, v in self.users.items() if k != self.shell}, (now, self.users)
        assert self.run("display-message", "-p", "#{window_index}").strip() == "0"

    def nothing_left(self, seconds=DEADLINE_S, killed=False):
        """No pane, process, lock or socket but the user's. killed: the lead was, and may have held a lock, which is taken over."""
        until(lambda: not self.members(), lambda: self.members(), seconds)
        until(lambda: not [p for p in self.panes() if p[0] not in self.users], lambda: self.panes(), seconds)
        ours = lambda: [row for row in self.lab.left() if "--agent-id" in row[1] or "cadre-" in row[1].split("-L")[-1][:8]]
        until(lambda: not ours(), ours, seconds)
        self.untouched()
        assert killed or not self.locks(), self.locks()
        assert not list(pathlib.Path(self.lab.folder).glob("tmux-*/cadre-*"))
        sockets = lambda: [row for row in pathlib.Path("/proc/net/unix").read_text().splitlines() if "cadre-team." + self.session in row]
        until(lambda: not sockets(), sockets)  # a process that was killed has a moment of its own

    def close(self):
        """Asked until there is none: once under load a server was asked and stayed."""
        kill = lambda: subprocess.run([*self.base, "kill-server"], capture_output=True, text=True)
        until(lambda: kill().returncode, lambda: "the server of tmux does not end")


def members_rule(names, extra=""):
    calls = "\n".join('  call Agent {"description": "%s", "prompt": "Task of %s.", "name": "%s"}' % (n, n, n) for n in names)
    return "rule starts\n  prompt contains \"Make a team\"\n  turn 1\n%s\n%s" % (calls, extra)


def in_terminal(model, size=(160, 50), inside=True):
    def wrap(test):
        @functools.wraps(test)
        def run(lab):
            terminal = Terminal(lab, model, inside=inside, size=size)
            try:
                test(terminal)
            finally:
                terminal.close()
                lab.wait_for_nobody()
        return run
    return wrap


THREE = members_rule(["ann", "ben", "cid"]) + r'''
rule lead
  prompt contains "Make a team"
  text Team is there.
rule lead hears
  prompt contains "idle_notification"
  text Noted.
rule member
  prompt contains "Task of"
  text Report of a member.
rule other
  text Noted.
'''


ASKS = members_rule(["ann"]) + r"""
rule lead
  prompt contains "Make a team"
  text Team is there.
rule lead hears
  prompt contains "idle_notification"
  text Noted.
rule member asks
  prompt contains "Task of"
  turn 1
  call Write {"file_path": "@WORK@/asked.txt", "content": "x"}
rule member
  prompt contains "Task of"
  text Written.
rule forged
  text Seen.
"""


TALK = members_rule(["ann"]) + r"""
rule lead answers
  last contains "\nfirst-word\n"
  call SendMessage {"to": "ann", "message": "second-task"}
rule lead
  prompt contains "Make a team"
  text Team is there.
rule ann begins
  prompt contains "Task of ann."
  turn 1
  call SendMessage {"to": "team-lead", "message": "first-word"}
rule ann goes on
  last contains "\nsecond-task\n"
  call SendMessage {"to": "team-lead", "message": "second-word"}
rule other
  text Noted.
"""
PANES = {"teams": {"implicit": True}}
IMPLICIT = {"teams": {"implicit": True, "restartPanes": 9}}


def beside_pane(t, **more):
    """The environment of a program that has a pane of the terminal, and its own input and output."""
    pane = t.panes(":1")[0][0]
    return {**TEAMS, "TMUX": t.run("display-message", "-p", "-t", pane, "#{socket_path},#{pid},0").strip(), "TMUX_PANE": pane, **more}


def printed_in_pane(t, *args, settings=IMPLICIT, mode="tmux", **more):
    """A run of -p whose members are panes of the terminal."""
    return t.lab.start("-p", "--session-id", t.session, "--settings", json.dumps(settings), "--teammate-mode", mode, *args,
                       "Make a team", env=beside_pane(t, **more))


def path_without_tmux(t):
    tools = pathlib.Path(t.lab.folder, "bin")
    tools.mkdir()
    for name in ("sh", "git", "env"):
        (tools / name).symlink_to(shutil.which(name))
    return str(tools)


def path_with_tmux(t, script):
    """A tmux in the path that is this script; $real is the true one."""
    tools = pathlib.Path(t.lab.folder, "bin")
    tools.mkdir()
    (tools / "tmux").write_text("#!/bin/sh\nreal=%s\n%s\n" % (shutil.which("tmux"), script))
    (tools / "tmux").chmod(0o755)
    return "%s:%s" % (tools, os.environ["PATH"])
