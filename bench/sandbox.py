# SPDX-License-Identifier: MIT
"""What it costs that the kernel holds a command to what was believed of it."""
import json
import statistics
import subprocess

from measure import BUILD, Modeld, figure

ROUNDS = 300
CHILDREN = 1000
FAN_OUT = """latency 200ms
rule main asks
  agent main
  turn 1
  repeat {count} call Agent {{"description": "Child {{{{i}}}}", "prompt": "Part {{{{i}}}}", "subagent_type": "general-purpose"}}
rule main ends
  agent main
  text All done.
rule child reads
  turn 1
  call Bash {{"command": "cat small.txt"}}
rule child ends
  text My part is done.
"""


def run_children(*options):
    """options: a rule that allows the command makes it run free."""
    with Modeld(FAN_OUT.format(count=CHILDREN)) as m:
        return m.cadre("Ask them all", *options, timeout=900)


def bench_sandbox():
    print(f"sandbox: bash that does nothing, the medians of {ROUNDS} starts each, alternating")
    out = subprocess.run([BUILD / "bench" / "bench_sandbox", str(ROUNDS)], capture_output=True, text=True, check=True).stdout
    ms = json.loads(out)
    figure("a plain command", ms["plain"], "ms")
    for name, what in (("reads", "held to reading"), ("hides", "held to reading, a file is hidden"),
                       ("edits", "held to the working directory"), ("inside", "in the sandbox of the settings")):
        figure(f"{what}: more than plain", ms[name] - ms["plain"], "ms", 1.5)
        figure(f"{what}: against plain", ms[name] / ms["plain"], "x")
    free, held = [], []
    for _ in range(5):
        free.append(run_children("--allowedTools=Bash"))
        held.append(run_children())
    wall = [min(r.wall_s for r in runs) for runs in (free, held)]
    cpu = [statistics.median(r.cpu_s for r in runs) for runs in (free, held)]
    figure(f"{CHILDREN} children with a Bash turn, free, the best of 5", wall[0], "s")
    figure("the same, held to reading: wall", wall[1] / wall[0], "x", 1.15)
    figure("the same, held to reading: CPU, commands included", cpu[1] / cpu[0], "x", 1.15)
