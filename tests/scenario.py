#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scenario.py [--cadre PROGRAM] [--modeld PROGRAM] [-j N] [PART-OF-PATH...]: runs tests/scenarios/**/*.test, prints TAP.

A test file is text. Its first line is the test's name, a sentence that is true when it passes. Sections follow; each begins
with a line `== HEADER` and ends at the next one, blank lines at its end are not part of it. `== run` begins a further run of
the program in the same directories.

Before a run:
  == model              a scenario (docs/scenarios.md): modeld plays it to all runs of the test, over real HTTP
  == file NAME          a file in the working directory; NAME may begin with {config}/, {home}/ or {project}/
  == bytes NAME         the same with the escapes of a Python string (\\x00, \\xff, \\n), and no end of line of its own
  == shell              commands for sh, in the working directory; they must succeed
  == needs root         the test is skipped for other users
  == needs sandbox      and where the kernel gives no namespaces
The run:
  == args               the command line, words as in a shell
  == stdin              default: nothing
  == env                NAME=VALUE lines; NAME alone takes the variable away
  == signal NAME        is sent when an event as described in the section (one line of `events`) is seen
Afterwards:
  == exit N             default 0
  == stdout             all of it            == stdout has / lacks     lines that must, or must not, be part of it
  == stderr             all of it; default: nothing                    == stderr has
  == events             the frames of stream-json, a line each (scenario_lines.py shows what they look like)
  == requests           the requests of this run, a line each
  == transcript         the lines of the session's file, a line each
  == result has         of the result frame: PATH VALUE lines; PATH is a.0.b, * is every item, # the number of items;
                        VALUE is JSON
  == request N has      the same of the body of the N-th request of this run
  == result lacks, == request N lacks     PATH must not exist, or PATH VALUE: must not have that value, nor any item of *
  == file is NAME       what a file holds now                          == no file NAME
  == check              Python that must not raise, for what the sections above cannot say. It has: asked(AGENT), bodies of the
                        requests of "main" or "ann@alpha"; metas, the meta files of agents by name; lines(NAME), the transcript of
                        "main" or of such an agent; heard(NAME), what it was given in messages, as text; texts(NAME), what it said;
                        results(NAME, TOOL), in the order of the calls; agents, ids of who made requests ("": main); load(NAME), a JSON file; place(NAME), a path; frames; pid

In what is expected ... stands for any text, a line that is only ... for any number of lines. Replaced everywhere: {work}
{home} {config} {project} (where transcripts are) {cadre} (the program) {server}
(tests/mcp_server.py) {url} (of modeld) {session} (of the run before)
{session.1} (of the first run).

Checked without being asked for: nothing of a sanitizer on stderr; no process is left; stream-json frames have the fields
that the SDKs need; modeld finds no request wrong (it answers those with 400)."""
import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import select
import shlex
import signal
import subprocess
import tempfile
import threading
import time
import traceback

import folders  # noqa: F401
from processes import Younger
from scenario_lines import (SHOWN, SHOWN_LINES, difference, event_line, frame_faults, lines_of, look_up, matches, pattern,
                            request_line, transcript_line)

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("TEST_BUILD", "build-test")
PLAIN = ROOT / os.environ.get("TEST_PLAIN", BUILD)  # make test: the release build
FOLDERS = os.environ.get("TEST_FOLDERS")  # tests/run: each folder in it has a group of inodes of its own
LIMIT_S = 60

HEADERS = [(name, re.compile(header + "$")) for name, header in (
    ("model", "model"), ("file_is", r"file is (\S+)"), ("no_file", r"no file (\S+)"), ("file", r"file (\S+)"),
    ("bytes", r"bytes (\S+)"), ("shell", "shell"), ("needs", r"needs (root|sandbox)"), ("run", "run"), ("args", "args"),
    ("stdin", "stdin"), ("env", "env"), ("signal", r"signal (\w+)"), ("exit", r"exit (\d+)"),
    ("text", r"(stdout|stderr)"), ("text_has", r"(stdout|stderr) (has|lacks)"), ("lines", r"(events|requests|transcript)"),
    ("values", r"(result|request \d+) (has|lacks)"), ("python", "check"))]
PREPARATIONS = ("file", "bytes", "shell")
ONCE = ("args", "stdin", "env", "signal", "exit")
COMMANDS = PREPARATIONS + ONCE + ("model", "needs", "run")


@functools.cache
def is_there(what):
    return os.geteuid() == 0 if what == "root" else subprocess.run([BUILD / "cadre", "sandbox", "status"], capture_output=True).returncode == 0


class Broken(Exception):
    """The test file itself cannot be used."""


class Section:
    def __init__(self, kind, arguments, line):
        self.kind, self.arguments, self.line, self.lines = kind, arguments, line, []

    def text(self):
        return "".join(line + "\n" for line in self.lines)


def parse(path):
    """The test's name, and its runs as lists of sections."""
    name, runs, section = "", [[]], None
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if not line.startswith("== "):
            if section:
                section.lines.append(line)
            name = name or line.strip()
            continue
        found = [(kind, match) for kind, header in HEADERS if (match := header.match(line[3:].strip()))]
        if not found:
            raise Broken(f"line {number}: unknown section '{line}'")
        section = Section(found[0][0], found[0][1].groups(), number)
        if section.kind == "run":
            runs.append([])
        else:
            runs[-1].append(section)
    for section in (s for run in runs for s in run):
        while section.lines and not section.lines[-1].strip():
            section.lines.pop()
    return name, runs


class Test:
    def __init__(self, path, programs):
        self.path, self.programs, self.failures, self.skip = path, programs, [], None
        self.name = str(path.relative_to(ROOT / "tests" / "scenarios").with_suffix(""))
        self.sessions, self.modeld, self.seen_requests = [], None, 0

    def fail(self, what, lines=()):
        lines = [line for text in lines for line in text.split("\n")]
        self.failures += [what, *("  " + line[:SHOWN] for line in lines[:SHOWN_LINES])]

    # -- directories, model -----------------------------------------------------------------------------------------------

    def make_directories(self, top):
        self.top, self.younger = pathlib.Path(top).resolve(), Younger()
        self.places = {name: self.top / name for name in ("work", "home", "config", "tmp")}
        for place in self.places.values():
            place.mkdir()
        self.places["project"] = self.places["config"] / "projects" / re.sub("[^A-Za-z0-9]", "-", str(self.places["work"]))
        self.log = self.top / "requests"
        self.log.touch()

    def expand(self, text):
        values = {**self.places, "url": self.url, "cadre": self.programs["cadre"],
                  "server": ROOT / "tests" / "mcp_server.py", "session": "".join(self.sessions[-1:])}
        values.update({f"session.{i}": session for i, session in enumerate(self.sessions, 1)})
        return re.sub(r"\{([a-z]+(?:\.\d+)?)\}", lambda m: str(values.get(m[1], m[0])), text)

    def place(self, name):
        return self.places["work"] / self.expand(name)

    def start_model(self, runs):
        self.url, self.script = "http://127.0.0.1:9", ""  # nobody listens there
        models = [s for run in runs for s in run if s.kind == "model"]
        if not models:
            return
        self.script = self.expand("".join(s.text() for s in models))
        scenario = self.top / "scenario"
        scenario.write_text(self.script)
        self.model_errors = open(self.top / "modeld.stderr", "w+")
        self.modeld = subprocess.Popen([self.programs["modeld"], scenario, "--log", self.log, "--die-with-parent"],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.model_errors, text=True)
        ready = re.search(r"http://\S+", self.modeld.stdout.readline())
        if not ready:
            raise Broken("modeld does not start: " + (self.top / "modeld.stderr").read_text().strip())
        self.url = ready[0]

    def stop_model(self):
        if not self.modeld:
            return
        self.modeld.terminate()
        code = self.modeld.wait(LIMIT_S)
        said = (self.top / "modeld.stderr").read_text()
        if code or said:
            self.fail(f"modeld ended with {code}", [said])
        self.modeld.stdout.close()
        self.model_errors.close()

    # -- one run ----------------------------------------------------------------------------------------------------------

    def prepare(self, section):
        text = self.expand(section.text())
        if section.kind == "shell":
            done = subprocess.run(["sh", "-e"], input=text, text=True, cwd=self.places["work"], env=self.env,
                                  capture_output=True)
            if done.returncode:
                raise Broken(f"line {section.line}: shell ended with {done.returncode}: {done.stderr.strip()}")
            return
        path = self.place(section.arguments[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        if section.kind == "bytes":
            path.write_bytes(text.rstrip("\n").encode("latin-1").decode("unicode_escape").encode("latin-1"))
        else:
            path.write_text(text)

    def environment(self, lines):
        keep = ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
        env = {name: os.environ[name] for name in keep if name in os.environ}
        env.update(HOME=str(self.places["home"]), CLAUDE_CONFIG_DIR=str(self.places["config"]), LANG="C.UTF-8",
                   CLAUDE_CODE_TMPDIR=str(self.places["tmp"]), ANTHROPIC_BASE_URL=self.url, ANTHROPIC_API_KEY="test",
                   GIT_CONFIG_NOSYSTEM="1")
        for line in lines:
            name, equals, value = self.expand(line).partition("=")
            env.pop(name, None)
            env.update({name: value} if equals else {})
        return env

    def execute(self, once):
        arguments = shlex.split(self.expand(once["args"].text()))
        (self.top / "stdin").write_text(self.expand(once["stdin"].text()) if "stdin" in once else "")
        with open(self.top / "stdin") as given, open(self.top / "stderr", "wb") as said:
            process = subprocess.Popen([self.programs["cadre"], *arguments], cwd=self.places["work"], env=self.env,
                                       stdin=given, stdout=subprocess.PIPE, stderr=said)
        self.pid = process.pid
        timer = threading.Timer(LIMIT_S, process.kill)
        timer.start()
        try:
            self.stdout = "".join(self.read_output(process, once.get("signal")))
            self.code = process.wait()
        finally:
            process.kill()
            process.stdout.close()
            if not timer.is_alive():
                self.fail(f"the program did not end within {LIMIT_S} s and was killed")
            timer.cancel()
        said = (self.top / "stderr").read_text(errors="backslashreplace").splitlines(keepends=True)
        self.stderr = "".join(line for line in said if not self.is_notice(line))

    def read_output(self, process, signal_section):
        """The lines of standard output; the signal is sent when its event is among them."""
        awaited = pattern(self.expand(signal_section.lines[0])) if signal_section else None
        for line in process.stdout:
            yield line.decode(errors="backslashreplace")
            if awaited and re.fullmatch(awaited, event_line(json.loads(line))):
                process.send_signal(getattr(signal, "SIG" + signal_section.arguments[0]))
                awaited = None

    def is_notice(self, line):
        """Whether it says what the kernel lacks, where it does lack it, as in many containers."""
        return "the kernel cannot hold" in line and lacks_sandbox(self.programs["cadre"])

    def observe(self):
        """Fills what the sections look at."""
        self.frames = []
        for line in lines_of(self.stdout):
            try:
                self.frames += [json.loads(line)] if line.startswith("{") and not self.is_notice(line) else []
            except ValueError:
                self.fail("a line of standard output is no JSON", [line])
        logged = [json.loads(line) for line in lines_of(self.log.read_text())]
        self.requests, self.seen_requests = logged[self.seen_requests:], len(logged)
        files = sorted(self.places["project"].glob("*.jsonl"), key=lambda f: f.stat().st_mtime_ns)
        named = [f["session_id"] for f in self.frames if "session_id" in f] or [f.stem for f in files[-1:]]
        self.sessions.append("".join(named[-1:] or self.sessions[-1:]))
        transcript = self.places["project"] / (self.sessions[-1] + ".jsonl")
        self.transcript = lines_of(transcript.read_text(errors="backslashreplace")) if transcript.exists() else []

    def run(self, sections):
        once = {s.kind: s for s in sections if s.kind in ONCE}
        if "args" not in once:
            raise Broken("a run without args")
        self.env = self.environment(once["env"].lines if "env" in once else [])
        for section in sections:
            if section.kind in PREPARATIONS:
                self.prepare(section)
        self.execute(once)
        self.observe()
        self.check_always(int(once["exit"].arguments[0]) if "exit" in once else 0)
        if not any(s.kind.startswith("text") and s.arguments[0] == "stderr" for s in sections) and self.stderr:
            self.fail("standard error is not empty", [self.stderr])
        for section in sections:
            if section.kind not in COMMANDS:
                expected = [self.expand(line) for line in section.lines]
                getattr(self, "check_" + section.kind)(section, expected, *section.arguments)

    # -- what is checked --------------------------------------------------------------------------------------------------

    def check_always(self, code):
        if self.code != code:
            self.fail(f"exit code {self.code}, expected {code}", [self.stdout[-600:], self.stderr[-600:]])
        if re.search(r"Sanitizer|runtime error:", self.stderr):
            self.fail("a sanitizer complains", [self.stderr])
        if "status 400" not in self.script and any(r["status"] == 400 for r in self.requests):
            self.fail("modeld refused a request", [request_line(r) for r in self.requests] + [self.stdout[-300:]])
        if self.frames and self.frames[0].get("subtype") == "init":
            for fault in frame_faults(self.frames):
                self.fail(fault)
        self.check_processes()

    def check_processes(self):
        """The program's children end with it, or shortly after."""
        mark, until = f"HOME={self.places['home']}\0".encode(), time.monotonic() + LIMIT_S
        while left := [pid for pid in self.younger if has_mark(pid, mark)]:
            if not wait_for_end(left[0], until):
                self.fail("processes are left: " + " ".join(map(str, left)))
                return

    def check_text(self, section, expected, stream):
        actual = getattr(self, stream)
        if actual and not actual.endswith("\n"):
            self.fail(f"{stream} does not end with an end of line", [actual[-SHOWN:]])
        if not matches(expected, lines_of(actual)):
            self.fail(f"line {section.line}: {stream}", difference(expected, lines_of(actual)))

    def check_text_has(self, section, expected, stream, how):
        actual = getattr(self, stream)
        for line in expected:
            if bool(re.search(pattern(line), actual)) != (how == "has"):
                self.fail(f"line {section.line}: {stream} {'has no' if how == 'has' else 'has'} '{line}'", [actual])

    def check_lines(self, section, expected, what):
        short = {"events": event_line, "requests": request_line, "transcript": transcript_line}[what]
        source = {"events": self.frames, "requests": self.requests, "transcript": self.transcript}[what]
        actual = [short(item) for item in source]
        if not matches(expected, actual):
            self.fail(f"line {section.line}: {what}", difference(expected, actual))

    def check_values(self, section, expected, what, how):
        results = [f for f in self.frames if f.get("type") == "result"]
        items = results[-1:] if what == "result" else [r["body"] for r in self.requests][int(what[8:]) - 1:]
        if not items:
            self.fail(f"line {section.line}: there is no {what}")
            return
        for line in expected:
            path, _, value = line.partition(" ")
            actual = look_up(items[0], path.split("."))
            seen = [actual]
            if how == "lacks" and "*" in path.split("."):  # none of them has it
                seen += [json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in json.loads(actual or "[]")]
            holds = actual is not None and (not value or any(re.fullmatch(pattern(value.strip()), text) for text in seen))
            if bool(holds) != (how == "has"):
                wanted = "expected " if how == "has" else "not expected "
                self.fail(f"line {section.line}: {what} {path}", [wanted + value, f"seen {actual}"])

    def check_file_is(self, section, expected, name):
        path = self.place(name)
        actual = lines_of(path.read_text(errors="backslashreplace")) if path.is_file() else ["(there is no such file)"]
        if not matches(expected, actual):
            self.fail(f"line {section.line}: file {name}", difference(expected, actual))

    def check_no_file(self, section, _, name):
        if self.place(name).exists():
            self.fail(f"line {section.line}: file {name} exists")

    def check_python(self, section, expected):
        metas = {meta.get("name"): {"path": path, **meta} for path in self.places["project"].glob(self.sessions[-1] + "/subagents/*.meta.json")
                 for meta in (json.loads(path.read_text()),)}

        def lines(name):
            path = metas[name]["path"] if name != "main" else self.places["project"] / (self.sessions[-1] + ".meta.json")
            return [json.loads(line) for line in lines_of(path.with_name(path.name.replace(".meta.json", ".jsonl")).read_text())]

        def blocks(name, role):
            return [block for line in lines(name) if line["type"] == role for content in (line["message"]["content"],)
                    for block in (content if isinstance(content, list) else [{"type": "text", "text": content}])]

        def results(name, tool):
            ids = [block["id"] for block in blocks(name, "assistant") if block["type"] == "tool_use" and block["name"] == tool]
            found = {block["tool_use_id"]: block for block in blocks(name, "user") if block["type"] == "tool_result"}
            return [found[i]["content"] for i in ids]
        names = {"json": json, "re": re, "metas": metas, "lines": lines, "results": results, "frames": self.frames, "place": self.place,
                 "pid": self.pid, "agents": {r["agent"] for r in self.requests}, "load": lambda name: json.loads(self.place(name).read_text()),
                 "asked": lambda agent: [r["body"] for r in self.requests if r["agent"] == ("" if agent == "main" else agent)],
                 "heard": lambda name: "\n".join(block["text"] for block in blocks(name, "user") if block["type"] == "text"),
                 "texts": lambda name: [block["text"] for block in blocks(name, "assistant") if block["type"] == "text"]}
        try:
            exec(compile("\n" * section.line + "\n".join(expected), str(self.path), "exec"), names)
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            self.fail(f"line {at.lineno if at.filename == str(self.path) else section.line}: {type(error).__name__}", [str(error)])

    def play(self):
        with tempfile.TemporaryDirectory(prefix="" if FOLDERS else "cadre-test-", dir=FOLDERS) as top:
            try:
                title, runs = parse(self.path)
                self.name += ": " + title
                needs = {s.arguments[0] for run in runs for s in run if s.kind == "needs"}
                if lacking := [what for what in sorted(needs) if not is_there(what)]:
                    self.skip = "needs " + lacking[0]
                    return self
                self.make_directories(top)
                self.start_model(runs)
                for run in runs:
                    self.run(run)
            except Exception as error:  # one test that cannot be run must not end the others
                self.fail(f"{type(error).__name__}: {error}")
            finally:
                self.stop_model()
        return self


@functools.cache
def lacks_sandbox(program):
    return subprocess.run([program, "sandbox", "status"], stdout=subprocess.DEVNULL, check=False).returncode != 0


def wait_for_end(pid, until):
    """False if the process lives on past that time."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], max(0, until - time.monotonic()))[0])
    finally:
        os.close(fd)


def has_mark(pid, mark):
    try:
        return mark in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cadre", default=BUILD / "cadre")
    options.add_argument("--modeld", default=PLAIN / "modeld" / "modeld")
    options.add_argument("-j", type=int, default=2)
    options.add_argument("parts", nargs="*")
    given = options.parse_args()
    programs = {name: os.path.abspath(getattr(given, name)) for name in ("cadre", "modeld")}
    for program in programs.values():
        if not os.access(program, os.X_OK):
            raise SystemExit(f"scenario.py: there is no program {program}")
    paths = sorted((ROOT / "tests" / "scenarios").glob("**/*.test"))
    paths = [p for p in paths if not given.parts or any(part in str(p) for part in given.parts)]
    tests = [Test(path, programs) for path in paths]
    print(f"1..{len(tests)}")
    with concurrent.futures.ThreadPoolExecutor(given.j) as pool:
        for number, test in enumerate(pool.map(Test.play, tests), 1):
            skip = f" # SKIP {test.skip}" if test.skip else ""
            diagnostics = "".join(f"\n# {line}" for text in test.failures for line in text.splitlines())
            print(f"{'not ' * bool(test.failures)}ok {number} - {test.name}{skip}{diagnostics}", flush=True)
    raise SystemExit(any(test.failures for test in tests))


if __name__ == "__main__":
    main()
