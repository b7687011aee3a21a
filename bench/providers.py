# SPDX-License-Identifier: MIT
"""1,000 children over each wire, against the same over the Messages API: CPU of a turn, memory of a child."""
import json
import statistics
import sys

from children import FAN_OUT, completed
from measure import BUILD, Modeld, Run, figure, times

CLAUDE = "claude-sonnet-5-5"
WIRES = {
    "messages": ({}, CLAUDE, None),
    "invoke": ({"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_BEDROCK_BASE_URL": "URL", "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1"}, CLAUDE, None),
    "invoke, signed": ({"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_BEDROCK_BASE_URL": "URL", "AWS_ACCESS_KEY_ID": "a",
                        "AWS_SECRET_ACCESS_KEY": "s"}, CLAUDE, None),
    "responses": ({}, "gpt-6", "/v1"),
    "chat": ({}, "some-model", "/v1"),
    "gemini": ({}, "gemini-3-pro", "/v1beta"),
}


def run_over(name, count, reads=3):
    env, model, base = WIRES[name]
    with Modeld(FAN_OUT.format(latency=200, count=count, reads=reads)) as m:
        m.env |= {key: value.replace("URL", m.url) for key, value in env.items()}
        options = ["--model", model]
        if base:
            place = {"wire": name, "baseUrl": m.url + base, "models": {"*": {"context": 1000000}}}
            options = ["--settings", json.dumps({"providers": {"lab": place}}), "--model", "lab/" + model]
        run = m.cadre("Ask them all", *options, timeout=900)
        run.completed = completed(m)
    if run.completed != count:
        sys.exit(f"providers: {run.completed} of {count} children came to their end over {name}")
    return run


LONG = """latency 0ms
rule read
  turn 1-40
  call Read {"file_path": "small.txt"}
rule done
  text All done.
"""


def run_long(name):
    """One session with a prompt of 340 KB and 41 requests."""
    env, model, _ = WIRES[name]
    with Modeld(LONG) as m:
        m.env |= {key: value.replace("URL", m.url) for key, value in env.items()}
        (m.path / "prompt.txt").write_text("A long prompt. " * (340 * 1024 // 15))
        with open(m.path / "prompt.txt", encoding="utf-8") as prompt:
            return Run([BUILD / "cadre", "-p", "--model", model], m.cwd, m.env, stdin=prompt)


def bench_providers():
    print("providers: one answer with 1,000 Agent calls, 3 Read turns and a report each, over each wire; the median of 3 runs, alternating")
    runs = {name: [] for name in WIRES}
    one = {name: run_over(name, 1) for name in WIRES}
    for _ in times(3):
        for name in WIRES:
            runs[name].append(run_over(name, 1000))
    cpu = {name: statistics.median(r.cpu_s for r in list_of) * 1000 / 4002 for name, list_of in runs.items()}
    kb = {name: statistics.median(r.peak_kb for r in list_of) - one[name].peak_kb for name, list_of in runs.items()}
    figure("messages: CPU per turn", cpu["messages"], "ms")
    figure("messages: memory per child", kb["messages"] / 999, "KB")
    for name in list(WIRES)[1:]:
        figure(f"{name}: CPU per turn over messages", cpu[name] / cpu["messages"], "x", 1.25)
        figure(f"{name}: memory per child over messages", kb[name] / kb["messages"], "x", 1.1)
    long = {name: [] for name in ("messages", "invoke, signed")}
    for _ in times(5):
        for name in long:
            long[name].append(run_long(name).cpu_s * 1000 / 41)
    extra = statistics.median(long["invoke, signed"]) - statistics.median(long["messages"])
    figure("invoke, signed: CPU of a turn of 340 KB beyond messages", extra, "ms", 0.5)
