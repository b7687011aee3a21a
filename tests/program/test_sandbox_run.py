#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cadre sandbox run` for people: a terminal of the inside (keys, signals, jobs, window), questions about hosts on it, and what --trace
names. As root and as an ordinary user."""
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pexpect

from lab import CADRE, DEADLINE_S, main, until
from test_sandbox_checks import OTHER, Server, Upstream, put, run_inside, tree

USERS = (None, OTHER) if os.geteuid() == 0 else (None,)


class Inside(pexpect.spawn):
    """A program on a terminal of 33 x 101, in the laboratory's working directory."""

    def __init__(self, lab, *argv, user=None, settings=None, program=CADRE):
        put(lab.home + "/.claude/settings.json", json.dumps({"sandbox": settings or {}}))
        if user is not None:
            subprocess.run(["chown", "-R", "%d:%d" % (user, user), lab.home, lab.work], check=True)
            argv, program = ["--reuid", str(user), "--regid", str(user), "--clear-groups", program, *argv], "setpriv"
        super().__init__(program, list(argv), timeout=DEADLINE_S, cwd=lab.work, encoding="utf-8", dimensions=(33, 101),
                         env={**lab.env, "TERM": "xterm", "TMPDIR": "/tmp", "PS1": "$ ", "HISTFILE": "/dev/null"})
        self.delaybeforesend = None

    def end(self, code=0):
        self.expect(pexpect.EOF)
        self.close()
        assert self.exitstatus == code, (self.exitstatus, self.signalstatus, self.before)
        return self.before


def run(lab, *argv, options=(), **more):
    return Inside(lab, "sandbox", "run", *options, "--", *argv, **more)


def a_program_has_a_terminal_of_the_inside_and_not_the_users(lab):
    for user in USERS:
        tree(lab, ("run",))
        t = run(lab, "bash", "-c", "tty; stty size; ls /dev/pts | xargs; readlink /proc/self/fd/{0,1,2}; "
                "trap 'stty size' WINCH; echo x >/dev/tty; until test -e go; do read -t 0.05 _; done; exit 7", user=user)
        t.expect_exact("/dev/pts/0\r\n33 101\r\n0 ptmx\r\n/dev/pts/0\r\n/dev/pts/0\r\n/dev/pts/0\r\nx\r\n")
        t.setwinsize(20, 70)
        t.expect_exact("20 70")
        put(lab.work + "/go", "")
        t.end(7)


def control_c_ends_the_program_inside_and_jobs_are_controlled(lab):
    for user in USERS:
        tree(lab, ("run",))
        t = run(lab, "bash", "--norc", "-i", user=user)
        t.expect_exact("$ ")
        t.sendline("sleep 987; echo code=$?")
        t.expect_exact("code=$?\r\n")
        until_foreground(lab, "sleep 987")
        t.send("\x03")
        t.expect_exact("$ ")
        t.sendline("echo code=$?")
        t.expect_exact("code=130")
        t.sendline("sleep 986")
        until_foreground(lab, "sleep 986")
        t.send("\x1a")
        t.expect_exact("Stopped")
        t.sendline("jobs | grep -c sleep; fg")
        t.expect("\r1\r\nsleep 986")
        until_foreground(lab, "sleep 986")
        t.send("\x03")
        t.sendline("exit 5")
        t.end(5)
        lab.wait_for_nobody()


def until_foreground(lab, command):
    """It runs, and has the terminal."""
    shown = lambda: subprocess.run(["ps", "-eo", "stat,args"], stdout=subprocess.PIPE, text=True).stdout
    until(lambda: any(line.split(None, 1)[1:] == [command] and "+" in line.split()[0] and "S" in line.split()[0]
                      for line in shown().splitlines()), shown)


def the_users_terminal_is_as_before_after_an_end_and_after_a_kill(lab):
    tree(lab, ("run",))
    t = Inside(lab, "--norc", "-i", program="bash")
    modes = []
    for how in ("none", "exit", "kill"):
        if how != "none":
            t.sendline("%s sandbox run -- bash -c 'stty raw; echo up; %s'" % (CADRE, "sleep 985" if how == "kill" else "exit 3"))
            t.expect_exact("\rup")
        if how == "kill":
            pids = subprocess.run(["pgrep", "-f", "^%s sandbox run -- bash -c stty raw" % CADRE, "-P", str(t.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
            assert len(pids) == 1, pids
            os.kill(int(pids[0]), signal.SIGKILL)
            t.expect_exact("Killed")
        t.expect_exact("$ ")
        t.sendline("stty -a | tr -d '\\n'; echo END")
        t.expect(r"speed(.*)END")
        modes.append(re.sub(r"rows \d+|columns \d+", "", t.match.group(1)).split())
        t.expect_exact("$ ")
    assert modes[0] == modes[1] == modes[2], modes
    t.sendline("exit")
    t.end(0)
    lab.wait_for_nobody()


def streams_that_are_no_terminals_stay_what_they_are(lab):
    tree(lab, ("run",))
    t = Inside(lab, "--norc", "-c", "echo in | %s sandbox run -- bash -c 'test -t 0 || echo pipe in; test -t 1 || echo pipe out; cat; test -t 2 && echo tty err >&2' | sed 's/^/>/'" % CADRE,
               program="bash")
    said = t.end(0)
    rest = said.replace("tty err\r\n", "", 1)  # it may come in the middle of what sed writes
    assert rest != said and ">pipe in\r\n>pipe out\r\n>in\r\n" in rest and rest.count(">") == 3, said
    t = run(lab, "seq", "60000")
    lines = t.end(0).split("\r\n")
    assert lines[:60000] == [str(i) for i in range(1, 60001)], (len(lines), lines[-3:])
    t = run(lab, "bash", "-c", "stty raw -echo; echo up; head -c 40000 | sha256sum")  # keys that come at once are not lost
    t.expect_exact("up")
    keys = "".join("%05d " % i for i in range(40000 // 6 + 1))[:40000]
    t.send(keys)
    t.expect_exact(hashlib.sha256(keys.encode()).hexdigest())
    t.end(0)
    for user in USERS:  # and programs inside make terminals of their own
        tree(lab, ("run",))
        assert run_inside(lab, "python3 -c 'import os, pty; print(os.ttyname(pty.openpty()[1]))'", user=user) == "/dev/pts/0\n"


FILLS = """
import os, time
os.set_blocking(1, False)
sent, full = 0, 0
while full < 20:  # until all between here and the user is full
    try:
        sent += os.write(1, b"x" * 512)
        full = 0
    except BlockingIOError:
        full += 1
        time.sleep(0.05)
open("sent", "w").write("%d\\n" % sent)
"""


def output_that_the_users_terminal_takes_late_is_not_lost(lab):
    tree(lab, ("run",))
    t = run(lab, "python3", "-c", FILLS)
    sent = int(until(lambda: (text := pathlib.Path(lab.work, "sent").read_text()).endswith("\n") and text, "it does not end"))
    until(lambda: not any("python3 -c" in command and "sandbox run" not in command for _, command in lab.left()), lab.left)
    time.sleep(1)  # much longer than the output of processes that are left is waited for
    said = t.end(0)
    assert said == "x" * sent, (len(said), sent)
    said = run(lab, "bash", "-c", "(trap '' HUP; exec setsid yes) & read -t 0.2 _; echo END >/dev/tty; exit 0").end(0)
    assert len(said.partition("END")[2]) < 2 << 20, len(said)  # that of a process that is left is not waited for


def answer(t, key, shown):
    """What is typed at once, or by a clock that is behind, is the program's."""
    while True:
        time.sleep(0.5)
        t.send(key)
        if t.expect_exact([shown, pexpect.TIMEOUT], timeout=1) == 0:
            return


def a_host_that_no_list_names_is_asked_about_on_the_terminal(lab):
    tree(lab, ("run",))
    upstream = Upstream(Server().port, False)
    network = {"httpProxyPort": upstream.port, "deniedDomains": ["bad.test"]}
    fetch = "curl -s http://far.test/; curl -s http://far.test/; curl -s http://other.test/; curl -s http://bad.test/; read line; echo got $line"
    t = run(lab, "bash", "-c", fetch, settings={"network": network})
    t.expect_exact("names far.test:80. May it be reached in this run? [y/N] ")
    answer(t, "y", "yes")
    t.expect_exact("hello")
    t.expect_exact("hello")
    t.expect_exact("names other.test:80")
    answer(t, "n", "no user allowed it")
    t.expect_exact("deniedDomains")
    t.sendline("text")
    t.expect("got [yn]*text")
    assert "May it be" not in t.end(0)
    assert upstream.asked == ["far.test:80"] * 2, upstream.asked
    for tries in range(9):  # on a busy machine the keys may come when the question counts as read
        t = run(lab, "bash", "-c", "curl -s http://far.test/; read -n 3 keys; echo [$keys]", settings={"network": network})
        t.expect_exact("[y/N] ")
        t.send("yyy")  # typed before the question could be read
        if t.expect_exact(["yes", pexpect.TIMEOUT], timeout=1) == 1:
            break
        t.expect_exact("hello")
        t.close()
    answer(t, "x", "no user allowed it")
    t.expect_exact("[yyy]")
    t.end(0)
    assert upstream.asked == ["far.test:80"] * (2 + tries), upstream.asked


ACTS = ("echo x >/etc/f14; echo x >f; cat f; mkdir /usr/f14; mkdir -p /usr/bin; rm {home}/.bashrc; chmod 777 {home}/.bashrc; ln -s /etc/passwd l; rm l; mv {home}/open here; "
        "echo x >>.git/config; cat {home}/token; cat /none; unshare -U true; curl -s http://evil.test/; {tools}/connect {work}/outside.sock; "
        "python3 -c 'import socket; socket.socket(17, 3)'; : >/dev/null; mv there there2; true")


def trace_names_each_path_host_and_call_that_was_refused_and_no_other(lab):
    for user in USERS:
        places = tree(lab, ("trace",))
        put(lab.home + "/.claude/settings.json", json.dumps({"sandbox": {"filesystem": {"denyRead": ["~/token"]}}}))
        if user is not None:
            subprocess.run(["chown", "-R", "%d:%d" % (user, user), lab.home, lab.work], check=True)

        def traced(command, *options):
            done = subprocess.run([CADRE, "sandbox", "run", "--trace", "--json", *options, "--", "bash", "-c", command], env={**lab.env, "TMPDIR": "/tmp"}, cwd=lab.work,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, **({"user": user, "group": user, "extra_groups": []} if user else {}))
            found = json.loads(done.stdout[done.stdout.rindex('{"status"'):])["refused"]
            for r in found:
                assert "  %-8s%s" % (r["kind"], r["what"]) in done.stderr, (r, done.stderr)
            return {(r["kind"], r["what"]) for r in found}
        text = ACTS
        for name in ("home", "work", "tools"):
            text = text.replace("{%s}" % name, places[name])
        home, work = lab.home, lab.work
        seen = traced(text)
        assert seen == {("write", "/etc/f14"), ("write", "/usr/f14"), ("write", home + "/.bashrc"), ("write", home + "/open"), ("write", work + "/.git/config"), ("read", home + "/token"),
                        ("call", "unshare"), ("network", "evil.test:80 (not among sandbox.network.allowedDomains)"), ("socket", work + "/outside.sock (it belongs to a process outside)"),
                        ("call", "socket of family 17"), ("write", work + "/there")}, seen
        assert not os.path.exists(home + "/here") and os.path.exists(home + "/open")
        seen = traced("cat /etc/shadow; echo x >f2; cat f0; chmod 600 f0; ls {0}; python3 -c 'import socket; socket.socket()'".format(home), "--read-only")
        assert {("read", "/etc/shadow"), ("write", work + "/f2"), ("write", work + "/f0"), ("read", home), ("call", "socket of family 2")} <= seen, seen
        assert all(kind != "read" or what in ("/etc/shadow", home) for kind, what in seen), seen
        assert pathlib.Path(work, "f0").stat().st_mode & 0o777 == 0o644
        assert traced("true; cat f0 >/dev/null; python3 -c 'import threading; t = threading.Thread(target=print); t.start(); t.join()'") == set()
        for kept in places["kept"]:
            kept.close()


def a_program_has_the_environment_of_an_agents_command(lab):
    """Without keys of models and what the settings hide, with what they set; but for what names the session."""
    settings = {"env": {"SET": "by-the-settings"}, "providers": {"own": {"baseUrl": "http://127.0.0.1:1", "keyEnv": "OWN_KEY"}},
                "sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True,
                            "credentials": {"envVars": ["HIDDEN", {"name": "MISTRAL_API_KEY", "mode": "allow"}]}}}
    put(lab.home + "/.claude/settings.json", json.dumps(settings))
    os.makedirs(lab.work + "/.claude")
    put(lab.work + "/.claude/settings.json", '{"env": {"LD_PRELOAD": "x.so", "BASH_ENV": "x"}}')
    lab.model("rule\n  turn 1\n  call Bash {\"command\": \"env -0 >seen\"}\nrule\n  text Done.\n")
    lab.env.update(OPENAI_API_KEY="no", OWN_KEY="no", GEMINI_API_KEY="no", AWS_SECRET_ACCESS_KEY="no", HIDDEN="no", MISTRAL_API_KEY="yes",
                   DATABASE_URL="yes", TMPDIR="/tmp")

    def seen():
        with open(lab.work + "/seen", encoding="utf-8") as f:
            return dict(line.split("=", 1) for line in f.read().split("\0") if line)
    done = lab.cadre("-p", "go")
    assert done.code == 0, done
    agents = seen()
    done = lab.cadre("sandbox", "run", "--", "env", "-0")
    assert done.code == 0, done
    put(lab.work + "/seen", done.out)
    persons = seen()
    of_session = {"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_EFFORT", "TMPDIR",
                  "CADRE_SPAWN", "PWD", "OLDPWD", "SHLVL", "_"}
    agents, persons = ({name: value for name, value in each.items() if name not in of_session} for each in (agents, persons))
    assert persons == agents, {name: (agents.get(name), persons.get(name)) for name in {*agents, *persons} if agents.get(name) != persons.get(name)}
    assert agents["SET"] == "by-the-settings" and agents["MISTRAL_API_KEY"] == "yes" and agents["DATABASE_URL"] == "yes"
    assert not {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OWN_KEY", "GEMINI_API_KEY", "HIDDEN", "LD_PRELOAD"} & set(agents), agents


if __name__ == "__main__":
    main(a_program_has_the_environment_of_an_agents_command, a_program_has_a_terminal_of_the_inside_and_not_the_users, control_c_ends_the_program_inside_and_jobs_are_controlled,
         the_users_terminal_is_as_before_after_an_end_and_after_a_kill, streams_that_are_no_terminals_stay_what_they_are,
         output_that_the_users_terminal_takes_late_is_not_lost,
         a_host_that_no_list_names_is_asked_about_on_the_terminal, trace_names_each_path_host_and_call_that_was_refused_and_no_other, without_cell=())
