# SPDX-License-Identifier: MIT
"""The program that most users of such files run today, from npm, on the same job: one prompt, one streamed answer."""
import subprocess
import sys

from measure import BUILD, Modeld, Run, figure

PACKAGE = "@anthropic-ai/claude-code"


def install():
    """Into the build directory, once."""
    program = BUILD / "peer" / "node_modules" / ".bin" / "claude"
    if not program.exists():
        program.parents[2].mkdir(exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", PACKAGE], cwd=program.parents[2], check=True,
                       stdout=sys.stderr)
    return program


def bench_peer():
    claude = install()
    version = subprocess.run([claude, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    print(f"peer: one streamed answer, the median of 11 runs each, alternating, against {version}")
    runs = {"claude": [], "cadre": []}
    with Modeld("rule hello\n  text Hello there.\n") as m:
        quiet = {"DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1",
                 "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        for _ in range(11):
            runs["claude"].append(Run([claude, "-p", "hello"], m.cwd, m.env | quiet))
            runs["cadre"].append(Run([BUILD / "cadre", "-p", "hello"], m.cwd, m.env))
        peak = {name: int(subprocess.run([BUILD / "bench" / "peak", *command], cwd=m.cwd, env=m.env | quiet, check=True,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout)
                for name, command in (("claude", [claude, "-p", "hello"]), ("cadre", [BUILD / "cadre", "-p", "hello"]))}
    wall = {name: sorted(run.wall_s for run in list_)[len(list_) // 2] for name, list_ in runs.items()}
    figure("claude -p, wall", wall["claude"] * 1000, "ms")
    figure("cadre -p, wall (to the next 10 ms)", wall["cadre"] * 1000, "ms")
    figure("claude -p, resident at most", peak["claude"] / 1024, "MB")
    figure("cadre -p, resident at most", peak["cadre"] / 1024, "MB")
    figure("times as fast", wall["claude"] / wall["cadre"], "x", 10, at_least=True)
    figure("its memory over ours", peak["claude"] / peak["cadre"], "x", 10, at_least=True)
