#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that an agent must not reach: cadre's own configuration under any name, and what a swap of names leads to."""
import json
import os
import pathlib

from lab import main
from test_sandbox import write
from twenty import call

ACCEPTS = ("--permission-mode", "acceptEdits")


def play(lab, *turns, args=(), prompt="hi", log=False, **more):
    """Each turn is the calls of an answer. Returns the end of the run, with the results and the model's server."""
    text = "".join("rule\n  turn %d\n%s\n" % (n, turn) for n, turn in enumerate(turns, 1))
    server = lab.model(text + "rule\n  text ok\n", log=log)
    done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", *args, "--", prompt, **more)
    assert done.code == 0, done
    done.server = server
    done.results = [b["content"] if isinstance(b["content"], str) else json.dumps(b["content"])
                    for f in done.frames() if f.get("type") == "user" for b in f["message"]["content"]
                    if isinstance(b, dict) and b.get("type") == "tool_result"]
    return done


def the_configuration_is_protected_whatever_its_directory_is_called(lab):
    """In the working directory, in an added one, behind a link; by tools, by commands, and by programs that only the kernel holds."""
    write(lab.work + "/s.json", "{}")
    write(lab.work + "/s.py", "import os, sys\nd = sys.argv[1]\nfor f in (lambda: open(d + '/agents.json', 'w'), lambda: os.rename(d, d + '2')):\n"
          "    try:\n        f()\n    except OSError as why:\n        print(why)\n")
    deep = lab.work + "/a/b/c/d/e/f/g/h/i/cfg"
    dotfiles = lab.work + "/dotfiles"
    os.makedirs(dotfiles)
    os.makedirs(lab.home + "/other/cfg")
    os.symlink(dotfiles, lab.home + "/.claude")
    for directory, env in ((lab.work + "/cfg", True), (deep, True), (lab.home + "/other/cfg", True), (dotfiles, False)):
        os.makedirs(directory, exist_ok=True)
        env = {"CLAUDE_CONFIG_DIR": directory} if env else {}
        done = play(lab, "\n".join((call("Write", file_path=directory + "/settings.json", content="{}"),
                                    call("Write", file_path=directory + "/projects/p/s/subagents/agent-a1.meta.json", content="{}"))),
                    call("Bash", command="cp s.json %s/agents.json" % directory), call("Bash", command="touch %s/x" % directory),
                    call("Bash", command="mv %s moved" % os.path.relpath(directory, lab.work).split("/")[0]),
                    args=(*ACCEPTS, "--add-dir", lab.home + "/other"), env=env)
        assert len(done.results) == 5 and all("sensitive" in r or "requires approval" in r or "denied" in r for r in done.results), done.results
        done = play(lab, call("Bash", command="python3 s.py %s" % directory), env=env,
                    args=("--allowedTools", "Bash", "--add-dir", lab.home + "/other", "--settings", json.dumps({"sandbox": {"enabled": True}})))
        assert "Read-only file system" in done.results[0], done.results
        left = {p.name for p in pathlib.Path(directory).iterdir()} & {"settings.json", "agents.json", "x"}
        assert not left and not list(pathlib.Path(directory).rglob("agent-a1*")), left


def a_working_directory_below_the_configuration_can_be_written(lab):
    env = {"CLAUDE_CONFIG_DIR": os.path.dirname(lab.work)}
    done = play(lab, call("Write", file_path=lab.work + "/a.txt", content="x"), call("Bash", command="touch b.txt"), args=ACCEPTS, env=env)
    assert os.path.exists(lab.work + "/a.txt") and os.path.exists(lab.work + "/b.txt"), done.results


if __name__ == "__main__":
    main(the_configuration_is_protected_whatever_its_directory_is_called, a_working_directory_below_the_configuration_can_be_written)
