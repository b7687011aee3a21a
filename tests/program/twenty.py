# SPDX-License-Identifier: MIT
"""A run of twenty turns that a test interrupts, and what must hold when it goes on.

The scenario answers by the number of the turn only, so a resumed run goes on where the first one ended. Every
Bash call appends a number of its own to a file: a number that is there twice is a call that ran twice."""
import collections
import json
import pathlib
import uuid

from lab import is_locked

ANSWER = "All twenty turns are done."
LOST = "The program ended before this call had a result."
EFFECTS = "effects"
PROMPT = "Do the twenty things."
TOOLS = "--allowedTools=Bash,Write,Edit"


def call(tool, **given):
    return "  call %s %s" % (tool, json.dumps(given))


def bash(number, command="true"):
    command = "echo %d >> %s; %s" % (number, EFFECTS, command)
    return call("Bash", command=command, description="call %d" % number)


TURNS = [
    ["  thinking I begin with what is there.", "  text I read first.", call("Read", file_path="a.txt")],
    [call("Write", file_path="b.txt", content="one\ntwo\n")],
    [call("Edit", file_path="b.txt", old_string="two", new_string="three")],
    ["  text Now a command.", bash(4)],
    [call("Grep", pattern="o"), call("Glob", pattern="*.txt"), call("Read", file_path="a.txt")],
    [bash(61), bash(62), bash(63)],
    [bash(7, "seq 1 20000")],
    [call("Grep", pattern="^1", path="large.txt", output_mode="content", head_limit=0)],
    ["  thinking What next?", bash(9, "cat a.txt")],
    [bash(101), call("Read", file_path="large.txt", limit=5), bash(102)],
    [call("Write", file_path="sub/c.txt", content="c\n")],
    [call("Read", file_path="sub/c.txt")],
    [call("Edit", file_path="sub/c.txt", old_string="c", new_string="d")],
    [call("Glob", pattern="**/*.txt")],
    [bash(15, "setsid sleep 1000 >&- 2>&- &")],
    [call("Read", file_path=name) for name in ("a.txt", "b.txt", "sub/c.txt", "missing.txt")],
    ["  text A command that fails.", bash(17, "false")],
    [call("Edit", file_path="a.txt", old_string="not there", new_string="x")],
    [bash(191), bash(192)],
    ["  text " + ANSWER],
]


def scenario(latency="0"):
    text = "latency %s\nchunk 16\n" % latency
    for number, answer in enumerate(TURNS, 1):
        text += "\nrule %d\n  turn %d\n%s\n" % (number, number, "\n".join(answer))
    return text


def prepare(lab):
    work = pathlib.Path(lab.work)
    (work / "a.txt").write_text("hello\nworld\n")
    (work / "large.txt").write_text("".join("1 line %d %s\n" % (i, "x" * 60) for i in range(1500)))


def start(lab, session, **more):
    return lab.stream("--include-partial-messages", TOOLS, "--session-id", session, PROMPT, **more)


def effects(lab):
    path = pathlib.Path(lab.work) / EFFECTS
    return collections.Counter(path.read_text().split() if path.exists() else [])


def number_of(block):
    """The number that a Bash call leaves."""
    return block["input"]["description"].split()[-1]


def is_lost(result):
    return LOST in json.dumps(result["content"])


def check_effects(lab, transcript):
    """Each command ran at most once, none without its block on disk, and exactly once if its result says so."""
    counts = effects(lab)
    calls = {key: block for key, block in transcript.calls().items() if block["name"] == "Bash"}
    results = transcript.results()
    twice = [number for number, count in counts.items() if count > 1]
    assert not twice, "run more than once: %s" % twice
    assert set(counts) <= {number_of(block) for block in calls.values()}, "run without a line on disk"
    for key, block in calls.items():
        if key in results and not is_lost(results[key]):
            assert counts[number_of(block)] == 1, "result without effect: %s" % block


def resume_and_check(lab, session, **more):
    """After a run has died: what it left is in order, and the session goes on to the same answer. Returns the
    transcript as it was before."""
    lab.wait_for_nobody()
    before = lab.transcript(session, torn=True)
    assert before is None or not is_locked(before.path), "the lock is not free"
    done = lab.cadre("-p", "--output-format", "json", TOOLS, "--resume", session, **more)
    if before is None or not before.has_prompt(PROMPT):
        assert done.code == 2, done
        assert "No conversation found" in done.err or "no interrupted turn" in done.err, done
        return before
    if before.answer() == ANSWER:
        assert done.code == 2 and "no interrupted turn" in done.err, done
    else:
        assert done.code == 0, done
        assert json.loads(done.out)["result"] == ANSWER, done
    lab.wait_for_nobody()
    after = lab.transcript(session)
    assert after.answer() == ANSWER, after.lines[-1]
    after.check_complete()
    check_kept(before, after)
    check_effects(lab, after)
    return before


def check_kept(before, after):
    """Lines are only ever added, and what had a result keeps it."""
    assert after.lines[:len(before.lines)] == before.lines, "lines were changed"
    old, new = before.results(), after.results()
    assert all(new[key] == old[key] for key in old), "a result was replaced"


def new_session():
    return str(uuid.uuid4())
