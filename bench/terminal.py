# SPDX-License-Identifier: MIT
"""The terminal's view: what it costs while nothing happens, for a key, for streamed text, for many agents. The pty is read by this
program as fast as it can; figures of the view are of its process alone."""
import json
import os
import pathlib
import re
import select
import sys
import time
import urllib.request

from measure import BUILD, ROOT, figure

os.environ["TEST_BUILD"] = os.path.relpath(BUILD, ROOT)
sys.path.insert(0, str(ROOT / "tests" / "program"))
from lab import Lab  # noqa: E402
from vterm import Screen  # noqa: E402

SCENARIO = """
rule streams
  prompt contains "stream"
  delay 5
  chunk 20
  filler 20000
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


def cpu_ms(pid):
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def switches(pid):
    total = 0
    for task in pathlib.Path("/proc/%d/task" % pid).iterdir():
        text = (task / "status").read_text()
        total += sum(int(n) for n in re.findall(r"ctxt_switches:\s+(\d+)", text))
    return total


def rss_mb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path("/proc/%d/status" % pid).read_text()).group(1)) / 1024


def key_cpu_ms(s, keys=400):
    """CPU of one letter at the end of the line."""
    before = cpu_ms(s.pid)
    for i in range(keys):
        s.send("x")
        s._pump(time.monotonic() + 1)
        if i % 40 == 39:
            s.send("\x15")
            s._pump(time.monotonic() + 1)
    return (cpu_ms(s.pid) - before) / keys


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


def print_agents_cpu(lab, model):
    """The same without a view. What the view costs is the difference for as many turns."""
    first = requests(model)
    run = lab.start("-p", "agents")
    while requests(model) - first < 1001:
        select.select([], [], [], 0.05)
    found = agents_cpu(run.process.pid, model, lambda until: select.select([], [], [], until - time.monotonic()))
    run.kill()
    return found


def fastest(lab, runs=9):
    """Milliseconds from the start to the end of --version, and to the first prompt; the best of some runs, in turns."""
    best = [1e9, 1e9]
    for _ in range(runs):
        for which, words in enumerate((["--version"], [])):
            began = time.monotonic()
            with Screen(lab, *words, size=(110, 40), env={}) as s:
                s.wait() if words else s.until("? keys")
                best[which] = min(best[which], (time.monotonic() - began) * 1000)
    return best


def bench_terminal():
    lab = Lab()
    try:
        pathlib.Path(lab.work, "a.txt").write_text("x\n")
        model = lab.model(SCENARIO)
        version, prompt = fastest(lab)
        figure("first prompt, over `cadre --version` and 10 ms", prompt / (version * 1.3 + 10), "x", 1)
        with Screen(lab, size=(110, 40), env={}) as s:
            s.until("? keys")
            figure("memory at the first prompt", rss_mb(s.pid), "MB", 25)
            before = switches(s.pid)
            select.select([], [], [], 5)
            figure("wakeups in 5 idle seconds", switches(s.pid) - before, "", 0)
            first = key_cpu_ms(s)
            figure("CPU of a key", first, "ms", 2)
            before, began, raw = cpu_ms(s.pid), time.monotonic(), len(s.raw)
            s.press("stream", "enter")
            s.until("✔")
            seconds = time.monotonic() - began
            frames = s.raw[raw:].count(b"\x1b[?2026l")
            figure("bytes for each frame of streamed text", (len(s.raw) - raw) / max(frames, 1), "", 3072)
            figure("frames a second", frames / seconds, "", 31)
            before = cpu_ms(s.pid)
            s.press("large", "enter")
            s.until(lambda rows: sum("✔" in r for r in s.above + rows) == 2)
            figure("CPU for 1 MB of an answer, with its turn", cpu_ms(s.pid) - before, "ms", None)
            figure("CPU of a key after it", key_cpu_ms(s), "ms", 2)
            s.press("agents", "enter")
            s.until("1000 run")
            with_view = agents_cpu(s.pid, model, s._pump)
        without = print_agents_cpu(lab, model)
        for name, (percent, turns) in (("terminal", with_view), ("-p", without)):
            figure(f"1,000 agents at work, {name}: CPU of the process", percent, "%")
            figure(f"  {name}: CPU for each turn of an agent", percent * 10 / turns, "ms")
        figure("1,000 agents at work: the view alone", with_view[0] - without[0] / without[1] * with_view[1], "%", 5)
    finally:
        lab.close()
