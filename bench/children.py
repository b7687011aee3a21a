# SPDX-License-Identifier: MIT
"""Benchmarks of children: one answer of the main agent calls Agent many times, and `cadre -p` runs to its end."""
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time

from measure import BUILD, Modeld, figure, file_system, times

FAN_OUT = """latency {latency}ms
rule main asks
  agent main
  turn 1
  repeat {count} call Agent {{"description": "Child {{{{i}}}}", "prompt": "Part {{{{i}}}}", "subagent_type": "general-purpose"}}
rule main ends
  agent main
  text All done.
rule child reads
  turn 1-{reads}
  call Read {{"file_path": "small.txt"}}
rule child ends
  text My part is done.
"""


def completed(m):
    """How many children say on disk that they came to a normal end."""
    metas = m.path.glob(".claude/projects/*/*/subagents/*.meta.json")
    return sum(json.loads(p.read_text()).get("endState") == "completed" for p in metas)


def fan_out(count, latency_ms, env=None):
    with Modeld(FAN_OUT.format(latency=latency_ms, count=count, reads=3)) as m:
        m.env |= env or {}
        run = m.cadre("Ask them all", timeout=900)
        run.in_flight = m.stats()["in_flight_max"]
        run.completed = completed(m)
    if run.completed != count:
        sys.exit(f"fanout: {run.completed} of {count} children came to their end")
    return run


def median_run(runs):
    return sorted(runs, key=lambda r: r.wall_s)[len(runs) // 2]


def show_fan_out(count, latency_ms, run, one, bar, kb_bar):
    ideal = 6 * latency_ms / 1000
    at = f"{count} children at {latency_ms:g} ms"
    figure(f"{at}: wall over the ideal {ideal:g} s", run.wall_s / ideal, "x", bar)
    figure(f"{at}: CPU per turn", run.cpu_s * 1000 / (4 * count + 2), "ms")
    figure(f"{at}: memory per child", (run.peak_kb - one.peak_kb) / (count - 1), "KB", kb_bar)
    figure(f"{at}: requests in flight at most", run.in_flight, "")


WAITING = """rule main asks
  agent main
  turn 1
  repeat {count} call Agent {{"description": "Child {{{{i}}}}", "prompt": "Part {{{{i}}}}", "subagent_type": "general-purpose"}}
rule child
  latency 600s
  text Too late.
"""


def path_calls(count):
    """File creations and other system calls with a path, until each of the children has sent its first request."""
    with Modeld(WAITING.format(count=count)) as m:
        trace = m.path / "trace"
        (m.path / "run").mkdir(mode=0o700)
        m.env["XDG_RUNTIME_DIR"] = str(m.path / "run")  # without the sockets of others
        strace = subprocess.Popen(["strace", "-f", "-qq", "-e", "trace=%file", "-o", trace, BUILD / "cadre", "-p", "Ask"], cwd=m.cwd,
                                  env=m.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 120
        while m.stats()["requests"] < count + 1:
            if strace.poll() is not None or time.monotonic() > until:
                sys.exit("fanout: the children did not ask")
            time.sleep(0.05)
        with open(f"/proc/{strace.pid}/task/{strace.pid}/children", encoding="ascii") as children:
            for pid in children.read().split():
                os.kill(int(pid), signal.SIGKILL)
        strace.wait()
        calls = [line for line in trace.read_text(errors="replace").splitlines() if "resumed>" not in line]
    paths = [c for c in calls if not re.search(r'stat\w*\(\d+, ""', c)]  # of a descriptor, not of a path
    made = [c for c in paths if "O_CREAT" in c or re.search(r" (mkdir|link|symlink|mknod|rename)\w*\(", c)]
    return len(made), len(paths) - len(made)


def bench_path_calls():
    few, many = path_calls(100), path_calls(200)
    figure("a child before its first request: file creations", (many[0] - few[0]) / 100, "", 2)
    figure("a child before its first request: other path calls", (many[1] - few[1]) / 100, "", 8)


def bench_fanout():
    print("fanout: one answer with N Agent calls, 3 Read turns and a report each, 6 round trips in the longest chain; N = 1,000: "
          f"the median of 3 runs; files on {file_system()}")
    bench_path_calls()
    one = fan_out(1, 200)
    for latency_ms, bar in ((200, 1.6), (1000, 1.12)):
        for count in (10, 100, 1000):
            largest = count == 1000
            run = median_run([fan_out(count, latency_ms) for _ in times(3 if largest else 1)])
            show_fan_out(count, latency_ms, run, one, bar if largest else None, 96 if largest else None)
    if "--full" in sys.argv:
        run = fan_out(10000, 1000, {"CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS": "10000"})
        show_fan_out(10000, 1000, run, one, None, None)
        figure("10000 children: resident at most", run.peak_kb / 1024, "MB", 1536)


# ---- forks ----

FORKS = """latency 500ms
rule main reads
  agent main
  turn 1-10
  call Read {{"file_path": "page-{{{{turn}}}}.txt"}}
rule main asks
  agent main
  turn 11
  repeat {count} call Agent {{"description": "Fork {{{{i}}}}", "prompt": "Part {{{{i}}}}", "subagent_type": "fork"}}
rule main ends
  agent main
  text All done.
rule fork ends
  text Scope: my part is done.
"""
FORK_TAG = b"<fork-boilerplate>"


def shared_prefixes(log):
    """Hash and size of what each request of a fork had before its own directive."""
    prefixes = []
    with open(log, "rb") as lines:
        for line in lines:
            tag = line.find(FORK_TAG)
            if tag > 0:
                prefix = line[line.index(b'"body":'):tag]
                prefixes.append((hashlib.sha256(prefix).digest(), len(prefix)))
    return prefixes


def fork_run(count):
    with Modeld(FORKS.format(count=count), log=True) as m:
        for page in range(1, 11):
            text = "".join(f"page {page}, line {i}: some words that a file may have in it\n" for i in range(850))
            (m.path / f"page-{page}.txt").write_text(text)
        run = m.cadre("Read all pages, then fork")
        run.completed = completed(m)
        run.prefixes = shared_prefixes(m.log)
        run.cache = m.stats()["cache"]["requests"][12:11 + count]
        m.log.unlink()
    if run.completed != count or len(run.prefixes) != count:
        sys.exit(f"fork: {run.completed} of {count} forks came to their end, {len(run.prefixes)} asked")
    return run


def bench_fork():
    print("fork: a conversation of 500 KB, then one answer with 1,000 fork calls")
    few, run = fork_run(2), fork_run(1000)
    figure("1000 forks: memory per fork", (run.peak_kb - few.peak_kb) / 998, "KB", 64)
    figure("hashes of the shared prefix", len(set(run.prefixes)), "", 1)
    figure("shared prefix, the conversation and all calls", run.prefixes[0][1] / 1024, "KB", 500, at_least=True)
    figure("read from cache, the least of forks 2..N", min(c["read_bytes"] / c["prefix_bytes"] for c in run.cache) * 100, "%", 95,
           at_least=True)
    figure("wall of 1000 forks", run.wall_s, "s")


# ---- the governor ----

LIMITED = "capacity 20\nretry-after 1\n" + FAN_OUT
OVERLOADED = "rule overloaded\n  chance 0.3\n  status 529 overloaded_error\n"


def early_retries(log, retry_after_ms):
    """Requests that were refused and came again before the time that the refusal named."""
    refused, early = {}, 0
    with open(log, "rb") as lines:
        for line in map(json.loads, lines):
            at = refused.pop(line["agent"], None)
            early += at is not None and line["time_ms"] < at + retry_after_ms
            if line["status"] == 429:
                refused[line["agent"]] = line["time_ms"]
    return early


def bench_governor():
    print("governor: 200 children of 3 turns; the server takes 20 requests at a time, 429 with retry-after 1 s above that")
    useful, latency_ms = 200 * 3 + 2, 500
    ideal = (2 + 200 * 3 / 20) * latency_ms / 1000
    with Modeld(LIMITED.format(latency=latency_ms, count=200, reads=2), log=True) as m:
        run = m.cadre("Ask them all")
        stats, early = m.stats(), early_retries(m.log, 1000)
        done = completed(m)
    figure("children that came to their end", done, "", 200, at_least=True)
    figure("requests over the useful ones", stats["requests"] / useful, "x", 1.35)
    figure("retries before their retry-after", early, "", 0)
    figure(f"wall over the ideal {ideal:g} s", run.wall_s / ideal, "x", 1.5)
    head, rules = FAN_OUT.format(latency=100, count=200, reads=2).split("\n", 1)
    with Modeld(f"{head}\n{OVERLOADED}{rules}") as m:
        run = m.cadre("Ask them all")
        stats, done = m.stats(), completed(m)
    figure("30 % of 529: children that came to their end", done, "", 200, at_least=True)
    figure("30 % of 529: requests over the useful ones", stats["requests"] / useful, "x")
    figure("30 % of 529: wall", run.wall_s, "s")
