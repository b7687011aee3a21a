#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that an agent must not reach: cadre's own configuration under any name, and what a swap of names leads to."""
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys

from lab import below, main, needs_cell
from test_sandbox import write
from twenty import call, new_session

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


@needs_cell
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
        assert not left and not below(directory, "agent-a1*"), left


SWAP = """
import ctypes, os, sys
exchange = ctypes.CDLL(None).renameat2
a, b = (os.fsencode(word) for word in sys.argv[1:])
print("on", flush=True)
while True:
    exchange(-100, a, -100, b, 2)
"""


@contextlib.contextmanager
def swapping(lab, one, other):
    """Another process exchanges the two names all the time."""
    with subprocess.Popen([sys.executable, "-c", SWAP, lab.work + "/" + one, lab.work + "/" + other], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def no_tool_reaches_what_a_swapped_link_leads_to(lab):
    """A directory and a link, a file and a link: for each tool that reads, and for those that write."""
    for place in (lab.work + "/d", lab.home + "/out"):
        text = "the secret text" if place.startswith(lab.home) else "plain text"
        write(place + "/f.txt", text + "\n")
        write(place + "/n.ipynb", json.dumps({"cells": [{"cell_type": "code", "id": "a", "source": [text], "metadata": {}, "outputs": [],
                                                         "execution_count": None}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    write(lab.home + "/out/the secret text", "")
    write(lab.work + "/one.txt", "plain text\n")
    os.symlink(lab.home + "/out", lab.work + "/l")
    os.symlink(lab.home + "/out/f.txt", lab.work + "/two.txt")
    before = {p.name: p.read_bytes() for p in pathlib.Path(lab.home, "out").iterdir()}
    searches = (call("Grep", pattern="text", path="d", output_mode="content"), call("Glob", pattern="d/*"), call("Glob", pattern="*", path="d"),
                call("Grep", pattern="text", output_mode="content"), call("Read", file_path="d/f.txt"), call("Read", file_path="d/n.ipynb"))
    edits = (call("Write", file_path="d/new", content="x"), call("Write", file_path="d/a/b/c", content="x"),
             call("Edit", file_path="d/f.txt", old_string="text", new_string="TEXT", replace_all=True),
             call("NotebookEdit", notebook_path="d/n.ipynb", cell_id="a", new_source="x"))
    files = (call("Grep", pattern="text", path="one.txt", output_mode="content"), call("Read", file_path="one.txt"))
    for names, calls in ((("d", "l"), searches + edits), (("one.txt", "two.txt"), files)):
        with swapping(lab, *names):
            done = play(lab, *["\n".join(calls)] * 12, args=ACCEPTS)
            for _ in range(4):
                sent = play(lab, args=ACCEPTS, prompt="See @d/ and @one.txt", log=True).server.bodies()
                assert "the secret text" not in json.dumps(sent), sent
        assert "the secret text" not in done.out and len(done.results) == 12 * len(calls), done
    after = {p.name: p.read_bytes() for p in pathlib.Path(lab.home, "out").iterdir()}
    assert before == after, after.keys()


def output(lab, attack, session):
    """A command in the background replaces its own output file; then the task's output is asked for, and the file is read."""
    for name in ("swapped-", "gate-"):
        os.mkfifo(lab.work + "/" + name + session)
    tasks = "%s/claude-%d/*/%s/tasks" % (lab.folder, os.getuid(), session)
    command = "f=$(echo %s/*.output); echo first words; %s; echo > swapped-%s; cat gate-%s" % (tasks, attack, session, session)
    started = "  capture id result:1 \"with ID: \" until \".\"\n  capture file result:1 \"written to: \" until \".output\"\n"
    lab.model("rule\n  turn 1\n" + call("Bash", command=command, run_in_background=True) + "\nrule\n  turn 2\n"
              + call("Bash", command="cat swapped-%s" % session) + "\nrule\n  turn 3\n" + started + call("TaskOutput", task_id="{{id}}", block=False) + "\n"
              + call("Read", file_path="{{file}}.output") + "\nrule\n  turn 4\n" + call("Bash", command="echo > gate-%s" % session) + "\nrule\n  text ok\n")
    return lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--session-id", session, "--allowedTools", "Bash", "--", "hi")


def output_of_tasks_is_no_way_to_other_files(lab):
    """The file of a task as a link, a pipe, a directory or a name of another file: what cadre reads and what it writes."""
    secret = str(write(pathlib.Path(lab.home, "secret"), "the secret text\n"))
    for attack in ("ln -sf %s $f" % secret, "rm $f; mkfifo $f", "rm $f; mkdir $f", "ln -f %s $f" % secret,
                   "d=$(dirname $f); mv $d $d.away; mkdir $d; ln -s %s $f" % secret):
        done = output(lab, attack, new_session())
        shown = [t for t in (json.dumps(f) for f in done.frames()) if "tool_result" in t]
        assert done.code == 0 and any("<task_id>" in t and "first words" in t for t in shown), (attack, done)
        assert not any("the secret text" in t for t in shown if attack.startswith("ln -s") or "<task_id>" in t), (attack, shown)
    for attack in ("ln -s %s $r/$c.txt", "ln %s $r/$c.txt", "mkfifo $r/$c.txt"):
        session = new_session()
        own = "%s/.claude/projects/*/%s" % (lab.home, session)
        find = "r=$(echo %s.jsonl); c=$(grep -o 'toolu_[A-Za-z0-9]*' $r | tail -1); r=${r%%.jsonl}/tool-results; mkdir -p $r" % own
        done = play(lab, call("Bash", command="%s; %s; seq 1 200000" % (find, attack % secret if "%s" in attack else attack)),
                    args=("--session-id", session, "--allowedTools", "Bash"))
        assert "Output too large" in done.results[0], (attack, done.results)
        assert pathlib.Path(secret).read_text(encoding="utf-8") == "the secret text\n", attack


def a_temporary_directory_that_another_user_made_is_not_used(lab):
    """It has the name that everybody knows: open to all, a link, or of another user."""
    place = pathlib.Path(lab.folder, "claude-%d" % os.getuid())
    for make in (lambda: (place.mkdir(), place.chmod(0o777)), lambda: place.symlink_to(lab.home), lambda: (place.mkdir(), os.chown(place, 65534, 65534))):
        if place.is_symlink() or place.exists():
            (place.unlink if place.is_symlink() else place.rmdir)()
        try:
            make()
        except PermissionError:
            continue  # only root gives directories away
        before = set(os.listdir(place))
        settings = json.dumps({"sandbox": {"enabled": True}, "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}})
        done = play(lab, call("Bash", command="echo hello", run_in_background=True), call("Bash", command="echo > $TMPDIR/x; cd /; seq 1 3"),
                    args=("--allowedTools", "Bash", "--settings", settings))
        assert "running in background" in done.results[0] and "1\\n2" in json.dumps(done.results[1]), done.results
        assert lab.home + "/.claude/tmp/" in done.results[0] and set(os.listdir(place)) <= before | {".claude"}, (done.results, os.listdir(place))


def a_directory_that_is_named_shows_no_names_from_elsewhere(lab):
    write(lab.home + "/out/the-name", "")
    write(lab.work + "/conf/the-name", "")
    os.symlink(lab.home + "/out", lab.work + "/docs")
    for prompt, args in (("@docs/", ()), ("@conf/", ("--disallowedTools", "Read")), ("@conf/", ("--disallowedTools", "Read(./conf/**)")),
                         ("@conf", ("--disallowedTools", "Read(conf)"))):
        assert "the-name" not in json.dumps(play(lab, prompt=prompt, args=args, log=True).server.bodies()), (prompt, args)
    assert "the-name" in json.dumps(play(lab, prompt="@conf/", log=True).server.bodies())


def a_place_of_plans_that_becomes_a_link_leads_nowhere(lab):
    """In the project, where commands can write. In plan mode the file of the plan is read and written without a question, and cadre does so too."""
    out = lab.home + "/out"
    write(lab.home + "/approve.py", "import json, sys\nprint(json.dumps({'hookSpecificOutput': {'hookEventName': 'PreToolUse', 'permissionDecision': 'allow', "
          "'updatedInput': json.load(sys.stdin)['tool_input']}}))\n")
    attacks = ("true", "rmdir plans; ln -s %s plans" % out, "ln -s %s/$NAME plans/$NAME" % out)
    for attack, last in itertools.product(attacks, ({}, {"plan": "approved"})):
        name = new_session()
        target = pathlib.Path(out, name + ".md")
        write(str(target), "the-secret")
        shutil.rmtree(lab.work)
        os.makedirs(lab.work + "/plans")
        hooks = {"UserPromptSubmit": attack.replace("$NAME", name + ".md"), "PreToolUse": "python3 %s/approve.py" % lab.home}
        write(lab.home + "/.claude/settings.json", json.dumps({"plansDirectory": "plans", "hooks": {
            event: [{"matcher": "ExitPlanMode", "hooks": [{"type": "command", "command": command}]}] for event, command in hooks.items()}}))
        plan = "%s/plans/%s.md" % (lab.work, name)
        done = play(lab, call("Read", file_path=plan), call("Write", file_path=plan, content="written"), call("ExitPlanMode", **last),
                    args=("--permission-mode", "plan", "--session-id", name, "--tools", "Read,Write,ExitPlanMode"), log=True)
        assert target.read_text() == "the-secret" and "the-secret" not in done.out + json.dumps(done.server.bodies()), (attack, last, done.results)
        if attack == "true":
            assert pathlib.Path(plan).read_text() == last.get("plan", "written") and "approved the plan" in done.results[2], done.results


@needs_cell
def a_place_that_settings_name_and_a_command_makes_a_link_is_not_opened(lab):
    """It was not there at the start. A command of the sandbox can make it, and the next call must not be let through it."""
    build = lab.work + "/build"
    for settings in ({"permissions": {"additionalDirectories": ["build"]}}, {"sandbox": {"filesystem": {"allowWrite": [build]}}},
                     {"permissions": {"allow": ["Edit(/%s/**)" % build]}}):
        write(lab.home + "/out/secret", "the-secret")
        box = {"sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True, **settings.pop("sandbox", {})}, **settings}
        done = play(lab, call("Bash", command="ln -s %s/out build && echo made" % lab.home), call("Read", file_path=build + "/secret"),
                    call("Write", file_path=build + "/tool", content="x"), call("Bash", command="touch build/command"), args=(*ACCEPTS, "--settings", json.dumps(box)))
        assert "made" in done.results[0] and "the-secret" not in done.results[1], (settings, done.results)
        assert os.listdir(lab.home + "/out") == ["secret"], (settings, done.results)
        os.unlink(build)


def inside(**settings):
    """Every command runs in the sandbox, without a question."""
    return "--settings", json.dumps({**settings, "sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True, **settings.get("sandbox", {})}})


@needs_cell
def what_is_hidden_stays_hidden_when_the_directory_around_it_is_moved(lab):
    """A path that settings or a rule name is another path then: so the directory cannot be moved."""
    write(lab.work + "/conf/secret/k", "the-secret")
    write(lab.work + "/open/f", "plain")
    for settings in ({"sandbox": {"filesystem": {"denyRead": [lab.work + "/conf/secret"]}}}, {"permissions": {"deny": ["Read(./conf/secret/**)"]}},
                     {"sandbox": {"credentials": {"files": [lab.work + "/conf/secret/k"]}}},
                     {"sandbox": {"filesystem": {"denyRead": [lab.work + "/conf/secret"], "allowRead": [lab.work + "/conf/secret/none"]}}}):
        done = play(lab, call("Bash", command="python3 -c 'import os; os.rename(\"open\", \"o2\"); os.rename(\"conf\", \"c2\")'"),
                    call("Bash", command="python3 -c 'import glob; print([open(f).read() for f in glob.glob(\"c*/secret/k\")])'"), args=inside(**settings))
        assert "resource busy" in done.results[0] and os.path.exists(lab.work + "/o2/f"), (settings, done.results)
        assert "the-secret" not in done.results[1] and os.path.exists(lab.work + "/conf/secret/k"), (settings, done.results)
        os.rename(lab.work + "/o2", lab.work + "/open")


@needs_cell
def a_directory_that_is_named_below_another_is_not_replaced_by_a_link(lab):
    out = lab.home + "/out"
    for settings, args in (({"permissions": {"additionalDirectories": ["a/b"]}}, ()), ({}, ("--add-dir", "a/b")),
                           ({"sandbox": {"filesystem": {"allowWrite": [lab.work + "/a/b"]}}}, ()), ({"permissions": {"allow": ["Edit(/%s/a/b/**)" % lab.work]}}, ())):
        write(out + "/b/f", "old")
        write(lab.work + "/a/b/f", "old")
        done = play(lab, call("Bash", command="mv a a2; ln -s %s a" % out), call("Bash", command="touch %s/b/hit; echo x > a/b/f" % out), args=(*args, *inside(**settings)))
        assert "resource busy" in done.results[0] and os.listdir(out + "/b") == ["f"], (settings, done.results)
        assert pathlib.Path(lab.work, "a/b/f").read_text() == "x\n", (settings, done.results)
        shutil.rmtree(lab.work + "/a")


@needs_cell
def a_denied_directory_with_a_repository_in_it_is_not_written(lab):
    """What is protected in the repository needs a mount on the directories above it, which must not open them again."""
    subprocess.run(["git", "init", "-q", lab.work + "/kept/sub"], check=True, env=lab.env)
    done = play(lab, call("Bash", command="for d in kept/sub/.git kept/sub kept .; do g=$d python3 -c 'import os; open(os.environ[\"g\"] + \"/x\", \"w\")'; done"),
                args=inside(sandbox={"filesystem": {"denyWrite": [lab.work + "/kept"]}}))
    assert done.results[0].count("Read-only file system:") == 3 and os.path.exists(lab.work + "/x"), done.results
    assert not below(lab.work + "/kept", "x"), done.results


@needs_cell
def a_place_that_is_swapped_with_a_link_while_it_is_mounted_leads_nowhere(lab):
    """The place was not there at the start. A command in the background makes it and swaps it all the time, while others start."""
    out, build = lab.home + "/out", lab.work + "/build"
    os.makedirs(out)
    write(lab.work + "/swap.py", SWAP)
    for settings in ({"permissions": {"allow": ["Edit(/%s/**)" % build]}}, {"sandbox": {"filesystem": {"allowWrite": [build]}}}):
        tries = "\n".join(call("Bash", command="touch %s/hit; touch build/hit" % out) for _ in range(20))
        done = play(lab, call("Bash", command="mkdir build; ln -s %s l; exec python3 swap.py build l" % out, run_in_background=True), *[tries] * 6, args=inside(**settings))
        assert len(done.results) == 121 and not os.listdir(out), (settings, os.listdir(out))
        assert os.path.islink(build) != os.path.islink(lab.work + "/l"), done.results[0]
        for name in ("build", "l"):
            path = lab.work + "/" + name
            os.unlink(path) if os.path.islink(path) else shutil.rmtree(path)


@needs_cell
def what_appeared_is_moved_away_and_no_other_file(lab):
    """A command in the background swaps the directory of a protected file that appears with a link to the home, which has one of that name."""
    canary = write(lab.home + "/.npmrc", "the secret text\n")
    write(lab.work + "/swap.py", SWAP)
    write(lab.work + "/make.sh", "touch d/.npmrc || true\n")
    tries = "\n".join(call("Bash", command="sh make.sh") for _ in range(20))
    done = play(lab, call("Bash", command="mkdir d; ln -s %s l; exec python3 swap.py d l" % lab.home, run_in_background=True), *[tries] * 6, args=inside())
    moved = sum("removed: " in r for r in done.results)
    assert moved and canary.read_text() == "the secret text\n", (moved, os.listdir(lab.home))


@needs_cell
def a_working_directory_below_the_configuration_can_be_written(lab):
    env = {"CLAUDE_CONFIG_DIR": os.path.dirname(lab.work)}
    done = play(lab, call("Write", file_path=lab.work + "/a.txt", content="x"), call("Bash", command="touch b.txt"), args=ACCEPTS, env=env)
    assert os.path.exists(lab.work + "/a.txt") and os.path.exists(lab.work + "/b.txt"), done.results


def commands_that_pass_read_no_more_than_what_they_passed_for(lab):
    """What opens a place for reading: git in the text, what .git names, a rule with a wildcard; and what takes the place of a file that was judged."""
    key, python = lab.home + "/keys/key", "python3 -c 'print(open(\"%s\").read())'"
    write(key, "the secret text\n")
    write(lab.home + "/keys/pub/a.md", "fine\n")
    write(lab.work + "/above.txt", "the secret text\n")
    for name, text in (("sub/f", "x\n"), ("d/l", "x\n"), ("e/f", "x\n")):
        write(lab.work + "/" + name, text)
    os.symlink(key, lab.work + "/e/l")
    attacks = [  # what is made in the working directory, below it where it starts, options, command
        ("git init -q", "sub", (), python % "../above.txt" + " # git"),
        ("git init -q", "sub", (), "git status; " + python % "../above.txt"),
        ("git init -q", "sub", (), "printf ../above.txt | xargs cat; git status"),
        ("echo 'gitdir: %s/keys' >.git" % lab.home, ".", (), python % key),
        ("ln -s %s/keys .git" % lab.home, ".", (), python % key),
        ("git init -q; echo %s/keys >.git/objects/info/alternates" % lab.home, ".", (), python % key),
        ("true", ".", ("--allowedTools", "Read(~/keys/pub/*.md)"), "cat %s/keys/pub/a.md; %s" % (lab.home, python % key)),
        ("true", ".", ACCEPTS, "mv d x; mv e d; cp d/l out.txt; cat out.txt"),
        ("true", ".", ACCEPTS, "rm out.txt; mv d/l out.txt; cat out.txt"),
        ("true", ".", ACCEPTS, "mv x d2; mv d2/l l2; mv d/l d2/l; cp d2/l out2.txt; cat out2.txt"),
    ]
    seen = []
    for make, where, options, command in attacks:
        subprocess.run("rm -rf .git; " + make, shell=True, check=True, cwd=lab.work, env=lab.env)
        done = play(lab, call("Bash", command=command), args=options, cwd=os.path.join(lab.work, where))
        if "the secret text" in done.results[0]:
            seen.append(command)
    assert not seen, seen


FORGED_CWD = """import os
words = open("/proc/%d/cmdline" % os.getppid(), "rb").read().split(bytes(1))
open(words[4], "w").write("@" + chr(10))
os.kill(os.getppid(), 9)
"""


def a_directory_that_a_command_claims_to_have_ended_in_opens_nothing(lab):
    """A command that passes may write the file that says where its shell ended, and end that shell."""
    private = lab.home + "/private"
    write(private + "/f", "the secret text\n")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for args in (["init", "-q"], ["add", "f"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *args], check=True, cwd=private, env=lab.env)
    write(lab.work + "/plain/f", "x\n")
    os.symlink(private, lab.work + "/link")
    seen = []
    for claimed in (lab.work + "/../home/private", lab.work + "/link", lab.work + "/./link/", private):
        forge = call("Bash", command="python3 -c '%s'" % FORGED_CWD.replace("@", claimed))
        done = play(lab, forge, call("Bash", command="git log -p"), call("Bash", command="pwd; ls"))
        if "the secret text" in done.results[1] or "private" in done.results[2]:
            seen.append((claimed, done.results))
    assert not seen, seen
    done = play(lab, call("Bash", command="cd plain"), call("Bash", command="pwd -P"))
    assert os.path.realpath(lab.work + "/plain") in done.results[1], done.results


def what_says_where_a_shell_ended_is_written_nowhere_else(lab):
    """read in front of a command that a rule allows, which runs free: the wrapper of commands has variables of its own."""
    canary = write(lab.home + "/.bashrc", "canary\n")
    write(lab.work + "/name", str(canary) + "\n")
    write(lab.work + "/build.sh", "echo built\n")
    for text in ("read __cadre_dir < name; sh build.sh", "read -r a __cadre_dir <<< 'x %s'; sh build.sh" % canary):
        done = play(lab, call("Bash", command=text), args=("--allowedTools", "Bash(sh build.sh)"))
        assert canary.read_text() == "canary\n", (text, canary.read_text(), done.results)


if __name__ == "__main__":
    main(what_appeared_is_moved_away_and_no_other_file, what_says_where_a_shell_ended_is_written_nowhere_else, a_directory_that_a_command_claims_to_have_ended_in_opens_nothing, commands_that_pass_read_no_more_than_what_they_passed_for, what_is_hidden_stays_hidden_when_the_directory_around_it_is_moved, a_directory_that_is_named_below_another_is_not_replaced_by_a_link,
         a_denied_directory_with_a_repository_in_it_is_not_written, a_place_that_is_swapped_with_a_link_while_it_is_mounted_leads_nowhere,
         output_of_tasks_is_no_way_to_other_files, a_temporary_directory_that_another_user_made_is_not_used,
         a_place_of_plans_that_becomes_a_link_leads_nowhere, a_place_that_settings_name_and_a_command_makes_a_link_is_not_opened, a_working_directory_below_the_configuration_can_be_written, a_directory_that_is_named_shows_no_names_from_elsewhere, no_tool_reaches_what_a_swapped_link_leads_to,
         the_configuration_is_protected_whatever_its_directory_is_called)
