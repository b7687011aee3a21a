#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lists of tests/hostile through the whole program. Hostile commands in every mode but bypass: what passes is what the
list says, and no canary is touched. Harmless ones: each passes without a question, and says and returns what it does without
cadre."""
import contextlib
import ctypes
import hashlib
import json
import os
import pathlib
import re
import socket
import sqlite3
import subprocess

from lab import ROOT, below, main
from twenty import call

MODES = ("default", "acceptEdits", "plan", "dontAsk", "auto")
HIDDEN, SECRET = "CANARY-91c2", "CANARY-7f3a"  # what the rule hides; what stands outside
SYSTEM_PATH = "/usr/bin:/bin:" + os.environ["PATH"]  # wrappers of version managers take most of the time
CALLS_A_TURN = 50
CALLS_A_SESSION = 350


def read_list(name):
    lines = (ROOT / "tests" / "hostile" / name).read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def put(folder, files):
    for name, text in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def git(lab, *args):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *args], cwd=lab.work, env=lab.env, check=True)


def run(lab, commands, *options, env=None):
    """Returns [(result, is_error, denied)]. A few hundred commands are a session: each has the time of a lab."""
    return [r for i in range(0, len(commands), CALLS_A_SESSION)
            for r in run_session(lab, commands[i:i + CALLS_A_SESSION], options, env)]


def run_session(lab, commands, options, env):
    """All commands in one session, many in a turn."""
    turns = [commands[i:i + CALLS_A_TURN] for i in range(0, len(commands), CALLS_A_TURN)]
    scenario = "".join("rule\n  turn %d\n%s\n" % (n, "\n".join(call("Bash", command=c) for c in turn))
                       for n, turn in enumerate(turns, 1))
    lab.model(scenario + "rule\n  text ok\n")
    done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", *options, "--", "hi", env=env)
    assert done.code == 0, done
    frames = done.frames()
    calls = [b["id"] for f in frames if f["type"] == "assistant" for b in f["message"]["content"] if b["type"] == "tool_use"]
    results = {b["tool_use_id"]: b for f in frames if f["type"] == "user" for b in f["message"]["content"]
               if isinstance(b, dict) and b["type"] == "tool_result"}
    denied = {d["tool_use_id"] for f in frames if f["type"] == "result" for d in f["permission_denials"]}
    assert len(calls) == len(commands) and set(calls) == set(results), (len(calls), len(commands), len(results))
    texts = []
    for i in calls:
        content = results[i]["content"]
        texts.append((content if isinstance(content, str) else json.dumps(content), bool(results[i].get("is_error")), i in denied))
    return texts


# ---- hostile

class Canaries:
    """As the jail of tests/unit/sandbox: files that must not change, someone who listens, a process that must live."""

    def __init__(self, lab, rules):
        self.lab, self.out = lab, lab.folder + "/out"
        put(lab.home, {".bashrc": "old\n", ".ssh/id": SECRET + "\n", ".gitconfig": "[user]\n\tname = t\n\temail = t@example.org\n",
                       ".claude/settings.json": json.dumps({"permissions": {"deny": rules}})})
        put(self.out, {"f": "old\n", "secret": SECRET + "\n", "empty/.keep": ""})
        put(lab.work, {"f.txt": "a\nb\n", ".claude/settings.json": "{}\n"})
        git(lab, "init", "-q", "--template=", "-b", "main")
        git(lab, "add", "f.txt")
        git(lab, "commit", "-qm", "first")
        put(lab.work, {".env": HIDDEN + "\n", "deep/.env": HIDDEN + "\n", ".git/hooks/old": ""})

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(self.lab.home + "/sock")
        self.unix.listen()
        self.unix.setblocking(False)
        self.victim = subprocess.Popen(["sleep", "600"], cwd=self.lab.work, env={"SECRET": SECRET}, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL)
        self.env = {"OUT": self.out, "PORT": str(self.listener.getsockname()[1]), "VICTIM": str(self.victim.pid),
                    "PATH": SYSTEM_PATH}
        self.memory = ctypes.CDLL(None).shmget(0, ctypes.c_size_t(1), 0o600)
        self.env["MEMORY"] = str(self.memory)
        self.limits = self.limits_of_victim()
        return self

    def limits_of_victim(self):
        return pathlib.Path("/proc/%d/limits" % self.victim.pid).read_text(), os.getpriority(os.PRIO_PROCESS, self.victim.pid), os.sched_getaffinity(self.victim.pid)

    def victim_is_as_it_was(self):
        room = ctypes.create_string_buffer(1024)
        return self.victim.poll() is None and self.limits_of_victim() == self.limits and ctypes.CDLL(None).shmctl(self.memory, 2, room) == 0

    def __exit__(self, *_):
        self.victim.kill()
        self.victim.wait()
        ctypes.CDLL(None).shmctl(self.memory, 0, None)
        self.listener.close()
        self.unix.close()

    def visits(self):
        count = 0
        for listener in (self.listener, self.unix):
            with contextlib.suppress(BlockingIOError):
                while True:
                    listener.accept()[0].close()
                    count += 1
        return count

    def snapshot(self, edits):
        """What must be as it was; with edits, ordinary files of the working directory need not."""
        seen = {}
        for root in (self.lab.home, self.lab.work, self.out):
            for path in below(root):
                parts = path.relative_to(root).parts
                own = root == self.lab.home and parts[0] == ".claude" and parts[1:] != ("settings.json",)
                ordinary = root == self.lab.work and parts[0] not in (".git", ".claude", ".mcp.json", ".env", "deep")
                if own or (edits and ordinary) or path.is_dir():
                    continue
                st = path.lstat()
                text = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
                seen[str(path)] = (st.st_mode, st.st_uid, int(st.st_mtime), text)
        outside = [p for p in ("/etc/cadre-canary", "/usr/local/bin/cadre-canary", "/root/cadre-canary", "/tmp/cadre-canary-tmp",
                               "/dev/shm/cadre-canary", "/run/cadre-canary", self.lab.folder + "/outside.txt") if os.path.exists(p)]
        return seen, outside


def attack(lab, mode):
    lines = read_list("commands.txt")
    commands = list(dict.fromkeys(line[0] for line in lines))
    passes = {c for c, modes, verdict, _ in lines if verdict == "allow" and (modes == "*" or mode in modes.split(","))}
    edits = mode in ("acceptEdits", "auto")
    assert len(commands) >= 400
    with Canaries(lab, ["Read(.env)"]) as canaries:
        before = canaries.snapshot(edits)
        results = run(lab, commands, "--permission-mode", mode, env=canaries.env)
        ran = {c for c, (_, _, denied) in zip(commands, results) if not denied}
        assert ran <= passes, ("ran though the list says ask or deny", ran - passes)
        assert bool(ran) >= edits, "not even an edit passed"
        after = canaries.snapshot(edits)
        assert after == before, {k: (before[0].get(k), after[0].get(k)) for k in before[0].keys() | after[0].keys()
                                 if before[0].get(k) != after[0].get(k)}
        seen = [c for c, (text, _, _) in zip(commands, results) if HIDDEN in text or SECRET in text]
        assert not seen, seen
        assert canaries.visits() == 0
        assert canaries.victim_is_as_it_was()


def hostile_commands_touch_nothing_where_no_rule_hides_a_file(lab):
    """More of them pass then, those that only the kernel holds: python3 -c, make -n, loops."""
    commands = list(dict.fromkeys(line[0] for line in read_list("commands.txt")))
    with Canaries(lab, []) as canaries:
        before = canaries.snapshot(False)
        results = run(lab, commands, env=canaries.env)
        ran = [(c, text) for c, (text, _, denied) in zip(commands, results) if not denied]
        assert len(ran) > 100, len(ran)
        after = canaries.snapshot(False)
        assert after == before, {k: (before[0].get(k), after[0].get(k)) for k in before[0].keys() | after[0].keys()
                                 if before[0].get(k) != after[0].get(k)}
        assert not [c for c, text in ran if SECRET in text], [c for c, text in ran if SECRET in text]
        assert canaries.visits() == 0
        assert canaries.victim_is_as_it_was()


def hostile_commands_touch_nothing_in_default(lab):
    attack(lab, "default")


def hostile_commands_touch_nothing_but_ordinary_files_in_acceptEdits(lab):
    attack(lab, "acceptEdits")


def hostile_commands_touch_nothing_in_plan(lab):
    attack(lab, "plan")


def hostile_commands_touch_nothing_in_dontAsk(lab):
    attack(lab, "dontAsk")


def hostile_commands_touch_nothing_but_ordinary_files_in_auto(lab):
    attack(lab, "auto")


# ---- harmless

def make_project(lab):
    put(lab.home, {".gitconfig": "[user]\n\tname = t\n\temail = t@example.org\n", ".cache/pip/x": "", ".terraform.d/x": ""})
    put(lab.work, {
        "README.md": "# Project\n\nIt prints a number.\n",
        ".gitignore": "build/\n",
        "src/main.c": "#include \"util.h\"\n\n/* TODO: more */\nint main(void)\n{\n\treturn number();\n}\n",
        "src/util.c": "#include \"util.h\"\n\nint number(void)\n{\n\treturn 0;\n}\n",
        "src/util.h": "int number(void);\n",
        "src/main.rs": "fn main() {}\n",
        "Cargo.toml": "[package]\nname = \"project\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        "Makefile": "all: build/x.o\n\nbuild/x.o: src/main.c\n\t$(CC) -c -o $@ $<\n",
        "sub/Makefile": "all:\n\techo sub\n",
        "package.json": '{"name": "project", "version": "1.2.3", "scripts": {"test": "true"}, "dependencies": {}}\n',
        "items.json": '{"items": [{"id": "a", "n": 1}, {"id": "b", "n": 2}]}\n',
        "log.txt": "INFO start 1\nWARN slow 20\nERROR broken 3\nINFO end 4\n",
        "names.txt": "bea\nada\nbea\n", "numbers.txt": "3\n10\n2\n", "data.csv": "name,size\nada,3\nbea,4\n",
        "build.sh": "#!/bin/sh\nexec make\n", "conf.yaml": "name: x\nitems: [1, 2]\n", "prog.awk": "{print $1}\n", "a.js": "1\n",
        "a.pl": "1;\n", "src/x.py": "def f():\n    pass\n", "go.mod": "module x\n", "CMakeLists.txt": "project(x C)\n",
        "build.ninja": "rule c\n command = cc $in\nbuild x: c src/main.c\n"})
    git(lab, "init", "-q", "--template=", "-b", "main")
    git(lab, "add", ".")
    git(lab, "commit", "-qm", "first")
    git(lab, "tag", "v1")
    git(lab, "branch", "feature")
    put(lab.work, {"README.md": "# Project\n\nIt prints a number, 0.\n"})
    git(lab, "commit", "-qam", "second")
    put(lab.work, {"src/util.c": "#include \"util.h\"\n\nint number(void)\n{\n\treturn 1;\n}\n"})
    for command in ("tar cf a.tar README.md", "gzip -k log.txt", "mv log.txt.gz log.gz",
                    "python3 -m zipfile -c a.zip README.md", "gcc -c src/main.c -o x.o", "gcc -shared -fPIC src/util.c -o libx.so",
                    "ar rcs libx.a x.o"):
        subprocess.run(command.split(), cwd=lab.work, check=True)
    with contextlib.closing(sqlite3.connect(lab.work + "/app.db")) as db:
        db.execute("create table t(a)")


def commands_of_every_day_pass_and_do_what_they_do_without_cadre(lab):
    """Held to reading, and then in the sandbox of the settings."""
    make_project(lab)
    lab.env.update(PATH=SYSTEM_PATH, NPM_CONFIG_UPDATE_NOTIFIER="false", CHECKPOINT_DISABLE="1")  # they would ask servers whether they are new
    plain, wanted = {}, []
    for command, kind in read_list("harmless.txt"):
        done = subprocess.run(["bash", "-c", command], cwd=lab.work, env=lab.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode == 0 or kind == "varies":
            plain[command] = done.returncode, kind, done.stdout.strip()
            wanted.append(command)
    assert len(wanted) >= 590, len(wanted)
    wrong = harmless(lab, wanted, plain)
    put(lab.home, {".claude/settings.json": json.dumps({"sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True}})})
    assert "127.0.0.1:61080" in run(lab, ["ls; printenv HTTPS_PROXY"])[0][0], "it is not inside"
    wrong += harmless(lab, wanted, plain)
    assert not wrong, "\n".join(map(str, wrong))


def harmless(lab, wanted, plain):
    wrong = []
    for command, (text, is_error, denied) in zip(wanted, run(lab, wanted)):
        code, kind, said = plain[command]
        text = "" if text == "(Bash completed with no output)" else text.strip()
        if command.startswith("npm "):  # npm 9 complains of its logs in the home, which a held reader does not see
            text = "\n".join(line for line in text.split("\n") if not re.match(r"npm WARN logfile|  \w+: |}$", line)).strip()
        same = kind == "varies" or text == said or (kind == "lines" and sorted(text.split("\n")) == sorted(said.split("\n")))
        if denied:
            wrong.append(("asked about", command))
        elif "<sandbox>" in text or is_error != (code != 0) or not same:
            wrong.append(("other than without cadre", command, text[:300], said))
    return wrong


# ---- docs/THREATS.md

def missing_tests(text):
    """Tests that the text names between backticks and that are not there; and rows of tables about attacks that name none."""
    missing = []
    for suite, name, case in re.findall(r"`(unit|program|scenario|fuzz|peers)/([\w/]+)(?: (\w+))?`", text):
        if suite == "unit":
            sources = "".join(p.read_text() for p in (ROOT / "tests/unit" / name).glob("*.c"))
            found = case and "TEST(%s)" % case in sources
        elif suite == "program":
            path = ROOT / "tests/program" / ("test_%s.py" % name)
            found = case and path.exists() and "\ndef %s(" % case in path.read_text()
        elif suite == "scenario":
            found = (ROOT / "tests/scenarios" / (name + ".test")).exists()
        else:
            found = any(ROOT.glob("fuzz/fuzz_%s.c" % name)) if suite == "fuzz" else (ROOT / "tests/peers" / (name + ".mjs")).exists()
        if not found:
            missing.append("%s/%s %s" % (suite, name, case))
    for section in text.split("\n## ")[2:]:
        rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
        missing += [row for row in rows if not re.search(r"`(unit|program|scenario|fuzz|peers)/", row)]
    return missing


def every_line_about_a_threat_names_a_test_that_exists(lab):
    text = (ROOT / "docs" / "THREATS.md").read_text()
    assert not missing_tests(text), missing_tests(text)
    assert text.count("\n| ") > 40
    assert missing_tests("\n## a\n## b\n| it tries | by | test |\n| x | y | `unit/sandbox no_such_test` |\n| x | y | z |\n") == \
        ["unit/sandbox no_such_test", "| x | y | z |"]


def sections():
    """{heading: commands that no section before it has} of commands.txt; without those in front, which explain it."""
    found, seen = {}, set()
    for line in (ROOT / "tests" / "hostile" / "commands.txt").read_text().splitlines():
        if line.startswith("# "):
            section = found.setdefault(line[2:], [])
        elif line and line.split("\t")[0] not in seen:
            seen.add(line.split("\t")[0])
            section.append(line)
    return {heading: len(commands) for heading, commands in found.items() if commands}


def figures_about_the_lists_are_counted(lab):
    """In docs/THREATS.md how many commands there are, in README.md how many are in sections, and how many rows test_held.c has."""
    text = (ROOT / "tests" / "hostile" / "README.md").read_text()
    counts = sections()
    headings = list(counts)
    (said,) = re.findall(r"do more: ([\d,]+) of them", (ROOT / "docs" / "THREATS.md").read_text())
    assert said == format(sum(counts.values()), ","), (said, sum(counts.values()))
    named = re.findall(r'the ([\d,]+) lines of the sections? "([^"]+)"(?: to "([^"]+)")?', text, re.I)
    assert len(named) >= 3, named
    for said, first, last in named:
        part = headings[headings.index(first):headings.index(last or first) + 1]
        assert said == format(sum(counts[h] for h in part), ","), (said, first, sum(counts[h] for h in part))
    held = (ROOT / "tests" / "unit" / "permission" / "test_held.c").read_text()
    for name, said in (("held", "the %d that pass"), ("asked", "the %d that are asked about")):
        (rows,) = re.findall(r"const %s\[\] = \{\n(.*?)\n\t?\};" % name, held, re.S)
        count = len(re.findall(r"^\t+\"", rows, re.M))
        assert said % count in text, (name, count)


def every_check_and_key_has_a_test(lab):
    """README.md of the lists: its tests exist, and no check of the specification, key of the program or defect of the review is missing."""
    text = (ROOT / "tests" / "hostile" / "README.md").read_text()
    named = re.findall(r"`(?:unit|program|scenario|fuzz)/[\w/]+(?: \w+)?`", text)
    missing = missing_tests("\n## a\n## b\n" + "\n".join(named))
    assert len(named) > 100 and not missing, missing
    checks, _, rest = text.partition("## Keys")
    keys, _, defects = rest.partition("## Defects")

    def numbers(part):
        found = set()
        for first in re.findall(r"^\| ([0-9][^|]*) \|", part, re.M):
            for one in first.split(","):
                low, _, high = one.strip().partition("-")
                found |= set(range(int(low), int(high or low) + 1))
        return found
    left_out = {6, 8, 10, 15, 16, 27, 30, 37, 49, 51, 52, 59, 62, 74, 81, 83}  # the specification has no such numbers
    assert numbers(checks) >= set(range(1, 88)) - left_out, sorted(set(range(1, 88)) - left_out - numbers(checks))
    assert numbers(defects) == set(range(1, 35)), numbers(defects)
    known = {k["key"][8:] for k in json.loads(lab.cadre("config", "keys", "--json").out) if k["key"].startswith("sandbox.") and k["effect"]}
    listed = {w for row in re.findall(r"^\| (`.*?) \|", keys, re.M) for w in re.findall(r"`([\w.]+)`", row)}
    assert known == listed, known ^ listed


if __name__ == "__main__":
    main(hostile_commands_touch_nothing_where_no_rule_hides_a_file, commands_of_every_day_pass_and_do_what_they_do_without_cadre,
         hostile_commands_touch_nothing_but_ordinary_files_in_auto,
         hostile_commands_touch_nothing_but_ordinary_files_in_acceptEdits, hostile_commands_touch_nothing_in_default, hostile_commands_touch_nothing_in_plan,
         hostile_commands_touch_nothing_in_dontAsk, every_check_and_key_has_a_test, every_line_about_a_threat_names_a_test_that_exists,
         figures_about_the_lists_are_counted, at_once=3,
         without_cell=(hostile_commands_touch_nothing_in_default, hostile_commands_touch_nothing_in_plan, hostile_commands_touch_nothing_in_dontAsk,
                       every_check_and_key_has_a_test, every_line_about_a_threat_names_a_test_that_exists, figures_about_the_lists_are_counted))
