# SPDX-License-Identifier: MIT
"""A laboratory for whole processes: a home and a working directory, modeld, cadre, and what they leave.

    def a_prompt_is_answered(lab):
        lab.model("rule\n  text hello")
        done = lab.cadre("-p", "hi")
        assert done.code == 0 and done.out == "hello\n", done

    if __name__ == "__main__":
        main(a_prompt_is_answered)

Everything waits for events (a line, the end of a process) with a deadline, never for time to pass. Each process
that a lab starts, and all that come from it, carry the lab's mark in their environment: what is left is found."""
import concurrent.futures
import contextlib
import fcntl
import functools
import fnmatch
import itertools
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests"))
import folders  # noqa: E402,F401
from processes import Younger  # noqa: E402
BUILD = ROOT / os.environ.get("TEST_BUILD", "build-test")
CADRE = str(BUILD / "cadre")
PLAIN = ROOT / os.environ.get("TEST_PLAIN", BUILD)  # make test: the release build; README.md says what runs from it
PLAIN_CADRE, MODELD = str(PLAIN / "cadre"), str(PLAIN / "modeld" / "modeld")
DEADLINE_S = int(os.environ.get("LAB_DEADLINE", "60"))
FOLDERS = os.environ.get("TEST_FOLDERS")  # tests/run: each folder in it has a group of inodes of its own
if FOLDERS:
    tempfile.tempdir = tempfile.mkdtemp(dir=FOLDERS)
KEPT = ("PATH", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")


class Late(AssertionError):
    """The deadline passed before the event."""


class Skip(Exception):
    """The machine does not allow this test; the text says why."""


class Run:
    """A process with its standard output read as lines."""

    def __init__(self, argv, env, cwd, stdin=subprocess.DEVNULL, **more):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(argv, env=env, cwd=cwd, stdin=stdin, stdout=subprocess.PIPE,
                                        stderr=self.errors, **more)
        self.pid = self.process.pid
        self.fd = self.process.stdout.fileno()
        self.seen = bytearray()  # all of the output so far
        self.line_at = 0         # what line() has not given yet

    def _fill(self, until):
        """Reads more; False at the end of the output."""
        ready, _, _ = select.select([self.fd], [], [], max(0, until - time.monotonic()))
        if not ready:
            raise Late("nothing more after %r; errors %r" % (bytes(self.seen[-300:]), self.err[-300:]))
        piece = os.read(self.fd, 65536)
        self.seen += piece
        return bool(piece)

    def read(self, size):
        """Waits for so many bytes of output, or its end."""
        until = time.monotonic() + DEADLINE_S
        while len(self.seen) < size and self._fill(until):
            pass

    def line(self):
        """The next line, or None at the end. Some have many megabytes: late is one of which nothing more comes."""
        looked = self.line_at
        while (end := self.seen.find(b"\n", looked)) < 0:
            looked = len(self.seen)
            if not self._fill(time.monotonic() + DEADLINE_S):
                return None
        line, self.line_at = self.seen[self.line_at:end], end + 1
        return line.decode()

    def frame(self, kind, subtype=None):
        """The next stream-json frame of that kind; those before it are passed over."""
        while True:
            line = self.line()
            assert line is not None, "no %s frame; errors %r" % (kind, self.err[-500:])
            frame = json.loads(line)
            if frame["type"] == kind and subtype in (None, frame.get("subtype")):
                return frame

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)

    @property
    def err(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def wait(self, seconds=DEADLINE_S):
        """Reads to the end of output and process; late is one that says nothing for so long."""
        while self._fill(time.monotonic() + seconds):
            pass
        return self._end(time.monotonic() + seconds)

    def hang_up(self):
        """Closes our end of its output and waits for its end."""
        self.process.stdout.close()
        return self._end(time.monotonic() + DEADLINE_S)

    def _end(self, until):
        try:
            self.process.wait(max(0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Late("does not end; errors %r" % self.err[-300:]) from None
        done = Done(self.process.returncode, bytes(self.seen), self.err)
        self.close()
        return done

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Done:
    """How a run ended."""

    def __init__(self, code, out, err):
        self.code, self.raw, self.err = code, out, err
        assert "Sanitizer" not in err and "runtime error:" not in err, err[-3000:]

    @property
    def out(self):
        return self.raw.decode(errors="replace")

    def frames(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def __repr__(self):
        return "code %s, out %r, err %r" % (self.code, self.out[-800:], self.err[-800:])


class Modeld:
    """The model server; scenario is its text. With log it remembers what it was asked."""

    def __init__(self, folder, scenario, port=0, log=False):
        path = os.path.join(folder, "scenario-%s.txt" % uuid.uuid4().hex[:8])
        pathlib.Path(path).write_text(scenario, encoding="utf-8")
        self.log = path + ".log" if log else None
        self.process = subprocess.Popen([MODELD, path, "--port", str(port), "--die-with-parent",
                                         *(("--log", self.log) if log else ())], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        assert found, "modeld does not say where it listens: %r" % line
        self.url, self.port = found.group(0), int(found.group(1))

    def bodies(self):
        """Of all requests so far."""
        with open(self.log, encoding="utf-8") as lines:
            return [json.loads(line)["body"] for line in lines if line.endswith("\n")]  # or it is being written

    def stop(self):
        self.process.terminate()
        code = self.process.wait(DEADLINE_S)
        self.process.stdout.close()
        assert code == 0, "modeld ends with %d" % code


class Lab:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="" if FOLDERS else "cadre-lab-", dir=FOLDERS)
        self.mark, self.younger = uuid.uuid4().hex, Younger()
        self.home, self.work = os.path.join(self.folder, "home"), os.path.join(self.folder, "work")
        self.runtime = os.path.join(self.folder, "run")  # sessions of other tests are not found there
        for place in (self.home, self.work, self.runtime):
            os.makedirs(place)
        self.models, self.runs, self.fifos = [], [], []
        self.env = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.env.update(HOME=self.home, ANTHROPIC_API_KEY="test", CADRE_LAB=self.mark, TERM="dumb",
                        CLAUDE_CODE_TMPDIR=self.folder, XDG_RUNTIME_DIR=self.runtime)

    def close(self):
        for run in self.runs:
            run.close()
        for pid, _ in self.left():  # only after a test that failed
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for fifo in self.fifos:
            fifo.close()
        for model in self.models:
            if model.process.poll() is None:
                model.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- processes

    def model(self, scenario, port=0, log=False):
        model = Modeld(self.folder, scenario, port, log)
        self.models.append(model)
        self.env["ANTHROPIC_BASE_URL"] = model.url
        return model

    def start(self, *args, program=CADRE, env=None, cwd=None, **more):
        run = Run([program, *args], {**self.env, **(env or {})}, cwd or self.work, **more)
        self.runs.append(run)
        return run

    def cadre(self, *args, **more):
        return self.start(*args, **more).wait()

    def stream(self, *args, **more):
        """cadre -p with every event as a line."""
        return self.start("-p", "--output-format", "stream-json", "--verbose", *args, **more)

    def fifo(self, name):
        """A named pipe in the working directory, to be told by a tool that it runs."""
        path = os.path.join(self.work, name)
        os.mkfifo(path)
        self.fifos.append(Fifo(path))
        return self.fifos[-1]

    def left(self):
        """Processes of this lab that are alive, as (pid, command)."""
        wanted = ("CADRE_LAB=" + self.mark).encode()
        found = []
        for pid in self.younger:
            try:
                with open("/proc/%d/environ" % pid, "rb") as f:
                    if wanted not in f.read().split(b"\0"):
                        continue
                with open("/proc/%d/cmdline" % pid, "rb") as f:
                    found.append((pid, f.read().replace(b"\0", b" ").decode(errors="replace")))
            except OSError:
                continue  # it ended meanwhile
        return found

    def wait_for_nobody(self):
        """Waits for the end of every process of this lab."""
        until = time.monotonic() + DEADLINE_S
        while True:
            left = self.left()
            if not left:
                return
            for pid, command in left:
                self._wait_for_end(pid, command, until)

    @staticmethod
    def _wait_for_end(pid, command, until):
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            ready, _, _ = select.select([fd], [], [], max(0, until - time.monotonic()))
            if not ready:
                os.kill(pid, signal.SIGKILL)
                raise Late("process %d is left: %s" % (pid, command))
        finally:
            os.close(fd)

    # ---- sessions

    def transcripts(self, config=None):
        return sorted(pathlib.Path(config or os.path.join(self.home, ".claude")).glob("projects/*/*.jsonl"))

    def transcript(self, session, config=None, torn=False):
        found = [path for path in self.transcripts(config) if path.stem == session]
        return Transcript(found[0], torn) if found else None


class Fifo:
    """The reading end of a named pipe."""

    def __init__(self, path):
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.keep = os.open(path, os.O_WRONLY)  # or it would be at its end before the first writer

    def line(self):
        until = time.monotonic() + DEADLINE_S
        text = b""
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([self.fd], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise Late("nobody wrote to %s" % self.path)
            text += os.read(self.fd, 4096)
        return text.decode().strip()

    def close(self):
        os.close(self.fd)
        os.close(self.keep)


class Transcript:
    """A session's file. Reading it checks it: lines are whole objects, parents are there, no id comes twice.
    torn: the last line may lack its end, and is then left out."""

    def __init__(self, path, torn=False):
        self.path = path
        text = pathlib.Path(path).read_bytes()
        if torn:
            text = text[:text.rfind(b"\n") + 1]
        assert not text or text.endswith(b"\n"), "torn last line %r" % text[-200:]
        self.lines = []
        for line in text.split(b"\n")[:-1]:
            try:
                self.lines.append(json.loads(line))
            except ValueError as why:
                raise AssertionError("%s of %r behind %s" % (why, line[:2000], self.lines[-1:])) from None
        known = set()
        for line in self.lines:
            if "uuid" not in line:
                continue
            assert line["uuid"] not in known, "uuid twice: %s" % line["uuid"]
            assert line["parentUuid"] is None or line["parentUuid"] in known, "no parent: %s" % line
            known.add(line["uuid"])

    def blocks(self, kind):
        return [b for line in self.lines for b in content(line) if b["type"] == kind]

    def has_prompt(self, text):
        users = [line for line in self.lines if line["type"] == "user"]
        return any(b.get("text") == text for line in users for b in content(line))

    def calls(self):
        return {b["id"]: b for b in self.blocks("tool_use")}

    def results(self):
        """By call; a call has at most one."""
        results = {}
        for block in self.blocks("tool_result"):
            assert block["tool_use_id"] not in results, "two results for %s" % block["tool_use_id"]
            results[block["tool_use_id"]] = block
        return results

    def answer(self):
        """The text of the last answer if it was closed, else None."""
        answers = [line for line in self.lines if line["type"] == "assistant"]
        if not answers or answers[-1]["message"]["stop_reason"] != "end_turn":
            return None
        last = answers[-1]["message"]["id"]
        return "".join(b["text"] for line in answers if line["message"]["id"] == last
                       for b in content(line) if b["type"] == "text")

    def check_complete(self):
        missing = set(self.calls()) - set(self.results())
        assert not missing, "calls without a result: %s" % missing


def until(found, why, seconds=DEADLINE_S):
    """Waits until found() gives something, and returns it. A file that is not there yet or only half written is looked at again. why is
    a text, or a function that gives what is told when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        missing = None
        try:
            if seen := found():
                return seen
        except (OSError, LookupError, ValueError, TypeError, AttributeError, StopIteration) as error:
            missing = error
        if time.monotonic() > deadline:
            raise Late(str(why() if callable(why) else why)) from missing
        time.sleep(0.01)


def replace(path, text, like=None):
    """Writes a file as a careful program does: nobody sees half of it. like: the stat of the file whose time it gets."""
    part = pathlib.Path("%s.%s" % (path, uuid.uuid4().hex[:8]))
    part.write_text(text)
    if like:
        os.utime(part, ns=(like.st_atime_ns, like.st_mtime_ns))
    part.rename(path)


def read_json(path):
    """None for a file that is not there, or not whole."""
    try:
        return json.loads(pathlib.Path(path).read_text())
    except (FileNotFoundError, ValueError):
        return None


def below(folder, pattern="*"):
    """What the pattern names at any depth below a folder. Path.rglob fails when a program removes a directory meanwhile."""
    return [pathlib.Path(place, name) for place, folders, names in os.walk(folder) for name in folders + names if fnmatch.fnmatchcase(name, pattern)]


def content(line):
    value = line.get("message", {}).get("content", [])
    return value if isinstance(value, list) else [{"type": "text", "text": value}]


def is_locked(transcript_path):
    """Whether some process works on a session of that directory."""
    try:
        fd = os.open(pathlib.Path(transcript_path).parent / "sessions.lock", os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except (BlockingIOError, PermissionError):
        return True
    finally:
        os.close(fd)


@functools.cache
def no_cell():
    """Why commands cannot be put into namespaces here, as in many containers; None: they can."""
    done = subprocess.run([CADRE, "sandbox", "status", "--json"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else json.loads(done.stdout)["why"]


def needs_cell(test):
    @functools.wraps(test)
    def run(lab):
        if no_cell():
            raise Skip("no sandbox here: %s" % no_cell())
        test(lab)
    return run


def run_one(run):
    """Returns whether it was good, and its TAP. run: its number, the test, and why it cannot be run here, or None."""
    number, test, lacking = run
    lab = Lab()
    name = test.__name__.replace("_", " ")
    try:
        if lacking:
            raise Skip(lacking)
        test(lab)
        lab.wait_for_nobody()
        return True, "ok %d - %s" % (number, name)
    except Skip as why:
        return True, "ok %d - %s # SKIP %s" % (number, name, why)
    except Exception:  # whatever it was, the other tests are run
        text = traceback.format_exc().strip()
        return False, "not ok %d - %s\n# %s" % (number, name, text.replace("\n", "\n# "))
    finally:
        lab.close()


def main(*tests, at_once=1, without_cell=None, beside=()):
    """Runs the tests, or those whose name has a word of the command line in it; prints TAP. at_once: in so many processes, for
    tests that wait most of the time. without_cell: those that run where the kernel gives no namespaces; None: all do. beside: tests
    that wait, one after the other in a process of their own while the others run."""
    wanted = [t for t in (*tests, *beside) if not sys.argv[1:] or any(word in t.__name__ for word in sys.argv[1:])]
    print("1..%d" % len(wanted), flush=True)
    why = None if without_cell is None else no_cell()
    runs = [(number, t, "no sandbox here: %s" % why if why and t not in without_cell else None) for number, t in enumerate(wanted, 1)]
    all_good = True
    with contextlib.ExitStack() as stack:
        each = each_late = map
        if at_once > 1:
            each = stack.enter_context(concurrent.futures.ProcessPoolExecutor(at_once)).map
        if beside:
            each_late = stack.enter_context(concurrent.futures.ProcessPoolExecutor(1)).map
        late = each_late(run_one, [run for run in runs if run[1] in beside])
        for good, text in itertools.chain(each(run_one, [run for run in runs if run[1] not in beside]), late):
            print(text, flush=True)
            all_good = all_good and good
    sys.exit(not all_good)
