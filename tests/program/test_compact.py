#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dies at every named write point of a run that sums its conversation up, and goes on."""
import collections
import json
import os
import pathlib
import signal
import uuid

from lab import main

SCENARIO = """rule summary
  last contains "Write that summary now"
  text The file a.txt says apple.
rule asked again
  last contains "What did it say?"
  text It said apple.
rule goes on
  last contains "The file a.txt says apple."
  text It says apple.
rule reads
  turn 1
  call Read {"file_path": "a.txt"}
  usage input=50000 output=10
rule without a summary
  text It says apple, as it was read.
"""


def prepare(lab):
    pathlib.Path(lab.work, "a.txt").write_text("apple\n")
    config = pathlib.Path(lab.home, ".claude")
    config.mkdir()
    (config / "settings.json").write_text(json.dumps({"autoCompactWindow": 40000}))


def run(lab, session, **env):
    return lab.cadre("-p", "--session-id", session, "What is in a.txt?", env=env)


def dead(lab, place):
    """A session whose process died there."""
    session = str(uuid.uuid4())
    died = run(lab, session, CADRE_CRASH_AT=place)
    assert died.code == -signal.SIGKILL, (place, died)
    return session


def passings(lab):
    log = os.path.join(lab.folder, "points")
    done = run(lab, str(uuid.uuid4()), CADRE_CRASH_LOG=log)
    assert done.code == 0 and done.out == "It says apple.\n", done
    return collections.Counter(pathlib.Path(log).read_text().split())


def a_session_that_dies_at_any_point_can_be_asked_on(lab):
    lab.model(SCENARIO)
    prepare(lab)
    passed = passings(lab)
    assert passed["compact_boundary"] == passed["compact_summary"] == 1, passed
    places = ["%s:%d" % (name, n + 1) for name, count in passed.items() for n in range(count)]
    for place in places:
        session = dead(lab, place)
        transcript = lab.transcript(session, torn=True)
        asked = lab.cadre("-p", "--resume", session, "What did it say?")
        if transcript:
            assert asked.code == 0 and asked.out == "It said apple.\n", (place, asked)
            lab.transcript(session)
        else:
            assert asked.code == 2, (place, asked)
    print("# died at %d places" % len(places))


def without_its_summary_nothing_has_happened(lab):
    lab.model(SCENARIO)
    prepare(lab)
    session = dead(lab, "compact_boundary:1")
    done = lab.cadre("-p", "--resume", session)
    assert done.code == 0 and done.out == "It says apple, as it was read.\n", done


def with_its_summary_the_turn_goes_on_from_there(lab):
    lab.model(SCENARIO)
    prepare(lab)
    session = dead(lab, "compact_summary:1")
    done = lab.cadre("-p", "--resume", session)
    assert done.code == 0 and done.out == "It says apple.\n", done


if __name__ == "__main__":
    main(a_session_that_dies_at_any_point_can_be_asked_on,
         without_its_summary_nothing_has_happened,
         with_its_summary_the_turn_goes_on_from_there)
