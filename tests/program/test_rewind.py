#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cadre rewind` and moments: killed at each write on the way there and back, a session that is at work, children."""
import json
import os
import pathlib

from lab import main

KEEP = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true"}
MODEL = """
rule
  turn 1
  call Read {"file_path": "a.txt"}
rule
  turn 2
  call Edit {"file_path": "a.txt", "old_string": "one", "new_string": "1"}
  call Write {"file_path": "b.txt", "content": "new"}
rule
  text ok
"""
POINTS = ("line_before", "line_torn", "line_written", "replace_before", "replace_after")


def session_of(lab):
    return lab.transcripts()[0].stem


def put(lab, name, text):
    path = pathlib.Path(lab.work) / name
    path.write_text(text)
    return path


def rewind(lab, *words, code=0):
    done = lab.cadre("rewind", session_of(lab), "--json", *words)
    assert done.code == code and done.err == "", done
    return json.loads(done.out)


def changed(lab, **more):
    path = put(lab, "a.txt", "one\n")
    os.chmod(path, 0o640)
    lab.model(MODEL)
    return path, lab.stream("--allowedTools", "Edit,Write", "--", "go", env={**KEEP, **more}).wait()


def a_way_back_that_is_killed_anywhere_is_finished_by_the_next_one(lab):
    path, done = changed(lab)
    assert done.code == 0, done
    killed = 0
    for point in POINTS:
        for number in (1, 2, 3):
            run = lab.cadre("rewind", session_of(lab), "--json", env={"CADRE_CRASH_AT": "%s:%d" % (point, number)})
            killed += run.code != 0
            back = rewind(lab)
            assert not any(f["changedByOthers"] for f in back["files"]), (point, number, back)
            assert path.read_text() == "one\n" and path.stat().st_mode & 0o777 == 0o640, (point, number)
            assert not (path.parent / "b.txt").exists(), (point, number)
            path.write_text("1\n")  # as the agent left them
            put(lab, "b.txt", "new")
    assert killed >= 10, killed


def an_agent_that_is_killed_around_a_change_can_be_taken_back(lab):
    lab.model(MODEL)
    killed = 0
    for point in ("replace_before", "replace_after"):
        for number in (1, 2, 3):
            path = put(lab, "a.txt", "one\n")
            (path.parent / "b.txt").unlink(missing_ok=True)
            session = "aaaaaaaa-0000-4000-8000-%s%011d" % ("1" if point == "replace_before" else "2", number)
            run = lab.cadre("-p", "--session-id", session, "--allowedTools", "Edit,Write", "--", "go",
                            env={**KEEP, "CADRE_CRASH_AT": "%s:%d" % (point, number)})
            killed += run.code != 0
            done = lab.cadre("rewind", session)
            assert done.code in (0, 1) and "somebody else" not in done.out, (point, number, done)
            assert path.read_text() == "one\n" and not (path.parent / "b.txt").exists(), (point, number, done)
    assert killed == 6, killed


def a_session_that_is_at_work_is_left_alone(lab):
    put(lab, "a.txt", "one\n")
    told = lab.fifo("told")
    lab.model(MODEL.replace("  text ok", '  turn 3\n  call Bash {"command": "echo on > told; exec sleep 60"}\nrule\n  text ok'))
    run = lab.stream("--allowedTools", "Edit,Write,Bash", "--", "go", env=KEEP)
    told.line()
    done = lab.cadre("rewind", session_of(lab))
    assert done.code == 1 and "is in use" in done.err, done
    assert pathlib.Path(lab.work, "a.txt").read_text() == "1\n"
    run.kill()
    run.wait()
    rewind(lab)
    assert pathlib.Path(lab.work, "a.txt").read_text() == "one\n"


def what_a_child_changed_goes_back_with_its_parents_message(lab):
    path = put(lab, "a.txt", "one\n")
    lab.model("""
rule
  agent main
  turn 1
  call Agent {"description": "edit", "prompt": "edit it", "subagent_type": "general-purpose"}
rule
  agent main
  text ok
""" + MODEL)
    done = lab.stream("--allowedTools", "Edit,Write", "--", "go", env=KEEP).wait()
    assert done.code == 0 and path.read_text() == "1\n", done
    assert [f["action"] for f in rewind(lab)["files"]] == ["restore", "remove"]
    assert path.read_text() == "one\n"


if __name__ == "__main__":
    main(a_way_back_that_is_killed_anywhere_is_finished_by_the_next_one,
         an_agent_that_is_killed_around_a_change_can_be_taken_back, a_session_that_is_at_work_is_left_alone,
         what_a_child_changed_goes_back_with_its_parents_message)
