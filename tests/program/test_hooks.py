#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hooks and real processes: what a signal leaves behind, questions to a person, many hooks at once."""
import json
import os
import pathlib
import signal
import subprocess

from lab import CADRE, Skip, main
from mock import Mock
from test_interactive import leave, start

READ = 'rule\n  turn 1\n  call Read {"file_path": "%s/a.txt"}\nrule\n  text done\n'
CHILD = """
rule
  agent main
  turn 1
  call Agent {"description": "look", "prompt": "Look.", "subagent_type": "general-purpose"}
rule
  agent main
  text done
""" + READ
LEAVES = "setsid sleep 1000 & sleep 1000 & echo $$ > %s/running; wait"  # one more in its group, one that leaves it


def use_hooks(lab, **events):
    """Hooks of the project, which is trusted."""
    path = pathlib.Path(lab.work) / ".claude/settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": {name: [{"hooks": [hook]}] for name, hook in events.items()}}))
    (pathlib.Path(lab.work) / "a.txt").write_text("one\n")
    assert lab.cadre("trust").code == 0


def command(text, **more):
    return {"type": "command", "command": text, **more}


def end_while(lab, scenario, number, **events):
    """Sends the signal when a hook says that it runs; all of its processes must go."""
    running = lab.fifo("running-%d-%s" % (number, "-".join(events)))
    use_hooks(lab, **{name: command(LEAVES.replace("%s/running", running.path)) | more for name, more in events.items()})
    lab.model(scenario % lab.work)
    run = lab.stream("go")
    running.line()
    run.kill(number)
    done = run.wait()
    lab.wait_for_nobody()
    return done


def a_signal_while_a_hook_runs_leaves_no_process(lab):
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop", "InstructionsLoaded"):
        (pathlib.Path(lab.work) / "CLAUDE.md").write_text("Be brief.\n")
        done = end_while(lab, READ, signal.SIGTERM, **{event: {}})
        assert done.code == 143, (event, done)


def kill_9_while_a_hook_runs_leaves_no_process(lab):
    for event in ("SessionStart", "PreToolUse", "PostToolBatch", "Stop"):
        end_while(lab, READ, signal.SIGKILL, **{event: {}})


def a_signal_while_a_hook_of_a_child_runs_leaves_no_process(lab):
    for number in (signal.SIGTERM, signal.SIGKILL):
        for event in ("SubagentStart", "PreToolUse", "SubagentStop"):
            end_while(lab, CHILD, number, **{event: {}})


def an_async_hook_ends_with_the_run(lab):
    running = lab.fifo("running")
    use_hooks(lab, PreToolUse=command(LEAVES % lab.work, **{"async": True}))
    gate = os.path.join(lab.work, "gate")
    os.mkfifo(gate)
    lab.model('rule\n  turn 1\n  call Bash {"command": "cat < %s"}\nrule\n  text done\n' % gate)
    run = lab.stream("--allowed-tools", "Bash", "--", "go")
    running.line()
    with open(gate, "w", encoding="utf-8"):
        pass  # the tool goes on
    done = run.wait()
    assert done.code == 0, done
    lab.wait_for_nobody()


def what_a_hook_left_in_the_background_ends_with_the_run(lab):
    use_hooks(lab, PreToolUse=command("sleep 1000 >/dev/null 2>&1 & exit 0"))
    lab.model(READ % lab.work)
    done = lab.stream("go").wait()
    assert done.code == 0, done
    lab.wait_for_nobody()


def hooks_of_a_shells_end_run_after_a_signal(lab):
    running = lab.fifo("running")
    use_hooks(lab, SessionEnd=command("cat > ended"))
    lab.model('rule\n  turn 1\n  call Bash {"command": "echo x > %s; sleep 1000"}\n' % running.path)
    run = lab.stream("--allowed-tools", "Bash", "--", "go")
    running.line()
    run.kill(signal.SIGTERM)
    done = run.wait()
    assert done.code == 143, done
    assert json.loads((pathlib.Path(lab.work) / "ended").read_text())["hook_event_name"] == "SessionEnd"
    lab.wait_for_nobody()


def a_hundred_hooks_at_once_all_run(lab):
    path = pathlib.Path(lab.work) / ".claude" / "settings.json"
    path.parent.mkdir()
    hooks = [command("echo %d >> all; cat > /dev/null" % i) for i in range(100)]
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": hooks}]}}))
    (pathlib.Path(lab.work) / "a.txt").write_text("one\n")
    assert lab.cadre("trust").code == 0
    lab.model(READ % lab.work)
    done = lab.stream("go").wait()
    assert done.code == 0 and done.frames()[-1]["result"] == "done", done
    said = sorted(int(line) for line in (pathlib.Path(lab.work) / "all").read_text().split())
    assert said == list(range(100)), said


def with_managed(lab, settings):
    """A run that sees another /etc, with these managed settings in it."""
    etc = pathlib.Path(lab.folder) / "etc"
    (etc / "claude-code").mkdir(parents=True, exist_ok=True)
    (etc / "claude-code" / "managed-settings.json").write_text(json.dumps(settings))
    mount = ("-rm", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', str(etc))
    if subprocess.run(["unshare", *mount, "true"], capture_output=True, check=False).returncode:
        raise Skip("no mount namespaces here")
    for name in ("own", "managed"):
        (pathlib.Path(lab.work) / name).unlink(missing_ok=True)
    done = lab.start(*mount, CADRE, "-p", "go", program="unshare").wait()
    assert done.code == 0 and done.out == "done\n", done
    return {name for name in ("own", "managed") if (pathlib.Path(lab.work) / name).exists()}


def hooks_of_any_number_of_files_run(lab):
    """A hook that is dropped because there are many would be a lock that is left open."""
    parts = pathlib.Path(lab.folder) / "etc" / "claude-code" / "managed-settings.d"
    parts.mkdir(parents=True)
    for i in range(100):
        hooks = {"PreToolUse": [{"hooks": [command(f"echo {i} >> all")]}]}
        (parts / f"{i:03}.json").write_text(json.dumps({"hooks": hooks}))
    lab.model(READ % lab.work)
    use_hooks(lab, PreToolUse=command("touch own"))
    assert with_managed(lab, {}) == {"own"}
    assert sorted(map(int, (pathlib.Path(lab.work) / "all").read_text().split())) == list(range(100))


def managed_settings_have_the_last_word_about_hooks(lab):
    managed = {"hooks": {"PreToolUse": [{"hooks": [command("touch managed")]}]}}
    lab.model(READ % lab.work)
    use_hooks(lab, PreToolUse=command("touch own"))
    assert with_managed(lab, managed) == {"own", "managed"}
    assert with_managed(lab, {**managed, "allowManagedHooksOnly": True}) == {"managed"}
    assert with_managed(lab, {**managed, "disableAllHooks": True}) == set()
    own = pathlib.Path(lab.work) / ".claude" / "settings.json"
    own.write_text(json.dumps({**json.loads(own.read_text()), "disableAllHooks": True}))
    assert with_managed(lab, managed) == {"managed"}


def managed_settings_leave_hooks_and_servers_to_plugins(lab):
    """Those of agents and skills, too: of the user, and on the command line."""
    agents = pathlib.Path(lab.home) / ".claude/agents"
    agents.mkdir(parents=True)
    server = {"small": {"command": "sh", "args": ["-c", "touch managed; cat"]}}
    hooks = {"PreToolUse": [{"hooks": [command("touch own")]}]}
    (agents / "scout.md").write_text("---\n" + json.dumps({"name": "scout", "description": "d", "tools": ["Read"],
                                                          "hooks": hooks, "mcpServers": [server]}) + "\n---\nYou look.\n")
    (pathlib.Path(lab.work) / "a.txt").write_text("one\n")
    lab.model((CHILD % lab.work).replace("general-purpose", "scout"))
    assert with_managed(lab, {}) == {"own", "managed"}
    assert with_managed(lab, {"strictPluginOnlyCustomization": ["mcp"]}) == {"own"}
    assert with_managed(lab, {"strictPluginOnlyCustomization": {"hooks": True}}) == {"managed"}
    skill = pathlib.Path(lab.home) / ".claude/skills/look/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\n" + json.dumps({"name": "look", "description": "d", "hooks": hooks}) + "\n---\nLook.\n")
    (agents.parent / "settings.json").write_text(json.dumps({"permissions": {"allow": ["Skill(look)"]}}))
    lab.model('rule\n  turn 1\n  call Skill {"skill": "look"}\nrule\n  turn 2\n  call Read {"file_path": "%s/a.txt"}\n'
              "rule\n  text done\n" % lab.work)
    assert with_managed(lab, {}) == {"own"}
    assert with_managed(lab, {"strictPluginOnlyCustomization": {"hooks": True}}) == set()


def a_question_to_a_person_is_told_to_hooks(lab):
    told = lab.fifo("told")
    use_hooks(lab, Notification=command("cat > told"))
    with start(lab) as t:
        t.expect("> ")
        t.type("write a file")
        seen = json.loads(told.line())
        t.expect("or say why: ")
        t.type("n")
        t.expect("The tool said:")
        t.expect("> ")
        leave(t)
    assert seen["hook_event_name"] == "Notification" and seen["notification_type"] == "permission_prompt", seen
    assert seen["message"] == "Permission is needed to use Bash" and seen["cwd"] == lab.work, seen


def hooks_of_a_project_wait_for_trust_on_a_terminal(lab):
    use_hooks(lab, UserPromptSubmit=command("touch ran"))
    assert lab.cadre("trust", "--forget").code == 0
    ran = pathlib.Path(lab.work) / "ran"
    with start(lab) as t:
        t.expect("A number: ")
        t.type("1")  # the folder is not trusted
        t.expect("this folder is not trusted, so these have no effect: hooks (")
        t.expect("> ")
        t.type("say good morning")
        t.expect("You said good morning.")
        t.expect("> ")
        leave(t)
    assert not ran.exists()
    assert lab.cadre("trust").code == 0
    with start(lab) as t:
        t.expect("> ")
        t.type("say good morning")
        t.expect("You said good morning.")
        t.expect("> ")
        leave(t)
    assert ran.exists()


def settings_limit_what_http_hooks_reach_and_send(lab):
    """allowedHttpHookUrls and httpHookAllowedEnvVars: without them the hook has what it names itself."""
    mock = Mock(lambda n, request: (200, {}, "{}"))
    own = pathlib.Path(lab.home) / ".claude/settings.json"
    own.parent.mkdir(exist_ok=True)
    hook = {"type": "http", "url": mock.url + "/hook", "headers": {"X-One": "$ONE", "X-Two": "$TWO"}, "allowedEnvVars": ["ONE", "TWO"]}
    hooks = {"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}
    lab.model("rule\n  text done\n")
    said = ""
    for limits in ({}, {"httpHookAllowedEnvVars": ["TWO"]}, {"allowedHttpHookUrls": ["https://elsewhere.test/*"]}):
        own.write_text(json.dumps({**hooks, **limits}))
        done = lab.cadre("-p", "go", env={"ONE": "first", "TWO": "second"})
        assert done.code == 0 and done.out == "done\n", done
        said = done.err
    assert [(r["headers"].get("x-one"), r["headers"].get("x-two")) for r in mock.seen] == [("first", "second"), (None, "second")], mock.seen
    assert "the URL is not in allowedHttpHookUrls, so this hook does not run" in said, said


if __name__ == "__main__":
    main(a_signal_while_a_hook_runs_leaves_no_process, kill_9_while_a_hook_runs_leaves_no_process,
         a_signal_while_a_hook_of_a_child_runs_leaves_no_process, an_async_hook_ends_with_the_run,
         what_a_hook_left_in_the_background_ends_with_the_run, hooks_of_a_shells_end_run_after_a_signal,
         a_hundred_hooks_at_once_all_run, hooks_of_any_number_of_files_run, managed_settings_have_the_last_word_about_hooks,
         managed_settings_leave_hooks_and_servers_to_plugins, a_question_to_a_person_is_told_to_hooks,
         hooks_of_a_project_wait_for_trust_on_a_terminal, settings_limit_what_http_hooks_reach_and_send)
