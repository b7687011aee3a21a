#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An agent in a worktree tries to get out: while its file tools write, a process of its own swaps a directory of the
worktree and a link that leads out, all the time. No write may land outside, none may leave a temporary file behind, and
nothing that a rule forbids to read may be shown to it."""
import base64
import json
import os
import pathlib
import re
import subprocess

from lab import below, main, needs_cell
from twenty import call

WRITES = 400
SWAPPER = """
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
os.mkdir('d'); os.symlink(%r[::-1], 'l')
end = time.monotonic() + 300
open('swapping', 'w').close()
swaps = 0
while time.monotonic() < end and not os.path.exists('stop'):
    swaps += libc.renameat2(-100, b'd', -100, b'l', 2) == 0
    os.sched_yield()
open('swaps.tmp', 'w').write(str(swaps)); os.rename('swaps.tmp', 'swaps')
"""
WAIT = "until test -e swapping; do sleep 0.01; done"
STOP = "touch stop; until test -e swaps; do sleep 0.01; done; echo $(cat swaps) swaps"


def make_repository(lab):
    git = lambda *args: subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *args], cwd=lab.work,
                                       env=lab.env, check=True, capture_output=True)
    git("init", "-q")
    out = pathlib.Path(lab.work, "out")
    out.mkdir()
    (out / "secret.txt").write_text("outside\n")
    git("add", ".")
    git("commit", "-qm", "first")
    return out


def scenario(out, *turns):
    swap = "python3 - <<'END'\n%s\nEND" % (SWAPPER % str(out)[::-1])  # a rule that hides it would see its name
    turns = (call("Bash", command=swap, description="swap", run_in_background=True),
             call("Bash", command=WAIT, description="wait")) + turns
    text = "rule main asks\n  agent main\n  turn 1\n%s\nrule main ends\n  agent main\n  text ok\n" % call(
        "Agent", description="Leave", prompt="Leave", isolation="worktree")
    text += "rule child is told of the swapper's end\n  last contains \"<task-notification>\"\n  text Done.\n"  # or it would begin again
    for turn, answer in enumerate(turns, 1):
        text += "rule child %d\n  turn %d\n%s\n" % (turn, turn, answer)
    return text + "rule child ends\n  text Done.\n"


def run(lab, out, *turns, options=()):
    """Returns the results of the child's calls in these turns: whether it failed, and its text."""
    lab.model(scenario(out, *turns, call("Bash", command=STOP, description="stop")))
    done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions", *options,
                     "hi", env={"IS_SANDBOX": "1"})
    assert done.code == 0, done
    results = [block for frame in done.frames() if frame.get("type") == "user" and frame.get("parent_tool_use_id")
               for block in frame["message"]["content"] if isinstance(block, dict) and block.get("type") == "tool_result"]
    texts = [(block.get("is_error", False), json.dumps(block["content"])) for block in results]
    swaps = int(re.search(r"(\d+) swaps", texts[-1][1])[1])
    assert swaps > 50, swaps
    return texts[2:-1]


def check_outside(lab, out):
    assert sorted(p.name for p in out.iterdir()) == ["secret.txt"], list(out.iterdir())
    assert (out / "secret.txt").read_text() == "outside\n"
    left = below(lab.work, ".cadre-*")
    assert not left, left


def no_write_lands_outside_while_a_directory_and_a_link_are_swapped(lab):
    out = make_repository(lab)
    results = run(lab, out, '  repeat %d call Write {"file_path": "d/{{i}}.txt", "content": "x"}' % WRITES)
    refused = sum(is_error for is_error, _ in results)
    assert len(results) == WRITES, len(results)
    check_outside(lab, out)
    inside = [p for p in below(pathlib.Path(lab.work, ".claude", "worktrees"), "*.txt") if p.stem.isdigit()]
    assert len(inside) == WRITES - refused, (len(inside), refused)
    print("# %d written inside, %d refused" % (len(inside), refused))


def no_read_shows_and_no_edit_changes_what_a_rule_forbids(lab):
    out = make_repository(lab)
    rule = json.dumps({"permissions": {"deny": ["Read(/%s/**)" % out]}})
    results = run(lab, out, '  repeat %d call Read {"file_path": "d/secret.txt"}\n' % (WRITES // 2) +
                  '  repeat %d call Edit {"file_path": "d/secret.txt", "old_string": "outside", "new_string": "x"}'
                  % (WRITES // 2), options=("--settings", rule))
    check_outside(lab, out)
    assert len(results) == WRITES and all(is_error for is_error, _ in results), [r for r in results if not r[0]][:3]
    assert not any("outside" in text for _, text in results)


def children(lab, *commands, settings=None, env=None):
    """An agent in a worktree runs these commands; returns their outputs."""
    text = "rule main asks\n  agent main\n  turn 1\n%s\nrule main ends\n  agent main\n  text ok\n" % call(
        "Agent", description="Work", prompt="Work", isolation="worktree")
    for turn, command in enumerate(commands, 1):
        text += "rule child %d\n  turn %d\n%s\n" % (turn, turn, call("Bash", command=command, description="x"))
    lab.model(text + "rule child ends\n  text Done.\n")
    options = ("--settings", json.dumps(settings)) if settings else ()
    done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions", *options, "hi",
                     env={"IS_SANDBOX": "1", **(env or {})})
    assert done.code == 0, done
    results = [block for frame in done.frames() if frame.get("type") == "user" and frame.get("parent_tool_use_id")
               for block in frame["message"]["content"] if isinstance(block, dict) and block.get("type") == "tool_result"]
    assert len(results) == len(commands), done
    return [json.dumps(block["content"]) for block in results]


ATTACK = """g=$(git rev-parse --git-common-dir); a=$(git rev-parse --absolute-git-dir); cd "$g" || exit
rm -rf objects/??; rm -f objects/pack/*; find objects -type f ! -name alternates -exec sh -c 'chmod u+w $1; : >$1' x {} \\;
chmod -R 777 "$a/history"; rm -rf "$a/history"/*; for f in "$a"/history/*/*; do chmod u+w $f; : >$f; done
echo x >>config; echo x >hooks/pre-commit; echo x >refs/heads/x; echo x >>packed-refs; echo x >"$a/commondir"; echo x >"$a/gitdir"
echo x >../out/secret.txt; ls %s && echo LISTED
"""


@needs_cell
def history_and_what_git_runs_are_out_of_its_reach_and_it_commits(lab):
    """Each attack on the repository fails, with the sandbox of the settings and without; objects that the agent made are the user's
    when its command has ended. A repository of its own below the worktree is as any other."""
    commit = "git -c user.name=t -c user.email=t@t commit -qm"
    for on in (False, True):
        subprocess.run("rm -rf .git out .claude", shell=True, cwd=lab.work, check=True)
        make_repository(lab)
        subprocess.run("git repack -adq && for i in 1 2 3; do echo $i >n; git add n; git -c user.name=t -c user.email=t@t commit -qm $i; done",
                       shell=True, cwd=lab.work, env=lab.env, check=True)
        objects = {str(p): p.read_bytes() for p in below(pathlib.Path(lab.work, ".git")) if p.is_file()
                   and ("objects" in p.parts or p.name in ("config", "packed-refs") or "refs" in p.parts)}
        runtime = pathlib.Path(lab.folder, "runtime", "cadre")
        runtime.mkdir(parents=True, exist_ok=True)
        texts = children(
            lab, "echo new >new.txt && git add new.txt && %s second && git log --format=%%s && git gc -q; git fsck && echo FSCK" % commit,
            "echo %s | base64 -d | bash; echo TRIED" % base64.b64encode((ATTACK % runtime).encode()).decode(),  # no rule sees what it names
            "git log --format=%s; git init -q own && cd own && echo x >f && git add f && " + commit + " own && git log --format=%s",
            settings={"sandbox": {"enabled": True}} if on else None, env={"XDG_RUNTIME_DIR": lab.folder + "/runtime"})
        assert "second" in texts[0] and "3" in texts[0] and "FSCK" in texts[0] and "warning" not in texts[0], (on, texts)
        for path, data in objects.items():
            assert pathlib.Path(path).read_bytes() == data, (on, path, texts)
        assert "LISTED" not in texts[1] and "TRIED" in texts[1], (on, texts)
        assert not os.path.exists(lab.work + "/.git/hooks/pre-commit") and pathlib.Path(lab.work, "out", "secret.txt").read_text() == "outside\n"
        assert '"second' in texts[2] and "\\nown" in texts[2], (on, texts)
        said = subprocess.run("git fsck --connectivity-only && git log --format=%s --all", shell=True, cwd=lab.work, env=lab.env, check=True,
                              capture_output=True, text=True)
        assert "second" in said.stdout, said


if __name__ == "__main__":
    main(history_and_what_git_runs_are_out_of_its_reach_and_it_commits,
         no_write_lands_outside_while_a_directory_and_a_link_are_swapped,
         no_read_shows_and_no_edit_changes_what_a_rule_forbids)
