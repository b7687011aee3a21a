#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dies at every named write point of a run of twenty turns, and goes on."""
import collections
import concurrent.futures
import os
import pathlib
import re
import signal

import twenty
from lab import ROOT, Lab, main

AT_ONCE = 2
CHEAP = 12  # a point that is passed at most this often dies at each of its passings


def names():
    """All points but those of children (test_agents_crash.py dies there), of words between agents (test_agents_resume.py) and of
    compaction (test_compact.py) and those of a team (test_team.py, test_panes.py)."""
    header = (ROOT / "src" / "lib" / "base" / "crash.h").read_text()
    return re.findall(r"^\tX\((?!agent_|message_|notice_|compact_|team_|mail_|plan_|shutdown_|member_|config_|inbox_|claim_|pane_|assignment_)(\w+)\)", header, re.M)


def reference(lab):
    """Runs to the end; returns how often each point is passed."""
    log = os.path.join(lab.folder, "points")
    session = twenty.new_session()
    done = twenty.start(lab, session, env={"CADRE_CRASH_LOG": log}).wait()
    assert done.code == 0, done
    assert done.frames()[-1]["result"] == twenty.ANSWER, done
    transcript = lab.transcript(session)
    transcript.check_complete()
    twenty.check_effects(lab, transcript)
    assert not any(map(twenty.is_lost, transcript.results().values()))
    return collections.Counter(pathlib.Path(log).read_text().split())


def chosen(count):
    """At which of its passings a point dies."""
    if count <= CHEAP:
        return range(1, count + 1)
    return [1, 2, count // 4, count // 2, 3 * count // 4, count - 1, count]


def started_calls(log):
    return pathlib.Path(log).read_text().split().count("call_started") if os.path.exists(log) else 0


def die_at(url, name, number):
    """None, or what went wrong."""
    lab = Lab()
    lab.env["ANTHROPIC_BASE_URL"] = url
    log = os.path.join(lab.folder, "points")
    session = twenty.new_session()
    try:
        twenty.prepare(lab)
        died = twenty.start(lab, session, env={"CADRE_CRASH_AT": "%s:%d" % (name, number)}).wait()
        assert died.code == -signal.SIGKILL, died
        before = twenty.resume_and_check(lab, session, env={"CADRE_CRASH_LOG": log})
        after = lab.transcript(session)
        if before and after:
            check_calls(before, after, started_calls(log))
        return None
    except (AssertionError, ValueError) as why:
        return "%s:%d: %s" % (name, number, why)
    finally:
        lab.close()


def check_calls(before, after, started):
    """The second run started the calls that it has results of, and no other."""
    old = before.results()
    new = [result for key, result in after.results().items() if key not in old and not twenty.is_lost(result)]
    assert started == len(new), "%d calls started for %d new results" % (started, len(new))


def every_named_point_is_passed_by_a_run_of_twenty_turns(lab):
    lab.model(twenty.scenario())
    twenty.prepare(lab)
    passed = reference(lab)
    never = [name for name in names() if not passed[name]]
    assert len(names()) >= 14 and not never, "never passed: %s" % never


def a_run_that_dies_at_any_point_goes_on_to_the_same_answer(lab):
    url = lab.model(twenty.scenario()).url
    twenty.prepare(lab)
    passed = reference(lab)
    points = [(name, number) for name in names() for number in chosen(passed[name])]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [text for text in pool.map(lambda p: die_at(url, *p), points) if text]
    assert not wrong, "%d of %d:\n%s" % (len(wrong), len(points), "\n".join(wrong[:5]))
    print("# died at %d places of %d points" % (len(points), len(passed)))


if __name__ == "__main__":
    main(every_named_point_is_passed_by_a_run_of_twenty_turns,
         a_run_that_dies_at_any_point_goes_on_to_the_same_answer)
