#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a hostile repository, model or command gets from the whole program: what git runs, which files are read, what the environment
of commands holds, and what an agent in a worktree can reach."""
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import time

import panes
import test_agents_limits as limits
from lab import Lab, ROOT, below, main, needs_cell, until
from test_attacks_files import play
from test_sandbox import LANDLOCK, hide, run, write
from twenty import call


def git(lab, *args, cwd=None):
    return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.fsmonitor=false", *args],
                          cwd=cwd or lab.work, env=lab.env, check=True, capture_output=True, text=True).stdout


def repository(lab):
    git(lab, "init", "-q")
    write(lab.work + "/f", "one\n")
    git(lab, "add", ".")
    git(lab, "commit", "-qm", "first")
    write(lab.work + "/f", "two\n")


def git_runs_nothing_that_a_directory_says(lab):
    """A configuration that runs programs, in the folder and in a directory that looks like a repository."""
    repository(lab)
    pwned = "touch %s/PWNED; false" % lab.work
    git(lab, "config", "core.fsmonitor", pwned)
    git(lab, "config", "core.hooksPath", lab.work + "/hooks")
    write(lab.work + "/hooks/post-index-change", "#!/bin/sh\ntouch %s/PWNED\n" % lab.work, 0o755)
    write(lab.work + "/theme/HEAD", "ref: refs/heads/x\n")
    write(lab.work + "/theme/config", "[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = \"%s\"\n" % pwned)
    for name in ("objects", "refs"):
        os.mkdir(lab.work + "/theme/" + name)
    for mode in ("default", "acceptEdits", "plan"):
        texts, _ = run(lab, "git status -s", "git diff --stat", "cd theme", "git status", "git log",
                       options=("--permission-mode", mode))
        assert "M f" in texts[0] and "f | 2" in texts[1], texts
        assert "denied" in texts[3] and "looks like a repository" in texts[3], texts
        assert not os.path.exists(lab.work + "/PWNED"), (mode, texts)
    git(lab, "config", "filter.x.clean", pwned)
    texts, _ = run(lab, "git status -s")
    assert "git may run a program here" in texts[0] and "[filter] clean" in texts[0], texts
    texts, _ = run(lab, "git status -s", options=("--trust-project",))
    assert "denied" not in texts[0], texts


def instructions_stay_in_the_project_and_never_block(lab):
    secret = write(pathlib.Path(lab.home, "secret.md"), "the secret text\n")
    os.makedirs(lab.work + "/.claude/rules")
    os.makedirs(lab.work + "/.git")
    os.mkfifo(lab.work + "/.git/HEAD")
    os.mkfifo(lab.work + "/CLAUDE.local.md")
    os.mkfifo(lab.work + "/.claude/rules/a.md")
    os.mkfifo(lab.work + "/.gitignore")
    os.symlink(secret, lab.work + "/CLAUDE.md")
    os.symlink("/dev/tty", lab.work + "/.claude/rules/b.md")
    os.symlink("../inside.md", lab.work + "/.claude/CLAUDE.md")
    os.symlink(secret, lab.work + "/link.md")
    os.symlink(lab.home, lab.work + "/dir")
    write(lab.work + "/inside.md", "inside text\n@link.md @dir/secret.md @" + str(secret) + "\n")
    server = lab.model("rule\n  turn 1\n" + call("Grep", pattern="nothing") + "\nrule\n  text ok\n", log=True)
    done = lab.cadre("-p", "--", "hi")
    assert done.code == 0 and "ok" in done.out, done
    sent = json.dumps(server.bodies())
    assert "inside text" in sent and "the secret text" not in sent, done
    assert "leads out of" in done.err, done.err


def commands_and_servers_get_no_keys_of_models(lab):
    keys = {"ANTHROPIC_API_KEY": "k-one", "OPENAI_API_KEY": "k-two", "CLAUDE_CODE_OAUTH_TOKEN": "k-three", "GITHUB_TOKEN": "k-four",
            "MY_TOKEN": "k-five"}
    del keys["CLAUDE_CODE_OAUTH_TOKEN"]
    show = "env; cat /proc/self/environ | tr '\\0' '\\n'; python3 -c 'import os; print(os.environ)'"
    (text,), _ = run(lab, show, options=("--allowedTools", "Bash"), env=keys)
    assert "k-one" not in text and "k-two" not in text and "k-four" in text and "k-five" in text, text
    settings = {"sandbox": {"credentials": {"envVars": [{"name": "MY_TOKEN", "mode": "deny"}, {"name": "OPENAI_API_KEY", "mode": "allow"}]}}}
    (text,), _ = run(lab, show, options=("--allowedTools", "Bash"), env=keys, settings=settings)
    assert "k-one" not in text and "k-five" not in text and "k-two" in text, text
    # Those of all providers, and of one that the settings define
    source = (ROOT / "src/core/model/provider_table.c").read_text()
    names = [name + "_API_KEY" for name in re.findall(r'PLAIN\("\w+", "(\w+)"', source)]
    names += re.findall(r'\.env\.(?:api_key|auth_token) = "(\w+)"', source)
    assert {"GROQ_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"} < set(names), names
    settings = {"providers": {"mine": {"baseUrl": "https://x.test/v1", "wire": "chat", "keyEnv": "MY_MODELS", "models": {}}}}
    (text,), _ = run(lab, show, options=("--allowedTools", "Bash"), env={**{name: "k-six" for name in names + ["MY_MODELS"]}, "OTHER": "k-seven"}, settings=settings)
    assert "k-six" not in text and "k-seven" in text, text


WORKTREE = "rule main asks\n  agent main\n  turn 1\n%s\nrule main ends\n  agent main\n  text {{last_result}}\n"


def worktree(lab, *commands, options=(), **more):
    """Runs the commands in an agent in a worktree; returns the results of its calls, and the end."""
    text = WORKTREE % call("Agent", description="Work", prompt="Work", isolation="worktree")
    for turn, command in enumerate(commands, 1):
        text += "rule child %d\n  turn %d\n%s\n" % (turn, turn, command if command.startswith("  call") else call("Bash", command=command))
    lab.model(text + "rule child ends\n  text Done.\n")
    done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions", *options, "hi",
                     env={"IS_SANDBOX": "1"}, **more)
    blocks = [b for f in done.frames() if f.get("type") == "user" and f.get("parent_tool_use_id") for b in f["message"]["content"]
              if isinstance(b, dict) and b.get("type") == "tool_result"]
    return [json.dumps(b["content"]) for b in blocks], done


def a_rule_holds_for_the_copy_in_a_worktree(lab):
    repository(lab)
    write(lab.work + "/conf/secret/k", "the secret text\n")
    write(lab.work + "/conf/open", "open text\n")
    git(lab, "add", ".")
    git(lab, "commit", "-qm", "second")
    write(lab.work + "/.claude/settings.json", json.dumps({"permissions": {"deny": ["Read(/conf/secret/**)"]}}))
    for options in ((), ("--settings", json.dumps({"permissions": {"deny": ["Read(/%s/conf/secret/**)" % lab.work]}}))):
        texts, done = worktree(lab, call("Read", file_path="conf/secret/k"), "cat conf/secret/k", "pr conf/secret/k",
                               call("Grep", pattern="secret text", output_mode="content"), "cat conf/open", options=options)
        assert len(texts) == 5 and "open text" in texts[4], done
        assert "the secret text" not in "".join(texts), texts


def a_rule_holds_in_a_worktree_that_the_user_made(lab):
    """Rules about the main checkout, in a session that was started in a linked worktree, also if git named the places relatively; and
    rules about that worktree, in an agent whose own worktree is made from it."""
    repository(lab)
    write(lab.work + "/conf/secret/k", "the secret text\n")
    write(lab.work + "/conf/open", "open text\n")
    git(lab, "add", ".")
    git(lab, "commit", "-qm", "second")
    linked = lab.folder + "/linked"
    git(lab, "worktree", "add", "-q", linked)
    calls = [call("Read", file_path="conf/secret/k"), call("Grep", pattern="secret text", output_mode="content"),
             call("Read", file_path="/proc/self/cwd/conf/secret/k"), call("Bash", command="cat conf/secret/k"), call("Read", file_path="conf/open")]
    for relative in (False, True):
        if relative:
            write(linked + "/.git", "gitdir: ../work/.git/worktrees/linked\n")
            write(lab.work + "/.git/worktrees/linked/gitdir", "../../../../linked/.git\n")
        write(lab.home + "/.claude/settings.json", json.dumps({"permissions": {"deny": ["Read(/%s/conf/secret/**)" % lab.work]}}))
        done = play(lab, *calls, args=("--permission-mode", "bypassPermissions"), cwd=linked, env={"IS_SANDBOX": "1"})
        assert "open text" in done.results[-1] and "the secret text" not in "".join(done.results), (relative, done.results)
        os.unlink(lab.home + "/.claude/settings.json")
    write(linked + "/.claude/settings.json", json.dumps({"permissions": {"deny": ["Read(/conf/secret/**)"]}}))
    texts, done = worktree(lab, *calls, cwd=linked)
    assert "open text" in texts[-1] and "the secret text" not in "".join(texts), done


def a_guard_sees_the_copy_in_a_worktree_and_other_words_for_a_file(lab):
    """`if` of a hook: the rule is about a file, whichever tool, copy or name leads to it."""
    repository(lab)
    write(lab.work + "/conf/k", "the secret text\n")
    git(lab, "add", ".")
    git(lab, "commit", "-qm", "second")
    os.symlink("conf", lab.work + "/other")
    deny = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "guard"}})
    for rule, calls in (("Read(/%s/conf/**)" % lab.work, [call("Read", file_path="conf/k"), call("Read", file_path="./conf/../conf/k")]),
                        ("Write(conf/k)", [call("Write", file_path="conf/k", content="x")]),
                        ("Write(file_path:conf/*)", [call("Write", file_path="conf/new", content="x")])):
        hook = {"matcher": "Read|Write", "hooks": [{"type": "command", "command": "echo '%s'" % deny, "if": rule}]}
        options = ("--settings", json.dumps({"hooks": {"PreToolUse": [hook]}}))
        texts, done = worktree(lab, *calls, options=options)
        assert len(texts) == len(calls) and all("guard" in text for text in texts), (rule, texts, done)


def an_agent_that_cannot_be_held_to_its_worktree_does_not_start(lab):
    repository(lab)
    texts, done = worktree(lab, "touch ran", preexec_fn=hide(LANDLOCK))
    assert not texts and "cannot be held to its worktree" in done.out, done
    assert not below(lab.work, "ran")


def what_cadre_writes_into_a_git_directory_goes_through_no_link(lab):
    """A repository that was unpacked brings its .git, and commands that are held to the directory can write most of it."""
    out, home = pathlib.Path(lab.folder, "out"), pathlib.Path(lab.work, ".git")
    for name, target in (("info/exclude", "secret"), ("info/exclude", "new"), ("info", ""), ("cadre-worktrees.lock", "new")):
        for place in (lab.work, out):
            shutil.rmtree(place, ignore_errors=True)
            os.mkdir(place)
        repository(lab)
        pathlib.Path(out, "secret").write_text("CANARY\n")
        link = home / name
        shutil.rmtree(link, ignore_errors=True)
        link.unlink(missing_ok=True)
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(out / target)
        texts, done = worktree(lab, "true")
        assert not texts and str(link) in done.out, (name, texts, done)
        assert link.is_symlink() and [p.name for p in below(out)] == ["secret"], (name, below(out))
        assert (out / "secret").read_text() == "CANARY\n", name


@needs_cell
def an_agent_in_a_worktree_does_not_reach_the_sockets_of_sessions(lab):
    repository(lab)
    runtime = pathlib.Path(lab.home, "run")
    runtime.mkdir(mode=0o700)
    reach = "ls $XDG_RUNTIME_DIR/cadre/*.sock && echo REACHED; ls /tmp/cadre-$(id -u)/*.sock && echo REACHED"
    lab.env["XDG_RUNTIME_DIR"] = str(runtime)
    texts, done = worktree(lab, reach, "git status -s")
    assert len(texts) == 2 and "REACHED" not in texts[0].replace("echo REACHED", ""), texts


def what_an_agent_was_told_is_for_its_user_alone(lab):
    repository(lab)
    before = os.umask(0)
    logs = [lab.home + "/trace.jsonl", lab.home + "/debug.jsonl"]
    worktree(lab, "true", options=("--trace", logs[0], "--debug-file", logs[1]))
    os.umask(before)
    folders = [p for p in below(lab.home) if p.is_dir() and stat.S_IMODE(p.stat().st_mode) & 0o077]
    assert not folders, folders
    files = [p for p in below(lab.home) if p.is_file() and (p.name.endswith(".meta.json") or p.suffix == ".jsonl")]
    assert any(p.name.endswith(".meta.json") for p in files) and set(logs) <= {str(p) for p in files}, files
    open_ones = [p for p in files if stat.S_IMODE(p.stat().st_mode) & 0o077]
    assert not open_ones, open_ones


def a_record_that_others_can_write_is_not_used(lab):
    """Transcript, record of an agent, trust; for an ordinary user also those that another user made. What it is told helps."""
    session = limits.twenty.new_session()
    lab.model(limits.scenario(limits.TOUCH, "wait"))
    assert limits.start(lab, session, {}).wait().code == 0
    state = pathlib.Path(lab.home, ".claude.json")
    assert lab.cadre("trust").code == 0 and state.exists()
    transcript, meta = lab.transcript(session).path, limits.meta_path(lab, session)
    as_user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    if as_user:
        for place in (lab.folder, *below(lab.folder)):
            os.lchown(place, 65534, 65534)
        os.chmod(lab.folder, 0o755)
    for path, said in ((transcript, "is not used"), (meta, "is not used"), (state, "is not used")):
        mode = stat.S_IMODE(path.stat().st_mode)
        for spoil, who in ((lambda p: p.chmod(0o666), {}), (lambda p: p.chmod(0o666), as_user), (lambda p: (p.chmod(0o644), os.chown(p, 65533, 65533)), as_user))[:3 if as_user else 1]:
            spoil(path)
            lab.wait_for_nobody()
            done = lab.stream("--resume", session, *limits.agents({}), *limits.FLAGS, "Second question", **who).wait()
            assert said in done.err + done.out, (path, who, done)
            assert not os.path.exists(lab.work + "/gone.txt"), (path, who, done)
            path.chmod(mode)
            if as_user:
                os.chown(path, 65534, 65534)
    done = lab.stream("--resume", session, *limits.agents({}), *limits.FLAGS, "Second question", **as_user).wait()
    assert done.code == 0 and os.path.exists(lab.work + "/gone.txt"), done


def settings_that_others_can_write_only_narrow(lab):
    """Those of the user and the local ones of a project, in a folder that is trusted and in one that is not: writable by others, by
    another group, of another user. The last two count for an ordinary user."""
    repository(lab)
    user, local = pathlib.Path(lab.home, ".claude/settings.json"), pathlib.Path(lab.work, ".claude/settings.local.json")
    as_user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    mode = lambda bits: lambda path: path.chmod(bits)
    spoils = [(mode(0o666), {}, False), (mode(0o644), {}, True)]
    if as_user:
        spoils += [(lambda p: (p.chmod(0o644), os.chown(p, 65533, 65534)), as_user, False),
                   (lambda p: (p.chmod(0o664), os.chown(p, 65534, 65533)), as_user, False), (mode(0o600), as_user, True)]
    # The local file counts without trust, because cadre makes it.
    allows = json.dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow", "updatedPermissions": [
        {"type": "addRules", "rules": [{"toolName": "Read"}], "behavior": "allow", "destination": "localSettings"}]}}})
    write(user, json.dumps({"hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": "echo '%s'" % allows}]}]}}))
    lab.model("rule\n  turn 1\n%s\nrule\n  text ok\n" % call("Bash", command="touch asked"))
    assert lab.cadre("-p", "hi").code == 0 and local.exists()
    user.unlink()
    for path, trust in ((user, ()), (user, ("--trust-project",)), (local, ())):
        write(path, '{"permissions": {"allow": ["Bash(touch:*)"]}}')
        for spoil, who, counts in spoils:
            for place in (lab.folder, *below(lab.folder)):
                os.lchown(place, *(65534, 65534) if who else (os.geteuid(), os.getegid()))
            os.chmod(lab.folder, 0o755)
            spoil(path)
            lab.model("rule\n  turn 1\n%s\nrule\n  text ok\n" % call("Bash", command="touch PWNED"))
            done = lab.cadre("-p", *trust, "hi", **who)
            made = pathlib.Path(lab.work, "PWNED")
            assert done.code == 0 and made.exists() == counts, (path, trust, who, oct(path.stat().st_mode), done)
            made.unlink(missing_ok=True)
            lab.wait_for_nobody()
        path.unlink()


def instructions_above_the_project_are_not_those_of_another_user(lab):
    """In a directory that all can write. What is in the project is read whoever owns it."""
    above, own = lab.folder + "/shared", lab.folder + "/shared/project"
    for place, text in ((above, "told above"), (own, "told in it")):
        write(place + "/CLAUDE.md", text)
        write(place + "/.claude/rules/r.md", text)
    who = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    spoils = [(lambda p: p.chmod(0o666), False), (lambda p: p.chmod(0o644), True)]
    if who:
        spoils.append((lambda p: os.chown(p, 65533, 65533), False))
        for place in (lab.folder, *below(lab.folder)):
            os.lchown(place, 65534, 65534)
    for spoil, counts in spoils:
        for place in (above, own):
            for name in ("CLAUDE.md", ".claude/rules/r.md"):
                spoil(pathlib.Path(place, name))
        server = lab.model("rule\n  text ok\n", log=True)
        done = lab.cadre("-p", "hi", cwd=own, **who)
        sent = json.dumps(server.bodies())
        assert sent.count("told in it") == 2 and sent.count("told above") == (2 if counts else 0), (counts, done)


def one_signal_ends_a_run_whose_git_hangs(lab):
    repository(lab)
    shim = pathlib.Path(lab.home, "shim")
    write(shim / "git", "#!/bin/sh\ncase \"$*\" in *'worktree add'*) touch %s/hangs; trap '' TERM; while :; do sleep 1; done;; esac\nexec /usr/bin/git \"$@\"\n"
          % lab.home, 0o755)
    lab.model(WORKTREE % call("Agent", description="Work", prompt="Work", isolation="worktree") + "rule child\n  text Done.\n")
    for number in (signal.SIGINT, signal.SIGTERM):
        running = lab.start("-p", "hi", env={"PATH": "%s:%s" % (shim, lab.env["PATH"])})
        until(lambda: os.path.exists(lab.home + "/hangs"), "git was not run")
        began = time.monotonic()
        os.kill(running.process.pid, number)
        running.wait()
        assert time.monotonic() - began < 15, time.monotonic() - began
        os.unlink(lab.home + "/hangs")


MEMBER = """rule starts
  prompt contains "Make a team"
  turn 1
%s
rule lead
  prompt contains "Make a team"
  text Team is there.
rule member
  prompt contains "Task of ann."
  turn 1
%s
rule member ends
  prompt contains "Task of ann."
  text Report of a member.
rule other
  text Noted.
"""


def boss(**limits):
    return ("--agent", "boss", "--agents", json.dumps({"boss": {"description": "Leads", "prompt": "You lead.", **limits}}), "--allowedTools", "Bash,Write")


@needs_cell
def a_member_of_a_team_has_the_limits_of_its_lead(lab):
    """Members in the process and in panes: what options, settings, the definition of the main agent, its mode or the sandbox forbid."""
    touch, write_file = call("Bash", command="touch @"), call("Write", file_path="@", content="x")
    inside = {"sandbox": {"enabled": True, "allowUnsandboxedCommands": False}}
    rows = (("option", ("--disallowedTools", "Bash(touch:*)", "--allowedTools", "Bash"), {}, touch), ("tools", ("--tools", "Read,Agent,SendMessage", "--allowedTools", "Bash"), {}, touch),
            ("rule of the definition", boss(disallowedTools=["Bash(touch:*)"]), {}, touch), ("limit of the definition", boss(tools=["Bash(echo:*)", "Agent", "SendMessage"]), {}, touch),
            ("mode of the definition", boss(permissionMode="plan"), {}, write_file), ("mode", ("--permission-mode", "plan", "--allowedTools", "Bash,Write"), {}, write_file),
            ("settings", ("--allowedTools", "Bash"), {"permissions": {"deny": ["Bash(touch:*)"]}}, touch), ("sandbox", ("--allowedTools", "Bash"), inside, touch),
            ("worktree", ("--allowedTools", "Bash,Write"), {}, call("Bash", command="cd / && python3 -c \"open('@', 'w')\"")),
            ("worktree, by a tool", ("--allowedTools", "Bash,Write"), {}, write_file),
            ("leaving it", ("--allowedTools", "Bash"), inside, call("Bash", command="touch @", dangerouslyDisableSandbox=True)))
    passed = []
    for what, flags, settings, attack in rows:
        for mode in ("in-process", "tmux"):
            own = Lab()
            target = os.path.join(own.home if settings else own.work, "PWNED")
            repository(own)
            isolation = {"isolation": "worktree"} if what.startswith("worktree") else {}
            start = call("Agent", description="ann", prompt="Task of ann.", name="ann", **isolation)
            terminal = panes.Terminal(own, MEMBER % (start, attack.replace("@", target)))
            try:
                pane = terminal.panes(":1")[0][0]
                env = {**panes.TEAMS, "TMUX": terminal.run("display-message", "-p", "-t", pane, "#{socket_path},#{pid},0").strip(), "TMUX_PANE": pane}
                done = own.cadre("-p", "--session-id", terminal.session, "--settings", json.dumps({**panes.IMPLICIT, **settings}), "--teammate-mode", mode, *flags,
                                 "--", "Make a team", env=env)
                tried = [b for b in terminal.model.bodies() if "Task of ann." in json.dumps(b["messages"][0]) and "tool_result" in json.dumps(b["messages"])]
                assert done.code == 0 and tried, (what, mode, done)
                if os.path.exists(target):
                    passed.append((what, mode))
            finally:
                terminal.close()
                own.wait_for_nobody()
                own.close()
    assert not passed, passed


def what_limits_all_agents_of_a_session_keeps_members_in_its_process(lab):
    """What they may spend together, and what a skill forbids while it is used."""
    skill = {"disallowed-tools": "Bash(touch:*)"}
    start = call("Agent", description="ann", prompt="Task of ann.", name="ann")
    for flags, text in ((("--max-budget-usd", "5"), start), (("--task-budget", "50000"), start), ((), call("Skill", skill="s") + "\nrule then\n  prompt contains \"Make a team\"\n  turn 2\n" + start), ((), start)):
        own = Lab()
        repository(own)
        write(own.home + "/.claude/skills/s/SKILL.md", "---\nname: s\ndescription: d\n%s---\nText\n" % "".join("%s: %s\n" % i for i in skill.items()))
        terminal = panes.Terminal(own, MEMBER % (text, "  text Done."))
        try:
            pane = terminal.panes(":1")[0][0]
            env = {**panes.TEAMS, "TMUX": terminal.run("display-message", "-p", "-t", pane, "#{socket_path},#{pid},0").strip(), "TMUX_PANE": pane}
            done = own.cadre("-p", "--session-id", terminal.session, "--settings", json.dumps(panes.IMPLICIT), "--teammate-mode", "tmux", *flags, "--", "Make a team", env=env)
            here = "lives in this process" in json.dumps(terminal.model.bodies())
            assert done.code == 0 and here == bool(flags or "Skill" in text), (flags, text, done)
        finally:
            terminal.close()
            own.wait_for_nobody()
            own.close()


if __name__ == "__main__":
    main(what_limits_all_agents_of_a_session_keeps_members_in_its_process, a_record_that_others_can_write_is_not_used, settings_that_others_can_write_only_narrow, a_guard_sees_the_copy_in_a_worktree_and_other_words_for_a_file, git_runs_nothing_that_a_directory_says,
         instructions_stay_in_the_project_and_never_block,
         commands_and_servers_get_no_keys_of_models,
         a_rule_holds_for_the_copy_in_a_worktree, a_rule_holds_in_a_worktree_that_the_user_made,
         instructions_above_the_project_are_not_those_of_another_user,
         an_agent_that_cannot_be_held_to_its_worktree_does_not_start,
         what_cadre_writes_into_a_git_directory_goes_through_no_link,
         an_agent_in_a_worktree_does_not_reach_the_sockets_of_sessions,
         what_an_agent_was_told_is_for_its_user_alone,
         one_signal_ends_a_run_whose_git_hangs,
         a_member_of_a_team_has_the_limits_of_its_lead)
