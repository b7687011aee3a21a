# SPDX-License-Identifier: MIT
"""A main agent with one child, or with a child that has one, which a test interrupts; and what must hold when it goes on.

Three kinds: the child is waited for (foreground), works in the background, or does so for an agent that is in the background
itself (nested). Every Bash call of anybody appends a number of its own to a file: one that is there twice is a call that ran
twice. The innermost child reports REPORT; the main agent's last answer is ANSWER, which it gives only when it has the report."""
import collections
import json
import pathlib

import twenty
from lab import Transcript, content

KINDS = ("foreground", "background", "nested")
REPORT = "The report of the worker."
ANSWER = "The report came."
PROMPT = "Have it done."
MORE = "Is there anything new?"
TOOLS = "--allowedTools=Bash"

WORKER = """
rule work one
  prompt contains "You are the worker"
  turn 1
  text I begin.
%s
rule work two
  prompt contains "You are the worker"
  turn 2
%s
%s
rule work is done
  prompt contains "You are the worker"
  text %s
""" % (twenty.bash(31), twenty.bash(32), twenty.bash(33), REPORT)


def agent(prompt, background):
    return twenty.call("Agent", description="Some work", prompt=prompt, run_in_background=background)


MAIN = {
    "foreground": """
rule delegate
  agent main
  turn 1
%s
rule has it
  agent main
  last_result contains "%s"
%s
rule answer
  agent main
  text %s
""" % (agent("You are the worker", False), REPORT, twenty.bash(12), ANSWER),
    "background": """
rule is told
  agent main
  last contains "%s"
  text %s
rule delegate
  agent main
  turn 1
  prompt contains "%s"
%s
rule rest
  agent main
  text I wait.
""" % (REPORT, ANSWER, PROMPT, agent("You are the worker", True)),
}
MAIN["nested"] = MAIN["background"].replace("You are the worker", "You are the foreman") + """
rule foreman has it
  last contains "%s"
  text The foreman says: %s
rule foreman delegates
  prompt contains "You are the foreman"
  turn 1
%s
rule foreman rests
  prompt contains "You are the foreman"
  text I wait for the worker.
""" % (REPORT, REPORT, agent("You are the worker", True))


def scenario(kind):
    return "chunk 16\n" + WORKER + MAIN[kind]


def start(lab, session, **more):
    return lab.stream(TOOLS, "--session-id", session, PROMPT, **more)


def children(lab, session):
    """The transcripts of all children, by id."""
    paths = pathlib.Path(lab.home, ".claude").glob("projects/*/%s/subagents/agent-*.jsonl" % session)
    return {path.stem[len("agent-"):]: Transcript(path) for path in paths}


def meta_paths(lab, session):
    return pathlib.Path(lab.home, ".claude").glob("projects/*/%s/subagents/agent-*.meta.json" % session)


def metas(lab, session):
    return {path.name[len("agent-"):-len(".meta.json")]: json.loads(path.read_text()) for path in meta_paths(lab, session)}


def notices(transcript):
    """How often each notification was delivered."""
    told = collections.Counter()
    for line in transcript.lines:
        told.update(line.get("origin", {}).get("ids", []))
    return told


def texts(transcript, role):
    return [b["text"] for line in transcript.lines if line["type"] == role
            for b in content(line) if b["type"] == "text"]


def check_child(transcript):
    transcript.check_complete()
    prompts = [line for line in transcript.lines if line["type"] == "user" and not line.get("isMeta")
               and content(line)[0]["type"] == "text"]
    assert len(prompts) == 1, "a child was given its task %d times" % len(prompts)
    ends = [line for line in transcript.lines if line["type"] == "agent-end"]
    assert len(ends) == 1 and ends[0]["end"]["state"] == "completed", "ends of a child: %s" % ends


def check_effects(lab, transcripts):
    """No command ran twice, and each that has a result of its own ran."""
    counts = twenty.effects(lab)
    assert not [n for n, count in counts.items() if count > 1], "run more than once: %s" % counts
    for transcript in transcripts:
        results = transcript.results()
        for key, block in transcript.calls().items():
            if block["name"] == "Bash" and key in results and not twenty.is_lost(results[key]):
                assert counts[twenty.number_of(block)] == 1, "result without effect: %s" % block


def check_told(kind, transcript):
    """The report of its child came to the main agent once."""
    told = notices(transcript)
    if kind == "foreground":
        results = [r for r in transcript.results().values() if REPORT in json.dumps(r["content"])]
        assert len(results) == 1 and not told, "%d results, notices %s" % (len(results), told)
        return
    assert list(told.values()) == [1], "notices: %s" % told
    assert sum(text.count("<task-notification>") for text in texts(transcript, "user")) == 1, "the text came twice"


def check(lab, session, kind):
    """All is done, nothing is lost and nothing happened twice."""
    transcript = lab.transcript(session)
    transcript.check_complete()
    answers = texts(transcript, "assistant").count(ANSWER)
    assert answers >= 1, "the answer is missing: %s" % transcript.lines[-1]
    agents = children(lab, session)
    assert len(agents) == (2 if kind == "nested" else 1), "children: %s" % sorted(agents)
    assert sorted(agents) == sorted(metas(lab, session)), "transcripts and meta files differ"
    for child in agents.values():
        check_child(child)
    assert all(meta["finished"] for meta in metas(lab, session).values()), "a meta file says that it runs"
    check_told(kind, transcript)
    if kind == "nested":
        foreman = next(t for t in agents.values() if "Agent" in [b["name"] for b in t.calls().values()])
        assert list(notices(foreman).values()) == [1], "notices of the foreman: %s" % notices(foreman)
    check_effects(lab, [transcript, *agents.values()])


def go_on(lab, session, kind, prompt=None, **more):
    """After a run has died: what is left goes on to the same end. A prompt closes the interrupted turn, and with it a call
    that had not made its child yet: then there is none."""
    lab.wait_for_nobody()
    before = lab.transcript(session, torn=True)
    prompt = prompt if any(path.read_text().endswith("\n") for path in meta_paths(lab, session)) else None
    over = before is not None and before.answer() == ANSWER
    done = lab.cadre("-p", "--output-format", "json", TOOLS, "--resume", session, *([prompt] if prompt else []), **more)
    if before is None or not before.has_prompt(PROMPT):
        assert done.code == 2, done
        return
    if over and not prompt:
        assert done.code == 2 and "no interrupted turn" in done.err, done
    else:
        assert done.code == 0, done
    lab.wait_for_nobody()
    check(lab, session, kind)
