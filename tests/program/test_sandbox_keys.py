#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each key of `sandbox` acts for commands, hooks and MCP servers alike. One session runs the same program as all three; it tries what
the keys are about and says what the kernel let it do. A row compares two sessions that differ in the key."""
import concurrent.futures
import json
import os
import pathlib
import socket
import subprocess

from lab import CADRE, Lab, Skip, main, until
from test_sandbox import ONLY_PROC, USERS, hide, write
from test_sandbox_checks import DEVICE, Server, Upstream, free_ports
from twenty import call

KINDS = ("bash", "hook", "server")

PROBE = """import ctypes, json, os, socket, sys
who, place = sys.argv[1], json.load(open(sys.argv[2]))
def can(act):
    try: return act() is not False
    except OSError: return False
def put(path, mode="w", text=who): open(path, mode).write(text)
def read(path): return bool(open(path).read())
def proxy(host):
    s = socket.create_connection(("127.0.0.1", 61080), 20)
    s.sendall(b"CONNECT %s HTTP/1.1\\r\\n\\r\\n" % host.encode())
    return b" 200 " in s.recv(99)
def unix(path): socket.socket(socket.AF_UNIX).connect(path)
def namespace():
    pid = os.fork()
    if not pid: os._exit(0 if ctypes.CDLL(None).unshare(0x10000000) == 0 else 1)
    return os.waitpid(pid, 0)[1] == 0
home, work, ports = place["home"], place["work"], place["ports"]
os.chdir(work)
seen = {
    "inside": not can(lambda: os.kill(place["outside"], 0)),
    "write open": can(lambda: put(home + "/open/" + who)),
    "write fixed": can(lambda: put("fixed/" + who)),
    "write closed": can(lambda: put(home + "/closed-" + who)),
    "write added": can(lambda: put(place["added"] + "/" + who)),
    "write by rule": can(lambda: put("ruled/" + who)),
    "read keys": can(lambda: read(home + "/keys/k")),
    "read part": can(lambda: read(home + "/keys/sub/k")),
    "read token": can(lambda: read(home + "/token")),
    "read by rule": can(lambda: read(".env")),
    "variable": "MY_TOKEN" in os.environ,
    "host": can(lambda: proxy("localhost:%d" % ports[0])),
    "host of managed": can(lambda: proxy("localhost:%d" % ports[1])),
    "host of project": can(lambda: proxy("localhost:%d" % ports[2])),
    "host far": can(lambda: proxy("far-%s.test:8080" % who)),
    "socket": can(lambda: unix(home + "/named.sock")),
    "socket of others": can(lambda: unix(home + "/other.sock")),
    "namespace": can(namespace),
    "device": os.path.exists(place["device"]),
    "appeared": can(lambda: put({"bash": ".npmrc", "hook": ".mcp.json", "server": ".envrc"}[who], "x")),
    "git": can(lambda: put(".git/config", "a", place["config"].replace("WHO", who))),
}
if place["listens"]:
    seen["reached"] = []
    for port in ports[3]["bash hook server".split().index(who)]:
        s = socket.create_server(("127.0.0.1", port))
        put("listens-%d" % port)
        s.settimeout(50)
        seen["reached"].append(can(s.accept))
put("seen-" + who + ".tmp", text=json.dumps(seen))
os.rename("seen-" + who + ".tmp", "seen-" + who)
"""

ON = {"enabled": True, "autoAllowBashIfSandboxed": True, "cadre": {"hooks": "all", "mcpServers": "all"}}


def merge(*many):
    """Later ones win; objects are joined."""
    out = {}
    for one in many:
        for key, value in one.items():
            out[key] = merge(out.get(key, {}), value) if isinstance(value, dict) else value
    return out


class Stage:
    """A home, a project, and those who wait outside to be reached."""

    def __init__(self, settings, project=None, managed=None, config='[branch "WHO"]\n\tremote = origin\n', options=(), wish=False,
                 masked=False, blind=False, listens=False, allowed=True):
        self.lab = lab = Lab()
        self.servers = [Server() for _ in range(3)]
        self.kept = []
        for name in ("named", "other"):
            self.kept.append(socket.socket(socket.AF_UNIX))
            self.kept[-1].bind("%s/%s.sock" % (lab.home, name))
            self.kept[-1].listen(9)
        self.upstreams = {"http": Upstream(self.servers[0].port, False), "socks": Upstream(self.servers[0].port, True)}
        subprocess.run(["git", "init", "-q", lab.work], check=True, env=lab.env)
        for name in ("home/open", "work/fixed", "work/ruled", "added"):
            os.makedirs("%s/%s" % (lab.folder, name))
        for name in ("home/keys/k", "home/keys/sub/k", "home/token", "work/.env"):
            write("%s/%s" % (lab.folder, name), "secret\n")
        self.places = {"home": lab.home, "work": lab.work, "outside": os.getpid(), "device": DEVICE, "config": config, "listens": listens,
                       "added": lab.folder + "/added", "ports": [s.port for s in self.servers] + [list(zip(*[iter(free_ports(2 * len(KINDS)))] * 2))]}
        write(lab.folder + "/probe.py", PROBE)
        write(lab.folder + "/probe.json", json.dumps(self.places))
        self.argv = ["python3", "-SE", lab.folder + "/probe.py", "WHO", lab.folder + "/probe.json"]
        words = {"P0": "localhost:%d" % self.servers[0].port, "P1": "localhost:%d" % self.servers[1].port, "P2": "localhost:%d" % self.servers[2].port}

        def fill(value):
            if isinstance(value, dict):
                return {k: fill(v) for k, v in value.items()}
            if isinstance(value, list):
                return [fill(v) for v in value]
            return self.upstreams[value].port if value in self.upstreams else words.get(value, value)
        hook = {"type": "command", "command": " ".join(self.argv).replace("WHO", "hook")}
        rules = {"deny": ["Read(.env)", "Edit(%s/ruled/**)" % ("/" + lab.work)]}
        write(lab.home + "/.claude.json", json.dumps({"mcpServers": {"s": {"command": "python3", "args": [w.replace("WHO", "server") for w in self.argv[1:]]}}}))
        write(lab.home + "/.claude/settings.json", json.dumps(
            {"permissions": {**rules, "additionalDirectories": [self.places["added"]]}, "hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}, "sandbox": fill(settings)}))
        write(lab.work + "/.claude/settings.json", json.dumps({"sandbox": fill(project or {})}))
        lab.model("rule\n  turn 1\n%s\nrule\n  text ok\n" % call("Bash", command=" ".join(self.argv).replace("WHO", "bash"), **({"dangerouslyDisableSandbox": True} if wish else {})))
        view = []
        if managed:
            etc = lab.folder + "/etc"
            write(etc + "/claude-code/managed-settings.json", json.dumps({"sandbox": fill(managed)}))
            for name in ("passwd", "hosts", "nsswitch.conf"):
                write(etc + "/" + name, pathlib.Path("/etc", name).read_text())
            view += ["mount --bind %s /etc" % etc]
        if masked:
            view += [ONLY_PROC + "mount --bind /dev/null /proc/timer_list"]
        args = ["-p", "--output-format", "stream-json", "--verbose", "--include-hook-events", "--trust-project", *(("--allowedTools", "Bash") if allowed else ()), *options, "--", "hi"]
        more = {"preexec_fn": hide(*USERS)} if blind else {}
        env = {"MY_TOKEN": "x", "IS_SANDBOX": "1"}
        if view and os.geteuid() != 0:
            raise Skip("only root mounts")
        argv = ["-m", "sh", "-c", "; ".join(view) + " && exec \"$@\"", "sh", CADRE] if view else []
        self.run = lab.start(*argv, *args, program="unshare" if view else CADRE, env=env, **more)

    def visit(self):
        """Each of the three is visited on one port, and then on another, on which it listens after that."""
        def comes(port):
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", port)) == 0
        for ports in reversed(self.places["ports"][3]):
            for port in ports:
                until(lambda: os.path.exists("%s/listens-%d" % (self.lab.work, port)) or self.run.process.poll() is not None,
                      lambda: (port, self.places["ports"], os.listdir(self.lab.work), self.run.err))
                until(lambda: comes(port) or self.run.process.poll() is not None, port)

    def over(self):
        """What each of the three saw, None for one that did not run; and what is left."""
        self.done = self.run.wait()
        seen = {}
        for kind in KINDS:
            path = pathlib.Path(self.lab.work, "seen-" + kind)
            seen[kind] = json.loads(path.read_text()) if path.exists() else None
            if seen[kind]:
                seen[kind]["host asked of http"] = any(kind in a for a in self.upstreams["http"].asked)
                seen[kind]["host asked of socks"] = any(kind in a for a in self.upstreams["socks"].asked)
        self.config = pathlib.Path(self.lab.work, ".git", "config").read_text()
        return seen

    def close(self):
        for one in self.kept + [s.socket for s in self.servers] + [u.socket for u in self.upstreams.values()]:
            one.close()
        self.lab.close()


LISTS = {"filesystem": {"allowWrite": ["~/open"], "denyRead": ["~/keys"]}, "credentials": {"files": ["~/token"], "envVars": ["MY_TOKEN"]},
         "network": {"allowedDomains": ["P0", "P1"], "allowUnixSockets": ["~/named.sock"]}, "cadre": {"devices": [DEVICE], "gitConfig": True}, "allowNestedUserNamespaces": True}
PROJECT = {"network": {"allowedDomains": ["P2"]}, "filesystem": {"denyWrite": ["./fixed"]}}

# Sessions by their names
STAGES = {
    "plain": dict(settings=ON),
    "asked": dict(settings=merge(ON, {"autoAllowBashIfSandboxed": False}), allowed=False),
    "unasked": dict(settings=ON, allowed=False),
    "off": dict(settings=merge(ON, LISTS, {"enabled": False}), project=PROJECT),
    "no hooks": dict(settings=merge(ON, {"cadre": {"hooks": "off"}})),
    "no servers": dict(settings=merge(ON, {"cadre": {"mcpServers": "off"}})),
    "lists": dict(settings=merge(ON, LISTS), project=PROJECT),
    "narrow": dict(settings=merge(ON, LISTS, {"filesystem": {"allowRead": ["~/keys/sub"]}, "network": {"strictAllowlist": True, "deniedDomains": ["P0"], "allowAllUnixSockets": True}}), project=PROJECT),
    "managed": dict(settings=merge(ON, LISTS, {"filesystem": {"allowRead": ["~/keys/sub"]}}), project=PROJECT,
                    managed={"network": {"allowManagedDomainsOnly": True, "allowedDomains": ["P1"]}, "filesystem": {"allowManagedReadPathsOnly": True}}),
    "http": dict(settings=merge(ON, {"network": {"httpProxyPort": "http", "allowedDomains": ["*.test"]}, "excludedCommands": ["python3 *"]})),
    "socks": dict(settings=merge(ON, {"filesystem": {"disabled": True}, "network": {"socksProxyPort": "socks", "allowedDomains": ["*.test"]}})),
    "bad config": dict(settings=merge(ON, {"cadre": {"gitConfig": True}}), config="[core]\n\tpager = touch WHO\n"),
    "leaves": dict(settings=merge(ON, {"allowUnsandboxedCommands": True}), wish=True, options=("--permission-mode", "bypassPermissions")),
    "stays": dict(settings=merge(ON, {"allowUnsandboxedCommands": False}), wish=True, options=("--permission-mode", "bypassPermissions")),
    "no kernel": dict(settings={"enabled": True}, blind=True),
    "no kernel, fails": dict(settings={"enabled": True, "failIfUnavailable": True}, blind=True),
    "no proc": dict(settings=ON, masked=True),
    "no proc, weaker": dict(settings=merge(ON, {"enableWeakerNestedSandbox": True}), masked=True),
}

OF_CALLS = "it is about calls of Bash; other programs have no such call"
OF_LEVELS = "cadre.hooks and cadre.mcpServers decide about these"
# Key: the session without it and the one with it, what differs, what it is with it; and kinds that it is not about, with the reason.
ROWS = [
    ("enabled", "off", "lists", "inside", True, {"hook": OF_LEVELS, "server": OF_LEVELS}),
    ("cadre.hooks", "no hooks", "plain", "inside", True, {"bash": "enabled", "server": "cadre.mcpServers"}),
    ("cadre.mcpServers", "no servers", "plain", "inside", True, {"bash": "enabled", "hook": "cadre.hooks"}),
    ("failIfUnavailable", "no kernel", "no kernel, fails", "ran", False, {}),
    ("enableWeakerNestedSandbox", "no proc", "no proc, weaker", "inside", True, {}),
    ("autoAllowBashIfSandboxed", "asked", "unasked", "ran", True, {"hook": OF_CALLS, "server": OF_CALLS}),
    ("allowUnsandboxedCommands", "leaves", "stays", "inside", True, {"hook": OF_CALLS, "server": OF_CALLS}),
    ("excludedCommands", "plain", "http", "inside", False, {"hook": OF_CALLS, "server": OF_CALLS}),
    ("filesystem.allowWrite", "plain", "lists", "write open", True, {}),
    ("filesystem.denyWrite", "plain", "lists", "write fixed", False, {}),
    ("filesystem.denyRead", "plain", "lists", "read keys", False, {}),
    ("filesystem.denyRead", "plain", "off", "read keys", False, {"bash": "enabled is off"}),
    ("filesystem.allowRead", "lists", "narrow", "read part", True, {}),
    ("filesystem.allowManagedReadPathsOnly", "narrow", "managed", "read part", False, {}),
    ("filesystem.disabled", "plain", "socks", "write closed", True, {}),
    ("credentials", "plain", "lists", "read token", False, {}),
    ("credentials", "plain", "lists", "variable", False, {}),
    ("credentials", "plain", "off", "read token", False, {"bash": "enabled is off"}),
    ("network.allowedDomains", "plain", "lists", "host", True, {}),
    ("network.deniedDomains", "lists", "narrow", "host", False, {}),
    ("network.strictAllowlist", "lists", "narrow", "host of project", False, {}),
    ("network.allowManagedDomainsOnly", "lists", "managed", "host", False, {}),
    ("network.allowManagedDomainsOnly", "plain", "managed", "host of managed", True, {}),
    ("network.allowUnixSockets", "plain", "lists", "socket", True, {}),
    ("network.allowAllUnixSockets", "lists", "narrow", "socket of others", True, {}),
    ("network.httpProxyPort", "plain", "http", "host asked of http", True, {"bash": "excludedCommands of this session"}),
    ("network.socksProxyPort", "plain", "socks", "host asked of socks", True, {}),
    ("allowNestedUserNamespaces", "plain", "lists", "namespace", True, {}),
    ("cadre.devices", "plain", "lists", "device", True, {}),
    ("cadre.gitConfig", "plain", "lists", "git", True, {"server": "it is looked at when the program has ended, and a server lasts"}),
]
OTHERS = {"ignoreViolations", "network.allowLocalBinding"}  # below
WITHOUT_EFFECT = {"network.tlsTerminate", "network.allowMachLookup", "bwrapPath", "socatPath", "ripgrep", "allowAppleEvents", "enableWeakerNetworkIsolation"}


def play(names):
    """The sessions of these names, a few at a time: {name: (what was seen, the stage)}."""
    def one(name):
        stage = Stage(**STAGES[name])
        try:
            seen = stage.over()
            told = [e for e in stage.done.frames() if e.get("subtype") == "hook_response"] if stage.done.code == 0 else []
            return seen, stage.config, stage.done, told
        finally:
            stage.close()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return dict(zip(names, pool.map(one, names)))


def value(seen, kind, fact):
    return seen[kind] is not None if fact == "ran" else (seen[kind] or {}).get(fact)


def every_key_acts_for_commands_hooks_and_servers(lab):
    known = {k["key"][8:]: k["effect"] for k in json.loads(lab.cadre("config", "keys", "--json").out) if k["key"].startswith("sandbox.")}
    assert {k for k, effect in known.items() if effect} == {row[0] for row in ROWS} | OTHERS, "a key without a row, or a row without a key"
    assert {k for k, effect in known.items() if not effect} == WITHOUT_EFFECT
    wanted = [n for n in STAGES if os.geteuid() == 0 or not (STAGES[n].get("managed") or STAGES[n].get("masked"))]
    sessions = play(wanted)
    wrong = []
    for key, before, after, fact, becomes, but in ROWS:
        if before not in sessions or after not in sessions:
            continue
        for kind in KINDS:
            was, now = (value(sessions[name][0], kind, fact) for name in (before, after))
            good = was == now if kind in but else bool(was) != becomes and now == becomes
            if kind in but and but[kind] in ("enabled is off", "excludedCommands of this session"):
                good = was is not None and now is not None  # outside in one of them
            if not good:
                wrong.append((key, kind, fact, before, was, after, now))
    assert not wrong, "\n".join(map(str, wrong))
    for name, (seen, config, done, told) in sessions.items():
        for kind in KINDS:
            if not seen[kind] or not seen[kind]["inside"] or name == "socks":
                continue
            facts = seen[kind]  # rules and directories of the session, and what must not appear
            assert not facts["read by rule"] and not facts["write by rule"] and facts["write added"] and not facts["write closed"], (name, kind, facts)
    assert "pager" not in sessions["bad config"][1] and sessions["bad config"][0]["hook"]["git"] and sessions["bad config"][0]["bash"]["git"], sessions["bad config"]
    kept = sessions["lists"][1]
    assert 'branch "hook"' in kept and 'branch "bash"' in kept and 'branch "server"' not in kept, kept


def what_a_hook_leaves_behind_is_removed_and_said(lab):
    seen, _, done, told = play(["plain"])["plain"]
    assert seen["hook"]["appeared"] and seen["hook"]["inside"], seen
    assert any("removed: " in e["stderr"] and ".mcp.json appeared" in e["stderr"] for e in told), told


def reports_that_are_ignored_are_not_made(lab):
    """ignoreViolations: in the result of a command, in what a hook says, in `cadre mcp test`."""
    for ignored in (False, True):
        more = {"ignoreViolations": {"probe.py": ["localhost:"]}} if ignored else {}
        stage = Stage(merge(ON, more))
        try:
            stage.over()
            texts = {"bash": "".join(json.dumps(f) for f in stage.done.frames() if f["type"] == "user"),
                     "hook": "".join(json.dumps(f) for f in stage.done.frames() if f.get("subtype") == "hook_response"),
                     "server": stage.lab.cadre("mcp", "test", "s", "--json").out}
            for kind in KINDS:
                assert ("blocked: network localhost:" in texts[kind]) != ignored, (kind, ignored, texts[kind])
                assert "blocked: network far-%s.test" % kind in texts[kind], (kind, ignored, texts[kind])
        finally:
            stage.close()


def ports_of_each_kind_appear_outside(lab):
    """allowLocalBinding: also of a hook and of a server that begin to listen long after they start."""
    stage = Stage(merge(ON, {"network": {"allowLocalBinding": True}}), listens=True)
    try:
        stage.visit()
        seen = stage.over()
        assert all(seen[kind] and seen[kind]["reached"] == [True, True] and seen[kind]["inside"] for kind in KINDS), (seen, stage.done)
    finally:
        stage.close()


if __name__ == "__main__":
    main(every_key_acts_for_commands_hooks_and_servers, what_a_hook_leaves_behind_is_removed_and_said, reports_that_are_ignored_are_not_made, ports_of_each_kind_appear_outside,
         at_once=2, without_cell=())
