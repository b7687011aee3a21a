#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The setting durability: which calls force transcripts to the disk, and that nothing happens before they return (strace)."""
import json
import pathlib
import re
import shutil
import subprocess

from lab import CADRE, Skip, main

MODEL = """rule
  turn 1
  call Bash {"command": "echo one"}
rule
  turn 2
  call Bash {"command": "echo two"}
rule
  text done
"""
CALLS = "fsync,fdatasync,openat,write,writev,sendto,sendmsg,execve,clone,clone3,vfork"


def traced(lab, durability, prompt):
    """A run under strace -> [(call, what)] in order: ("fsync", path), ("line", path), ("request", ""), ("exec", program)."""
    if not shutil.which("strace") or subprocess.run(["strace", "true"], capture_output=True, check=False).returncode:
        raise Skip("no strace here")
    pathlib.Path(lab.home, ".claude").mkdir(exist_ok=True)
    pathlib.Path(lab.home, ".claude/settings.json").write_text(json.dumps({"durability": durability}))
    trace = pathlib.Path(lab.folder, "trace")
    lab.env["ASAN_OPTIONS"] = "detect_leaks=0"  # the leak sanitizer does not work under ptrace
    done = lab.start("-f", "-y", "-s", "64", "-o", str(trace), "-e", "trace=" + CALLS, CADRE, "-p", prompt,
                     "--allowedTools", "Bash", "Agent", program="strace").wait()
    assert done.code == 0, done
    events = []
    pending = {}
    for line in trace.read_text(errors="replace").splitlines():
        pid, rest = line.split(maxsplit=1)
        if rest.endswith("<unfinished ...>"):
            pending[pid] = rest
            continue
        if rest.startswith("<..."):  # the end of a call is when it counts
            rest = pending.pop(pid, "") + rest
        if (m := re.match(r"fsync\(\d+<([^>]*)>", rest)) and rest.rstrip().endswith("= 0"):
            events.append(("fsync", m[1]))
        elif m := re.match(r"write\(\d+<([^>]*/projects/[^>]*\.jsonl)>", rest):
            events.append(("line", m[1]))
        elif re.match(r"(sendto|sendmsg|write|writev)\(", rest) and "POST /v1/messages" in rest:
            events.append(("request", ""))
        elif (m := re.match(r'execve\("([^"]*)"', rest)) and "/bin/" in m[1] and m[1].endswith("sh"):
            events.append(("exec", m[1]))
    return events


def power_acts_on_nothing_that_a_power_cut_could_take_away(lab):
    lab.model(MODEL)
    events = traced(lab, "power", "hi")
    kinds = [k for k, _ in events]
    assert kinds.count("request") == 3 and kinds.count("exec") >= 2, kinds
    dirty = set()
    for kind, path in events:
        if kind == "line":
            dirty.add(path)
        elif kind == "fsync":
            dirty.discard(path)
        else:
            assert not dirty, (kind, dirty, kinds)
    assert not dirty, (dirty, kinds)  # at the end, too
    synced = {path for kind, path in events if kind == "fsync"}
    transcript = next(path for kind, path in events if kind == "line")
    assert str(pathlib.Path(transcript).parent) in synced, synced  # a new file is named by its directory


def process_forces_the_transcript_to_the_disk_once_at_the_end(lab):
    lab.model(MODEL)
    events = traced(lab, "process", "hi")
    kinds = [k for k, _ in events]
    assert kinds.count("request") == 3, kinds
    synced = [path for kind, path in events if kind == "fsync" and path.endswith(".jsonl")]
    assert len(synced) == 1, synced
    assert ("fsync", str(pathlib.Path(synced[0]).parent)) in events, events  # a new file is named by its directory
    first = kinds.index("fsync")
    assert "line" not in kinds[first:] and "request" not in kinds[first:], kinds


def the_lines_of_children_are_safe_before_their_parent_goes_on(lab):
    calls = "".join('  call Agent {"description": "d", "prompt": "child %d", "subagent_type": "general-purpose"}\n' % i for i in range(5))
    lab.model('rule\n  prompt contains "child"\n  text here\nrule\n  turn 1\n%srule\n  text done\n' % calls)
    events = traced(lab, "power", "go")
    files = {path for kind, path in events if kind == "line"}
    assert len(files) == 6, files
    last = len(events) - 1 - [k for k, _ in events][::-1].index("request")  # the parent's, with all results
    for child in (path for path in files if "/subagents/" in path):
        assert ("fsync", child) in events[:last], child
        assert max(i for i, e in enumerate(events) if e == ("fsync", child)) > max(i for i, e in enumerate(events) if e == ("line", child))


def an_agents_transcript_is_safe_before_its_worktree_goes(lab):
    subprocess.run(["git", "init", "-q", lab.work], check=True)
    for words in (("config", "user.name", "n"), ("config", "user.email", "e@x"), ("commit", "-q", "--allow-empty", "-m", "m")):
        subprocess.run(["git", "-C", lab.work, *words], check=True)
    lab.model('rule\n  prompt contains "child"\n  text here\nrule\n  turn 1\n'
              '  call Agent {"description": "d", "prompt": "child", "subagent_type": "general-purpose", "isolation": "worktree"}\n'
              'rule\n  text done\n')
    events = traced(lab, "process", "go")
    child = next(path for kind, path in events if kind == "line" and "/subagents/" in path)
    assert ("fsync", child) in events, events


if __name__ == "__main__":
    main(power_acts_on_nothing_that_a_power_cut_could_take_away, process_forces_the_transcript_to_the_disk_once_at_the_end,
         the_lines_of_children_are_safe_before_their_parent_goes_on, an_agents_transcript_is_safe_before_its_worktree_goes)
