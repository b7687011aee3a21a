# SPDX-License-Identifier: MIT
"""The terminal's view: what it costs while nothing happens, for a key, for streamed text, for many agents. The pty is read by this
program as fast as it can; figures of the view are of its process alone."""
import contextlib
import json
import os
import pathlib
import re
import select
import subprocess
import sys
import time
import urllib.request

from measure import BUILD, ROOT, figure

os.environ["TEST_BUILD"] = os.path.relpath(BUILD, ROOT)
sys.path.insert(0, str(ROOT / "tests" / "program"))
from lab import CADRE, Lab, until  # noqa: E402
from vterm import Screen  # noqa: E402

SCENARIO = """
rule streams
  prompt contains "stream"
  delay 5
  chunk 4
  filler 8000
rule slow
  prompt contains "slowly"
  latency 10000
  text I was slow.
rule history
  prompt contains "history"
  turn 1-5000
  call Read {"file_path": "a.txt"}
rule large
  prompt contains "large"
  filler 1000000
rule agents
  agent main
  prompt contains "agents"
  turn 1
  repeat 1000 call Agent {"description": "A{{i}}", "prompt": "work", "subagent_type": "general-purpose", "run_in_background": true}
rule works
  prompt contains "work"
  latency 1000
  turn 1-6
  call Read {"file_path": "a.txt"}
rule says
  text I hear you.
"""


def of_threads(pid, name):
    """A file of each thread; one may end meanwhile."""
    for task in pathlib.Path("/proc/%d/task" % pid).iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield (task / name).read_text()


def cpu_ms(pid):
    """Of all its threads, in nanoseconds of the scheduler: a tick of /proc/PID/stat is 10 ms."""
    return sum(int(text.split()[0]) for text in of_threads(pid, "schedstat")) / 1e6


def switches(pid, kind="(?:non)?voluntary"):
    """Of all its threads. A voluntary one is the end of a wakeup; the others are due to other processes."""
    return sum(int(n) for text in of_threads(pid, "status") for n in re.findall(r"^%s_ctxt_switches:\s+(\d+)" % kind, text, re.M))


def rss_mb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path("/proc/%d/status" % pid).read_text()).group(1)) / 1024


def press_letters(*screens, keys=400):
    """CPU, bytes, and the median time to the first byte, of one letter at the end of the line, on each screen in turns."""
    before = [(cpu_ms(s.pid), len(s.raw)) for s in screens]
    waits = [[] for _ in screens]
    for i in range(keys):
        for s, took in zip(screens, waits):
            began = time.monotonic()
            s.send("x")
            s._pump(began + 1)
            took.append((time.monotonic() - began) * 1000)
            if i % 40 == 39:
                s.send("\x15")
                s._pump(time.monotonic() + 1)
    return [((cpu_ms(s.pid) - cpu) / keys, (len(s.raw) - raw) / keys, sorted(took)[keys // 2])
            for s, (cpu, raw), took in zip(screens, before, waits)]


def requests(model):
    with urllib.request.urlopen(model.url + "/stats") as answer:
        return json.load(answer)["requests"]


def agents_cpu(pid, model, pump, seconds=4):
    """Percent of a core, and turns a second, while the agents work; the terminal is read meanwhile."""
    turns, before, began = requests(model), cpu_ms(pid), time.monotonic()
    while (left := began + seconds - time.monotonic()) > 0:
        pump(time.monotonic() + left)
    took = time.monotonic() - began
    return (cpu_ms(pid) - before) / took / 10, (requests(model) - turns) / took


def bench_agents_view(lab, model, with_view):
    """The same work without a view; what the view costs is the difference for as many turns."""
    first = requests(model)
    run = lab.start("-p", "agents")
    while requests(model) - first < 1001:
        select.select([], [], [], 0.05)
    without = agents_cpu(run.pid, model, lambda until: select.select([], [], [], until - time.monotonic()))
    run.kill()
    for name, (percent, turns) in (("terminal", with_view), ("-p", without)):
        figure(f"1,000 agents at work, {name}: CPU of the process", percent, "%")
        figure(f"  {name}: CPU for each turn of an agent", percent * 10 / turns, "ms")
    figure("1,000 agents at work: the view alone", with_view[0] - without[0] / without[1] * with_view[1], "%", 5)


def until_started(s):
    """Behind the first prompt: the thread that prepares TLS ends, the keeper begins, and the terminal answers what it was asked."""
    def is_over():
        s.quiet()
        tasks = pathlib.Path("/proc/%d/task" % s.pid)
        return len(list(tasks.iterdir())) == 1 and (tasks / str(s.pid) / "children").read_text()
    until(is_over, "the program does not end starting up")


def start_ms(lab, *args, text="? keys"):
    began = time.monotonic()
    with Screen(lab, *args, size=(110, 40), env={}) as s:
        s.until(text) if text else s.wait()
        took = (time.monotonic() - began) * 1000
        if text:  # the lock of a session that is killed earlier may be with a keeper that is being made
            until_started(s)
        return took, rss_mb(s.pid) if s.pid else 0


def bench_start(lab, runs=9):
    """The best of some runs, in turns."""
    ways = {"version": (["--version"], None), "view": ([], "? keys")}
    best = dict.fromkeys(ways, 1e9)
    for _ in range(runs):
        for name, (words, text) in ways.items():
            best[name] = min(best[name], start_ms(lab, *words, text=text)[0])
    figure("first prompt, over `cadre --version` and 10 ms", best["view"] / (best["version"] * 1.3 + 10), "x", 1)
    figure("first prompt", best["view"], "ms", 25)


def bench_waiting(lab):
    """The model takes 10 s for its first byte; the one repaint a second is of the row that counts."""
    with Screen(lab, size=(110, 40), env={}) as s:
        s.until("? keys")
        s.press("slowly", "enter")
        s.until("waiting for the model")
        started = time.monotonic() + 1.5  # the request is out
        while time.monotonic() < started:
            s._pump(started)
        before, raw, woken = cpu_ms(s.pid), len(s.raw), switches(s.pid, "voluntary")
        until = time.monotonic() + 7
        while time.monotonic() < until:
            s._pump(until)
        figure("wakeups in 10 s of waiting for the model", (switches(s.pid, "voluntary") - woken) * 10 / 7, "", 12)
        figure("CPU in 10 s of waiting", (cpu_ms(s.pid) - before) * 10 / 7, "ms", 10)
        figure("bytes in 10 s of waiting", (len(s.raw) - raw) * 10 / 7, "", 1024)
        s.until("I was slow.")


def bench_stream(s):
    """200 tokens a second, then 1 MB at once."""
    began, raw = time.monotonic(), len(s.raw)
    s.press("stream", "enter")
    s.until("✔")
    seconds, written = time.monotonic() - began, len(s.raw) - raw
    frames = s.raw[raw:].count(b"\x1b[3G")  # the cursor back at the input line, behind each frame
    figure("bytes for each frame of streamed text", written / max(frames, 1), "", 3072)
    figure("bytes of streamed text, over 1.3 x of it and 64 a frame", written / (8000 * 1.3 + 64 * frames), "x", 1)
    figure("frames a second", frames / seconds, "", 31)
    before = cpu_ms(s.pid)
    s.press("large", "enter")
    s.until(lambda rows: sum("✔" in r for r in s.above + rows) == 2)
    figure("CPU for 1 MB of an answer, with its turn", cpu_ms(s.pid) - before, "ms", None)


def bench_paste(lab):
    with Screen(lab, size=(110, 40), env={}) as s:
        s.until("? keys")
        memory, raw, began = rss_mb(s.pid), len(s.raw), time.monotonic()
        s.send("\x1b[200~" + "a line of forty-three characters, as pasted\n" * 23831 + "\x1b[201~")
        s.until("[paste 1")
        figure("1 MB pasted, to its mark", (time.monotonic() - began) * 1000, "ms", 150)
        figure("bytes written for it", len(s.raw) - raw, "", 300)
        figure("memory for it", rss_mb(s.pid) - memory, "MB", 2.5)


def bench_long_session(lab):
    """A session of 10,000 messages is continued."""
    subprocess.run([CADRE, "-p", "history", "--max-turns", "6000"], cwd=lab.work, env=lab.env, check=True, stdout=subprocess.DEVNULL)
    new, plain = [], []  # what the view has, above plain mode, which has the conversation too
    for _ in range(3):
        new.append(start_ms(lab)[1] - start_ms(lab, "--plain", text=">")[1])
        plain.append(start_ms(lab, "--continue", "--plain", text=">")[1])
    runs = [start_ms(lab, "--continue") for _ in range(5)]
    figure("first prompt of 10,000 messages", min(ms for ms, _ in runs), "ms", 60)
    figure("memory of the view for them", min(mb for _, mb in runs) - min(plain) - min(new), "MB", 2)
    with Screen(lab, "--continue", size=(110, 40), env={}) as s, Screen(lab, size=(110, 40), env={}) as new:
        s.until("? keys")
        new.until("? keys")
        (cpu, _, wait), (_, _, new_wait) = press_letters(s, new)
        figure("CPU of a key in it", cpu, "ms", 2)
        figure("time to the first byte in it, over a new session", wait / new_wait, "x", 1.1)


def bench_terminal():
    lab = Lab()
    try:
        pathlib.Path(lab.work, "a.txt").write_text("x\n")
        model = lab.model(SCENARIO)
        bench_start(lab)
        with Screen(lab, size=(110, 40), env={}) as s:
            s.until("? keys")
            figure("memory at the first prompt", rss_mb(s.pid), "MB", 14)
            until_started(s)
            before = switches(s.pid)
            select.select([], [], [], 60 if "--full" in sys.argv else 5)
            figure("wakeups of an idle prompt", switches(s.pid) - before, "", 0)
            (cpu, count, letter_ms), = press_letters(s)
            figure("CPU of a key", cpu, "ms", 0.2)
            figure("bytes of a key", count, "", 24)
            figure("median time to its first byte", letter_ms, "ms", 1)
            bench_stream(s)
            figure("CPU of a key after it", press_letters(s)[0][0], "ms", 2)
            s.press("agents", "enter")
            s.until("1000 run")
            with_view = agents_cpu(s.pid, model, s._pump)
        bench_agents_view(lab, model, with_view)
        bench_waiting(lab)
        bench_paste(lab)
        bench_long_session(lab)
    finally:
        lab.close()
